#include "core/workload/workload.h"

namespace cnuas {

ccl::Problem problem_of(const CollectiveCall& call) {
  const auto ranks = static_cast<ccl::Rank>(call.ranks.size());
  const std::uint64_t chunks =
      call.chunks > 0 ? call.chunks
                      : ccl::default_chunks(call.collective, call.algorithm, ranks, call.size_bytes);
  return ccl::Problem{call.collective, call.algorithm, ranks, call.size_bytes / size_of(call.type),
                      call.root,       chunks};
}

}  // namespace cnuas
