// The collectives of cnuasccl.h: arguments and buffers are checked here.
#include "live/abi/growing_struct.h"
#include "live/ccl/abi.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

using namespace cnuas;
using namespace cnuas::live::collectives;

namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::ptrdiff_t>::max();

// The caller's memory for one side of a collective.
struct Span {
  const std::byte* begin = nullptr;
  std::uint64_t bytes = 0;

  std::uintptr_t first() const { return reinterpret_cast<std::uintptr_t>(begin); }
  bool overlaps(const Span& other) const {
    return bytes > 0 && other.bytes > 0 && first() < other.first() + other.bytes &&
           other.first() < first() + bytes;
  }
};

// A collective with its arguments as given, before they are known to be right.
struct Given {
  ccl::Collective collective = ccl::Collective::all_reduce;
  const void* send = nullptr;
  void* recv = nullptr;
  std::uint64_t count = 0;  // elements, as the function counts them
  int type = 0;
  int op = 0;
  int root = 0;
};

bool per_rank(ccl::Collective collective) {
  return collective != ccl::Collective::all_reduce && collective != ccl::Collective::broadcast;
}

Failure to_problem(ccl::Collective collective, std::uint64_t count, int type, Rank ranks, ccl::Problem& out) {
  if (type < CNUASCCL_INT8 || type > CNUASCCL_FLOAT64)
    return failure(CNUASCCL_INVALID_ARGUMENT, "there is no type " + std::to_string(type));
  const std::uint64_t element = size_of(static_cast<ccl::DataType>(type));
  // The larger side of a collective has so many times `count` elements.
  const std::uint64_t times = per_rank(collective) ? ranks : 1;
  if (count > kMostBytes / element / times)
    return failure(CNUASCCL_TOO_LARGE,
                   std::to_string(count) + " elements a rank are more bytes than a buffer can have");
  out = ccl::Problem{};
  out.collective = collective;
  out.ranks = ranks;
  out.count = count * times;
  return {};
}

const char* in_place_rule(ccl::Collective collective) {
  switch (collective) {
    case ccl::Collective::all_gather:
      return "send == recv + rank * count";
    case ccl::Collective::reduce_scatter:
      return "recv == send + rank * count";
    default:
      return "send == recv";
  }
}

// Where the send buffer must begin to be in place, from the beginning of the receive buffer.
std::ptrdiff_t in_place_offset(const Given& given, const ccl::Problem& problem, Rank rank) {
  const auto own = static_cast<std::ptrdiff_t>(ccl::partition(problem.count, problem.ranks, rank).offset *
                                               size_of(static_cast<ccl::DataType>(given.type)));
  if (given.collective == ccl::Collective::all_gather) return own;
  return given.collective == ccl::Collective::reduce_scatter ? -own : 0;
}

Failure check_buffers(const Given& given, const ccl::Problem& problem, Rank rank, bool& in_place) {
  const std::uint64_t element = size_of(static_cast<ccl::DataType>(given.type));
  const Span send{static_cast<const std::byte*>(given.send), input_elements(problem, rank) * element};
  const Span recv{static_cast<const std::byte*>(given.recv), output_elements(problem, rank) * element};
  in_place = false;
  if ((send.begin == nullptr && send.bytes > 0) || (recv.begin == nullptr && recv.bytes > 0))
    return failure(CNUASCCL_INVALID_ARGUMENT,
                   std::string(send.begin == nullptr && send.bytes > 0 ? "send" : "recv") + " is NULL");
  if (!send.overlaps(recv)) return {};
  in_place =
      send.first() - recv.first() == static_cast<std::uintptr_t>(in_place_offset(given, problem, rank));
  if (in_place) return {};
  return failure(CNUASCCL_INVALID_ARGUMENT,
                 std::string("send and recv overlap; in place is ") + in_place_rule(given.collective));
}

