// What is a request, and how others are refused.

#include "live/management/request_lines.h"
#include "tests/management/ask.h"

#include <rapidcheck/gtest.h>

namespace cnuas::live {
namespace {

std::string nested(std::size_t arrays) {
  return R"({"command":"version","x":)" + std::string(arrays, '[') + std::string(arrays, ']') + "}";
}

TEST(RequestTest, IdComesBackAsItWas) {
  Desk desk;
  for (const Json& id : {Json(7), Json(-7), Json(0), Json(INT64_MAX), Json(INT64_MIN), Json("seven"),
                         Json(""), Json("\xC3\xA9\x01"), Json(std::string(128, 'x'))}) {
    EXPECT_EQ(desk.ask({{"command", "telemetry_clear"}, {"id", id}}),
              (Json{{"id", id}, {"ok", true}, {"result", Json::object()}}));
    EXPECT_EQ(desk.ask({{"command", "nonsense"}, {"id", id}})["id"], id);
    EXPECT_EQ(desk.ask({{"command", "port_status"}, {"port", 99}, {"id", id}})["id"], id);
  }
  EXPECT_FALSE(desk.ask({{"command", "version"}}).contains("id"));
}

TEST(RequestTest, IdsOfOtherKindsAreRefused) {
  Desk desk;
  for (const Json& id : {Json(1.5), Json(nullptr), Json(true), Json::array(), Json::object()}) {
    EXPECT_EQ(desk.refusal({{"command", "version"}, {"id", id}}), "bad_field id");
    EXPECT_FALSE(desk.ask({{"command", "version"}, {"id", id}}).contains("id"));
  }
  EXPECT_EQ(desk.refusal({{"command", "version"}, {"id", std::string(129, 'x')}}), "out_of_range id");
  EXPECT_EQ(desk.refusal_text(R"({"command":"version","id":9223372036854775808})"), "out_of_range id");
  EXPECT_EQ(desk.refusal_text(R"({"command":"version","id":18446744073709551616})"), "bad_field id");
}

TEST(RequestTest, WhatIsNoJsonObjectIsRefused) {
  Desk desk;
  for (const std::string& line : {std::string("x"),
                                  std::string("{"),
                                  std::string("{}}"),
                                  std::string("[]"),
                                  std::string("1"),
                                  std::string("null"),
                                  std::string("\"version\""),
                                  std::string("{\"command\":\"version\",}"),
                                  std::string("{'command':'version'}"),
                                  std::string("{\"command\":\"version\"} {}"),
                                  std::string("{\"command\":\"version\"}\0", 22),
                                  std::string("{\"command\":\"version\"}\0garbage", 29),
                                  std::string("\0", 1),
                                  std::string("{\"command\":NaN}"),
                                  std::string("{\"command\":1e999}"),
                                  std::string("// comment"),
                                  std::string("{\"command\":\"\\ud800\"}"),
                                  std::string("{\"command\":\"\xFF\"}"),
                                  std::string("{\"command\":\"\xC0\xAF\"}"),
                                  std::string("{\"\xED\xA0\x80\":1}"),
                                  std::string("{\"command\":\"version\",\"command\":\"version\"}"),
                                  std::string("{\"command\":\"version\",\"id\":1,\"id\":1}"),
                                  std::string("{\"x\":{\"y\":1,\"y\":2}}"),
                                  std::string(65'536, '9'),
                                  std::string(65'536, '"')}) {
    EXPECT_EQ(desk.refusal_text(line), "bad_json") << line;
  }
}

TEST(RequestTest, EqualFieldsOfDifferentObjectsAreNoRepetition) {
  Desk desk;
  EXPECT_EQ(desk.refusal_text(R"({"command":"version","x":[{"y":1},{"y":1}],"y":{"x":1}})"),
            "unknown_field x");
}

TEST(RequestTest, DepthIsBounded) {
  Desk desk;
  EXPECT_EQ(desk.refusal_text(nested(7)), "unknown_field x");
  EXPECT_EQ(desk.refusal_text(nested(8)), "too_deep");
  EXPECT_EQ(desk.refusal_text(nested(30'000)), "too_deep");
  EXPECT_EQ(desk.refusal_text(std::string(65'536, '[')), "too_deep");
  std::string objects;
  while (objects.size() < 60'000)
    objects += R"({"x":)";
  EXPECT_EQ(desk.refusal_text(objects), "too_deep");
}

TEST(RequestTest, LengthIsBounded) {
  Desk desk;
  const std::string request = R"({"command":"version"})";
  EXPECT_EQ(desk.ask_text(request + std::string(65'536 - request.size(), ' '))["ok"], true);
  EXPECT_EQ(desk.refusal_text(request + std::string(65'537 - request.size(), ' ')), "too_long");
}

TEST(RequestTest, BlankLinesAskForNothing) {
  Desk desk;
  for (const char* line : {"", " ", "\r", " \t \r"})
    EXPECT_EQ(desk.api.answer(line, 0), "");
  EXPECT_EQ(desk.ask_text(" {\"command\" : \"version\"}\r")["ok"], true);
}

TEST(RequestTest, CommandsAndFieldsMustBeKnown) {
  Desk desk;
  EXPECT_EQ(desk.refusal(Json::object()), "missing_field command");
  EXPECT_EQ(desk.refusal({{"command", 1}}), "bad_field command");
  EXPECT_EQ(desk.refusal({{"command", nullptr}}), "bad_field command");
  EXPECT_EQ(desk.refusal({{"command", ""}}), "unknown_command command");
  EXPECT_EQ(desk.refusal({{"command", "Version"}}), "unknown_command command");
  EXPECT_EQ(desk.refusal({{"command", "version"}, {"verbose", true}}), "unknown_field verbose");
  EXPECT_EQ(desk.refusal({{"command", "version"}, {std::string(60'000, 'x'), true}}), "unknown_field");
  EXPECT_EQ(desk.refusal({{"command", "set_link_state"}, {"port", 0}, {"state", "down"}, {"force", 1}}),
            "unknown_field force");
}

TEST(RequestTest, IntegersHaveTypeAndRange) {
  Desk desk;
  for (const char* port : {"1.0", "1e0", "\"1\"", "null", "true", "[1]", "99999999999999999999"}) {
    EXPECT_EQ(desk.refusal_text(R"({"command":"port_status","port":)" + std::string(port) + "}"),
              "bad_field port");
  }
  for (const char* port :
       {"-1", "5", "65536", "4294967296", "18446744073709551615", "-9223372036854775808"}) {
    EXPECT_EQ(desk.refusal_text(R"({"command":"port_status","port":)" + std::string(port) + "}"),
              "out_of_range port");
  }
  EXPECT_EQ(desk.ask_text(R"({"command":"port_status","port":-0})")["result"]["ports"][0]["port"], 0);
}

TEST(RequestTest, EveryRefusalIsUtf8) {
  Desk desk;
  const std::string unfinished = desk.api.answer("{\"command\":\"\xE2\x82", 0);
  EXPECT_FALSE(Json::parse(unfinished, nullptr, false).is_discarded()) << unfinished;
  // A quotation is cut between characters.
  for (std::size_t ascii = 0; ascii < 4; ++ascii) {
    std::string field(ascii, 'x');
    for (int i = 0; i < 40; ++i)
      field += "\xE2\x82\xAC";
    EXPECT_EQ(desk.refusal({{"command", "version"}, {field, 1}}), "unknown_field");
    EXPECT_EQ(desk.ask({{"command", "version"}, {field, 1}}).dump().find("\\ufffd"), std::string::npos);
  }
}

// --- Lines -------------------------------------------------------------------------------------------

// All lines of `text`, which comes in pieces of these lengths; "!" stands for one that is too long.
std::vector<std::string> cut(const std::string& text, std::size_t longest,
                             const std::vector<std::size_t>& pieces) {
  RequestLines lines(longest);
  std::vector<std::string> result;
  const auto collect = [&] {
    while (lines.ready()) {
      const std::optional<RequestLines::Line> line = lines.next();
      result.push_back(line->too_long ? "!" : line->text);
    }
    EXPECT_LE(lines.kept_bytes(), longest);
    EXPECT_FALSE(lines.next());
  };
  std::size_t at = 0;
  for (std::size_t i = 0; at < text.size(); ++i) {
    const std::size_t length = pieces.empty() ? text.size() : 1 + pieces[i % pieces.size()];
    lines.append(std::string_view(text).substr(at, length));
    at += length;
    collect();
  }
  lines.end();
  collect();
  return result;
}

TEST(RequestLinesTest, LinesAreCutAtNewlines) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(cut("", 4, {}), Lines{});
  EXPECT_EQ(cut("a\nbc\n", 4, {}), (Lines{"a", "bc"}));
  EXPECT_EQ(cut("\n\na", 4, {}), (Lines{"", "", "a"}));
  EXPECT_EQ(cut("abcd\nabcde\nabc", 4, {}), (Lines{"abcd", "!", "abc"}));
  EXPECT_EQ(cut("abcdefghijkl", 4, {}), (Lines{"!"}));
  EXPECT_EQ(cut("abcdefghijkl\n\nx", 4, {0}), (Lines{"!", "", "x"}));
}

RC_GTEST_PROP(RequestLinesProperty, HowBytesComeMakesNoDifference,
              (const std::vector<std::string>& words, const std::vector<unsigned char>& pieces)) {
  constexpr std::size_t kLongest = 6;
  std::string text;
  std::vector<std::string> expected;
  for (std::string word : words) {
    std::replace(word.begin(), word.end(), '\n', ' ');
    text += word + "\n";
    expected.push_back(word.size() > kLongest ? "!" : word);
  }
  RC_ASSERT(cut(text, kLongest, {pieces.begin(), pieces.end()}) == expected);
}

// Any bytes get one answer, which is JSON.
RC_GTEST_PROP(RequestProperty, AnythingIsAnswered, (std::string line)) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  Desk desk;
  const std::string text = desk.api.answer(line, 0);
  if (text.empty()) {
    RC_ASSERT(line.find_first_not_of(" \t\r") == std::string::npos);
  } else {
    RC_ASSERT(text.back() == '\n');
    RC_ASSERT(Json::parse(text, nullptr, false).is_object());
  }
}

}  // namespace
}  // namespace cnuas::live
