// Every shipped scenario gives the results written down beside this file, to the last digit, in every build.
//   CNUAS_UPDATE_GOLDEN=1 build/release/tests/golden_test      writes them anew; read the difference before
//   committing it
#include "tests/cli/process.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

namespace cnuas::test {
namespace {

// The lines that name version and commit, and the file's digest, change with every commit and comment;
// nothing else may.
std::string without_provenance(const std::string& table) {
  static const std::regex line("# (cnuas-sim|scenario sha256) [^\n]*\n");
  return std::regex_replace(table, line, "");
}

std::vector<std::string> scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(CNUAS_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, IsUnchanged) {
  const std::string golden = CNUAS_SOURCE_DIR "/tests/golden/" + GetParam() + ".txt";
  const Outcome run = cnuas_sim("run scenarios/" + GetParam() + ".yaml");
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string table = without_provenance(run.out);
  if (std::getenv("CNUAS_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden, std::ios::binary) << table;
    return;
  }
  EXPECT_EQ(table, read_file(golden))
      << "if this is meant: CNUAS_UPDATE_GOLDEN=1 " CNUAS_BINARY_DIR "/tests/golden_test";
}

TEST_P(Golden, AgreesWithItsModelAndWithItself) {
  const Outcome run =
      cnuas_sim("run scenarios/" + GetParam() + ".yaml --check-model --check-determinism --format json");
  EXPECT_EQ(run.status, 0) << run.err;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Golden, ::testing::ValuesIn(scenarios()), [](const auto& param) {
  std::string name = param.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace cnuas::test
