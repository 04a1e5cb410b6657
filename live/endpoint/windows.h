// The pieces of this process's memory that other GPUs may reach.
#pragma once

#include "core/wire/atomic.h"
#include "core/wire/window.h"
#include "live/endpoint/cnuaslink.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include <tl/expected.hpp>

namespace cnuas::live::endpoint {

// One thread at a time. What a peer asks for is checked before any memory is touched.
class Windows {
 public:
  // INVALID_ARGUMENT: open already, or no window that can be.
  cnuaslink_result open(std::uint16_t id, std::span<std::byte> memory, unsigned access);
  // INVALID_ARGUMENT: not open.
  cnuaslink_result close(std::uint16_t id);

  struct PutOutcome {
    wire::WindowStatus status = wire::WindowStatus::ok;
    std::uint64_t bytes = 0;
  };
  // All segments or, if one may not be written, none. Precondition: decode_window() accepted them.
  PutOutcome put(std::uint16_t id, std::span<const std::byte> segments);
  tl::expected<std::span<const std::byte>, wire::WindowStatus> get(std::uint16_t id, std::uint64_t offset,
                                                                   std::uint64_t bytes) const;
  // What was there before. One indivisible operation for other threads that use atomics, too.
  tl::expected<std::uint64_t, wire::WindowStatus> apply(const wire::Atomic& atomic);

 private:
  struct Window {
    std::span<std::byte> memory;
    unsigned access = 0;
  };
  tl::expected<std::span<std::byte>, wire::WindowStatus> reach(std::uint16_t id, std::uint64_t offset,
                                                               std::uint64_t bytes, unsigned access) const;

  std::unordered_map<std::uint16_t, Window> windows_;
};

}  // namespace cnuas::live::endpoint
