#include "core/wire/doorbell.h"
#include "live/endpoint/link.h"
#include "live/posix/os_error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

namespace cnuas::live::endpoint {

namespace {

constexpr int kBatchesAtATime = 4;
constexpr std::string_view kError = "error: ";  // how a switch begins when it turns an endpoint away
constexpr std::string_view kBusy = "has an endpoint already";

bool starts_with(std::span<const std::byte> packet, std::string_view start) {
  return packet.size() >= start.size() && std::memcmp(packet.data(), start.data(), start.size()) == 0;
}

}  // namespace

void Link::read() {
  sent_since_read_ = 0;
  for (int i = 0; i < kBatchesAtATime && connection_.is_open() && !receive_stopped_; ++i) {
    if (!read_batch()) return;
  }
}

// False: there is no more just now.
bool Link::read_batch() {
  int packets = batch_.receive(connection_.fd(), options_.receive_batch);
  // A switch that closes with frames unread causes this once, before what it has sent can be read.
  if (packets == -ECONNRESET) packets = batch_.receive(connection_.fd(), options_.receive_batch);
  if (packets == -EAGAIN) return false;
  if (packets < 0) {
    went_down({CNUASLINK_NOT_CONNECTED, -packets, options_.socket_path + ": " + reason_of(-packets)});
    return false;
  }
  changed_ = true;
  const auto received = static_cast<std::size_t>(packets);
  for (std::size_t slot = 0; slot < received; ++slot) {
    // The end looks like packets without bytes, any number of them.
    if (batch_.packet(slot).empty() && connection_.other_end_closed()) continue;
    try {
      take_packet(slot);
    } catch (const std::bad_alloc&) {  // the others of the batch are not lost with it
      ++counters_.frames_without_memory;
    }
  }
  look_at_room();
  if (batch_.packet(received - 1).empty() && connection_.other_end_closed()) {
    if (refusal_.result == CNUASLINK_OK)
      refusal_ = {CNUASLINK_NOT_CONNECTED, 0,
                  options_.socket_path + ": the switch has closed the connection"};
    went_down(refusal_);
    return false;
  }
  return received == options_.receive_batch;
}

void Link::take_packet(std::size_t slot) {
  const std::span<const std::byte> packet = batch_.packet(slot);
  ++counters_.frames_received;
  counters_.bytes_received += packet.size();
  const tl::expected<wire::FrameHeader, wire::FrameError> header = wire::decode(packet);
  if (!header && starts_with(packet, kError)) return take_words_of_switch(packet);
  if (!header || batch_.truncated(slot)) {
    ++counters_.invalid_frames;
    return;
  }
  const bool for_me = header->destination == options_.id || header->destination == kBroadcast;
  if (!for_me || header->source == options_.id) {
    ++counters_.misdirected_frames;
    return;
  }
  welcomed();
  take_frame(*header, slot);
}

void Link::take_words_of_switch(std::span<const std::byte> packet) {
  std::string words(reinterpret_cast<const char*>(packet.data()), packet.size());
  words.erase(0, kError.size());
  while (!words.empty() && (words.back() == '\n' || words.back() == '\0'))
    words.pop_back();
  const bool busy = words.find(kBusy) != std::string::npos;
  refusal_ = {busy ? CNUASLINK_BUSY : CNUASLINK_REFUSED, 0, options_.socket_path + ": " + words};
}

void Link::take_frame(const wire::FrameHeader& header, std::size_t slot) {
  const std::span<const std::byte> payload = batch_.packet(slot).subspan(wire::kHeaderBytes);
  switch (header.type) {
    case wire::FrameType::data:
      if (!options_.raw && header.destination == options_.id && wire::has_window_magic(payload) &&
          take_window_traffic(header, payload, slot))
        return;
      return take_message(header, payload, slot);
    case wire::FrameType::collective_reduce:
    case wire::FrameType::collective_gather:
      return take_message(header, payload, slot);
    case wire::FrameType::atomic:
      if (options_.raw) return take_message(header, payload, slot);
      return take_atomic(header.source, payload);
    case wire::FrameType::doorbell:
      return take_doorbell(header, payload);
    case wire::FrameType::discovery:
    case wire::FrameType::keepalive:
      ++counters_.link_frames_received;
      return;
  }
}

void Link::take_message(const wire::FrameHeader& header, std::span<const std::byte> payload,
                        std::size_t slot) {
  ++counters_.messages_received;
  counters_.message_bytes_received += payload.size();
  bool held = false;
  const bool wrapped = payload.data() != batch_.packet(slot).data() + wire::kHeaderBytes;
  if (payload.size() >= Inbox::kKeepsMemoryFrom && !wrapped) {
    AlignedBytes spare = frames_.take();
    if (spare) {
      AlignedBytes memory = batch_.exchange(slot, std::move(spare));
      held = inbox_.hold(header, payload, memory);
      if (memory) frames_.give_back(std::move(memory));
    }
  } else {
    held = inbox_.hold(header, payload);
  }
  if (!held) ++counters_.messages_dropped;
}

void Link::take_doorbell(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  const auto doorbell = wire::decode_doorbell(payload);
  if (!doorbell) {
    ++counters_.invalid_frames;
    return;
  }
  ++counters_.doorbells_received;
  if (!inbox_.hold_doorbell({header.source, doorbell->value})) ++counters_.doorbells_dropped;
}

void Link::look_at_room() {
  const bool full = inbox_.full() || replies_.full();
  if (full == receive_stopped_) return;
  if (full) ++counters_.receive_stops;
  receive_stopped_ = full;
  waiting_.set_reading(!full);
}

// --- What callers take -----------------------------------------------------------------------------------

const Inbox::Message* Link::next_message(GpuId source, cnuaslink_message& message) const {
  const Inbox::Message* next = inbox_.front(source);
  if (next != nullptr) {
    message = {next->header.source.value, next->header.destination.value,
               static_cast<std::uint8_t>(next->header.type), next->payload.size()};
  }
  return next;
}

cnuaslink_result Link::receive(GpuId source, std::span<std::byte> buffer, cnuaslink_message& message,
                               std::int64_t timeout_ns) {
  Lock lock(mutex_);
  return wait(lock, timeout_ns, [&] {
    const Inbox::Message* next = next_message(source, message);
    if (next == nullptr) return later();
    if (next->payload.size() > buffer.size()) return CNUASLINK_TOO_SMALL;
    if (!next->payload.empty()) std::memcpy(buffer.data(), next->payload.data(), next->payload.size());
    inbox_.pop(source);
    ++counters_.messages_taken;
    look_at_room();
    return CNUASLINK_OK;
  });
}

cnuaslink_result Link::borrow(GpuId source, const void*& data, cnuaslink_message& message,
                              std::int64_t timeout_ns) {
  Lock lock(mutex_);
  return wait(lock, timeout_ns, [&] {
    if (next_message(source, message) == nullptr) return later();
    const Inbox::Message* lent = inbox_.lend(source);
    if (lent == nullptr) return CNUASLINK_NO_MEMORY;
    data = lent->payload.data();
    ++counters_.messages_taken;
    return CNUASLINK_OK;
  });
}

void Link::give_back(const void* data) {
  const Lock lock(mutex_);
  if (!inbox_.give_back(static_cast<const std::byte*>(data))) return;
  look_at_room();
  publish();
}

cnuaslink_result Link::receive_doorbell(GpuId source, cnuaslink_doorbell& doorbell, std::int64_t timeout_ns) {
  Lock lock(mutex_);
  return wait(lock, timeout_ns, [&] {
    const std::optional<HeldDoorbell> taken = inbox_.take_doorbell(source);
    if (!taken) return later();
    doorbell = {taken->source.value, taken->value};
    return CNUASLINK_OK;
  });
}

}  // namespace cnuas::live::endpoint
