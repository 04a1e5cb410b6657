#include "tests/switch/machine.h"

#include "core/switch/switch.h"
#include "tests/switch/conservation.h"
#include "tests/switch/reference_switch.h"

#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace cnuas::fabric_switch {
namespace {

// Zeros after the end.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool end() const { return at_ >= bytes_.size(); }
  unsigned next() { return end() ? 0 : bytes_[at_++]; }
  unsigned below(unsigned bound) { return next() % bound; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// One to eight ports with small queues, so that little is needed to fill them.
SwitchConfig configuration(Bytes& bytes) {
  SwitchConfig config;
  config.name = "machine";
  config.rack = bytes.below(3);  // 0: any
  const unsigned gpus = bytes.below(6);
  const unsigned links = bytes.below(3) + (gpus == 0 ? 1 : 0);
  config.ports.resize(gpus + links);
  const unsigned expected = bytes.next();
  for (unsigned i = 0; i < gpus + links; ++i) {
    PortConfig& port = config.ports[i];
    port.role = i < gpus ? PortRole::gpu : PortRole::inter_switch;
    port.queue_bytes = std::array{1u, 30u, 100u, 1000u}[bytes.below(4)];
    const unsigned rack = config.rack == 0 ? 1 : config.rack;
    if (i < gpus && (expected >> i & 1) != 0)
      port.expected = GpuId{static_cast<std::uint16_t>(rack << 8 | i)};
  }
  if (links > 0 && bytes.below(2) == 0) config.uplink = static_cast<int>(gpus);
  config.stall_timeout_ps = std::array{0, 100, 1000}[bytes.below(3)];
  config.keepalive_timeout_ps = std::array{0, 150, 3000}[bytes.below(3)];
  config.overrun_bytes = std::array{0u, 50u, 500u}[bytes.below(3)];
  return config;
}

class Machine {
 public:
  explicit Machine(Bytes& bytes) : Machine(bytes, configuration(bytes)) {}

  std::string run() {
    for (unsigned steps = 1; !bytes_.end(); ++steps) {
      if (std::string wrong = step(); !wrong.empty()) return wrong;
      if (steps % 32 != 0) continue;
      if (std::string wrong = compare_tables(); !wrong.empty()) return wrong;
    }
    for (PortIndex port = 0; port < real_.ports(); ++port) {
      begin("the end");
      link(port, false);
      if (std::string wrong = compare(); !wrong.empty()) return wrong;
    }
    if (std::string wrong = compare_tables(); !wrong.empty()) return wrong;
    if (!outstanding_.empty()) return "a buffer was not given back";
    if (real_.shared_buffers() != 0 || real_.queued_frames() != 0 || real_.fdb().size() != 0) {
      return "something is left in a switch without links";
    }
    return "";
  }

 private:
  Machine(Bytes& bytes, const SwitchConfig& config)
      : bytes_(bytes), real_(*Switch::create(config)), model_(config) {
    begin("the start");
    for (PortIndex port = 0; port < real_.ports(); ++port)
      link(port, true);
  }

  std::string step() {
    const unsigned operation = bytes_.below(16);
    const auto port = static_cast<PortIndex>(bytes_.below(static_cast<unsigned>(real_.ports())));
    switch (operation) {
      default:
        begin("receive"), receive(port);
        break;
      case 8:
        begin("receive bytes"), receive_bytes(port);
        break;
      case 9:
        begin("burst"), burst(port);
        break;
      case 10:
      case 11:
        begin("pop"), pop(port, bytes_.below(4) + 1);
        break;
      case 12:
        begin("time"), pass();
        break;
      case 13:
        begin("link"), link(port, bytes_.below(3) > 0);
        break;
      case 14:
        begin("admin"), admin(port, bytes_.below(3) > 0);
        break;
      case 15:
        begin("unstall"), unstall_or_clear(port);
        break;
    }
    return compare();
  }

  void begin(const char* operation) {
    operation_ = operation;
    out_.clear();
    model_.actions.clear();
  }

  // --- Operations -----------------------------------------------------------------------------------------

  wire::FrameHeader some_header(PortIndex port) {
    const unsigned choice = bytes_.next();
    const unsigned rack = real_.config().rack == 0 ? 1 : real_.config().rack;
    wire::FrameHeader header;
    header.type = static_cast<wire::FrameType>(choice % 8 == 0 ? 1 : choice % 8);
    header.order = (choice & 8) != 0 ? wire::ByteOrder::little : wire::ByteOrder::big;
    const bool is_link = real_.config().ports[port].role == PortRole::inter_switch;
    header.source =
        (choice & 0x30) == 0 ? some_gpu() : named(is_link ? rack + 1 : rack, is_link ? choice >> 6 : port);
    header.destination = some_gpu();
    header.payload_bytes = std::array{0u, 1u, 8u, 40u}[choice >> 6];
    return header;
  }
  static GpuId named(unsigned rack, unsigned slot) {
    return GpuId{static_cast<std::uint16_t>(rack << 8 | slot)};
  }
  GpuId some_gpu() {
    const unsigned choice = bytes_.next();
    if (choice % 8 == 7) return kBroadcast;
    if (choice == 0) return kNoGpu;
    return named(1 + choice / 8 % 3, choice % 8);
  }

  BufferId new_buffer() {
    outstanding_.insert(++buffers_);
    return buffers_;
  }

  void receive(PortIndex port) { receive(port, some_header(port)); }
  void receive(PortIndex port, const wire::FrameHeader& header) {
    const BufferId buffer = new_buffer();
    real_.receive(port, FrameRef{header, buffer}, now_, out_);
    model_.receive(port, header, buffer, now_);
  }
  void burst(PortIndex port) {
    const wire::FrameHeader header = some_header(port);
    for (unsigned left = bytes_.below(32); left > 0; --left)
      receive(port, header);
  }
  void receive_bytes(PortIndex port) {
    const wire::FrameHeader header = some_header(port);
    std::vector<std::byte> message(wire::kHeaderBytes + header.payload_bytes);
    wire::encode(header, std::span(message).first<wire::kHeaderBytes>());
    const unsigned place = bytes_.next();
    const auto value = static_cast<std::byte>(bytes_.next());
    if (place < message.size()) message[place] = value;
    if (place >= 128) message.resize(place % 16);
    const BufferId buffer = new_buffer();
    real_.receive(port, message, buffer, now_, out_);
    model_.receive(port, wire::decode(message), buffer, now_);
  }
  void pop(PortIndex port, unsigned count) {
    for (; count > 0; --count) {
      real_.pop(port, now_, out_);
      model_.pop(port, now_);
    }
  }
  void pass() {
    const unsigned span = bytes_.next();
    now_ += span < 128 ? span : (span - 127) * 16;
    if (real_.next_deadline() > now_) {
      if (model_.deadline() <= now_) late_ = true;
      return;
    }
    real_.on_deadline(now_, out_);
    model_.on_deadline(now_);
    if (real_.next_deadline() != model_.deadline()) late_ = true;
  }
  void link(PortIndex port, bool up) {
    if (up) {
      real_.link_up(port, now_, out_);
    } else {
      real_.link_down(port, now_, out_);
    }
    model_.link(port, up, now_);
  }
  void admin(PortIndex port, bool up) {
    real_.set_admin_state(port, up, now_, out_);
    model_.admin(port, up, now_);
  }
  void unstall_or_clear(PortIndex port) {
    if (bytes_.below(4) == 0) {
      real_.clear_counters();
      model_.clear_counters();
      return;
    }
    real_.unstall(port, now_, out_);
    model_.unstall(port, now_);
  }

  // --- What must hold after each --------------------------------------------------------------------------

  std::string compare() {
    const auto wrong = [this](const std::string& what) {
      return std::string("after ") + operation_ + ", " + std::to_string(now_) + " ps: " + what;
    };
    if (out_.ready != model_.actions.ready) return wrong("ready");
    if (out_.paused != model_.actions.paused) return wrong("paused");
    if (out_.resumed != model_.actions.resumed) return wrong("resumed");
    if (out_.released != model_.actions.released) return wrong("released");
    for (const BufferId buffer : out_.released) {
      if (outstanding_.erase(buffer) != 1) return wrong("a buffer was given back twice");
    }
    if (late_ || real_.next_deadline() > model_.deadline()) return wrong("a deadline is late");
    for (PortIndex port = 0; port < real_.ports(); ++port) {
      if (std::string what = compare(port); !what.empty())
        return wrong(what + " of port " + std::to_string(port));
    }
    return "";
  }

  // What is too much to look at after each operation.
  std::string compare_tables() {
    const auto wrong = [this](const std::string& what) {
      return std::string("until ") + operation_ + ": " + what;
    };
    std::map<GpuId, PortIndex> fdb;
    for (const FdbEntry& entry : real_.fdb().entries())
      fdb[entry.gpu] = entry.port;
    if (fdb != model_.fdb()) return wrong("FDB");
    for (PortIndex port = 0; port < real_.ports(); ++port) {
      const PortCounters& counters = real_.counters(port);
      if (counters.rx_drops != model_.drops(port).rx) return wrong("received drops");
      if (counters.tx_drops != model_.drops(port).tx) return wrong("drops to be sent");
    }
    if (std::string law = conservation_violation(real_); !law.empty()) return wrong("conservation: " + law);
    return "";
  }

  std::string compare(PortIndex index) {
    const Switch::PortStatus status = real_.status(index);
    const ReferenceSwitch::Port& port = model_.port(index);
    if (status.admin_up != port.admin_up || status.link_up != port.link_up) return "state";
    if (status.stalled != port.stalled) return "stalled";
    if (status.ingress_paused != model_.paused(index)) return "pause";
    if (status.gpu != port.gpu || status.order != port.order) return "GPU or byte order";
    if (status.queued_frames != port.queue.size()) return "length of the queue";
    if (status.queued_bytes != model_.queued_bytes(index)) return "bytes in the queue";
    const FrameRef* front = real_.front(index);
    if ((front == nullptr) != port.queue.empty()) return "front";
    if (front != nullptr && front->buffer != port.queue.front().buffer) return "buffer of the front";
    if (front != nullptr && front->header != port.queue.front().header) return "header of the front";
    return "";
  }

  Bytes& bytes_;
  Switch real_;
  ReferenceSwitch model_;
  Actions out_;
  Picoseconds now_ = 0;
  BufferId buffers_ = 0;
  std::set<BufferId> outstanding_;  // given to the switch and not back yet
  bool late_ = false;
  const char* operation_ = "";
};

}  // namespace

std::string run_machine(std::span<const std::uint8_t> bytes) {
  Bytes reader(bytes);
  return Machine(reader).run();
}

}  // namespace cnuas::fabric_switch
