// Any bytes, as a client's stream: every request gets one answer, which is one line of JSON, and a refused
// request has changed nothing.

#include "live/management/management_api.h"
#include "live/management/request_lines.h"
#include "tests/management/fake_switch.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

namespace {

using namespace cnuas;
using namespace cnuas::live;

[[noreturn]] void die(const char* what, const std::string& line, const std::string& answer) {
  std::fprintf(stderr, "%s\nrequest: %s\nanswer: %s\n", what, line.c_str(), answer.c_str());
  std::abort();
}

void check(const std::string& line, const std::string& answer, int changes) {
  if (answer.empty()) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) die("no answer", line, answer);
    return;
  }
  if (answer.find('\n') != answer.size() - 1) die("not one line", line, answer);
  const nlohmann::json json = nlohmann::json::parse(answer, nullptr, false);
  if (!json.is_object() || !json.contains("ok") || !json["ok"].is_boolean()) die("no answer", line, answer);
  const bool ok = json["ok"];
  if (json.contains("result") != ok || json.contains("error") == ok)
    die("neither well nor refused", line, answer);
  // The group table itself may refuse a member that stands twice, or be full.
  const bool by_table = !ok && line.find("group_create") != std::string::npos;
  if (!ok && changes != 0 && !by_table) die("refused, and changed something", line, answer);
  if (!ok && json["error"].value("code", "") == "internal") die("not foreseen", line, answer);
}

FakeSwitch busy_switch() {
  FakeSwitch managed;
  managed.connect(0);
  managed.connect(1);
  managed.connect(4);
  managed.receive(4, wire::FrameType::discovery, GpuId{0x0201}, kBroadcast);
  managed.receive(0, wire::FrameType::data, GpuId{0x0101}, GpuId{0x0102}, 10);
  managed.drain(1);
  managed.receive(0, wire::FrameType::data, GpuId{0x0101}, GpuId{0x0109}, 10);
  return managed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FakeSwitch managed = busy_switch();
  ManagementApi api(managed);
  RequestLines lines(kLongestRequest);
  lines.append(std::string_view(reinterpret_cast<const char*>(data), size));
  lines.end();
  while (const std::optional<RequestLines::Line> line = lines.next()) {
    const int before = managed.changes;
    managed.now += kMillisecond;
    const std::string answer = api.answer(line->text, managed.now);
    check(line->text, answer, managed.changes - before);
  }
  return 0;
}
