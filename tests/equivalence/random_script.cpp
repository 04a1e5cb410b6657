#include "tests/equivalence/random_script.h"

#include "core/engine/random.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cnuas::equivalence {

namespace {

constexpr std::uint64_t kMostBytesASend = 48 * 1024;

class Generator {
 public:
  Generator(const Fabric& fabric, std::uint64_t seed)
      : fabric_(fabric),
        random_(seed),
        connected_(fabric.gpus.size(), false),
        stopped_(fabric.gpus.size(), false),
        admin_up_(fabric.gpus.size(), true),
        spoken_(fabric.gpus.size(), wire::ByteOrder::big) {
    for (const Switch& each : fabric.switches) {
      budget_ = std::min(budget_, each.port_buffer_bytes / 4 * 3);
      may_stop_ = may_stop_ && (holds_queues(fabric) ||
                                (each.stall_timeout_ps > 0 && each.stall_timeout_ps <= kLongestWatch));
    }
    room_ = budget_;
  }

  // Most GPUs are there from the start.
  void begin(std::vector<Step>& steps) {
    for (GpuIndex gpu = 0; gpu < connected_.size(); ++gpu) {
      if (chance(4, 5)) steps.push_back(connect(gpu));
    }
  }

  Step next() {
    for (;;) {
      const std::uint64_t draw = random_.below(100);
      std::optional<Step> step = draw < 10   ? flood()
                                 : draw < 55 ? send()
                                 : draw < 60 ? together()
                                 : draw < 68 ? come()
                                 : draw < 73 ? leave()
                                 : draw < 81 ? set_port()
                                 : draw < 89 ? group()
                                 : draw < 92 ? clear()
                                             : reader();
      if (step) return std::move(*step);
    }
  }

 private:
  bool chance(std::uint64_t part, std::uint64_t of) { return random_.below(of) < part; }
  GpuIndex any_gpu() { return static_cast<GpuIndex>(random_.below(fabric_.gpus.size())); }
  SwitchIndex any_switch() { return static_cast<SwitchIndex>(random_.below(fabric_.switches.size())); }
  std::optional<GpuIndex> any_of(const std::vector<bool>& set, bool wanted) {
    std::vector<GpuIndex> candidates;
    for (GpuIndex gpu = 0; gpu < set.size(); ++gpu) {
      if (set[gpu] == wanted) candidates.push_back(gpu);
    }
    if (candidates.empty()) return std::nullopt;
    return candidates[random_.below(candidates.size())];
  }
  bool some_stopped() const { return std::find(stopped_.begin(), stopped_.end(), true) != stopped_.end(); }

  Step connect(GpuIndex gpu) {
    connected_[gpu] = true;
    spoken_[gpu] = wire::ByteOrder::big;
    return {0, Connect{gpu, chance(4, 5)}};
  }
  std::optional<Step> come() {
    const std::optional<GpuIndex> gpu = any_of(connected_, false);
    if (!gpu) return std::nullopt;
    return connect(*gpu);
  }
  std::optional<Step> leave() {
    const std::optional<GpuIndex> gpu = any_of(connected_, true);
    if (!gpu) return std::nullopt;
    connected_[*gpu] = stopped_[*gpu] = false;
    return Step{0, Disconnect{*gpu}};
  }
  std::optional<Step> reader() {
    if (!may_stop_) return std::nullopt;
    const bool go = chance(1, 2);
    const std::optional<GpuIndex> gpu = go ? any_of(stopped_, true) : any_of(connected_, true);
    if (!gpu || stopped_[*gpu] != go) return std::nullopt;
    stopped_[*gpu] = !go;
    return Step{0, SetReader{*gpu, go}};
  }
  std::optional<Step> set_port() {
    const bool up = chance(2, 3);  // ports are up more often than not
    const GpuIndex gpu = any_gpu();
    if (!fabric_.cables.empty() && chance(1, 4)) return Step{0, SetPort{any_switch(), std::nullopt, up}};
    admin_up_[gpu] = up;
    if (!up) spoken_[gpu] = wire::ByteOrder::big;
    return Step{0, SetPort{fabric_.gpus[gpu].attached, gpu, up}};
  }
  std::optional<Step> clear() { return Step{0, ClearTelemetry{any_switch()}}; }

  std::optional<Step> group() {
    const std::string name = "group" + std::to_string(random_.below(6));
    if (chance(2, 5)) return Step{0, DeleteGroup{any_switch(), name}};
    CreateGroup created{any_switch(), name, {}};
    for (std::uint64_t left = 1 + random_.below(5); left > 0; --left)
      created.members.push_back(any_id());  // perhaps one twice
    return Step{0, created};
  }

  // --- messages ---

  GpuId any_id() {
    if (chance(5, 6)) return fabric_.gpus[any_gpu()].id;
    return GpuId{static_cast<std::uint16_t>(1 + random_.below(0xFFFE))};  // nobody, most likely
  }

