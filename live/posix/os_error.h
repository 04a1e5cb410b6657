// What the operating system refused, as a value.
#pragma once

#include "core/engine/error.h"

#include <string>

namespace cnuas::live {

// ErrorCode::io with "what: reason of errno_value"; `where` names the file, socket or port.
tl::unexpected<Error> os_error(int errno_value, const std::string& what, std::string where = {});

// "Connection refused"
std::string reason_of(int errno_value);

// "where: message", or the message alone.
std::string to_string(const Error& error);

}  // namespace cnuas::live
