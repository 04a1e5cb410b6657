// What a link asks of other GPUs' windows.
#include "live/endpoint/link.h"
#include "live/endpoint/want_writable.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace cnuas::live::endpoint {

namespace {

// Removes what is pending of a Completion that is about to go out of scope.
class CancelAtEnd {
 public:
  CancelAtEnd(Operations& operations, Completion& completion)
      : operations_(operations), completion_(completion) {}
  ~CancelAtEnd() {
    if (completion_.pending > 0) operations_.cancel(completion_);
  }
  CancelAtEnd(const CancelAtEnd&) = delete;
  CancelAtEnd& operator=(const CancelAtEnd&) = delete;

 private:
  Operations& operations_;
  Completion& completion_;
};

}  // namespace

cnuaslink_result result_of(wire::WindowStatus status) {
  switch (status) {
    case wire::WindowStatus::ok:
      return CNUASLINK_OK;
    case wire::WindowStatus::no_window:
      return CNUASLINK_NO_WINDOW;
    case wire::WindowStatus::out_of_bounds:
      return CNUASLINK_OUT_OF_BOUNDS;
    case wire::WindowStatus::not_permitted:
      return CNUASLINK_NOT_PERMITTED;
    case wire::WindowStatus::misaligned:
      return CNUASLINK_MISALIGNED;
  }
  return CNUASLINK_SYSTEM;
}

cnuaslink_result Link::open_window(std::uint16_t id, std::span<std::byte> memory, unsigned access) {
  const Lock lock(mutex_);
  return windows_.open(id, memory, access);
}

cnuaslink_result Link::close_window(std::uint16_t id) {
  const Lock lock(mutex_);
  return windows_.close(id);
}

Link::Peer& Link::peer(GpuId id) {
  const auto [found, made] = peers_.try_emplace(id.value);
  if (made) found->second.epoch = next_epoch_++;
  return found->second;
}

// --- Puts ------------------------------------------------------------------------------------------------

cnuaslink_result Link::send_combined(GpuId destination) {
  while (const PutCombiner::Frame* frame = combiner_.frame_for(destination)) {
    const GpuId to = frame->peer;
    const std::uint64_t segments = frame->segment_count;
    const cnuaslink_result result = try_send_put(to, frame->window, {}, frame->segments);
    if (result != CNUASLINK_OK) return result;
    counters_.put_segments += segments;
    combiner_.remove(to);
  }
  return CNUASLINK_OK;
}

cnuaslink_result Link::try_send_put(GpuId to, std::uint16_t window, std::span<const std::byte> segment_head,
                                    std::span<const std::byte> segments) {
  Peer& target = peer(to);
  std::array<std::byte, wire::kWindowHeadBytes + wire::kPutSegmentBytes> head;
  const std::span<std::byte> heads(head);
  wire::encode(wire::Put{window, target.epoch}, heads.first<wire::kWindowHeadBytes>());
  std::copy(segment_head.begin(), segment_head.end(), head.begin() + wire::kWindowHeadBytes);
  const std::span<const std::byte> first = heads.first(wire::kWindowHeadBytes + segment_head.size());
  const cnuaslink_result result =
      try_send(header(wire::FrameType::data, to, first.size() + segments.size()), first, segments);
  if (result != CNUASLINK_OK) return result;
  ++target.put_frames;
  ++counters_.put_frames;
  return result;
}

cnuaslink_result Link::combine(GpuId to, std::uint16_t window, std::uint64_t offset,
                               std::span<const std::byte> data) {
  for (;;) {
    switch (combiner_.add(to, window, offset, data)) {
      case PutCombiner::Added::yes:
        return CNUASLINK_OK;
      case PutCombiner::Added::no_memory:
        return CNUASLINK_NO_MEMORY;
      case PutCombiner::Added::after_sending:
        break;
    }
    const cnuaslink_result result = send_combined(combiner_.in_the_way(to));
    if (result != CNUASLINK_OK) return result;
  }
}

