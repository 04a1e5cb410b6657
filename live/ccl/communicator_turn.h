// Holds a communicator for one call: a second call meanwhile is refused.
#pragma once

#include "live/ccl/communicator.h"
#include "live/ccl/failure.h"

namespace cnuas::live::collectives {

class Communicator::Turn {
 public:
  explicit Turn(Communicator& communicator)
      : communicator_(communicator), mine_(!communicator.in_call_.exchange(true)) {}
  ~Turn() {
    if (mine_) communicator_.release();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Failure check() const {
    if (mine_) return {};
    return failure(CNUASCCL_BUSY, "another thread is in a call on this communicator");
  }

 private:
  Communicator& communicator_;
  bool mine_;
};

}  // namespace cnuas::live::collectives
