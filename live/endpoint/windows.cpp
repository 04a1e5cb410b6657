#include "live/endpoint/windows.h"

#include <atomic>
#include <cstring>

namespace cnuas::live::endpoint {

namespace {

using wire::WindowStatus;

constexpr unsigned kAllAccess = CNUASLINK_ACCESS_PUT | CNUASLINK_ACCESS_GET | CNUASLINK_ACCESS_ATOMIC;

}  // namespace

cnuaslink_result Windows::open(std::uint16_t id, std::span<std::byte> memory, unsigned access) {
  if (memory.data() == nullptr || memory.empty() || memory.size() > wire::kMostWindowBytes)
    return CNUASLINK_INVALID_ARGUMENT;
  if (access == 0 || (access & ~kAllAccess) != 0) return CNUASLINK_INVALID_ARGUMENT;
  return windows_.try_emplace(id, Window{memory, access}).second ? CNUASLINK_OK : CNUASLINK_INVALID_ARGUMENT;
}

cnuaslink_result Windows::close(std::uint16_t id) {
  return windows_.erase(id) > 0 ? CNUASLINK_OK : CNUASLINK_INVALID_ARGUMENT;
}

tl::expected<std::span<std::byte>, WindowStatus> Windows::reach(std::uint16_t id, std::uint64_t offset,
                                                                std::uint64_t bytes, unsigned access) const {
  const auto found = windows_.find(id);
  if (found == windows_.end()) return tl::unexpected(WindowStatus::no_window);
  const Window& window = found->second;
  if ((window.access & access) == 0) return tl::unexpected(WindowStatus::not_permitted);
  if (offset > window.memory.size() || bytes > window.memory.size() - offset)
    return tl::unexpected(WindowStatus::out_of_bounds);
  return window.memory.subspan(offset, bytes);
}

Windows::PutOutcome Windows::put(std::uint16_t id, std::span<const std::byte> segments) {
  for (std::span<const std::byte> rest = segments; const auto segment = wire::next_segment(rest);) {
    const auto target = reach(id, segment->offset, segment->bytes.size(), CNUASLINK_ACCESS_PUT);
    if (!target) return {target.error(), 0};
  }
  PutOutcome outcome;
  for (std::span<const std::byte> rest = segments; const auto segment = wire::next_segment(rest);) {
    const auto target = reach(id, segment->offset, segment->bytes.size(), CNUASLINK_ACCESS_PUT);
    std::memcpy(target->data(), segment->bytes.data(), segment->bytes.size());
    outcome.bytes += segment->bytes.size();
  }
  return outcome;
}

tl::expected<std::span<const std::byte>, WindowStatus> Windows::get(std::uint16_t id, std::uint64_t offset,
                                                                    std::uint64_t bytes) const {
  return reach(id, offset, bytes, CNUASLINK_ACCESS_GET);
}

tl::expected<std::uint64_t, WindowStatus> Windows::apply(const wire::Atomic& atomic) {
  const auto target = reach(wire::window_of(atomic.address), wire::offset_of(atomic.address),
                            sizeof(std::uint64_t), CNUASLINK_ACCESS_ATOMIC);
  if (!target) return tl::unexpected(target.error());
  if (reinterpret_cast<std::uintptr_t>(target->data()) % sizeof(std::uint64_t) != 0)
    return tl::unexpected(WindowStatus::misaligned);
  const std::atomic_ref<std::uint64_t> cell(*reinterpret_cast<std::uint64_t*>(target->data()));
  std::uint64_t before = cell.load();
  while (!cell.compare_exchange_weak(before, wire::apply(atomic, before))) {
  }
  return before;
}

}  // namespace cnuas::live::endpoint
