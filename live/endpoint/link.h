// A GPU's end of a link as libcnuaslink offers it: one socket, one lock, and who waits for what.
#pragma once

#include "core/endpoint/endpoint.h"
#include "core/engine/time.h"
#include "core/wire/frame.h"
#include "live/endpoint/cnuaslink.h"
#include "live/endpoint/connection.h"
#include "live/endpoint/failure.h"
#include "live/endpoint/frame_memory.h"
#include "live/endpoint/inbox.h"
#include "live/endpoint/link_options.h"
#include "live/endpoint/operations.h"
#include "live/endpoint/put_combiner.h"
#include "live/endpoint/receive_batch.h"
#include "live/endpoint/replies.h"
#include "live/endpoint/waiting.h"
#include "live/endpoint/windows.h"
#include "live/posix/clock.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>

namespace cnuas::live::endpoint {

// Public functions may be called by any thread, the destructor when no other runs. They are the functions of
// cnuaslink.h, which says what they do; arguments have been checked, pointers are not null. May throw
// std::bad_alloc.
class Link {
 public:
  static Failure open(const LinkOptions& options, std::unique_ptr<Link>& out);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  cnuaslink_result reconnect(std::int64_t timeout_ns);

  GpuId id() const { return options_.id; }
  bool raw() const { return options_.raw; }
  std::size_t max_message() const { return options_.frame_bytes - wire::kHeaderBytes; }
  const LinkOptions& options() const { return options_; }
  // It could be taken for window traffic, and is sent with a head that costs wire::kWindowHeadBytes.
  bool must_be_wrapped(GpuId to, unsigned type, std::span<const iovec> pieces) const;
  void status(cnuaslink_state& out);

  int pollable();
  cnuaslink_result progress();

  // In order, each valid: a peer and a type to send to, and no more bytes than one message may have.
  cnuaslink_result send(std::span<const cnuaslink_outgoing> messages, std::size_t& sent,
                        std::int64_t timeout_ns);
  cnuaslink_result send(std::span<const cnuaslink_pieces> messages, std::size_t& sent,
                        std::int64_t timeout_ns);
  cnuaslink_result receive(GpuId source, std::span<std::byte> buffer, cnuaslink_message& message,
                           std::int64_t timeout_ns);
  cnuaslink_result borrow(GpuId source, const void*& data, cnuaslink_message& message,
                          std::int64_t timeout_ns);
  void give_back(const void* data);

  cnuaslink_result send_doorbell(GpuId peer, std::uint64_t value, std::int64_t timeout_ns);
  cnuaslink_result receive_doorbell(GpuId source, cnuaslink_doorbell& doorbell, std::int64_t timeout_ns);

  cnuaslink_result open_window(std::uint16_t id, std::span<std::byte> memory, unsigned access);
  cnuaslink_result close_window(std::uint16_t id);
  cnuaslink_result put(GpuId to, std::uint16_t window, std::uint64_t offset, std::span<const std::byte> data,
                       std::int64_t timeout_ns);
  cnuaslink_result fence(GpuId to, std::int64_t timeout_ns);
  cnuaslink_result flush(GpuId to, std::int64_t timeout_ns);
  // `posted`: returns when it has been asked for; flush() waits for the bytes.
  cnuaslink_result get(GpuId to, std::uint16_t window, std::uint64_t offset, std::span<std::byte> into,
                       bool posted, std::int64_t timeout_ns);
  // Without `before`: returns when it has been sent; flush() waits for it to be done.
  cnuaslink_result atomic(GpuId to, wire::Atomic atomic, std::uint64_t* before, std::int64_t timeout_ns);

 private:
  using Lock = std::unique_lock<std::mutex>;

  explicit Link(const LinkOptions& options);

  // --- Connecting: link_connect.cpp -------------------------------------------------------------------
  // One attempt; OK: connected, and announced unless silent.
  Failure dial();
  // Attempts until the switch has taken this endpoint in. `persistent`: also while nobody listens or the port
  // is busy. Without waiting: one attempt, and what becomes of it is seen later.
  Failure connect(Lock& lock, Picoseconds until_ps, bool waits, bool persistent);
  Failure await_welcome(Lock& lock, Picoseconds until_ps);
  void confirm();
  void welcomed();
  void went_down(Failure failure);
  void stop_sending(int error);
  void give_up_operations();
  void redial_when_due(Picoseconds now);
  // Callers' frames wait while a thread waits for the switch to read the announcement: only what it has read
  // shows that.
  bool can_send() const { return state_ != CNUASLINK_DOWN && !connecting_; }
  // What a call that has found nothing to do may hope for.
  cnuaslink_result later() const;

