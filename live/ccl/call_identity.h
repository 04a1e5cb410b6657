// What ranks that make the same call agree on.
#pragma once

#include "core/ccl/chunk.h"
#include "core/ccl/envelope.h"
#include "live/ccl/failure.h"
#include "live/ccl/membership.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cnuas::live::collectives {

struct CallIdentity {
  ccl::EnvelopeKind kind = ccl::EnvelopeKind::all_reduce;
  std::uint32_t sequence = 0;
  ccl::Signature signature;

  // Of a frame with this sequence number, from `source`; `rest` is what follows its chunk header: whether it
  // belongs to the same call. Only the first chunk of a message has a signature.
  Failure check(const ccl::Envelope& envelope, std::span<const std::byte> rest, Rank source,
                const Membership& membership) const;
};

}  // namespace cnuas::live::collectives
