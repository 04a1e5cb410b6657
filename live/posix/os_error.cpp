#include "live/posix/os_error.h"

#include <system_error>
#include <utility>

namespace cnuas::live {

std::string reason_of(int errno_value) {
  return std::generic_category().message(errno_value);
}

tl::unexpected<Error> os_error(int errno_value, const std::string& what, std::string where) {
  return fail(ErrorCode::io, what + ": " + reason_of(errno_value), std::move(where));
}

std::string to_string(const Error& error) {
  return error.where.empty() ? error.message : error.where + ": " + error.message;
}

}  // namespace cnuas::live
