#include "scenarios/traffic_section.h"

#include "scenarios/participants.h"
#include "scenarios/units.h"

#include <algorithm>
#include <string>

namespace cnuas::scenarios {
namespace {

// Bytes of all messages together: counters in all reports stay within 64 bits.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

class TrafficReader {
 public:
  TrafficReader(const Node& item, const Fabric& fabric, Diagnostics& diagnostics)
      : item_(item), fabric_(fabric), diagnostics_(diagnostics) {}

  std::optional<TrafficPhase> read() {
    const std::size_t before = diagnostics_.errors();
    read_settings();
    read_pattern();
    check_size();
    check_idle_settings();
    if (!item_.good) return std::nullopt;
    read_participants();
    if (diagnostics_.errors() != before) return std::nullopt;
    check_totals();
    if (diagnostics_.errors() != before) return std::nullopt;
    return std::move(traffic_);
  }

 private:
  void read_settings() {
    if (const Node* kind = item_.get("kind"))
      traffic_.kind = kind->text == "doorbell" ? TrafficKind::doorbell
                      : kind->text == "atomic" ? TrafficKind::atomic
                                               : TrafficKind::data;
    if (const Node* size = item_.get("size")) traffic_.size_bytes = static_cast<std::uint64_t>(size->number);
    if (const Node* messages = item_.get("messages"))
      traffic_.messages = static_cast<std::uint64_t>(messages->number);
    if (const Node* interval = item_.get("interval")) traffic_.interval_ps = interval->number;
    if (const Node* hot = item_.get("hot_fraction")) traffic_.hot_fraction = hot->fraction;
  }

  void read_pattern() {
    const Node* pattern = item_.get("traffic");
    if (!pattern) return;
    traffic_.pattern = pattern->text == "incast"    ? TrafficPattern::incast
                       : pattern->text == "uniform" ? TrafficPattern::uniform
                       : pattern->text == "hotspot" ? TrafficPattern::hotspot
                                                    : TrafficPattern::point_to_point;
  }

  void check_size() {
    const bool unclear = item_.has("kind") && !item_.get("kind");
    if (unclear) return;
    if (traffic_.kind == TrafficKind::data && !item_.has("size"))
      diagnostics_.error(item_.key_place("traffic"), "messages of data need a size",
                         "add for example 'size: 64 KiB'");
    else if (traffic_.kind != TrafficKind::data && item_.has("size"))
      diagnostics_.error(item_.key_place("size"),
                         traffic_.kind == TrafficKind::doorbell ? "a doorbell has a size of its own"
                                                                : "an atomic operation has a size of its own",
                         "remove 'size'");
  }

  void check_idle_settings() {
    if (item_.has("hot_fraction") && item_.get("traffic") && traffic_.pattern != TrafficPattern::hotspot)
      diagnostics_.warning(item_.key_place("hot_fraction"),
                           "'hot_fraction' has no effect: only a hotspot has a hot receiver");
    const bool one = !item_.has("messages") || (item_.get("messages") && traffic_.messages == 1);
    if (item_.has("interval") && one)
      diagnostics_.warning(item_.key_place("interval"), "'interval' has no effect on a single message",
                           "add for example 'messages: 100'");
  }

  void read_participants() {
    const Node& from = *item_.get("from");
    const Node& to = *item_.get("to");
    const bool paired = traffic_.pattern == TrafficPattern::point_to_point;
    traffic_.senders = read_gpus(from, fabric_, false, diagnostics_);
    traffic_.receivers = read_gpus(to, fabric_, paired, diagnostics_);
    if (traffic_.senders.empty() || traffic_.receivers.empty()) return;
    if (paired)
      check_pairs(from, to);
    else if (traffic_.pattern == TrafficPattern::incast)
      check_incast(from, to);
    else if (traffic_.receivers.size() == 1 && sends(traffic_.receivers[0]))
      diagnostics_.error(to.place, "GPU " + to_string(traffic_.receivers[0]) + " has no receiver but itself",
                         "name more receivers, or leave it out of 'from'");
  }

  bool sends(GpuId id) const {
    return std::find(traffic_.senders.begin(), traffic_.senders.end(), id) != traffic_.senders.end();
  }

  void check_pairs(const Node& from, const Node& to) {
    const std::size_t senders = traffic_.senders.size(), receivers = traffic_.receivers.size();
    if (senders != receivers) {
      diagnostics_.error(
          to.place,
          counted(senders, "sender") + " and " + counted(receivers, "receiver") + " do not make pairs",
          receivers == 1 ? "use 'traffic: incast', or list a receiver for each sender"
                         : "list a receiver for each sender");
      return;
    }
    for (std::size_t i = 0; i < senders; ++i) {
      if (traffic_.senders[i] != traffic_.receivers[i]) continue;
      const bool listed = to.kind == Node::Kind::list;
      diagnostics_.error(listed ? to.items[i].place : to.place,
                         "GPU " + to_string(traffic_.senders[i]) + " would send to itself",
                         from.text == "all" && to.text == "all"
                             ? "use 'traffic: uniform', which leaves the sender out"
                             : "the pairs are made in the order of 'from' and 'to'");
      return;
    }
  }

  void check_incast(const Node& from, const Node& to) {
    if (traffic_.receivers.size() != 1) {
      diagnostics_.error(to.place,
                         "an incast has one receiver, not " + std::to_string(traffic_.receivers.size()),
                         "name one GPU; uniform and hotspot have several receivers");
      return;
    }
    const GpuId receiver = traffic_.receivers[0];
    if (!sends(receiver)) return;
    if (from.kind == Node::Kind::scalar && from.text == "all" && traffic_.senders.size() > 1) {
      std::erase(traffic_.senders, receiver);
      return;
    }
    const auto at = std::find(traffic_.senders.begin(), traffic_.senders.end(), receiver);
    const bool listed = from.kind == Node::Kind::list;
    diagnostics_.error(
        listed ? from.items[static_cast<std::size_t>(at - traffic_.senders.begin())].place : from.place,
        "GPU " + to_string(receiver) + " would send to itself", "leave the receiver out of 'from'");
  }

  void check_totals() {
    const std::uint64_t messages = traffic_.messages * traffic_.senders.size();
    if (traffic_.size_bytes > kMostBytes / messages)
      diagnostics_.error(item_.key_place("size"),
                         std::to_string(messages) + " messages of " +
                             to_text(static_cast<std::int64_t>(traffic_.size_bytes), Quantity::size) +
                             " are more than 1 EiB in all",
                         "take a smaller size, or fewer messages");
    const auto gaps = static_cast<std::int64_t>(traffic_.messages - 1);
    if (traffic_.interval_ps && gaps > kLongestTime_ps / *traffic_.interval_ps)
      diagnostics_.error(item_.key_place("interval"), "the last message would be due after more than 1000 s",
                         "take a shorter interval, or fewer messages");
  }

  const Node& item_;
  const Fabric& fabric_;
  Diagnostics& diagnostics_;
  TrafficPhase traffic_;
};

}  // namespace

std::optional<TrafficPhase> read_traffic(const Node& item, const Fabric& fabric, Diagnostics& diagnostics) {
  return TrafficReader(item, fabric, diagnostics).read();
}

}  // namespace cnuas::scenarios