  std::uint32_t payload(wire::FrameType type) {
    if (type == wire::FrameType::doorbell) return 8;
    if (type == wire::FrameType::discovery || type == wire::FrameType::keepalive)
      return static_cast<std::uint32_t>(random_.below(3) * 4);
    const std::uint64_t draw = random_.below(20);
    return static_cast<std::uint32_t>(random_.below(draw < 12 ? 200 : draw < 19 ? 4096 : 40'000));
  }

  WellFormed well_formed(GpuIndex from) {
    WellFormed frame;
    frame.type = chance(1, 2) ? wire::FrameType::data
                              : static_cast<wire::FrameType>(1 + random_.below(wire::kFrameTypes));
    frame.source = chance(1, 15) ? any_id() : fabric_.gpus[from].id;
    frame.destination = chance(1, 6) ? kBroadcast : any_id();
    frame.payload_bytes = payload(frame.type);
    frame.order = spoken_[from];
    return frame;
  }

  Malformed malformed() {
    Malformed message;
    message.wrong = static_cast<wire::FrameError>(random_.below(wire::kFrameErrors));
    if (message.wrong == wire::FrameError::short_header)
      message.bytes = static_cast<std::uint32_t>(1 + random_.below(wire::kHeaderBytes - 1));
    if (message.wrong == wire::FrameError::oversize)
      message.bytes = static_cast<std::uint32_t>(wire::kMaxFrameBytes + 1 + random_.below(1000));
    if (message.wrong == wire::FrameError::length_mismatch)
      message.bytes = static_cast<std::uint32_t>(17 + random_.below(100'000));
    return message;
  }

  // A frame with some of its header's bytes changed, or cut short; it may be well-formed all the same.
  RawBytes raw(GpuIndex from) {
    WellFormed frame = well_formed(from);
    frame.payload_bytes = static_cast<std::uint32_t>(1 + random_.below(20));
    RawBytes message{message_bytes(Send{from, frame}, random_.next())};
    for (std::uint64_t left = random_.below(3); left > 0; --left)
      message.bytes[random_.below(wire::kHeaderBytes)] = static_cast<std::byte>(random_.below(256));
    if (chance(1, 4)) message.bytes.resize(1 + random_.below(message.bytes.size()));
    return message;
  }

  Send message_from(GpuIndex from) {
    Send send;
    send.from = from;
    const std::uint64_t draw = random_.below(10);
    if (draw < 8) {
      send.what = well_formed(from);
    } else if (draw < 9) {
      send.what = malformed();
    } else {
      send.what = raw(from);
    }
    const std::uint64_t bytes = std::max<std::uint64_t>(1, message_bytes(send, 0).size());
    send.repeat = static_cast<std::uint32_t>(std::max<std::uint64_t>(
        1, std::min(kMostBytesASend / bytes, chance(1, 3) ? 1 + random_.below(40) : 1)));
    return send;
  }

  std::optional<Step> send() {
    const std::optional<GpuIndex> from = any_of(connected_, true);
    if (!from) return std::nullopt;
    Send made = message_from(*from);
    if (chance(1, 4)) change_order(made);
    if (!spend(made)) return std::nullopt;
    return Step{0, Sends{{made}}};
  }

  // More than a socket takes, for a reader that has stopped.
  std::optional<Step> flood() {
    const std::optional<GpuIndex> reader = any_of(stopped_, true);
    const std::optional<GpuIndex> from = any_of(connected_, true);
    if (!reader || !from || reader == from) return std::nullopt;
    WellFormed frame{wire::FrameType::data, fabric_.gpus[*from].id, fabric_.gpus[*reader].id};
    frame.payload_bytes = static_cast<std::uint32_t>(2000 + random_.below(4000));
    frame.order = spoken_[*from];
    const Send made{*from, frame, static_cast<std::uint32_t>(10 + random_.below(25))};
    if (!spend(made)) return std::nullopt;
    return Step{0, Sends{{made}}};
  }

  // Only where nobody else sends: what the sender gets meanwhile would be in either order.
  void change_order(Send& made) {
    auto* frame = std::get_if<WellFormed>(&made.what);
    if (frame == nullptr || frame->source != fabric_.gpus[made.from].id || !admin_up_[made.from]) return;
    frame->order = frame->order == wire::ByteOrder::big ? wire::ByteOrder::little : wire::ByteOrder::big;
    spoken_[made.from] = frame->order;
  }

  // What may be left in the queue of a reader that has stopped: never so much that senders have to wait.
  bool spend(const Send& made) {
    if (!holds_queues(fabric_) || !some_stopped()) room_ = budget_;
    if (!some_stopped()) return true;
    const std::uint64_t bytes = made.repeat * std::uint64_t{message_bytes(made, 0).size()};
    if (bytes > room_) return false;
    room_ -= bytes;
    return true;
  }

  std::optional<Step> together() {
    if (some_stopped()) return std::nullopt;
    Sends sends;
    for (GpuIndex gpu = 0; gpu < connected_.size(); ++gpu) {
      if (connected_[gpu] && chance(1, 3)) sends.sends.push_back(message_from(gpu));
    }
    if (sends.sends.empty()) return std::nullopt;
    return Step{0, sends};
  }

  const Fabric& fabric_;
  Random random_;
  std::vector<bool> connected_;
  std::vector<bool> stopped_;
  std::vector<bool> admin_up_;
  std::vector<wire::ByteOrder> spoken_;  // what the switch takes for each GPU's byte order
  std::uint64_t budget_ = kMostBytesASend * 4;
  std::uint64_t room_ = 0;
  bool may_stop_ = true;
};

}  // namespace

Script random_script(const Fabric& fabric, const std::string& fabric_path, std::uint64_t seed,
                     std::size_t steps) {
  Script script;
  script.name = "seed " + std::to_string(seed);
  script.fabric = fabric;
  script.fabric_path = fabric_path;
  script.send_buffer = 33'024;  // the least there is: a reader's socket is soon full
  Generator generator(script.fabric, seed);
  generator.begin(script.steps);
  while (script.steps.size() < steps)
    script.steps.push_back(generator.next());
  return script;
}

}  // namespace cnuas::equivalence
