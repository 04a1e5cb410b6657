#include "live/endpoint/inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cnuas::live::endpoint {

Inbox::~Inbox() {
  while (first_ != nullptr)
    delete std::exchange(first_, first_->behind);
  for (const auto& [payload, message] : lent_)
    delete message;
}

bool Inbox::may_hold(GpuId source) const {
  if (!limits_.drops) return true;  // full() has its say before the next packet is read
  const Source* known = source_of(source);
  return bytes_ < limits_.bytes && (known == nullptr || known->bytes < limits_.bytes_per_source);
}

bool Inbox::hold(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (!may_hold(header.source)) return false;
  const std::size_t needed = std::max<std::size_t>(payload.size(), 1);
  const std::size_t room = (needed + kPayloadAlignment - 1) / kPayloadAlignment * kPayloadAlignment;
  AlignedBytes copy = allocate_aligned(room);
  if (!copy) return false;
  if (!payload.empty()) std::memcpy(copy.get(), payload.data(), payload.size());
  const std::span<const std::byte> copied(copy.get(), payload.size());
  return append(header, copied, std::move(copy), room);
}

bool Inbox::hold(const wire::FrameHeader& header, std::span<const std::byte> payload, AlignedBytes& memory) {
  if (payload.size() < kKeepsMemoryFrom || payload.data() != memory.get() + kFramePayloadAt)
    return hold(header, payload);
  if (!may_hold(header.source)) return false;
  return append(header, payload, std::move(memory), kFrameMemoryBytes);
}

bool Inbox::append(const wire::FrameHeader& header, std::span<const std::byte> payload, AlignedBytes memory,
                   std::size_t memory_bytes) {
  Source* source = source_of(header.source);
  auto* message =
      new (std::nothrow) Message{header, payload, std::move(memory), memory_bytes + kOverheadBytes};
  if (source == nullptr || message == nullptr) {
    delete message;
    return false;
  }
  message->before = last_;
  (last_ != nullptr ? last_->behind : first_) = message;
  last_ = message;
  (source->last != nullptr ? source->last->behind_of_source : source->first) = message;
  source->last = message;
  ++messages_;
  charge(*source, message->charge);
  return true;
}

const Inbox::Message* Inbox::front(GpuId source) const {
  if (source == kNoGpu) return first_;
  const Source* known = source_of(source);
  return known != nullptr ? known->first : nullptr;
}

// The first of any source is also the first of its own.
Inbox::Message* Inbox::unlink(GpuId source) {
  Message* message = source == kNoGpu ? first_ : source_of(source)->first;
  Source& own = *source_of(message->header.source);
  (message->before != nullptr ? message->before->behind : first_) = message->behind;
  (message->behind != nullptr ? message->behind->before : last_) = message->before;
  own.first = message->behind_of_source;
  if (own.first == nullptr) own.last = nullptr;
  --messages_;
  return message;
}

void Inbox::pop(GpuId source) {
  Message* message = unlink(source);
  discharge(*message);
  destroy(message);
}

const Inbox::Message* Inbox::lend(GpuId source) {
  const Message* next = front(source);
  if (!lent_.emplace(next->payload.data(), nullptr).second) return nullptr;
  Message* message = unlink(source);
  lent_[message->payload.data()] = message;
  return message;
}

bool Inbox::give_back(const std::byte* payload) {
  const auto found = lent_.find(payload);
  if (found == lent_.end()) return false;
  Message* message = found->second;
  lent_.erase(found);
  discharge(*message);
  destroy(message);
  return true;
}

void Inbox::destroy(Message* message) {
  if (message->charge == kFrameMemoryBytes + kOverheadBytes) frames_.give_back(std::move(message->memory));
  delete message;
}

void Inbox::charge(Source& source, std::size_t bytes) {
  const bool was = source.bytes >= limits_.bytes_per_source;
  source.bytes += bytes;
  bytes_ += bytes;
  if (!was && source.bytes >= limits_.bytes_per_source) ++sources_at_limit_;
}

void Inbox::discharge(const Message& message) {
  Source& source = *source_of(message.header.source);
  const bool was = source.bytes >= limits_.bytes_per_source;
  source.bytes -= message.charge;
  bytes_ -= message.charge;
  if (was && source.bytes < limits_.bytes_per_source) --sources_at_limit_;
}

Inbox::Source* Inbox::source_of(GpuId id) {
  std::unique_ptr<Rack>& rack = racks_[id.rack()];
  if (!rack) rack.reset(new (std::nothrow) Rack{});
  return rack ? &(*rack)[id.slot()] : nullptr;
}

const Inbox::Source* Inbox::source_of(GpuId id) const {
  const std::unique_ptr<Rack>& rack = racks_[id.rack()];
  return rack ? &(*rack)[id.slot()] : nullptr;
}

bool Inbox::hold_doorbell(HeldDoorbell doorbell) {
  if (doorbells_.size() >= limits_.doorbells) return false;
  doorbells_.push_back(doorbell);
  return true;
}

std::optional<HeldDoorbell> Inbox::take_doorbell(GpuId source) {
  const auto found = std::find_if(doorbells_.begin(), doorbells_.end(), [source](const HeldDoorbell& each) {
    return source == kNoGpu || each.source == source;
  });
  if (found == doorbells_.end()) return std::nullopt;
  const HeldDoorbell doorbell = *found;
  doorbells_.erase(found);
  return doorbell;
}

}  // namespace cnuas::live::endpoint
