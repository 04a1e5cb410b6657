// Replaces operator new for a whole program by one that counts, and that can be told to fail. For one source
// of a test that is a program of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace cnuas::test {

inline std::atomic<std::uint64_t> allocations = 0;  // of threads that are not limited
// How many more this thread gets, before one fails, and all after it; below 0: as many as there are.
inline thread_local std::int64_t allocations_left = -1;

inline void* counted_allocation(std::size_t size) {
  if (allocations_left < 0) {
    ++allocations;
  } else if (allocations_left == 0) {
    throw std::bad_alloc();
  } else {
    --allocations_left;
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace cnuas::test

void* operator new(std::size_t size) {
  return cnuas::test::counted_allocation(size);
}
void* operator new[](std::size_t size) {
  return cnuas::test::counted_allocation(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
