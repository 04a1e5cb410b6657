// The relay that a switch is measured against: what anybody would write in half an hour.
#pragma once

#include "live/posix/unique_fd.h"

#include <vector>

namespace cnuas::benchmark {

// Serves listening SOCK_SEQPACKET sockets for ever, one endpoint each: what comes in by 0 leaves by 1 and the
// other way round, likewise 2 and 3, and so on. Level-triggered epoll, and for each frame one recv() and one
// blocking send(); no look at the frame, no queue, no counter, and the socket buffers that the system gives.
// Returns when an operation fails that cannot.
int run_relay(std::vector<live::UniqueFd> listeners);

}  // namespace cnuas::benchmark