Failure to_request(const Given& given, const Membership& membership, Communicator::Request& out) {
  if (Failure wrong = to_problem(given.collective, given.count, given.type, membership.size(), out.problem);
      wrong.failed())
    return wrong;
  if (reduces(given.collective) && (given.op < CNUASCCL_SUM || given.op > CNUASCCL_MAX))
    return failure(CNUASCCL_INVALID_ARGUMENT, "there is no operator " + std::to_string(given.op));
  if (given.root < 0 || given.root >= static_cast<int>(membership.size()))
    return failure(CNUASCCL_INVALID_ARGUMENT, "root " + std::to_string(given.root) + " is not one of the " +
                                                  std::to_string(membership.size()) + " ranks");
  out.problem.root = static_cast<Rank>(given.root);
  out.type = static_cast<ccl::DataType>(given.type);
  out.op = static_cast<ccl::Operator>(given.op);
  out.send = static_cast<const std::byte*>(given.send);
  out.recv = static_cast<std::byte*>(given.recv);
  return check_buffers(given, out.problem, membership.rank(), out.in_place);
}

cnuasccl_status_t call(cnuasccl_comm_t comm, const Given& given) noexcept {
  return guarded_on(comm, [&](Communicator& communicator) {
    Communicator::Request request;
    if (Failure wrong = to_request(given, communicator.membership(), request); wrong.failed()) return wrong;
    return communicator.collective(request);
  });
}

}  // namespace

extern "C" {

cnuasccl_status_t cnuasccl_all_reduce(cnuasccl_comm_t comm, const void* send, void* recv, size_t count,
                                      cnuasccl_type_t type, cnuasccl_op_t op) {
  return call(comm, {ccl::Collective::all_reduce, send, recv, count, number_of(type), number_of(op), 0});
}

cnuasccl_status_t cnuasccl_broadcast(cnuasccl_comm_t comm, const void* send, void* recv, size_t count,
                                     cnuasccl_type_t type, int root) {
  return call(comm, {ccl::Collective::broadcast, send, recv, count, number_of(type), 0, root});
}

cnuasccl_status_t cnuasccl_all_gather(cnuasccl_comm_t comm, const void* send, void* recv, size_t count,
                                      cnuasccl_type_t type) {
  return call(comm, {ccl::Collective::all_gather, send, recv, count, number_of(type), 0, 0});
}

cnuasccl_status_t cnuasccl_reduce_scatter(cnuasccl_comm_t comm, const void* send, void* recv, size_t count,
                                          cnuasccl_type_t type, cnuasccl_op_t op) {
  return call(comm, {ccl::Collective::reduce_scatter, send, recv, count, number_of(type), number_of(op), 0});
}

cnuasccl_status_t cnuasccl_all_to_all(cnuasccl_comm_t comm, const void* send, void* recv, size_t count,
                                      cnuasccl_type_t type) {
  return call(comm, {ccl::Collective::all_to_all, send, recv, count, number_of(type), 0, 0});
}

cnuasccl_status_t cnuasccl_barrier(cnuasccl_comm_t comm) {
  return guarded_on(comm, [](Communicator& communicator) { return communicator.barrier(); });
}

cnuasccl_status_t cnuasccl_explain(cnuasccl_comm_t comm, cnuasccl_collective_t collective, size_t count,
                                   cnuasccl_type_t type, struct cnuasccl_choice* choice, char* text,
                                   size_t capacity) {
  return guarded_on(comm, [&](Communicator& communicator) {
    const int number = number_of(collective);
    if (number < CNUASCCL_ALL_REDUCE || number > CNUASCCL_ALL_TO_ALL)
      return failure(CNUASCCL_INVALID_ARGUMENT, "there is no collective " + std::to_string(number));
    ccl::Problem problem;
    if (Failure wrong = to_problem(static_cast<ccl::Collective>(number), count, number_of(type),
                                   communicator.membership().size(), problem);
        wrong.failed())
      return wrong;
    Choice chosen;
    std::string explanation;
    Failure none = communicator.choice_of(problem, static_cast<ccl::DataType>(number_of(type)), chosen,
                                          text == nullptr ? nullptr : &explanation);
    copy_text(explanation, text, capacity);
    if (none.failed() || choice == nullptr) return none;
    cnuasccl_choice now{};
    now.algorithm =
        static_cast<cnuasccl_algorithm_t>(static_cast<int>(chosen.schedule->problem().algorithm) + 1);
    now.canonical = chosen.canonical ? 1 : 0;
    now.forced = chosen.forced ? 1 : 0;
    now.pieces = chosen.schedule->problem().chunks;
    now.predicted_ns = chosen.predicted_ps / 1000;
    live::growing::fill_in(now, *choice);
    return none;
  });
}

}  // extern "C"
