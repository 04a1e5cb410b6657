#include "live/endpoint/operations.h"

namespace cnuas::live::endpoint {

std::uint32_t Operations::begin(const Operation& operation) {
  while (next_tag_ == 0 || open_.contains(next_tag_))
    ++next_tag_;
  const std::uint32_t tag = next_tag_++;
  open_.emplace(tag, operation);
  ++operation.completion->pending;
  return tag;
}

Operation* Operations::find(std::uint32_t tag, GpuId peer, Operation::Kind kind) {
  const auto found = open_.find(tag);
  if (found == open_.end() || found->second.peer != peer || found->second.kind != kind) return nullptr;
  return &found->second;
}

void Operations::finish(std::uint32_t tag, cnuaslink_result result, std::uint64_t value) {
  const auto found = open_.find(tag);
  if (found == open_.end()) return;
  Completion& completion = *found->second.completion;
  --completion.pending;
  completion.value = value;
  if (completion.result == CNUASLINK_OK) completion.result = result;
  open_.erase(found);
}

void Operations::cancel(Completion& completion) {
  std::erase_if(open_, [&](const auto& each) { return each.second.completion == &completion; });
  completion.pending = 0;
}

void Operations::fail_all(cnuaslink_result result) {
  while (!open_.empty())
    finish(open_.begin()->first, result);
}

}  // namespace cnuas::live::endpoint
