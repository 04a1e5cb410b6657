#include "live/ccl/call_identity.h"

#include "core/ccl/collective.h"

#include <string>

namespace cnuas::live::collectives {
namespace {

std::string type_name(std::uint8_t type) {
  return std::string(name(static_cast<ccl::DataType>(type)));
}
std::string operator_name(std::uint8_t op) {
  return op == ccl::kNoOperator ? "none" : std::string(name(static_cast<ccl::Operator>(op)));
}
std::string kind_name(std::uint16_t kind) {
  return std::string(name(static_cast<ccl::EnvelopeKind>(kind)));
}

}  // namespace

Failure CallIdentity::check(const ccl::Envelope& envelope, std::span<const std::byte> rest, Rank source,
                            const Membership& membership) const {
  const auto in = [&] { return std::string(name(kind)) + ", sequence " + std::to_string(sequence) + ": "; };
  const auto differ = [&](cnuasccl_status_t status, const std::string& theirs, const std::string& ours) {
    return failure(status, in() + membership.describe(source) + " has " + theirs + ", " +
                               membership.describe(membership.rank()) + " has " + ours);
  };
  if (envelope.kind != static_cast<std::uint16_t>(kind))
    return differ(CNUASCCL_WRONG_KIND, "called " + kind_name(envelope.kind),
                  "called " + std::string(name(kind)));
  if (envelope.chunk_index != 0) return {};
  const auto theirs = ccl::decode_signature(rest);
  if (!theirs)
    return failure(
        theirs.error() == ccl::ChunkError::too_short ? CNUASCCL_WRONG_CHUNK_BYTES : CNUASCCL_BAD_CHUNK,
        in() + "the first chunk of a message from " + membership.describe(source) + " has no signature");
  if (theirs->type != signature.type)
    return differ(CNUASCCL_TYPE_MISMATCH, type_name(theirs->type), type_name(signature.type));
  if (theirs->op != signature.op)
    return differ(CNUASCCL_OPERATOR_MISMATCH, "operator " + operator_name(theirs->op),
                  operator_name(signature.op));
  if (theirs->root != signature.root)
    return differ(CNUASCCL_ROOT_MISMATCH, "root " + std::to_string(theirs->root),
                  "root " + std::to_string(signature.root));
  if (theirs->count != signature.count)
    return differ(CNUASCCL_COUNT_MISMATCH, std::to_string(theirs->count) + " elements",
                  std::to_string(signature.count));
  const auto algorithm = [](const ccl::Signature& each) {
    return std::string(name(static_cast<ccl::Algorithm>(each.algorithm))) + " in " +
           std::to_string(each.chunks) + " pieces";
  };
  if (theirs->algorithm != signature.algorithm || theirs->chunks != signature.chunks)
    return differ(CNUASCCL_ALGORITHM_MISMATCH, algorithm(*theirs), algorithm(signature));
  return {};
}

}  // namespace cnuas::live::collectives
