// Why a call failed: a status, and a sentence for people.
#pragma once

#include "live/ccl/cnuasccl.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace cnuas::live::collectives {

struct [[nodiscard]] Failure {
  cnuasccl_status_t status = CNUASCCL_OK;
  std::string text;

  bool failed() const { return status != CNUASCCL_OK; }
};

inline Failure failure(cnuasccl_status_t status, std::string text) {
  return Failure{status, std::move(text)};
}

// The number of an enumerator that a caller or a callback has given, which may be any.
template <class Enum>
int number_of(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

// "CNUASCCL_TIMEOUT", ...; "?" for a number that stands for none.
const char* status_name(int status);
const char* status_sentence(int status);

// Copies what fits in `capacity` with its final 0, at a whole UTF-8 character. Returns the length it has.
std::size_t copy_text(const std::string& text, char* out, std::size_t capacity);

}  // namespace cnuas::live::collectives
