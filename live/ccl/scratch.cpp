#include "live/ccl/scratch.h"

#include <limits>
#include <new>

#include <sys/mman.h>

namespace cnuas::live::collectives {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kLine = 64;

}  // namespace

std::byte* Scratch::take(std::size_t bytes) {
  const bool idle = capacity_ > kAlwaysKept && bytes < capacity_ / 4;
  idle_calls_ = idle ? idle_calls_ + 1 : 0;
  if (bytes > capacity_ || idle_calls_ == kIdleCalls) replace(bytes);
  return memory_.get();
}

void Scratch::replace(std::size_t bytes) {
  memory_.reset();
  capacity_ = 0;
  idle_calls_ = 0;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kLine;
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment) throw std::bad_alloc();
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  if (whole == 0) return;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, whole)));
  if (!memory_) throw std::bad_alloc();
  capacity_ = whole;
  // Five hundred times fewer page faults, where the system has such pages; otherwise nothing.
  if (alignment == kHugePage) ::madvise(memory_.get(), whole, MADV_HUGEPAGE);
}

}  // namespace cnuas::live::collectives
