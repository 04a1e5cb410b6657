// The scenarios that come with the program: without a warning, and introduced for a reader.

#include "scenarios/schema.h"
#include "tests/scenarios/loading.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::scenarios {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path kFolder = std::filesystem::path(CNUAS_SOURCE_DIR) / "scenarios";

TEST(Shipped, ScenariosLoadWithoutAWord) {
  const auto files = files_in(kFolder, ".yaml");
  EXPECT_GE(files.size(), 10u);
  for (const auto& file : files) {
    const FileResult result = load_file(file.string());
    EXPECT_EQ(result.io_error, "");
    EXPECT_EQ(all_of(result.load.diagnostics), "");
    ASSERT_TRUE(result.load.scenario) << file;
    EXPECT_EQ(result.load.scenario->name, file.stem().string());
  }
}

TEST(Shipped, ScenariosSayWhatTheyTeach) {
  for (const auto& file : files_in(kFolder, ".yaml")) {
    const std::string text = read_bytes(file);
    EXPECT_TRUE(text.starts_with("# yaml-language-server: $schema=./scenario.schema.json\n#\n")) << file;
    for (const char* part : {"# What it teaches: ", "# Look for: ", "# Try: ", "\ndescription: "})
      EXPECT_THAT(text, HasSubstr(part)) << file;
  }
}

TEST(Shipped, SchemaIsCurrent) {
  EXPECT_EQ(read_bytes(kFolder / "scenario.schema.json"), json_schema())
      << "the field table has changed: write json_schema() (cnuas-sim schema) to "
         "scenarios/scenario.schema.json";
}

}  // namespace
}  // namespace cnuas::scenarios
