// Memory that schedules need beside the caller's, kept from one collective to the next.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace cnuas::live::collectives {

class Scratch {
 public:
  // What is no longer needed is given back when so many calls in a row have needed less than a quarter of it.
  // Getting much memory from the system, page by page, takes longer than to fill it.
  static constexpr int kIdleCalls = 100;
  static constexpr std::size_t kAlwaysKept = 64 << 20;

  // At least so many bytes, not initialised, until the next call. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  std::size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  void replace(std::size_t bytes);

  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t capacity_ = 0;
  int idle_calls_ = 0;
};

}  // namespace cnuas::live::collectives
