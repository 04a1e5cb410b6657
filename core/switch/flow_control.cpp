#include "core/switch/flow_control.h"

#include <bit>

namespace cnuas::fabric_switch {
namespace {

constexpr std::uint64_t bit_of(PortIndex port) {
  return std::uint64_t{1} << (port % 64);
}

}  // namespace

void FlowControl::pause(PortIndex ingress, PortIndex egress, std::vector<PortIndex>& paused) {
  std::uint64_t& word = waiting_[egress * words_ + ingress / 64];
  if ((word & bit_of(ingress)) != 0) return;
  word |= bit_of(ingress);
  ++waiters_[egress];
  if (waits_for_[ingress]++ > 0) return;
  overrun_[ingress] = 0;
  paused.push_back(ingress);
}

void FlowControl::resume(PortIndex egress, std::vector<PortIndex>& resumed) {
  if (!awaited(egress)) return;
  for (std::size_t i = 0; i < words_; ++i) {
    std::uint64_t word = waiting_[egress * words_ + i];
    for (; word != 0; word &= word - 1)
      let_go(static_cast<PortIndex>(i * 64 + static_cast<std::size_t>(std::countr_zero(word))), egress,
             resumed);
  }
}

void FlowControl::forget(PortIndex ingress, std::vector<PortIndex>& resumed) {
  for (std::size_t egress = 0; egress < waiters_.size() && paused(ingress); ++egress) {
    if ((waiting_[egress * words_ + ingress / 64] & bit_of(ingress)) != 0)
      let_go(ingress, static_cast<PortIndex>(egress), resumed);
  }
}

void FlowControl::let_go(PortIndex ingress, PortIndex egress, std::vector<PortIndex>& resumed) {
  waiting_[egress * words_ + ingress / 64] &= ~bit_of(ingress);
  --waiters_[egress];
  if (--waits_for_[ingress] == 0) resumed.push_back(ingress);
}

}  // namespace cnuas::fabric_switch
