// What the tests of faults have in common: the fields of an envelope, and frames that are changed on their
// way.
#pragma once

#include "tests/cnuasccl/fake_switch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace cnuas::live::collectives {

inline constexpr std::int64_t kShortNs = 500'000'000;  // where a deadline must pass
inline constexpr std::size_t kCount = 300;             // three chunks of 512 bytes
inline constexpr std::uint32_t kChunk = 512;

struct Field {
  const char* name;
  std::size_t offset;
  std::size_t bytes;
  cnuasccl_status_t status;
};
inline constexpr Field kFields[] = {
    {"magic", 0, 4, CNUASCCL_BAD_MAGIC},
    {"version", 4, 2, CNUASCCL_BAD_VERSION},
    {"coll_kind", 6, 2, CNUASCCL_WRONG_KIND},
    {"comm_id", 8, 4, CNUASCCL_WRONG_COMM},
    {"seq", 12, 4, CNUASCCL_WRONG_SEQUENCE},
    {"src_rank", 16, 4, CNUASCCL_WRONG_SOURCE},
    {"dst_rank", 20, 4, CNUASCCL_WRONG_DESTINATION},
    {"chunk_index", 24, 4, CNUASCCL_WRONG_CHUNK},
    {"chunk_count", 28, 4, CNUASCCL_WRONG_CHUNK_COUNT},
    {"chunk_bytes", 32, 4, CNUASCCL_WRONG_CHUNK_BYTES},
    {"total_bytes", 36, 4, CNUASCCL_WRONG_TOTAL},
};

// Changes the frame with this number on its way.
inline FakeLink::OnSend change(std::uint64_t which, std::function<void(Payload&)> how) {
  return [=](std::uint64_t index, Outgoing frame) {
    if (index == which) how(frame.bytes);
    return std::vector<Outgoing>{std::move(frame)};
  };
}

}  // namespace cnuas::live::collectives