  // --- Doing: link.cpp --------------------------------------------------------------------------------
  // Reads, answers and keeps alive, as far as that needs no waiting.
  void make_progress();
  void on_time(Picoseconds now);
  void set_timer();
  // Tells other threads and event loops what has come of it.
  void publish();
  // Tries until `attempt` returns something else than AGAIN.
  template <class Attempt>
  cnuaslink_result wait_until(Lock& lock, Picoseconds until_ps, bool at_once, Attempt&& attempt);
  template <class Attempt>
  cnuaslink_result wait(Lock& lock, std::int64_t timeout_ns, Attempt&& attempt);
  void run_progress_thread();
  void stop_progress_thread();

  // --- Receiving: link_receive.cpp --------------------------------------------------------------------
  void read();
  bool read_batch();
  void take_packet(std::size_t slot);
  void take_frame(const wire::FrameHeader& header, std::size_t slot);
  void take_message(const wire::FrameHeader& header, std::span<const std::byte> payload, std::size_t slot);
  void take_doorbell(const wire::FrameHeader& header, std::span<const std::byte> payload);
  void take_words_of_switch(std::span<const std::byte> packet);
  void look_at_room();
  const Inbox::Message* next_message(GpuId source, cnuaslink_message& message) const;

  // --- Sending: link_send.cpp -------------------------------------------------------------------------
  wire::FrameHeader header(wire::FrameType type, GpuId destination, std::size_t payload_bytes) const;
  // One frame, from its header and up to two pieces of payload; AGAIN: not now. Precondition: the link is not
  // down.
  cnuaslink_result try_send(const wire::FrameHeader& header, std::span<const std::byte> first,
                            std::span<const std::byte> second = {});
  template <class Message>
  cnuaslink_result try_send_messages(std::span<const Message> messages, std::size_t& sent);
  template <class Message>
  cnuaslink_result send_messages(std::span<const Message> messages, std::size_t& sent,
                                 std::int64_t timeout_ns);
  cnuaslink_result sending_failed(int error);
  void count_sent(std::size_t payload_bytes);
  void keep_alive();
  void count_message(std::size_t bytes);
  void read_now_and_then();
  cnuaslink_result send_frame(Lock& lock, const wire::FrameHeader& header, std::span<const std::byte> payload,
                              std::int64_t timeout_ns);
  void send_link_frames();

  // --- Asking other GPUs: link_windows.cpp ------------------------------------------------------------
  struct Peer {
    std::uint32_t epoch = 0;           // of the puts to it
    std::uint64_t put_frames = 0;      // sent
    std::uint64_t settled_frames = 0;  // of those, before the last flush that was answered
    std::uint64_t missing_frames = 0;  // of those, neither applied nor refused
    std::uint64_t refused_frames = 0;  // of those
    Completion posted;                 // gets and atomics that the next flush waits for
  };
  Peer& peer(GpuId id);
  // The most bytes that a put of one segment may have.
  std::size_t max_segment() const { return max_message() - wire::kWindowHeadBytes - wire::kPutSegmentBytes; }
  // Whatever is sent to a GPU goes behind the puts to it.
  cnuaslink_result send_combined(GpuId destination);
  cnuaslink_result try_send_put(GpuId to, std::uint16_t window, std::span<const std::byte> segment_head,
                                std::span<const std::byte> segments);
  cnuaslink_result combine(GpuId to, std::uint16_t window, std::uint64_t offset,
                           std::span<const std::byte> data);
  cnuaslink_result fence_locked(Lock& lock, GpuId to, Picoseconds until_ps, bool at_once);
  cnuaslink_result flush_all(Picoseconds until_ps, bool at_once);
  cnuaslink_result flush_one(Lock& lock, GpuId to, Picoseconds until_ps, bool at_once);
  cnuaslink_result try_ask_for_flush(GpuId to, Completion& flushed, bool& asked);
  cnuaslink_result try_ask(GpuId to, std::uint32_t tag, wire::FrameType type,
                           std::span<const std::byte> payload, Completion& completion);
  cnuaslink_result try_get(GpuId to, std::uint16_t window, std::uint64_t offset, std::span<std::byte> into,
                           std::size_t& asked, Completion& completion);
  cnuaslink_result try_atomic(GpuId to, wire::Atomic atomic, Completion& completion);
  void take_get_reply(GpuId source, const wire::GetReply& reply, std::span<const std::byte> bytes);
  void take_atomic_reply(GpuId source, const wire::AtomicReply& reply);
  void take_flush_reply(GpuId source, const wire::FlushReply& reply);