cnuaslink_result Link::put(GpuId to, std::uint16_t window, std::uint64_t offset,
                           std::span<const std::byte> data, std::int64_t timeout_ns) {
  Lock lock(mutex_);
  read_now_and_then();
  WantWritable writable(waiting_);
  const bool small = data.size() <= std::min(options_.combine_bytes, max_segment());
  std::size_t done = 0;
  const cnuaslink_result result = wait(lock, timeout_ns, [&] {
    if (!can_send()) return later();
    cnuaslink_result step = small ? combine(to, window, offset, data) : send_combined(to);
    while (step == CNUASLINK_OK && !small && done < data.size()) {
      const std::span<const std::byte> chunk =
          data.subspan(done, std::min(max_segment(), data.size() - done));
      std::array<std::byte, wire::kPutSegmentBytes> head;
      wire::encode_segment(offset + done, static_cast<std::uint32_t>(chunk.size()), head);
      step = try_send_put(to, window, head, chunk);
      if (step != CNUASLINK_OK) break;
      ++counters_.put_segments;
      done += chunk.size();
    }
    if (step == CNUASLINK_AGAIN && writable.want()) ++counters_.send_waits;
    return step;
  });
  if (result == CNUASLINK_OK) {
    ++counters_.puts;
    counters_.put_bytes += data.size();
  }
  return result;
}

cnuaslink_result Link::fence(GpuId to, std::int64_t timeout_ns) {
  Lock lock(mutex_);
  return fence_locked(lock, to, until(monotonic_now(), timeout_ns), timeout_ns == 0);
}

cnuaslink_result Link::fence_locked(Lock& lock, GpuId to, Picoseconds until_ps, bool at_once) {
  WantWritable writable(waiting_);
  return wait_until(lock, until_ps, at_once, [&] {
    if (combiner_.empty()) return CNUASLINK_OK;
    if (!can_send()) return later();
    const cnuaslink_result result = send_combined(to);
    if (result == CNUASLINK_AGAIN && writable.want()) ++counters_.send_waits;
    return result;
  });
}

// --- Flushes ---------------------------------------------------------------------------------------------

cnuaslink_result Link::flush(GpuId to, std::int64_t timeout_ns) {
  const Picoseconds until_ps = until(monotonic_now(), timeout_ns);
  const bool at_once = timeout_ns == 0;
  if (to == kBroadcast) return flush_all(until_ps, at_once);
  Lock lock(mutex_);
  return flush_one(lock, to, until_ps, at_once);
}

cnuaslink_result Link::flush_all(Picoseconds until_ps, bool at_once) {
  Lock lock(mutex_);
  cnuaslink_result first = fence_locked(lock, kBroadcast, until_ps, at_once);
  std::vector<GpuId> all;
  for (const auto& [id, state] : peers_)
    all.push_back(GpuId{id});
  std::sort(all.begin(), all.end());
  for (const GpuId each : all) {
    const cnuaslink_result result = flush_one(lock, each, until_ps, at_once);
    if (first == CNUASLINK_OK) first = result;
  }
  return first;
}

cnuaslink_result Link::flush_one(Lock& lock, GpuId to, Picoseconds until_ps, bool at_once) {
  Completion flushed;
  const CancelAtEnd cancel(operations_, flushed);
  WantWritable writable(waiting_);
  bool asked = false;
  return wait_until(lock, until_ps, at_once, [&] {
    if (!asked) {
      const cnuaslink_result result = try_ask_for_flush(to, flushed, asked);
      if (result == CNUASLINK_AGAIN && can_send() && operations_.has_room() && writable.want())
        ++counters_.send_waits;
      if (result != CNUASLINK_OK) return result;
    }
    Peer& target = peer(to);
    if (flushed.pending > 0 || target.posted.pending > 0) return CNUASLINK_AGAIN;
    const cnuaslink_result posted = std::exchange(target.posted.result, CNUASLINK_OK);
    return flushed.result != CNUASLINK_OK ? flushed.result : posted;
  });
}

