// Names are text to show, whatever they look like to the format.
#include "core/topology/fabric.h"
#include "sim/graph/escape.h"
#include "sim/graph/graph.h"
#include "sim/graph/label.h"

namespace cnuas::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Escape, Xml) {
  EXPECT_EQ(sim::xml_text("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
  EXPECT_EQ(sim::xml_text("\x1b[0m\n\t\xff"), "?[0m? ?");
  EXPECT_EQ(sim::xml_text("\xEF\xBF\xBE\xEF\xBF\xBF"), "??");
  EXPECT_EQ(sim::xml_text("\xE5\x90\x8D"), "\xE5\x90\x8D");
}

TEST(Escape, Dot) {
  EXPECT_EQ(sim::dot_string("a\"b\\N"), R"("a\"b\\N")");
  EXPECT_EQ(sim::dot_string("one\ntwo"), R"("one\ntwo")");
  EXPECT_EQ(sim::dot_string("&lt;"), R"("&amp;lt;")");
}

TEST(Escape, MermaidLeavesNothingToInterpret) {
  EXPECT_EQ(sim::mermaid_text("a\"]b"), "a#34;#93;b");
  EXPECT_EQ(sim::mermaid_text("%%{init}%%`"), "#37;#37;#123;init#125;#37;#37;#96;");
  EXPECT_EQ(sim::mermaid_text("#lt;<br>"), "#35;lt#59;#60;br#62;");
}

TEST(Escape, FrontMatter) {
  EXPECT_EQ(sim::yaml_string("a\"\\\n---"), R"("a\"\\?---")");
}

TEST(Label, CutsWholeCharacters) {
  EXPECT_EQ(sim::shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(sim::shortened("abcdefghijk", 10), "abcdefg...");
  EXPECT_EQ(sim::shortened("\xE5\x90\x8D\xE5\x89\x8D\xE5\x90\x8D", 5), "\xE5\x90\x8D...");
}

Fabric named(const std::string& name) {
  RackParameters parameters;
  parameters.gpus_per_rack = {2, 2};
  parameters.gpu_link = {1'000'000'000, 1000, {}};
  parameters.inter_switch = parameters.gpu_link;
  Fabric fabric = *build_spine(parameters);
  fabric.switches[0].name = name;
  return fabric;
}

TEST(Graph, KeepsNamesNames) {
  const Fabric fabric = named("\"]; <script>x</script> end %%{init: 1}%%");
  EXPECT_THAT(sim::draw_svg("<b>", fabric), Not(HasSubstr("<script")));
  EXPECT_THAT(sim::draw_svg("<b>", fabric), Not(HasSubstr("<b>")));
  EXPECT_THAT(sim::draw_dot("\"", fabric), HasSubstr("label=\"\\\"\\n4 GPUs"));
  EXPECT_THAT(sim::draw_mermaid("x", fabric), Not(HasSubstr("%%")));
  EXPECT_THAT(sim::draw_mermaid("x", fabric), Not(HasSubstr("<script")));
}

TEST(Graph, IsDeterministic) {
  const Fabric fabric = named("leaf");
  EXPECT_EQ(sim::draw_svg("x", fabric), sim::draw_svg("x", fabric));
}

}  // namespace
}  // namespace cnuas::test
