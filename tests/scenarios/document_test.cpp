#include "scenarios/document.h"

#include "scenarios/sha256.h"
#include "tests/scenarios/loading.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::scenarios {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

struct Read {
  std::string text;
  std::optional<Node> root;
  std::vector<Diagnostic> diagnostics;
};
Read read(const std::string& text) {
  const SourceText source(text);
  const std::string file = "file";
  Diagnostics diagnostics(source, file);
  Read result;
  result.text = text;
  result.root = read_document(source, diagnostics);
  result.diagnostics = diagnostics.take();
  return result;
}

testing::AssertionResult at(const Read& read, const Place& place, int line, int column, int width) {
  const SourceText source(read.text);
  const Position position = PositionFinder(source).find(place);
  if (position.line == line && position.column == column && position.width == width)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << position.line << ":" << position.column << " width "
                                     << position.width;
}

TEST(Document, EveryNodeKnowsItsPlace) {
  const Read result = read("first: one\nsecond:\n  - 1/3\n  - {key: \"quoted\", other: 'it''s'}\n");
  ASSERT_TRUE(result.root);
  EXPECT_TRUE(at(result, result.root->find("first")->place, 1, 8, 3));
  EXPECT_TRUE(at(result, result.root->key_place("second"), 2, 1, 6));
  const Node& list = *result.root->find("second");
  EXPECT_TRUE(at(result, list.items[0].place, 3, 5, 3));
  EXPECT_TRUE(at(result, list.items[1].find("key")->place, 4, 11, 8));
  EXPECT_TRUE(list.items[1].find("key")->in_quotes);
  EXPECT_TRUE(at(result, list.items[1].find("other")->place, 4, 28, 7));
  EXPECT_EQ(list.items[1].find("other")->text, "it's");
}

TEST(Document, ColumnsCountCharactersNotBytes) {
  const Read result = read("a: {\"\xC3\xA9\xC3\xA9\": 1, b: 2}\n");
  ASSERT_TRUE(result.root);
  EXPECT_TRUE(at(result, result.root->find("a")->key_place("b"), 1, 14, 1));
}

TEST(Document, AnAnchoredValueIsAtItsOwnPlace) {
  const Read result = read("a: &name  value\nb: *name\n");
  ASSERT_TRUE(result.root);
  EXPECT_TRUE(at(result, result.root->find("a")->place, 1, 11, 5));
  EXPECT_EQ(result.root->find("b")->text, "value");
}

TEST(Document, ByteOrderMarkAndCrLfChangeNoPlace) {
  const Read result = read(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: two\r\n");
  ASSERT_TRUE(result.root);
  EXPECT_TRUE(at(result, result.root->find("b")->place, 2, 4, 3));
}

TEST(Document, DepthIsBounded) {
  for (const char* piece : {"[", "{a: ", "- ", "[a: ", "? "}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i)
      text += piece;
    const Read result = read(text);
    EXPECT_FALSE(result.root) << piece;
    EXPECT_THAT(result.diagnostics, SizeIs(1)) << piece;
  }
}

TEST(Document, NumberOfNodesIsBounded) {
  std::string text;
  for (std::size_t i = 0; i <= kMostNodes; ++i)
    text += "- x\n";
  EXPECT_THAT(all_of(read(text).diagnostics), HasSubstr("more than 500000 values in one scenario"));
  EXPECT_THAT(all_of(read(std::string(kMostNodes + 1, '[')).diagnostics), HasSubstr("brackets and commas"));
}

TEST(Document, NumberOfKeysIsBounded) {
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += "key" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(all_of(read(text).diagnostics), HasSubstr("more than 1000 keys in one mapping"));
}

// A list in one line, which is what makes columns dear.
TEST(Document, ManyValuesInOneLineTakeLinearTime) {
  std::string text = "a: [";
  for (std::size_t i = 0; i < kMostNodes - 10; ++i)
    text += "x,";
  EXPECT_TRUE(read(text + "]").root);
}

TEST(Document, NestedAnchorsCountAgain) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "[&a" + std::to_string(i) + " ";
  text += "[";
  for (std::size_t i = 0; i < kMostNodes / 10; ++i)
    text += "x,";
  EXPECT_THAT(all_of(read(text + std::string(21, ']')).diagnostics), HasSubstr("more than 500000 values"));
}

TEST(Document, SomeHundredMistakesAreAllReportedAndThousandsCut) {
  std::string text = "scenario: x\nfabric: {gpus_per_rack: 2, link: nvlink4}\nworkload:\n";
  for (int i = 0; i < 3000; ++i)
    text += "  - {collective: nothing}\n";
  const LoadResult result = load_text(text);
  ASSERT_THAT(result.diagnostics, SizeIs(Diagnostics::kMost + 1));
  EXPECT_THAT(result.diagnostics.back().message, HasSubstr("more problems are not shown"));
}

