// Requests and answers as JSON values.
#pragma once

#include "live/management/management_api.h"
#include "tests/management/fake_switch.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cnuas::live {

using Json = nlohmann::json;

// A switch and those who ask it.
struct Desk {
  explicit Desk(const fabric_switch::SwitchConfig& config = small_rack()) : managed(config) {}

  Json ask_text(const std::string& line) {
    const std::string text = api.answer(line, managed.now);
    EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
    Json answer = Json::parse(text, nullptr, false);
    EXPECT_TRUE(answer.is_object()) << text;
    return answer;
  }
  Json ask(const Json& request) { return ask_text(request.dump()); }

  // The result of a request that must be well.
  Json result(const Json& request) {
    Json answer = ask(request);
    EXPECT_EQ(answer["ok"], true) << answer;
    return answer["result"];
  }
  Json result(const char* command) { return result(Json{{"command", command}}); }

  // "code field", or "code" alone, of a request that must be refused and change nothing.
  std::string refusal_text(const std::string& line) {
    const int before = managed.changes;
    Json answer = ask_text(line);
    EXPECT_EQ(answer["ok"], false) << line << "\n" << answer;
    EXPECT_FALSE(answer.contains("result")) << answer;
    EXPECT_EQ(managed.changes, before) << line;
    Json& error = answer["error"];
    EXPECT_NE(error.value("message", ""), "") << answer;
    const std::string field = error.value("field", "");
    return error.value("code", "?") + (field.empty() ? "" : " " + field);
  }
  std::string refusal(const Json& request) { return refusal_text(request.dump()); }

  FakeSwitch managed;
  ManagementApi api{managed};
};

}  // namespace cnuas::live
