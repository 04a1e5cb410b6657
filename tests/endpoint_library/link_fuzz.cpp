// A switch that sends anything at any time, to a link that does anything: no crash, no byte beyond a window,
// no message without a count.
//
// The input is a script. Each step is a byte that says what to do and the bytes that it takes:
//   packet    2 length, bytes             as they are
//   frame     1 type, 2 length, payload   with a header for this link
//   window    1 kind, 2 length, rest      window traffic with the tag of the link's last request
//   call      1 which                     a function of the library, without waiting

#include "core/wire/atomic.h"
#include "core/wire/frame.h"
#include "core/wire/window.h"
#include "live/endpoint/cnuaslink.h"
#include "live/posix/unix_socket.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <stdlib.h>
#include <sys/socket.h>

namespace {

using namespace cnuas;
using namespace cnuas::live;

constexpr std::uint16_t kSelf = 0x0101;
constexpr std::uint16_t kPeer = 0x0102;
constexpr std::size_t kReceiveBytes = 16 * 1024;
constexpr std::uint64_t kCanary = 0xC0FFEE00C0FFEE00;

void require(bool holds) {
  if (!holds) std::abort();
}

// One listening socket for all inputs.
class Port {
 public:
  Port() {
    char directory[] = "/tmp/cnuaslink-fuzz.XXXXXX";
    require(::mkdtemp(directory) != nullptr);
    directory_ = directory;
    Result<UniqueFd> listener = listen_at(path(), SocketKind::seqpacket, 0600);
    require(listener.has_value());
    listener_ = std::move(*listener);
  }
  ~Port() {
    ::unlink(path().c_str());
    ::rmdir(directory_.c_str());
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  std::string path() const { return directory_ + "/port_0.sock"; }
  UniqueFd accept() const {
    return UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  }

 private:
  std::string directory_;
  UniqueFd listener_;
};

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(std::as_bytes(std::span(data, size))) {}
  bool empty() const { return rest_.empty(); }
  unsigned byte() { return rest_.empty() ? 0 : std::to_integer<unsigned>(take(1)[0]); }
  std::span<const std::byte> block() {
    const std::size_t high = byte();
    const std::size_t low = byte();
    return take(high << 8 | low);
  }

