#include "live/endpoint/put_combiner.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cnuas::live::endpoint {

PutCombiner::Frame* PutCombiner::find(GpuId peer) {
  const auto found =
      std::find_if(frames_.begin(), frames_.end(), [peer](const Frame& each) { return each.peer == peer; });
  return found == frames_.end() ? nullptr : &*found;
}

const PutCombiner::Frame* PutCombiner::frame_for(GpuId peer) const {
  const auto found = std::find_if(frames_.begin(), frames_.end(), [peer](const Frame& each) {
    return each.peer == peer || (peer == kBroadcast && each.peer != kNoGpu);
  });
  return found == frames_.end() ? nullptr : &*found;
}

GpuId PutCombiner::in_the_way(GpuId peer) const {
  if (frame_for(peer) != nullptr) return peer;
  return std::min_element(frames_.begin(), frames_.end(),
                          [](const Frame& a, const Frame& b) { return a.used < b.used; })
      ->peer;
}

PutCombiner::Added PutCombiner::begin(GpuId peer, std::uint16_t window, Frame*& out) {
  out = find(kNoGpu);
  if (out == nullptr) return Added::after_sending;
  out->memory = memory_.take();
  if (!out->memory) return Added::no_memory;
  out->peer = peer;
  out->window = window;
  out->segments = {out->memory.get(), 0};
  out->segment_count = 0;
  ++open_;
  return Added::yes;
}

PutCombiner::Added PutCombiner::add(GpuId peer, std::uint16_t window, std::uint64_t offset,
                                    std::span<const std::byte> data) {
  Frame* frame = find(peer);
  if (frame == nullptr) {
    if (const Added begun = begin(peer, window, frame); begun != Added::yes) return begun;
  } else {
    const bool adjacent = offset == frame->last_segment_end;
    const std::size_t needed = data.size() + (adjacent ? 0 : wire::kPutSegmentBytes);
    if (frame->window != window || needed > segment_bytes_ - frame->segments.size())
      return Added::after_sending;
  }
  append(*frame, offset, data);
  return Added::yes;
}

void PutCombiner::append(Frame& frame, std::uint64_t offset, std::span<const std::byte> data) {
  std::byte* end = frame.memory.get() + frame.segments.size();
  const bool adjacent = frame.segment_count > 0 && offset == frame.last_segment_end;
  if (!adjacent) {
    frame.last_segment_at = frame.segments.size();
    end += wire::kPutSegmentBytes;
    ++frame.segment_count;
  }
  std::memcpy(end, data.data(), data.size());
  end += data.size();
  frame.segments = {frame.memory.get(), end};
  std::byte* head = frame.memory.get() + frame.last_segment_at;
  const std::size_t bytes = static_cast<std::size_t>(end - head) - wire::kPutSegmentBytes;
  if (!adjacent) {
    wire::encode_segment(offset, static_cast<std::uint32_t>(bytes),
                         std::span<std::byte, wire::kPutSegmentBytes>(head, wire::kPutSegmentBytes));
  } else {
    wire::store(head + 8, static_cast<std::uint32_t>(bytes));
  }
  frame.last_segment_end = offset + data.size();
  frame.used = ++uses_;
}

void PutCombiner::remove(GpuId peer) {
  Frame* frame = find(peer);
  memory_.give_back(std::move(frame->memory));
  *frame = Frame{};
  --open_;
}

}  // namespace cnuas::live::endpoint