cnuaslink_result Link::try_ask_for_flush(GpuId to, Completion& flushed, bool& asked) {
  if (!can_send()) return later();
  if (const cnuaslink_result result = send_combined(to); result != CNUASLINK_OK) return result;
  Peer& target = peer(to);
  if (target.put_frames == target.settled_frames) {
    asked = true;
    return CNUASLINK_OK;
  }
  if (!operations_.has_room()) return CNUASLINK_AGAIN;
  Operation operation{Operation::Kind::flush, to};
  operation.put_frames = target.put_frames;
  operation.completion = &flushed;
  const std::uint32_t tag = operations_.begin(operation);
  std::array<std::byte, wire::kFlushBytes> payload;
  wire::encode(wire::Flush{tag, target.epoch}, payload);
  const cnuaslink_result result = try_ask(to, tag, wire::FrameType::data, payload, flushed);
  if (result == CNUASLINK_OK) asked = true, ++counters_.flushes;
  return result;
}

// Sends a request whose operation has begun, or takes it back.
cnuaslink_result Link::try_ask(GpuId to, std::uint32_t tag, wire::FrameType type,
                               std::span<const std::byte> payload, Completion& completion) {
  const cnuaslink_result before = completion.result;
  const cnuaslink_result result = try_send(header(type, to, payload.size()), payload);
  if (result != CNUASLINK_OK) {
    operations_.finish(tag, CNUASLINK_OK);
    completion.result = before;
  }
  return result;
}

// --- Gets and atomics ------------------------------------------------------------------------------------

cnuaslink_result Link::try_get(GpuId to, std::uint16_t window, std::uint64_t offset,
                               std::span<std::byte> into, std::size_t& asked, Completion& completion) {
  while (asked < into.size()) {
    if (!operations_.has_room()) return CNUASLINK_AGAIN;
    const std::size_t piece = std::min<std::size_t>(into.size() - asked, wire::kMostGetBytes);
    Operation operation{Operation::Kind::get, to, into.subspan(asked, piece)};
    operation.completion = &completion;
    const std::uint32_t tag = operations_.begin(operation);
    std::array<std::byte, wire::kGetBytes> payload;
    wire::encode(wire::Get{window, tag, offset + asked, static_cast<std::uint32_t>(piece)}, payload);
    const cnuaslink_result result = try_ask(to, tag, wire::FrameType::data, payload, completion);
    if (result != CNUASLINK_OK) return result;
    asked += piece;
  }
  return CNUASLINK_OK;
}

cnuaslink_result Link::get(GpuId to, std::uint16_t window, std::uint64_t offset, std::span<std::byte> into,
                           bool posted, std::int64_t timeout_ns) {
  Lock lock(mutex_);
  read_now_and_then();
  Completion own;
  const CancelAtEnd cancel(operations_, own);
  WantWritable writable(waiting_);
  Completion& completion = posted ? peer(to).posted : own;
  std::size_t asked = 0;
  const cnuaslink_result result = wait(lock, timeout_ns, [&] {
    if (!posted && own.result != CNUASLINK_OK) return own.result;
    if (asked < into.size()) {
      if (!can_send()) return later();
      cnuaslink_result step = send_combined(to);
      if (step == CNUASLINK_OK) step = try_get(to, window, offset, into, asked, completion);
      if (step == CNUASLINK_AGAIN && operations_.has_room() && writable.want()) ++counters_.send_waits;
      if (step != CNUASLINK_OK) return step;
    }
    return posted || own.pending == 0 ? own.result : CNUASLINK_AGAIN;
  });
  if (result == CNUASLINK_OK) {
    ++counters_.gets;
    counters_.get_bytes += into.size();
  }
  return result;
}