 private:
  std::span<const std::byte> take(std::size_t bytes) {
    const auto first = rest_.first(std::min(bytes, rest_.size()));
    rest_ = rest_.subspan(first.size());
    return first;
  }
  std::span<const std::byte> rest_;
};

class Machine {
 public:
  explicit Machine(const Port& port) {
    open_memory_.fill(0);
    open_memory_.front() = open_memory_.back() = kCanary;
    locked_memory_.fill(kCanary);
    cnuaslink_options options;
    cnuaslink_options_init(&options, sizeof options);
    const std::string path = port.path();
    options.socket_path = path.c_str();
    options.gpu_id = kSelf;
    options.connect_timeout_ns = 0;
    options.receive_bytes = kReceiveBytes;
    options.max_doorbells = 4;
    require(cnuaslink_open(&options, &link_, nullptr) == CNUASLINK_OK);
    peer_ = port.accept();
    require(static_cast<bool>(peer_));
    require(cnuaslink_window_register(link_, 7, &open_memory_[1], (open_memory_.size() - 2) * 8, 7) ==
            CNUASLINK_OK);
    require(cnuaslink_window_register(link_, 8, locked_memory_.data(), sizeof(locked_memory_),
                                      CNUASLINK_ACCESS_GET) == CNUASLINK_OK);
  }
  ~Machine() { cnuaslink_close(link_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void step(Input& input) {
    switch (input.byte() % 4) {
      case 0:
        send(input.block());
        break;
      case 1:
        send_frame(static_cast<wire::FrameType>(1 + input.byte() % wire::kFrameTypes), input.block());
        break;
      case 2:
        send_window(input.byte(), input.block());
        break;
      case 3:
        call(input.byte());
        break;
    }
    look_at_requests();
    cnuaslink_progress(link_);
    check();
  }

 private:
  void send(std::span<const std::byte> packet) {
    ::send(peer_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void send_frame(wire::FrameType type, std::span<const std::byte> payload) {
    std::vector<std::byte> packet(wire::kHeaderBytes + payload.size());
    const wire::FrameHeader header{type, wire::ByteOrder::big, GpuId{kPeer}, GpuId{kSelf},
                                   static_cast<std::uint32_t>(payload.size())};
    if (payload.size() > wire::kMaxPayloadBytes) return;
    wire::encode(header, std::span(packet).first<wire::kHeaderBytes>());
    std::copy(payload.begin(), payload.end(), packet.begin() + wire::kHeaderBytes);
    send(packet);
  }

  void send_window(unsigned kind, std::span<const std::byte> rest) {
    if (kind % 8 == 7) {  // an answer to an atomic
      std::array<std::byte, wire::kAtomicReplyBytes> payload;
      wire::encode(wire::AtomicReply{wire::WindowStatus::ok, tag_, kind}, payload);
      return send_frame(wire::FrameType::atomic, payload);
    }
    std::vector<std::byte> payload(wire::kWindowHeadBytes + rest.size());
    std::memcpy(payload.data(), wire::kWindowMagic.data(), wire::kWindowMagic.size());
    payload[8] = std::byte{wire::kWindowVersion};
    payload[9] = static_cast<std::byte>(kind % 8);
    const bool about_a_window = kind % 8 == 2 || kind % 8 == 3;
    wire::store(&payload[10], static_cast<std::uint16_t>(about_a_window ? 7 + (kind >> 3) % 3 : 0));
    wire::store(&payload[12], kind % 8 == 1 ? std::uint32_t{0} : tag_);
    std::copy(rest.begin(), rest.end(), payload.begin() + wire::kWindowHeadBytes);
    send_frame(wire::FrameType::data, payload);
  }

  // What the link has sent: the tag of a request is remembered.
  void look_at_requests() {
    std::array<std::byte, wire::kMaxFrameBytes> packet;
    for (;;) {
      const ssize_t bytes = ::recv(peer_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
      if (bytes <= 0) return;
      const std::span<const std::byte> frame(packet.data(), static_cast<std::size_t>(bytes));
      const auto header = wire::decode(frame);
      require(header.has_value() && header->source.value == kSelf);
      const std::span<const std::byte> payload = frame.subspan(wire::kHeaderBytes);
      if (header->type == wire::FrameType::atomic) {
        if (const auto atomic = wire::decode_atomic(payload)) tag_ = atomic->tag;
      }
      if (header->type != wire::FrameType::data) continue;
      const auto traffic = wire::decode_window(payload);
      if (!traffic) continue;
      if (const auto* get = std::get_if<wire::Get>(&*traffic)) tag_ = get->tag;
      if (const auto* flush = std::get_if<wire::Flush>(&*traffic)) tag_ = flush->tag;
    }
  }

  void call(unsigned which) {
    cnuaslink_doorbell doorbell;
    cnuaslink_message message;
    const void* data = nullptr;
    switch (which % 10) {
      case 0:
        cnuaslink_recv(link_, CNUASLINK_ANY, room_.data(), room_.size(), &message, 0);
        break;
      case 1:
        if (cnuaslink_borrow(link_, kPeer, &data, &message, 0) == CNUASLINK_OK) borrowed_.push_back(data);
        break;
      case 2:
        if (borrowed_.empty()) break;
        cnuaslink_give_back(link_, borrowed_.back());
        borrowed_.pop_back();
        break;
      case 3:
        cnuaslink_doorbell_recv(link_, CNUASLINK_ANY, &doorbell, 0);
        break;
      case 4:
        cnuaslink_get_nbi(link_, kPeer, 1, which, gotten_.data() + 8, gotten_.size() - 16, 0);
        break;
      case 5:
        cnuaslink_atomic(link_, kPeer, 1, 8, which % 8, 1, 0, nullptr, 0);
        break;
      case 6:
        cnuaslink_put(link_, kPeer, 1, which, room_.data(), 1 + which, 0);
        break;
      case 7:
        cnuaslink_flush(link_, kPeer, 0);
        break;
      case 8:
        cnuaslink_send(link_, kPeer, room_.data(), which, 0);
        break;
      case 9:
        cnuaslink_fd(link_);
        break;
    }
  }

  void check() {
    require(open_memory_.front() == kCanary && open_memory_.back() == kCanary);
    require(std::all_of(locked_memory_.begin(), locked_memory_.end(),
                        [](std::uint64_t each) { return each == kCanary; }));
    require(std::all_of(gotten_.begin(), gotten_.begin() + 8,
                        [](std::byte each) { return each == std::byte{0}; }));
    require(
        std::all_of(gotten_.end() - 8, gotten_.end(), [](std::byte each) { return each == std::byte{0}; }));
    cnuaslink_state state;
    state.struct_bytes = sizeof(state);
    require(cnuaslink_status(link_, &state) == CNUASLINK_OK);
    const cnuaslink_counters& counters = state.counters;
    require(counters.messages_received ==
            counters.messages_taken + counters.messages_dropped + state.held_messages);
    require(state.held_doorbells <= 4);
    require(state.held_bytes <= kReceiveBytes + 16 * (wire::kMaxFrameBytes + 256));
  }

  cnuaslink* link_ = nullptr;
  UniqueFd peer_;
  std::uint32_t tag_ = 1;
  std::array<std::uint64_t, 66> open_memory_;
  std::array<std::uint64_t, 16> locked_memory_;
  std::array<std::byte, 4096> room_{};
  std::array<std::byte, 256> gotten_{};  // the first and the last eight bytes are nobody's to write
  std::vector<const void*> borrowed_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Port port;
  Input input(data, size);
  Machine machine(port);
  while (!input.empty())
    machine.step(input);
  return 0;
}
