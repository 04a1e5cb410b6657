// The functions of cnuaslink.h: arguments are checked here, and no exception goes beyond.
#include "live/abi/growing_struct.h"
#include "live/endpoint/cnuaslink.h"
#include "live/endpoint/link.h"
#include "live/endpoint/link_options.h"
#include "live/endpoint/management_query.h"
#include "live/posix/os_error.h"

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

using namespace cnuas;
using namespace cnuas::live;
using namespace cnuas::live::endpoint;

struct cnuaslink {
  std::unique_ptr<Link> link;
};

namespace {

template <class Call>
cnuaslink_result guarded(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return CNUASLINK_NO_MEMORY;
  } catch (const std::exception&) {
    return CNUASLINK_SYSTEM;
  }
}

Failure guarded_open(const cnuaslink_options& given, std::unique_ptr<Link>& out) noexcept {
  try {
    LinkOptions options;
    if (Failure failure = check(given, options); failure.result != CNUASLINK_OK) return failure;
    return Link::open(options, out);
  } catch (const std::bad_alloc&) {
    return {CNUASLINK_NO_MEMORY, 0, {}};
  } catch (const std::system_error& error) {  // no thread to be had
    return {CNUASLINK_SYSTEM, error.code().value(), {}};
  }
}

// A GPU other than this one.
bool is_peer(const Link& link, std::uint16_t id) {
  return GpuId{id}.usable() && GpuId{id} != link.id();
}

bool is_destination(const Link& link, std::uint16_t id) {
  return GpuId{id} == kBroadcast || is_peer(link, id);
}

// A source to take from: a GPU or any.
bool is_source(std::uint16_t id) {
  return GpuId{id} != kBroadcast;
}

bool carries_messages(const Link& link, unsigned type) {
  switch (type) {
    case CNUASLINK_DATA:
    case CNUASLINK_COLLECTIVE_REDUCE:
    case CNUASLINK_COLLECTIVE_GATHER:
      return true;
    case CNUASLINK_ATOMIC:
      return link.raw();
  }
  return false;
}

cnuaslink_result check(const Link& link, std::uint16_t peer, unsigned type, std::span<const iovec> pieces) {
  if (!is_destination(link, peer) || !carries_messages(link, type)) return CNUASLINK_INVALID_ARGUMENT;
  std::size_t room = link.max_message();
  for (const iovec& each : pieces) {
    if (each.iov_base == nullptr && each.iov_len > 0) return CNUASLINK_INVALID_ARGUMENT;
    if (each.iov_len > room) return CNUASLINK_TOO_LARGE;
    room -= each.iov_len;
  }
  const bool wrapped = room < wire::kWindowHeadBytes && link.must_be_wrapped(GpuId{peer}, type, pieces);
  return wrapped ? CNUASLINK_TOO_LARGE : CNUASLINK_OK;
}

cnuaslink_result check(const Link& link, const cnuaslink_outgoing& message) {
  const iovec whole{const_cast<void*>(message.data), message.bytes};
  return check(link, message.peer, message.type, {&whole, 1});
}

cnuaslink_result check(const Link& link, const cnuaslink_pieces& message) {
  if ((message.pieces == nullptr && message.count > 0) || message.count > CNUASLINK_MOST_PIECES)
    return CNUASLINK_INVALID_ARGUMENT;
  return check(link, message.peer, CNUASLINK_DATA, {message.pieces, message.count});
}

// Sends the messages before the first that is not valid, and says what is wrong with that one.
template <class Message>
cnuaslink_result send_valid(cnuaslink* link, const Message* messages, std::size_t count, std::size_t* sent,
                            std::int64_t timeout_ns) {
  if (sent != nullptr) *sent = 0;
  if (link == nullptr || (messages == nullptr && count > 0)) return CNUASLINK_INVALID_ARGUMENT;
  std::size_t valid = 0;
  cnuaslink_result invalid = CNUASLINK_OK;
  while (valid < count && (invalid = check(*link->link, messages[valid])) == CNUASLINK_OK)
    ++valid;
  std::size_t done = 0;
  cnuaslink_result result = CNUASLINK_OK;
  if (valid > 0)
    result = guarded([&] { return link->link->send(std::span(messages, valid), done, timeout_ns); });
  if (sent != nullptr) *sent = done;
  return result == CNUASLINK_OK ? invalid : result;
}

