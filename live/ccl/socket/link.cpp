// Every function stands at the C boundary and calls only what throws nothing.
#include "core/ccl/envelope.h"
#include "live/abi/growing_struct.h"
#include "live/ccl/socket/cnuasccl_link.h"
#include "live/endpoint/cnuaslink.h"
#include "live/posix/all_signals_blocked.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace growing = cnuas::live::growing;

struct cnuasccl_link {
  ~cnuasccl_link() {
    if (reader.joinable()) {
      {
        const std::lock_guard lock(mutex);
        closing = true;
      }
      may_end.notify_one();
      reader.join();
    }
    if (owned) cnuaslink_close(endpoint);
  }

  cnuaslink* endpoint = nullptr;
  bool owned = false;
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> uses{0};  // calls of the transport
  // Reads while the transport is not used, and only then: two who read the same socket are in each other's
  // way.
  std::thread reader;
  std::mutex mutex;
  std::condition_variable may_end;
  bool closing = false;  // under the mutex
};

namespace {

constexpr std::size_t kMostFrameBytes = cnuas::ccl::kEnvelopeBytes + cnuas::ccl::kMaxChunkBytes;
// As many as a communicator ever has under way to one rank; a socket takes about as many at once.
constexpr std::uint32_t kFramesPerReceiver = 16;
constexpr std::size_t kFramesAtATime = 8;
constexpr int kMostPassedOver = 64;
// Frames that are lent, and the same again; a frame counts with some 100 bytes more than it has.
constexpr std::size_t kLeastReceiveBytes = std::size_t{2} * CNUASCCL_MOST_BORROWED * (kMostFrameBytes + 256);
// A full socket is waited for here, because here the wait ends when there is room. What comes in meanwhile
// is read.
constexpr std::int64_t kSendWaitNs = 500'000;

cnuasccl_status_t status_of(cnuaslink_result result) {
  switch (result) {
    case CNUASLINK_OK:
      return CNUASCCL_OK;
    case CNUASLINK_AGAIN:
    case CNUASLINK_TIMEOUT:
      return CNUASCCL_AGAIN;
    case CNUASLINK_INVALID_ARGUMENT:
    case CNUASLINK_TOO_LARGE:
      return CNUASCCL_INVALID_ARGUMENT;
    case CNUASLINK_NO_MEMORY:
      return CNUASCCL_NO_MEMORY;
    case CNUASLINK_SYSTEM:
      return CNUASCCL_SYSTEM;
    default:
      return CNUASCCL_LINK_FAILED;
  }
}

cnuasccl_link& link_of(void* context) {
  return *static_cast<cnuasccl_link*>(context);
}

// A switch is asked so often before it counts as one that cannot be asked: it may be busy.
constexpr int kAttempts = 3;
constexpr std::chrono::milliseconds kAskAgain{2};
// Well below the 50 ms after which a switch takes a reader for dead.
constexpr std::chrono::milliseconds kIdle{10};
// So much at a time that all peers' windows are read.
constexpr int kReadsAtATime = 8;

void read_while_idle(cnuasccl_link& link) {
  std::uint64_t seen = link.uses;
  std::unique_lock lock(link.mutex);
  while (!link.may_end.wait_for(lock, kIdle, [&] { return link.closing; })) {
    lock.unlock();
    const std::uint64_t uses = link.uses;
    for (int i = 0; uses == seen && i < kReadsAtATime; ++i)
      cnuaslink_progress(link.endpoint);
    seen = uses;
    lock.lock();
  }
}

// False: the system gives no thread, or no memory for one.
bool start_reader(cnuasccl_link& link) {
  const cnuas::live::AllSignalsBlocked blocked;
  try {
    link.reader = std::thread([&link] { read_while_idle(link); });
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

cnuasccl_status_t send(std::uint16_t gpu, const void* frame, std::size_t bytes, void* context) {
  ++link_of(context).uses;
  return status_of(cnuaslink_send(link_of(context).endpoint, gpu, frame, bytes, kSendWaitNs));
}

cnuasccl_status_t send_many(std::uint16_t gpu, const cnuasccl_frame* frames, std::size_t count,
                            std::size_t* sent, void* context) {
  ++link_of(context).uses;
  *sent = 0;
  while (*sent < count) {
    std::array<iovec, 2 * kFramesAtATime> pieces;
    std::array<cnuaslink_pieces, kFramesAtATime> messages;
    const std::size_t now = std::min(count - *sent, kFramesAtATime);
    for (std::size_t i = 0; i < now; ++i) {
      const cnuasccl_frame& frame = frames[*sent + i];
      pieces[2 * i] = {const_cast<void*>(frame.head), frame.head_bytes};
      pieces[2 * i + 1] = {const_cast<void*>(frame.body), frame.body_bytes};
      messages[i] = {gpu, &pieces[2 * i], 2};
    }
    std::size_t done = 0;
    const cnuaslink_result result =
        cnuaslink_send_pieces_many(link_of(context).endpoint, messages.data(), now, &done, kSendWaitNs);
    *sent += done;
    if (result != CNUASLINK_OK) return status_of(result);
  }
  return CNUASCCL_OK;
}

// What is none of a collective's frames is passed over, but not without end: whoever sends many such frames
// must not hold up what else the caller has to do.
cnuasccl_status_t borrow(std::uint16_t* source, const void** frame, std::size_t* bytes,
                         std::int64_t timeout_ns, void* context) {
  cnuasccl_link& link = link_of(context);
  ++link.uses;
  for (int i = 0; i < kMostPassedOver; ++i) {
    cnuaslink_message message{};
    const cnuaslink_result result =
        cnuaslink_borrow(link.endpoint, CNUASLINK_ANY, frame, &message, i == 0 ? timeout_ns : 0);
    if (result != CNUASLINK_OK) return status_of(result);
    if (message.type == CNUASLINK_DATA && message.destination != CNUASLINK_ALL) {
      *source = message.source;
      *bytes = message.bytes;
      return CNUASCCL_OK;
    }
    cnuaslink_give_back(link.endpoint, *frame);
    ++link.dropped;
  }
  return CNUASCCL_AGAIN;
}

void give_back(const void* frame, void* context) {
  cnuaslink_give_back(link_of(context).endpoint, frame);
}

cnuasccl_status_t recv(std::uint16_t* source, void* frame, std::size_t capacity, std::size_t* bytes,
                       void* context) {
  const void* lent = nullptr;
  const cnuasccl_status_t status = borrow(source, &lent, bytes, 0, context);
  if (status != CNUASCCL_OK) return status;
  if (const std::size_t fits = std::min(capacity, *bytes); fits > 0) std::memcpy(frame, lent, fits);
  give_back(lent, context);
  return CNUASCCL_OK;
}

cnuasccl_status_t local_gpu(std::uint16_t* gpu, void* context) {
  *gpu = cnuaslink_id(link_of(context).endpoint);
  return CNUASCCL_OK;
}

int available(void* context) {
  cnuaslink_state state{};
  state.struct_bytes = sizeof state;
  return cnuaslink_status(link_of(context).endpoint, &state) == CNUASLINK_OK && state.link != CNUASLINK_DOWN;
}

int descriptor(void* context) {
  return cnuaslink_fd(link_of(context).endpoint);
}

void say(char* error, std::size_t capacity, const char* text, const char* more) {
  if (error != nullptr && capacity > 0)
    std::snprintf(error, capacity, "%s%s%s", text, *more != '\0' ? ": " : "", more);
}

// The caller's, which may be of another size, over the values they have otherwise.
cnuasccl_link_options options_of(const cnuasccl_link_options& given) {
  cnuasccl_link_options options;
  cnuasccl_link_options_init(&options, sizeof options);
  growing::read_over(options, given);
  return options;
}

cnuaslink_options endpoint_options(const cnuasccl_link_options& given) {
  cnuaslink_options options;
  cnuaslink_options_init(&options, sizeof options);
  if (given.run_dir != nullptr) options.run_dir = given.run_dir;
  options.port = given.port;
  options.receive_batch = 8;
  options.gpu_id = given.gpu_id;
  options.connect_timeout_ns = given.connect_timeout_ns;
  return options;
}

// Which GPU it is, when the caller leaves that to the switch. False: the switch expects another one than the
// caller has said, and would drop all its frames.
bool settle_gpu(cnuaslink_options& options, char* error, std::size_t capacity) {
  constexpr std::int64_t kPatienceNs = 1'000'000'000;
  std::uint16_t expected = 0;
  for (int i = 0; i < kAttempts; ++i)
    if (cnuaslink_expected_gpu(options.run_dir, options.port, &expected, kPatienceNs) == CNUASLINK_OK) break;
  if (options.gpu_id != 0 && expected != 0 && options.gpu_id != expected) {
    char text[96];
    std::snprintf(text, sizeof text, "the switch expects GPU %u/%u at port %u, and this is GPU %u/%u",
                  expected >> 8, expected & 0xFFu, options.port, options.gpu_id >> 8, options.gpu_id & 0xFFu);
    say(error, capacity, text, "");
    return false;
  }
  if (options.gpu_id == 0) options.gpu_id = expected;
  if (options.gpu_id == 0 && options.port < 0xFF)
    options.gpu_id = static_cast<std::uint16_t>(0x0100 + options.port);
  return true;
}

}  // namespace

extern "C" {

void cnuasccl_link_options_init(cnuasccl_link_options* options, size_t bytes) {
  cnuasccl_link_options own{};
  own.run_dir = "/var/run/cnuaslink";
  own.progress_thread = 1;
  own.connect_timeout_ns = 2'000'000'000;
  growing::make(own, options, bytes);
}

cnuasccl_status_t cnuasccl_link_open(const cnuasccl_link_options* options, cnuasccl_link** link, char* error,
                                     std::size_t capacity) {
  say(error, capacity, "", "");
  if (link == nullptr) return CNUASCCL_INVALID_ARGUMENT;
  *link = nullptr;
  if (options == nullptr || options->struct_bytes < sizeof(std::size_t)) {
    say(error, capacity, "there are no options", "");
    return CNUASCCL_INVALID_ARGUMENT;
  }
  const cnuasccl_link_options given = options_of(*options);
  if (given.connect_timeout_ns <= 0) {
    say(error, capacity, "connect_timeout_ns must be above 0", "");
    return CNUASCCL_INVALID_ARGUMENT;
  }
  cnuaslink_options wanted = endpoint_options(given);
  if (!settle_gpu(wanted, error, capacity)) return CNUASCCL_WRONG_GPU;
  cnuaslink* endpoint = nullptr;
  cnuaslink_error why{};
  const cnuaslink_result result = cnuaslink_open(&wanted, &endpoint, &why);
  if (result != CNUASLINK_OK) {
    say(error, capacity, cnuaslink_strerror(result), why.text);
    return result == CNUASLINK_TIMEOUT ? CNUASCCL_TIMEOUT : status_of(result);
  }
  const cnuasccl_status_t status = cnuasccl_link_wrap(endpoint, link);
  if (status != CNUASCCL_OK) {
    say(error, capacity, "there is not enough memory", "");
    cnuaslink_close(endpoint);
    return status;
  }
  (*link)->owned = true;
  if (given.progress_thread != 0 && !start_reader(**link)) {
    say(error, capacity, "the system gives no thread", "");
    delete *link;
    *link = nullptr;
    return CNUASCCL_SYSTEM;
  }
  return CNUASCCL_OK;
}

cnuasccl_status_t cnuasccl_link_wrap(cnuaslink* endpoint, cnuasccl_link** link) {
  if (link == nullptr) return CNUASCCL_INVALID_ARGUMENT;
  *link = nullptr;
  cnuaslink_state state{};
  state.struct_bytes = sizeof state;
  if (cnuaslink_status(endpoint, &state) != CNUASLINK_OK ||
      cnuaslink_max_message(endpoint) < kMostFrameBytes || state.receive_policy != CNUASLINK_RECEIVE_STOPS ||
      std::min(state.receive_bytes, state.receive_bytes_per_source) < kLeastReceiveBytes)
    return CNUASCCL_INVALID_ARGUMENT;
  *link = new (std::nothrow) cnuasccl_link;
  if (*link == nullptr) return CNUASCCL_NO_MEMORY;
  (*link)->endpoint = endpoint;
  return CNUASCCL_OK;
}

void cnuasccl_link_close(cnuasccl_link* link) {
  delete link;
}

cnuasccl_status_t cnuasccl_link_wait_for(cnuasccl_link* link, const uint16_t* gpus, size_t count,
                                         int64_t timeout_ns, char* error, size_t capacity) {
  say(error, capacity, "", "");
  if (link == nullptr || (gpus == nullptr && count > 0) || timeout_ns < 0) return CNUASCCL_INVALID_ARGUMENT;
  const auto began = std::chrono::steady_clock::now();
  int unavailable = 0;
  for (std::size_t i = 0; i < count;) {
    cnuaslink_peer peer{};
    const cnuaslink_result asked = cnuaslink_peer_transport(link->endpoint, gpus[i], &peer);
    if (asked != CNUASLINK_OK && asked != CNUASLINK_UNAVAILABLE) return status_of(asked);
    unavailable = asked == CNUASLINK_OK ? 0 : unavailable + 1;
    if (unavailable == kAttempts) return CNUASCCL_OK;
    if (gpus[i] == cnuaslink_id(link->endpoint) || peer.transport != CNUASLINK_TRANSPORT_NONE) {
      ++i;
      continue;
    }
    if (std::chrono::steady_clock::now() - began >= std::chrono::nanoseconds(timeout_ns)) {
      say(error, capacity, "there is no way to a GPU", peer.reason);
      return CNUASCCL_TIMEOUT;
    }
    std::this_thread::sleep_for(kAskAgain);
  }
  return CNUASCCL_OK;
}

cnuasccl_status_t cnuasccl_link_use(cnuasccl_link* link, cnuasccl_link_transport* transport,
                                    cnuasccl_link_extension* extension, size_t extension_bytes) {
  if (link == nullptr || transport == nullptr) return CNUASCCL_INVALID_ARGUMENT;
  *transport = {send, recv, local_gpu, link};
  if (extension == nullptr) return CNUASCCL_OK;
  cnuasccl_link_extension own{};
  own.name = "cnuaslink";
  own.frames_per_receiver = kFramesPerReceiver;
  own.available = available;
  own.descriptor = descriptor;
  own.borrow = borrow;
  own.give_back = give_back;
  own.keeps_bytes = 1;
  own.send_many = send_many;
  return growing::make(own, extension, extension_bytes) ? CNUASCCL_OK : CNUASCCL_INVALID_ARGUMENT;
}

cnuaslink* cnuasccl_link_endpoint(cnuasccl_link* link) {
  return link == nullptr ? nullptr : link->endpoint;
}

std::uint64_t cnuasccl_link_dropped(const cnuasccl_link* link) {
  return link == nullptr ? 0 : link->dropped.load();
}

}  // extern "C"
