#include "live/ccl/membership.h"

#include "core/wire/byte_order.h"

#include <algorithm>
#include <cerrno>

#include <sys/random.h>

namespace cnuas::live::collectives {
namespace {

constexpr std::array<std::byte, 4> kMagic = {std::byte{'C'}, std::byte{'C'}, std::byte{'L'}, std::byte{'M'}};
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kGpuAt = 6;
constexpr std::size_t kRankAt = 8;
constexpr std::size_t kRanksAt = 12;

struct Record {
  GpuId gpu;
  Rank rank = 0;
  Rank ranks = 0;
};

std::string contribution(std::size_t index) {
  return "contribution " + std::to_string(index) + " of the allgather";
}

Failure decode_record(std::span<const std::byte> bytes, std::size_t index, Record& out) {
  const bool empty =
      std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == std::byte{0}; });
  if (empty)
    return failure(CNUASCCL_MISSING_RANK,
                   contribution(index) + " is empty: rank " + std::to_string(index) + " did not take part");
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin()))
    return failure(CNUASCCL_BAD_RECORD, contribution(index) + " does not start with \"CCLM\"");
  const auto version = wire::load<std::uint16_t>(&bytes[kVersionAt]);
  if (version != kRecordVersion)
    return failure(CNUASCCL_RECORD_VERSION, contribution(index) + " has version " + std::to_string(version) +
                                                ", this library has " + std::to_string(kRecordVersion));
  out.gpu = GpuId{wire::load<std::uint16_t>(&bytes[kGpuAt])};
  out.rank = wire::load<std::uint32_t>(&bytes[kRankAt]);
  out.ranks = wire::load<std::uint32_t>(&bytes[kRanksAt]);
  return {};
}

Failure check_ranks(const std::vector<Record>& records) {
  const std::size_t ranks = records.size();
  std::vector<bool> taken(ranks, false);
  for (const Record& record : records) {
    if (record.rank >= ranks) continue;
    if (taken[record.rank])
      return failure(CNUASCCL_DUPLICATE_RANK, "two members have rank " + std::to_string(record.rank));
    taken[record.rank] = true;
  }
  const auto missing = std::find(taken.begin(), taken.end(), false) - taken.begin();
  for (const Record& record : records) {
    if (record.rank >= ranks)
      return failure(CNUASCCL_MISSING_RANK, "no member has rank " + std::to_string(missing) +
                                                ", and one has rank " + std::to_string(record.rank) +
                                                ", of " + std::to_string(ranks));
  }
  return {};
}

// What a bootstrap may have found out by itself, and says in the library's own words.
bool tells(int status) {
  return status == CNUASCCL_TIMEOUT || (status >= CNUASCCL_BOOTSTRAP_FAILED && status <= CNUASCCL_WRONG_GPU);
}

// A callback of the caller's: it may return anything.
Failure gather(const cnuasccl_bootstrap& boot, std::span<const std::byte> own, std::span<std::byte> all,
               const char* what) {
  const cnuasccl_status_t returned = boot.allgather(own.data(), all.data(), own.size(), boot.context);
  const int status = number_of(returned);
  if (status == CNUASCCL_OK) return {};
  return failure(tells(status) ? returned : CNUASCCL_BOOTSTRAP_FAILED,
                 std::string("the allgather of the ") + what + " returned " + status_name(status) + " (" +
                     std::to_string(status) + ")");
}

}  // namespace

void encode_record(GpuId gpu, Rank rank, Rank ranks, std::span<std::byte, kRecordBytes> out) {
  std::copy(kMagic.begin(), kMagic.end(), out.begin());
  wire::store(&out[kVersionAt], kRecordVersion);
  wire::store(&out[kGpuAt], gpu.value);
  wire::store(&out[kRankAt], rank);
  wire::store(&out[kRanksAt], ranks);
}