TEST(Document, ALineAsLongAsTheFileIsNotPrintedWhole) {
  const std::string text = "scenario: [" + std::string(1'000'000, 'x') + ", {y: 1}]\n";
  const LoadResult result = load_text(text);
  EXPECT_LT(all_of(result.diagnostics).size(), 10'000u);
}

TEST(Document, MessagesAreSafeForATerminal) {
  const std::string text =
      all_of(load_text("scenario: \"\\e[31m\"\nfa\\x1b: \"\\u0007\"\n\"\\e[2J\": 1\n").diagnostics);
  for (char c : text)
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
}

TEST(Format, HasPlaceSourceCaretAndHelp) {
  Diagnostic diagnostic{Severity::error, "a.yaml", 3, 8, "wrong", "do right", "\tkey:  value", 5};
  EXPECT_EQ(format(diagnostic), "a.yaml:3:8: error: wrong\n\tkey:  value\n\t      ^~~~~\n  help: do right\n");
  diagnostic.severity = Severity::warning;
  diagnostic.help.clear();
  diagnostic.width = 1;
  EXPECT_EQ(format(diagnostic), "a.yaml:3:8: warning: wrong\n\tkey:  value\n\t      ^\n");
  diagnostic.line = 0;
  diagnostic.source.clear();
  EXPECT_EQ(format(diagnostic), "a.yaml: warning: wrong\n");
}

TEST(Load, DiagnosticsAreInFileOrder) {
  const std::string text =
      "scenario: test\nbackground: [{from: 9/9, to: 1/0}]\nseed: x\n"
      "workload: [{collective: all_reduce, size: 1}]\nfabric: {gpus_per_rack: 2, link: nvlink4}\n";
  std::vector<int> lines;
  for (const Diagnostic& diagnostic : load_text(text).diagnostics)
    lines.push_back(diagnostic.line);
  EXPECT_THAT(lines, ElementsAre(2, 3, 4));
}

TEST(Load, WhatAnAliasRepeatsIsSaidOnce) {
  const std::string text = scenario_text(kSmallFabric, "- &x {collective: all_reduce, size: 1}\n- *x\n- *x");
  EXPECT_THAT(load_text(text).diagnostics, SizeIs(1));
}

TEST(Load, AliasesStandForWhatTheyName) {
  const Workload workload = workload_of(
      "- {collective: all_reduce, size: 1 KiB, ranks: &some [1/1, 1/3]}\n- {collective: broadcast, size: 2 "
      "KiB, ranks: *some}");
  EXPECT_EQ(std::get<Measurement>(workload.items[1]).calls[0].ranks,
            std::get<Measurement>(workload.items[0]).calls[0].ranks);
}

TEST(Load, KeepsNamePathSeedFidelityAndDigest) {
  const std::string text =
      scenario_text(kSmallFabric, kSmallWorkload, "seed: 42\nfidelity: fluid\ndescription: words\n");
  const LoadResult result = load_text(text, "some/where.yaml");
  ASSERT_TRUE(result.scenario);
  EXPECT_EQ(result.scenario->name, "test");
  EXPECT_EQ(result.scenario->path, "some/where.yaml");
  EXPECT_EQ(result.scenario->seed, 42u);
  EXPECT_EQ(result.scenario->fidelity, Fidelity::fluid);
  EXPECT_EQ(result.scenario->sha256, sha256_hex(text));
  const Scenario usual = loaded(scenario_text(kSmallFabric, kSmallWorkload));
  EXPECT_EQ(usual.seed, 1u);
  EXPECT_EQ(usual.fidelity, Fidelity::automatic);
}

TEST(LoadFile, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(load_file("/nonexistent/x.yaml").io_error,
            "cannot open '/nonexistent/x.yaml': No such file or directory");
  EXPECT_THAT(load_file("/").io_error, HasSubstr("Is a directory"));
}

TEST(LoadFile, RefusesMoreThanSixteenMebibytes) {
  const LoadResult result = load_text(std::string(16 * 1024 * 1024 + 1, '#'));
  EXPECT_THAT(all_of(result.diagnostics), HasSubstr("larger than 16 MiB"));
  EXPECT_THAT(all_of(load_file("/dev/zero").load.diagnostics), HasSubstr("larger than 16 MiB"));
}

}  // namespace
}  // namespace cnuas::scenarios
