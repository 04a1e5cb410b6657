// What the functions of cnuasccl.h have in common.
#pragma once

#include "live/ccl/cnuasccl.h"
#include "live/ccl/communicator.h"
#include "live/ccl/failure.h"

#include <exception>
#include <memory>
#include <new>
#include <utility>

struct cnuasccl_comm {
  std::unique_ptr<cnuas::live::collectives::Communicator> communicator;
};

namespace cnuas::live::collectives {

// Calls `call(communicator)`, keeps its failure as the communicator's last error, and lets no exception out.
template <class Call>
cnuasccl_status_t guarded_on(cnuasccl_comm_t comm, Call&& call) noexcept {
  if (comm == nullptr) return CNUASCCL_INVALID_ARGUMENT;
  Communicator& communicator = *comm->communicator;
  try {
    const Failure why = call(communicator);
    if (why.failed()) communicator.note_error(why);
    return why.status;
  } catch (const std::bad_alloc&) {
    return CNUASCCL_NO_MEMORY;
  } catch (const std::exception&) {
    return CNUASCCL_SYSTEM;
  }
}

// Keeps a failure that has no communicator to tell it to, as cnuasccl_last_error(NULL) returns it. One for
// each thread, as errno is.
cnuasccl_status_t told_to_thread(Failure why) noexcept;

// The same for calls without a communicator.
template <class Call>
cnuasccl_status_t guarded_for_thread(Call&& call) noexcept {
  try {
    Failure why = call();
    return why.failed() ? told_to_thread(std::move(why)) : CNUASCCL_OK;
  } catch (const std::bad_alloc&) {
    return told_to_thread({CNUASCCL_NO_MEMORY, {}});
  } catch (const std::exception&) {
    return told_to_thread({CNUASCCL_SYSTEM, {}});
  }
}

}  // namespace cnuas::live::collectives