  // --- Serving other GPUs: link_serve.cpp -------------------------------------------------------------
  struct PutsFrom {
    std::uint32_t epoch = 0;
    std::uint64_t applied = 0;
    std::uint64_t refused = 0;
    wire::WindowStatus last_refusal = wire::WindowStatus::ok;
  };
  PutsFrom& puts_from(GpuId source, std::uint32_t epoch);
  bool take_window_traffic(const wire::FrameHeader& header, std::span<const std::byte> payload,
                           std::size_t slot);
  void take_put(GpuId source, const wire::Put& put, std::span<const std::byte> segments);
  void take_flush(GpuId source, const wire::Flush& flush);
  void take_atomic(GpuId source, std::span<const std::byte> payload);
  void answer();
  cnuaslink_result try_answer(Reply& reply);
  cnuaslink_result try_answer_get(GpuId to, GetToAnswer& answer);
  void drop_replies();

  const LinkOptions options_;
  std::mutex mutex_;
  Waiting waiting_;

  // Announcements and keepalives. Messages do not go by its outbox: they are sent from the caller's memory,
  // when the socket takes them or not at all.
  Endpoint protocol_;
  Connection connection_;
  cnuaslink_link_state state_ = CNUASLINK_DOWN;
  bool connecting_ = false;           // a thread is in connect()
  Failure refusal_;                   // what the switch said on this connection before it closed it
  Failure failure_;                   // why the link went down last
  Picoseconds timer_at_ps_ = kNever;  // what waiting_ was set to, at most a time that is due
  Picoseconds redial_at_ps_ = kNever;
  Picoseconds redial_wait_ps_ = 0;

  FrameMemory frames_;
  ReceiveBatch batch_;
  Inbox inbox_;
  PutCombiner combiner_;
  Operations operations_;
  std::unordered_map<std::uint16_t, Peer> peers_;  // those that something was asked of
  std::uint32_t next_epoch_;
  Windows windows_;
  std::unordered_map<std::uint16_t, PutsFrom> puts_from_;  // at most as many as there are GPU IDs
  Replies replies_;
  bool replies_wait_ = false;  // for the socket
  std::array<std::byte, wire::kWindowHeadBytes> wrapped_head_{};
  bool receive_stopped_ = false;
  unsigned sent_since_read_ = 0;
  bool changed_ = false;  // since the last publish()
  cnuaslink_counters counters_{};

  bool closing_ = false;
  std::thread progress_thread_;
};

template <class Attempt>
cnuaslink_result Link::wait_until(Lock& lock, Picoseconds until_ps, bool at_once, Attempt&& attempt) {
  cnuaslink_result result = attempt();
  if (result == CNUASLINK_AGAIN) {
    make_progress();
    result = attempt();
  }
  publish();
  if (result != CNUASLINK_AGAIN || at_once) return result;
  do {
    waiting_.sleep(lock, until_ps);
    make_progress();
    result = attempt();
    publish();
    if (result != CNUASLINK_AGAIN) return result;
  } while (until_ps == kNever || monotonic_now() < until_ps);
  return CNUASLINK_TIMEOUT;
}

template <class Attempt>
cnuaslink_result Link::wait(Lock& lock, std::int64_t timeout_ns, Attempt&& attempt) {
  // What needs no waiting needs no clock either.
  const Picoseconds until_ps = timeout_ns <= 0 ? kNever : until(monotonic_now(), timeout_ns);
  return wait_until(lock, until_ps, timeout_ns == 0, std::forward<Attempt>(attempt));
}

}  // namespace cnuas::live::endpoint
