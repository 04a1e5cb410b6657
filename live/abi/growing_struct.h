// Structures of the C interfaces that may grow: the first member is struct_bytes, the size that the caller's
// has, so that programs and libraries of different versions get on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace cnuas::live::growing {

// Reads the caller's structure over the values that it has otherwise.
template <class Struct>
void read_over(Struct& own, const Struct& given) {
  std::memcpy(&own, &given, std::min(given.struct_bytes, sizeof own));
}

// Makes a structure of which the caller has `bytes`, and says so in it; what the library does not know of it
// is 0. False: there is none, or it has no room for its size.
template <class Struct>
bool make(const Struct& own, Struct* to, std::size_t bytes) {
  if (to == nullptr || bytes < sizeof to->struct_bytes) return false;
  std::memset(static_cast<void*>(to), 0, bytes);
  std::memcpy(static_cast<void*>(to), &own, std::min(bytes, sizeof own));
  to->struct_bytes = bytes;
  return true;
}

// Fills in a structure of which the caller has said the size, as far as both go.
template <class Struct>
void fill_in(const Struct& own, Struct& to) {
  const std::size_t bytes = to.struct_bytes;
  std::memcpy(static_cast<void*>(&to), &own, std::min(bytes, sizeof own));
  to.struct_bytes = bytes;
}

}  // namespace cnuas::live::growing
