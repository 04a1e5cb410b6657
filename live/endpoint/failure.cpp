#include "live/endpoint/failure.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cnuas::live::endpoint {

cnuaslink_result result_of_errno(int error) {
  switch (error) {
    case 0:
      return CNUASLINK_OK;
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
    case ENOTSOCK:
    case EPROTOTYPE:  // a socket of another kind
      return CNUASLINK_NO_SWITCH;
    case EACCES:
    case EPERM:
      return CNUASLINK_DENIED;
    case ENAMETOOLONG:
      return CNUASLINK_INVALID_ARGUMENT;
    case EAGAIN:
      return CNUASLINK_AGAIN;
    case EMSGSIZE:
      return CNUASLINK_TOO_LARGE;
    case ENOMEM:
    case ENOBUFS:
      return CNUASLINK_NO_MEMORY;
    default:
      return CNUASLINK_SYSTEM;
  }
}

void write_text(const std::string& text, char* out, std::size_t capacity) {
  std::size_t length = std::min(text.size(), capacity - 1);
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  while (length > 0 && length < text.size() && continues(length))
    --length;
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

void write(const Failure& failure, cnuaslink_error& out) {
  out.result = failure.result;
  out.system_error = failure.system_error;
  write_text(failure.text, out.text, sizeof(out.text));
}

}  // namespace cnuas::live::endpoint
