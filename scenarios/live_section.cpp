#include "scenarios/live_section.h"

namespace cnuas::scenarios {
namespace {

std::vector<std::uint32_t> identities(const Node* list) {
  std::vector<std::uint32_t> numbers;
  if (list == nullptr) return numbers;
  for (const Node& item : list->items)
    numbers.push_back(static_cast<std::uint32_t>(item.number));
  return numbers;
}

}  // namespace

LiveSettings read_live(const Node& scenario) {
  LiveSettings settings;
  const Node* live = scenario.get("live");
  if (live == nullptr) return settings;
  settings.allow_users = identities(live->get("allow_users"));
  settings.allow_groups = identities(live->get("allow_groups"));
  if (const Node* timeout = live->get("keepalive_timeout")) settings.keepalive_timeout_ps = timeout->number;
  return settings;
}

}  // namespace cnuas::scenarios