Failure Membership::from_records(std::span<const std::byte> bytes, Rank rank, GpuId gpu, Membership& out) {
  std::vector<Record> records(bytes.size() / kRecordBytes);
  for (std::size_t i = 0; i < records.size(); ++i) {
    Failure wrong = decode_record(bytes.subspan(i * kRecordBytes, kRecordBytes), i, records[i]);
    if (wrong.failed()) return wrong;
  }
  for (const Record& record : records) {
    if (record.ranks != records[0].ranks || record.ranks != records.size())
      return failure(
          CNUASCCL_SIZE_MISMATCH,
          "rank " + std::to_string(record.rank) + " takes part in one of " + std::to_string(record.ranks) +
              " ranks, others in one of " +
              std::to_string(record.ranks != records[0].ranks ? records[0].ranks
                                                              : static_cast<Rank>(records.size())));
  }
  if (Failure wrong = check_ranks(records); wrong.failed()) return wrong;
  std::vector<GpuId> gpus(records.size());
  for (const Record& record : records) {
    if (!record.gpu.usable())
      return failure(CNUASCCL_BAD_GPU,
                     "rank " + std::to_string(record.rank) + " has a gpu_id that names no GPU");
    gpus[record.rank] = record.gpu;
  }
  out = from_gpus(std::move(gpus), rank);
  const auto same = std::adjacent_find(out.by_gpu_.begin(), out.by_gpu_.end(),
                                       [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same != out.by_gpu_.end())
    return failure(CNUASCCL_GPU_COLLISION, "ranks " + std::to_string(same->second) + " and " +
                                               std::to_string((same + 1)->second) + " both have GPU " +
                                               to_string(same->first));
  if (rank >= out.size() || out.gpus_[rank] != gpu)
    return failure(CNUASCCL_BOOTSTRAP_FAILED,
                   "the allgather did not return this rank's own record (rank " + std::to_string(rank) + ")");
  return {};
}

Membership Membership::from_gpus(std::vector<GpuId> gpus, Rank rank) {
  Membership membership;
  membership.rank_ = rank;
  membership.gpus_ = std::move(gpus);
  membership.by_gpu_.reserve(membership.gpus_.size());
  for (Rank each = 0; each < membership.size(); ++each)
    membership.by_gpu_.emplace_back(membership.gpus_[each], each);
  std::sort(membership.by_gpu_.begin(), membership.by_gpu_.end());
  return membership;
}

std::optional<Rank> Membership::rank_of(GpuId gpu) const {
  const auto found = std::lower_bound(by_gpu_.begin(), by_gpu_.end(), std::pair<GpuId, Rank>(gpu, 0));
  if (found == by_gpu_.end() || found->first != gpu) return std::nullopt;
  return found->second;
}

std::string Membership::describe(Rank rank) const {
  return "rank " + std::to_string(rank) + " (GPU " + to_string(gpus_[rank]) + ")";
}

Failure bootstrap(const cnuasccl_bootstrap& boot, GpuId gpu, Membership& out) {
  const auto ranks = static_cast<Rank>(boot.n_ranks);
  const auto rank = static_cast<Rank>(boot.rank);
  std::array<std::byte, kRecordBytes> own{};
  encode_record(gpu, rank, ranks, own);
  std::vector<std::byte> all(ranks * kRecordBytes);
  if (Failure failed = gather(boot, own, all, "membership records"); failed.failed()) return failed;
  if (Failure wrong = Membership::from_records(all, rank, gpu, out); wrong.failed()) return wrong;

  std::uint32_t nonce = 0;
  // A rank without a nonce would leave the others waiting in their second allgather.
  const Failure none = draw_nonce(nonce);
  std::array<std::byte, kNonceBytes> own_nonce{};
  wire::store(own_nonce.data(), nonce);
  std::vector<std::byte> nonces(ranks * kNonceBytes);
  if (Failure failed = gather(boot, own_nonce, nonces, "nonces"); failed.failed()) return failed;
  for (Rank each = 0; each < ranks; ++each)
    out.fold_nonce(wire::load<std::uint32_t>(&nonces[each * kNonceBytes]));
  return none;
}

Failure draw_nonce(std::uint32_t& out) {
  if (getrandom(&out, sizeof out, 0) == static_cast<ssize_t>(sizeof out)) return {};
  return failure(CNUASCCL_SYSTEM, "no random number is to be had: errno " + std::to_string(errno));
}

}  // namespace cnuas::live::collectives
