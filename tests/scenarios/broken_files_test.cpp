// Every file in broken/ against the whole text of its diagnostics, in NAME.expected beside it.
// After a deliberate change: CNUAS_UPDATE_GOLDEN=1 scenarios_test --gtest_filter='*BrokenFile*', and read the
// diff.

#include "tests/scenarios/loading.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace cnuas::scenarios {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(CNUAS_SOURCE_DIR) / "tests/scenarios/broken";

class BrokenFile : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(BrokenFile, IsReportedAsExpected) {
  const std::string text = read_bytes(GetParam());
  const LoadResult result = load_text(text, GetParam().filename().string());
  const std::string report = all_of(result.diagnostics);
  std::filesystem::path golden = GetParam();
  golden.replace_extension(".expected");
  if (std::getenv("CNUAS_UPDATE_GOLDEN")) std::ofstream(golden, std::ios::binary) << report;
  EXPECT_EQ(report, read_bytes(golden));
  const bool only_warnings = GetParam().filename().string().starts_with("warnings-");
  EXPECT_EQ(result.scenario.has_value(), only_warnings) << report;
}

std::string test_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, BrokenFile, testing::ValuesIn(files_in(kFolder, ".yaml")), test_name);

TEST(BrokenFiles, NoExpectedTextIsLeftOver) {
  for (const auto& golden : files_in(kFolder, ".expected")) {
    std::filesystem::path file = golden;
    EXPECT_TRUE(std::filesystem::exists(file.replace_extension(".yaml"))) << golden;
  }
}

}  // namespace
}  // namespace cnuas::scenarios