// Whether `bytes` at `offset` may be asked of a peer's window: what no window can have is refused here.
cnuaslink_result check_request(const cnuaslink* link, std::uint16_t peer, std::uint64_t offset,
                               std::uint64_t bytes, const void* data) {
  if (link == nullptr || !is_peer(*link->link, peer) || (data == nullptr && bytes > 0))
    return CNUASLINK_INVALID_ARGUMENT;
  if (link->link->raw()) return CNUASLINK_UNSUPPORTED;
  if (offset > wire::kMostWindowBytes || bytes > wire::kMostWindowBytes - offset)
    return CNUASLINK_OUT_OF_BOUNDS;
  return CNUASLINK_OK;
}

cnuaslink_result get(cnuaslink* link, uint16_t peer, uint16_t window, uint64_t offset, void* data,
                     size_t bytes, bool posted, int64_t timeout_ns) {
  const cnuaslink_result checked = check_request(link, peer, offset, bytes, data);
  if (checked != CNUASLINK_OK || bytes == 0) return checked;
  const std::span<std::byte> into(static_cast<std::byte*>(data), bytes);
  return guarded([&] { return link->link->get(GpuId{peer}, window, offset, into, posted, timeout_ns); });
}

}  // namespace

extern "C" {

const char* cnuaslink_strerror(int result) {
  switch (result) {
    case CNUASLINK_OK:
      return "well";
    case CNUASLINK_AGAIN:
      return "not now";
    case CNUASLINK_TIMEOUT:
      return "not within the time given";
    case CNUASLINK_INVALID_ARGUMENT:
      return "an argument is invalid";
    case CNUASLINK_NO_MEMORY:
      return "out of memory";
    case CNUASLINK_SYSTEM:
      return "the operating system refused";
    case CNUASLINK_NO_SWITCH:
      return "no switch listens there";
    case CNUASLINK_DENIED:
      return "the socket of the switch is not for this user";
    case CNUASLINK_BUSY:
      return "the port has an endpoint already";
    case CNUASLINK_REFUSED:
      return "the switch refused this endpoint";
    case CNUASLINK_NOT_CONNECTED:
      return "the link is down";
    case CNUASLINK_TOO_LARGE:
      return "more bytes than one frame may carry";
    case CNUASLINK_TOO_SMALL:
      return "the message is larger than the buffer";
    case CNUASLINK_UNAVAILABLE:
      return "the management of the switch does not answer";
    case CNUASLINK_NO_WINDOW:
      return "the peer has no such window";
    case CNUASLINK_OUT_OF_BOUNDS:
      return "not wholly within the window";
    case CNUASLINK_NOT_PERMITTED:
      return "the window is not open for this";
    case CNUASLINK_MISALIGNED:
      return "an atomic's place is no multiple of eight bytes";
    case CNUASLINK_LOST:
      return "frames were lost on the way";
    case CNUASLINK_UNSUPPORTED:
      return "not on a raw link";
  }
  return "unknown result";
}

const char* cnuaslink_version(void) {
  return CNUASLINK_VERSION_TEXT;
}

void cnuaslink_options_init(cnuaslink_options* options, size_t bytes) {
  cnuaslink_options own{};
  own.run_dir = "/var/run/cnuaslink";
  own.send_buffer_bytes = 1 << 20;
  own.frame_bytes = wire::kMaxFrameBytes;
  own.combine_bytes = 4096;
  own.receive_bytes = std::size_t{16} << 20;
  own.receive_bytes_per_source = std::size_t{8} << 20;
  own.receive_batch = ReceiveBatch::kSlots;
  own.max_doorbells = 1024;
  own.keepalive_ns = 1'000'000'000;
  own.connect_timeout_ns = 2'000'000'000;
  own.management_timeout_ns = 1'000'000'000;
  growing::make(own, options, bytes);
}

cnuaslink_result cnuaslink_open(const cnuaslink_options* options, cnuaslink** link, cnuaslink_error* error) {
  if (error != nullptr) *error = cnuaslink_error{};
  if (link != nullptr) *link = nullptr;
  if (options == nullptr || link == nullptr) {
    if (error != nullptr) error->result = CNUASLINK_INVALID_ARGUMENT;
    return CNUASLINK_INVALID_ARGUMENT;
  }
  std::unique_ptr<cnuaslink> made(new (std::nothrow) cnuaslink);
  Failure failure{CNUASLINK_NO_MEMORY, 0, {}};
  if (made) failure = guarded_open(*options, made->link);
  if (error != nullptr) write(failure, *error);
  if (failure.result == CNUASLINK_OK) *link = made.release();
  return failure.result;
}

void cnuaslink_close(cnuaslink* link) {
  delete link;
}

cnuaslink_result cnuaslink_reconnect(cnuaslink* link, int64_t timeout_ns) {
  if (link == nullptr) return CNUASLINK_INVALID_ARGUMENT;
  return guarded([&] { return link->link->reconnect(timeout_ns); });
}

uint16_t cnuaslink_id(const cnuaslink* link) {
  return link == nullptr ? kNoGpu.value : link->link->id().value;
}

size_t cnuaslink_max_message(const cnuaslink* link) {
  return link == nullptr ? 0 : link->link->max_message();
}

cnuaslink_result cnuaslink_status(cnuaslink* link, cnuaslink_state* state) {
  if (link == nullptr || state == nullptr || state->struct_bytes < sizeof(state->struct_bytes))
    return CNUASLINK_INVALID_ARGUMENT;
  link->link->status(*state);
  return CNUASLINK_OK;
}

cnuaslink_result cnuaslink_peer_transport(cnuaslink* link, uint16_t peer, cnuaslink_peer* out) {
  if (link == nullptr || out == nullptr || !GpuId{peer}.usable()) return CNUASLINK_INVALID_ARGUMENT;
  *out = cnuaslink_peer{};
  return guarded([&] {
    const LinkOptions& options = link->link->options();
    const Result<PeerAnswer> answer =
        query_peer(options.management_path, options.id, GpuId{peer}, options.management_timeout_ps);
    if (!answer) {
      write_text(to_string(answer.error()), out->reason, sizeof(out->reason));
      return CNUASLINK_UNAVAILABLE;
    }
    out->transport = answer->transport;
    out->region_bytes = answer->region_bytes;
    write_text(answer->ivshmem_socket, out->ivshmem_socket, sizeof(out->ivshmem_socket));
    write_text(answer->reason, out->reason, sizeof(out->reason));
    return CNUASLINK_OK;
  });
}

cnuaslink_result cnuaslink_expected_gpu(const char* run_dir, uint32_t port, uint16_t* gpu_id,
                                        int64_t timeout_ns) {
  if (run_dir == nullptr || gpu_id == nullptr || timeout_ns <= 0 || timeout_ns > kNever / kNanosecond / 2)
    return CNUASLINK_INVALID_ARGUMENT;
  *gpu_id = 0;
  return guarded([&] {
    const Result<GpuId> expected =
        query_expected_gpu(std::string(run_dir) + "/mgmt.sock", port, timeout_ns * kNanosecond);
    if (!expected) return CNUASLINK_UNAVAILABLE;
    *gpu_id = expected->value;
    return CNUASLINK_OK;
  });
}

int cnuaslink_fd(cnuaslink* link) {
  if (link == nullptr) return -1;
  int fd = -1;
  guarded([&] { return fd = link->link->pollable(), CNUASLINK_OK; });
  return fd;
}

cnuaslink_result cnuaslink_progress(cnuaslink* link) {
  if (link == nullptr) return CNUASLINK_INVALID_ARGUMENT;
  return guarded([&] { return link->link->progress(); });
}

cnuaslink_result cnuaslink_send(cnuaslink* link, uint16_t peer, const void* data, size_t bytes,
                                int64_t timeout_ns) {
  const cnuaslink_outgoing message{peer, CNUASLINK_DATA, data, bytes};
  return cnuaslink_send_many(link, &message, 1, nullptr, timeout_ns);
}

cnuaslink_result cnuaslink_send_many(cnuaslink* link, const cnuaslink_outgoing* messages, size_t count,
                                     size_t* sent, int64_t timeout_ns) {
  return send_valid(link, messages, count, sent, timeout_ns);
}

cnuaslink_result cnuaslink_send_pieces(cnuaslink* link, uint16_t peer, const iovec* pieces, size_t count,
                                       int64_t timeout_ns) {
  const cnuaslink_pieces message{peer, pieces, count};
  return cnuaslink_send_pieces_many(link, &message, 1, nullptr, timeout_ns);
}

cnuaslink_result cnuaslink_send_pieces_many(cnuaslink* link, const cnuaslink_pieces* messages, size_t count,
                                            size_t* sent, int64_t timeout_ns) {
  return send_valid(link, messages, count, sent, timeout_ns);
}

cnuaslink_result cnuaslink_recv(cnuaslink* link, uint16_t source, void* buffer, size_t capacity,
                                cnuaslink_message* message, int64_t timeout_ns) {
  if (link == nullptr || !is_source(source) || (buffer == nullptr && capacity > 0))
    return CNUASLINK_INVALID_ARGUMENT;
  cnuaslink_message ignored;
  const std::span<std::byte> room(static_cast<std::byte*>(buffer), capacity);
  return guarded([&] {
    return link->link->receive(GpuId{source}, room, message != nullptr ? *message : ignored, timeout_ns);
  });
}

cnuaslink_result cnuaslink_borrow(cnuaslink* link, uint16_t source, const void** data,
                                  cnuaslink_message* message, int64_t timeout_ns) {
  if (link == nullptr || !is_source(source) || data == nullptr) return CNUASLINK_INVALID_ARGUMENT;
  *data = nullptr;
  cnuaslink_message ignored;
  return guarded([&] {
    return link->link->borrow(GpuId{source}, *data, message != nullptr ? *message : ignored, timeout_ns);
  });
}

void cnuaslink_give_back(cnuaslink* link, const void* data) {
  if (link == nullptr || data == nullptr) return;
  guarded([&] { return link->link->give_back(data), CNUASLINK_OK; });
}

cnuaslink_result cnuaslink_doorbell_send(cnuaslink* link, uint16_t peer, uint64_t value, int64_t timeout_ns) {
  if (link == nullptr || !is_destination(*link->link, peer)) return CNUASLINK_INVALID_ARGUMENT;
  return guarded([&] { return link->link->send_doorbell(GpuId{peer}, value, timeout_ns); });
}

cnuaslink_result cnuaslink_doorbell_recv(cnuaslink* link, uint16_t source, cnuaslink_doorbell* doorbell,
                                         int64_t timeout_ns) {
  if (link == nullptr || !is_source(source) || doorbell == nullptr) return CNUASLINK_INVALID_ARGUMENT;
  return guarded([&] { return link->link->receive_doorbell(GpuId{source}, *doorbell, timeout_ns); });
}

cnuaslink_result cnuaslink_window_register(cnuaslink* link, uint16_t window, void* base, size_t bytes,
                                           unsigned access) {
  if (link == nullptr) return CNUASLINK_INVALID_ARGUMENT;
  if (link->link->raw()) return CNUASLINK_UNSUPPORTED;
  return guarded([&] {
    return link->link->open_window(window, {static_cast<std::byte*>(base), bytes}, access);
  });
}

cnuaslink_result cnuaslink_window_unregister(cnuaslink* link, uint16_t window) {
  if (link == nullptr) return CNUASLINK_INVALID_ARGUMENT;
  return guarded([&] { return link->link->close_window(window); });
}

cnuaslink_result cnuaslink_put(cnuaslink* link, uint16_t peer, uint16_t window, uint64_t offset,
                               const void* data, size_t bytes, int64_t timeout_ns) {
  const cnuaslink_result checked = check_request(link, peer, offset, bytes, data);
  if (checked != CNUASLINK_OK || bytes == 0) return checked;
  const std::span<const std::byte> from(static_cast<const std::byte*>(data), bytes);
  return guarded([&] { return link->link->put(GpuId{peer}, window, offset, from, timeout_ns); });
}

cnuaslink_result cnuaslink_get(cnuaslink* link, uint16_t peer, uint16_t window, uint64_t offset, void* data,
                               size_t bytes, int64_t timeout_ns) {
  return get(link, peer, window, offset, data, bytes, false, timeout_ns);
}

cnuaslink_result cnuaslink_get_nbi(cnuaslink* link, uint16_t peer, uint16_t window, uint64_t offset,
                                   void* data, size_t bytes, int64_t timeout_ns) {
  return get(link, peer, window, offset, data, bytes, true, timeout_ns);
}

cnuaslink_result cnuaslink_atomic(cnuaslink* link, uint16_t peer, uint16_t window, uint64_t offset,
                                  unsigned operation, uint64_t value, uint64_t compare, uint64_t* before,
                                  int64_t timeout_ns) {
  if (operation >= wire::kAtomicOps) return CNUASLINK_INVALID_ARGUMENT;
  const cnuaslink_result checked = check_request(link, peer, offset, sizeof(uint64_t), &value);
  if (checked != CNUASLINK_OK) return checked;
  wire::Atomic atomic;
  atomic.op = static_cast<wire::AtomicOp>(operation);
  atomic.address = wire::window_address(window, offset);
  atomic.value = value;
  if (atomic.op == wire::AtomicOp::compare_swap) atomic.compare = compare;
  return guarded([&] { return link->link->atomic(GpuId{peer}, atomic, before, timeout_ns); });
}

cnuaslink_result cnuaslink_fence(cnuaslink* link, uint16_t peer, int64_t timeout_ns) {
  if (link == nullptr || !is_destination(*link->link, peer)) return CNUASLINK_INVALID_ARGUMENT;
  return guarded([&] { return link->link->fence(GpuId{peer}, timeout_ns); });
}

cnuaslink_result cnuaslink_flush(cnuaslink* link, uint16_t peer, int64_t timeout_ns) {
  if (link == nullptr || !is_destination(*link->link, peer)) return CNUASLINK_INVALID_ARGUMENT;
  return guarded([&] { return link->link->flush(GpuId{peer}, timeout_ns); });
}

}  // extern "C"
