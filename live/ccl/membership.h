// Who takes part in a communicator: the table that the bootstrap fills, and that everything else is a view
// of.
#pragma once

#include "core/ccl/collective.h"
#include "core/topology/gpu_id.h"
#include "live/ccl/cnuasccl.h"
#include "live/ccl/failure.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::live::collectives {

using ccl::Rank;

// 16 bytes, little-endian:
//
//   offset  size  field
//   0       4     magic, the bytes "CCLM"
//   4       2     version, 1
//   6       2     gpu_id
//   8       4     rank
//   12      4     n_ranks
inline constexpr std::size_t kRecordBytes = 16;
inline constexpr std::uint16_t kRecordVersion = 1;
inline constexpr std::size_t kNonceBytes = 4;  // little-endian
inline constexpr Rank kMostRanks = 65'534;     // as many GPU IDs as there are

void encode_record(GpuId gpu, Rank rank, Rank ranks, std::span<std::byte, kRecordBytes> out);

class Membership {
 public:
  Membership() = default;

  // From the records of all ranks, one after the other, in any order. Fails with a status of membership that
  // is the same whichever rank looks at them, and otherwise when the record of `rank` is not that of `gpu`.
  static Failure from_records(std::span<const std::byte> records, Rank rank, GpuId gpu, Membership& out);
  // From GPUs that are known to be usable and different, in rank order.
  static Membership from_gpus(std::vector<GpuId> gpus, Rank rank);

  Rank rank() const { return rank_; }
  Rank size() const { return static_cast<Rank>(gpus_.size()); }
  GpuId gpu_of(Rank rank) const { return gpus_[rank]; }  // precondition: rank < size()
  std::optional<Rank> rank_of(GpuId gpu) const;
  Rank ring_next() const { return rank_ + 1 == size() ? 0 : rank_ + 1; }
  Rank ring_previous() const { return rank_ == 0 ? size() - 1 : rank_ - 1; }

  std::uint32_t id() const { return id_; }
  void fold_nonce(std::uint32_t nonce) { id_ ^= nonce; }

  // "rank 3 (GPU 1/4)"
  std::string describe(Rank rank) const;

 private:
  Rank rank_ = 0;
  std::vector<GpuId> gpus_;
  std::vector<std::pair<GpuId, Rank>> by_gpu_;  // sorted
  std::uint32_t id_ = 0;
};

// Runs the two allgathers. On failure `out` is not to be used.
Failure bootstrap(const cnuasccl_bootstrap& boot, GpuId gpu, Membership& out);

// Four bytes that nobody can predict. Fails with SYSTEM.
Failure draw_nonce(std::uint32_t& out);

}  // namespace cnuas::live::collectives
