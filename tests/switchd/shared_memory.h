// Memory that a process shares with those that it forks.
#pragma once

#include <new>

#include <sys/mman.h>

namespace cnuas::test {

// A T that is there for all processes forked after it was made, as one and the same; made and destroyed by
// the first.
template <class T>
class Shared {
 public:
  Shared() : memory_(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    new (memory_) T();
  }
  ~Shared() { ::munmap(memory_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T& operator*() const { return *static_cast<T*>(memory_); }
  T* operator->() const { return static_cast<T*>(memory_); }

 private:
  void* memory_;
};

}  // namespace cnuas::test
