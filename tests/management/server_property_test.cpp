// Clients that do anything, in any order: whoever stays gets one answer for each line, in order, and whoever
// goes leaves nothing behind.

#include "tests/management/desk_server.h"

#include <deque>

#include <rapidcheck/gtest.h>

namespace cnuas::live {
namespace {

// One client, what it has still to say, and which answers it is owed.
struct Talker {
  explicit Talker(const std::string& path) : caller(path) {}

  Caller caller;
  std::string unsent;
  std::vector<int> owed;  // by id; -1: a refusal without one
  std::size_t got = 0;
  bool said_all = false;
  bool gone = false;
};

struct Deed {
  std::uint8_t who = 0;
  std::uint8_t what = 0;
  std::uint16_t amount = 0;
};

void add_request(Talker& talker, std::uint16_t kind, int id) {
  const std::string number = std::to_string(id);
  switch (kind % 6) {
    case 0:
      talker.unsent += R"({"command":"version","id":)" + number + "}\n";
      break;
    case 1:
      talker.unsent += R"({"command":"telemetry_dump","id":)" + number + "}\n";
      break;
    case 2:
      talker.unsent += R"({"command":"set_link_state","port":0,"state":"down","id":)" + number + "}\n";
      break;
    case 3:
      talker.unsent += R"({"command":"no such thing","id":)" + number + "}\n";
      break;
    case 4:
      talker.unsent += "\n" + std::string(70'000, 'x') + "\n";
      id = -1;
      break;
    case 5:
      talker.unsent += std::string(5'000, '[') + "\n";
      id = -1;
      break;
  }
  talker.owed.push_back(id);
}

void say(Talker& talker, std::size_t most) {
  if (talker.gone || talker.said_all || talker.unsent.empty()) return;
  const ssize_t sent = talker.caller.send(std::string_view(talker.unsent).substr(0, most));
  if (sent > 0) talker.unsent.erase(0, static_cast<std::size_t>(sent));
}

void hear(Talker& talker) {
  if (talker.gone) return;
  talker.caller.listen();
  while (talker.caller.lines() > 0) {
    const nlohmann::json answer = talker.caller.take();
    RC_ASSERT(talker.got < talker.owed.size());
    const int id = talker.owed[talker.got++];
    if (id < 0) {
      RC_ASSERT(!answer.contains("id") && answer["ok"] == false);
    } else {
      RC_ASSERT(answer["id"] == id);
    }
  }
}

void act(Talker& talker, const Deed& deed, int& next_id) {
  switch (deed.what % 8) {
    case 0:
    case 1:
    case 2:
      if (!talker.said_all && !talker.gone) add_request(talker, deed.amount, next_id++);
      break;
    case 3:
      say(talker, 1 + deed.amount % 7);
      break;
    case 4:
      say(talker, 1 + deed.amount);
      break;
    case 5:
      hear(talker);
      break;
    case 6:
      if (deed.amount % 4 == 0 && talker.unsent.empty() && !talker.gone) {
        talker.caller.end_sending();
        talker.said_all = true;
      }
      break;
    case 7:
      if (deed.amount % 8 == 0) {
        talker.caller.hang_up();
        talker.gone = true;
      }
      break;
  }
}

RC_GTEST_PROP(ManagementServerProperty, WhoeverStaysIsAnswered, ()) {
  const auto deeds = *rc::gen::container<std::vector<Deed>>(
      rc::gen::build<Deed>(rc::gen::set(&Deed::who), rc::gen::set(&Deed::what),
                           rc::gen::set(&Deed::amount, rc::gen::inRange<std::uint16_t>(0, 65535))));
  ManagementLimits limits;
  limits.slice_ps = 0;
  limits.stuck_ps = kNever / 2;
  DeskServer desk(limits);
  std::deque<Talker> talkers;
  for (int i = 0; i < 4; ++i)
    talkers.emplace_back(desk.path);
  int next_id = 0;
  for (const Deed& deed : deeds) {
    act(talkers[deed.who % talkers.size()], deed, next_id);
    RC_ASSERT(desk.loop.run_once(monotonic_now()).has_value());
  }
  const auto content = [](const Talker& talker) {
    return talker.gone || (talker.unsent.empty() && talker.got == talker.owed.size());
  };
  RC_ASSERT(desk.run_until([&] {
    for (Talker& talker : talkers) {
      say(talker, talker.unsent.size());
      hear(talker);
    }
    return std::all_of(talkers.begin(), talkers.end(), content);
  }));
  for (Talker& talker : talkers)
    talker.caller.hang_up();
  RC_ASSERT(desk.run_until_clients(0));
}

}  // namespace
}  // namespace cnuas::live
