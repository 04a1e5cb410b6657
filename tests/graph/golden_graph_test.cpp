// The pictures of shipped scenarios, to the byte.
//   CNUAS_UPDATE_GOLDEN=1 build/release/tests/graph_test      draws them anew; look at them before committing
#include "tests/cli/process.h"

#include <cstdlib>
#include <fstream>

namespace cnuas::test {
namespace {

struct Picture {
  const char* scenario;
  const char* format;
};

class GoldenGraph : public ::testing::TestWithParam<Picture> {};

TEST_P(GoldenGraph, IsUnchanged) {
  const std::string scenario = GetParam().scenario;
  const std::string format = GetParam().format;
  const std::string golden = CNUAS_SOURCE_DIR "/tests/graph/golden/" + scenario + "." + format;
  const Outcome drawn = cnuas_sim("graph scenarios/" + scenario + ".yaml --format " + format);
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  if (std::getenv("CNUAS_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden, std::ios::binary) << drawn.out;
    return;
  }
  EXPECT_EQ(drawn.out, read_file(golden))
      << "if this is meant: CNUAS_UPDATE_GOLDEN=1 " CNUAS_BINARY_DIR "/tests/graph_test";
}

INSTANTIATE_TEST_SUITE_P(Shipped, GoldenGraph,
                         ::testing::Values(Picture{"two-racks", "svg"}, Picture{"two-racks", "dot"},
                                           Picture{"two-racks", "mermaid"}, Picture{"explicit-graph", "svg"},
                                           Picture{"explicit-graph", "dot"},
                                           Picture{"explicit-graph", "mermaid"},
                                           Picture{"spine-eight-racks", "svg"},
                                           Picture{"spine-eight-racks", "dot"},
                                           Picture{"spine-eight-racks", "mermaid"}),
                         [](const auto& param) {
                           std::string name = std::string(param.param.scenario) + "_" + param.param.format;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Graph, WritesToAFile) {
  const TemporaryFile file("picture.svg", "");
  const Outcome run = cnuas_sim("graph scenarios/one-rack.yaml -o " + file.path());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(read_file(file.path()), cnuas_sim("graph scenarios/one-rack.yaml").out);
}

TEST(Graph, FailsAsOtherCommandsDo) {
  EXPECT_EQ(cnuas_sim("graph scenarios/one-rack.yaml --format png").status, 2);
  EXPECT_EQ(cnuas_sim("graph no-such-file.yaml").status, 4);
  EXPECT_EQ(cnuas_sim("graph scenarios/one-rack.yaml -o /no/such/folder/x.svg").status, 4);
  const TemporaryFile broken("broken.yaml", "scenario: one\n");
  EXPECT_EQ(cnuas_sim("graph " + broken.path()).status, 3);
}

TEST(Graph, MermaidCountsGpusOfLargeFabrics) {
  const std::string text = cnuas_sim("graph scenarios/thousand-gpus.yaml --format mermaid").out;
  EXPECT_THAT(text, ::testing::HasSubstr("256 GPUs"));
  EXPECT_LT(text.size(), 5000u);  // Mermaid's own limit is 50000
}

}  // namespace
}  // namespace cnuas::test
