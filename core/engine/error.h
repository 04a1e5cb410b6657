// How every operation that can fail reports it: a value with a code, a message and the place.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace cnuas {

enum class ErrorCode {
  invalid_argument,  // a value is out of its range, or two values contradict each other
  not_found,         // a name or an id that does not exist
  unreachable,       // two GPUs without a path between them
  unsupported,       // well-formed, but not available
  out_of_range,      // a result does not fit
  mismatch,          // a check found two things different that must be equal
  io,                // the operating system refused; the message ends with its reason
};

struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;  // one sentence without a full stop: what is wrong and, where it helps, what to change
  std::string where;    // the thing it happened to ("switch 'leaf1'", "rank 3, lane 1, step 7"); may be empty
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string where = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(where)});
}

}  // namespace cnuas