cnuaslink_result Link::atomic(GpuId to, wire::Atomic atomic, std::uint64_t* before, std::int64_t timeout_ns) {
  Lock lock(mutex_);
  read_now_and_then();
  Completion own;
  const CancelAtEnd cancel(operations_, own);
  WantWritable writable(waiting_);
  const bool posted = before == nullptr;
  Completion& completion = posted ? peer(to).posted : own;
  bool asked = false;
  const cnuaslink_result result = wait(lock, timeout_ns, [&] {
    if (!asked) {
      if (!can_send()) return later();
      if (!operations_.has_room()) return CNUASLINK_AGAIN;
      cnuaslink_result step = send_combined(to);
      if (step == CNUASLINK_OK) step = try_atomic(to, atomic, completion);
      if (step == CNUASLINK_AGAIN && writable.want()) ++counters_.send_waits;
      if (step != CNUASLINK_OK) return step;
      asked = true;
    }
    return posted || own.pending == 0 ? own.result : CNUASLINK_AGAIN;
  });
  if (result != CNUASLINK_OK) return result;
  ++counters_.atomics;
  if (!posted) *before = own.value;
  return result;
}

cnuaslink_result Link::try_atomic(GpuId to, wire::Atomic atomic, Completion& completion) {
  Operation operation{Operation::Kind::atomic, to};
  operation.completion = &completion;
  atomic.tag = operations_.begin(operation);
  std::array<std::byte, wire::kCompareSwapBytes> bytes;
  const std::span<const std::byte> payload(bytes.data(), wire::encode(atomic, bytes));
  return try_ask(to, atomic.tag, wire::FrameType::atomic, payload, completion);
}

// --- Answers that come in --------------------------------------------------------------------------------

void Link::take_get_reply(GpuId source, const wire::GetReply& reply, std::span<const std::byte> bytes) {
  Operation* operation = operations_.find(reply.tag, source, Operation::Kind::get);
  if (operation == nullptr) {
    ++counters_.stale_replies;
    return;
  }
  if (reply.status != wire::WindowStatus::ok) return operations_.finish(reply.tag, result_of(reply.status));
  // Pieces come one after the other; a gap is a frame that was lost.
  if (reply.at != operation->arrived || bytes.size() > operation->into.size())
    return operations_.finish(reply.tag, CNUASLINK_LOST);
  std::copy(bytes.begin(), bytes.end(), operation->into.begin());
  operation->into = operation->into.subspan(bytes.size());
  operation->arrived += static_cast<std::uint32_t>(bytes.size());
  if (operation->into.empty()) operations_.finish(reply.tag, CNUASLINK_OK);
}

void Link::take_atomic_reply(GpuId source, const wire::AtomicReply& reply) {
  if (operations_.find(reply.tag, source, Operation::Kind::atomic) == nullptr) {
    ++counters_.stale_replies;
    return;
  }
  operations_.finish(reply.tag, result_of(reply.status), reply.before);
}

void Link::take_flush_reply(GpuId source, const wire::FlushReply& reply) {
  const Operation* operation = operations_.find(reply.tag, source, Operation::Kind::flush);
  if (operation == nullptr) {
    ++counters_.stale_replies;
    return;
  }
  Peer& from = peer(source);
  // Unsigned, so that whatever a peer says ends in a number that differs.
  const std::uint64_t missing = operation->put_frames - reply.applied - reply.refused;
  cnuaslink_result result = CNUASLINK_OK;
  if (missing != from.missing_frames) result = CNUASLINK_LOST;
  if (result == CNUASLINK_OK && reply.refused != from.refused_frames) result = result_of(reply.status);
  from.missing_frames = missing;
  from.refused_frames = reply.refused;
  from.settled_frames = operation->put_frames;
  operations_.finish(reply.tag, result);
}

}  // namespace cnuas::live::endpoint
