// What a link is opened with, checked.
#pragma once

#include "core/engine/time.h"
#include "core/topology/gpu_id.h"
#include "core/wire/byte_order.h"
#include "live/endpoint/cnuaslink.h"
#include "live/endpoint/failure.h"
#include "live/endpoint/inbox.h"

#include <string>

namespace cnuas::live::endpoint {

struct LinkOptions {
  std::string socket_path;
  std::string management_path;
  GpuId id;
  bool raw = false;
  bool silent = false;
  bool auto_reconnect = false;
  bool progress_thread = false;
  wire::ByteOrder order = wire::ByteOrder::big;
  int send_buffer_bytes = 0;
  std::size_t frame_bytes = 0;
  std::size_t combine_bytes = 0;
  std::size_t receive_batch = 0;
  InboxLimits inbox;
  Picoseconds keepalive_ps = 0;
  Picoseconds connect_timeout_ps = 0;
  Picoseconds management_timeout_ps = 0;
};

// INVALID_ARGUMENT, with a text that names the option.
Failure check(const cnuaslink_options& given, LinkOptions& out);

// A caller's timeout as a point in time; kNever for one without limit.
Picoseconds until(Picoseconds now, std::int64_t timeout_ns);

}  // namespace cnuas::live::endpoint
