#include "live/endpoint/link_options.h"

#include "live/abi/growing_struct.h"
#include "live/endpoint/receive_batch.h"

#include <algorithm>
#include <cstring>

namespace cnuas::live::endpoint {

namespace {

constexpr unsigned kAllFlags =
    CNUASLINK_RAW | CNUASLINK_SILENT | CNUASLINK_AUTO_RECONNECT | CNUASLINK_PROGRESS_THREAD;
constexpr std::size_t kLeastFrameBytes = 128;  // what the library's own frames need
constexpr unsigned kHighestPort = 1023;
constexpr std::size_t kMostDoorbells = 1'048'576;
constexpr std::int64_t kLongestNs = 86'400'000'000'000;  // a day

Failure invalid(const std::string& text) {
  return {CNUASLINK_INVALID_ARGUMENT, 0, text};
}

// Options of a program that was built against an earlier header are shorter; the rest keeps its defaults.
Failure complete(const cnuaslink_options& given, cnuaslink_options& out) {
  cnuaslink_options_init(&out, sizeof out);
  // Everything up to management_timeout_ns has been there from the first version on.
  if (given.struct_bytes < offsetof(cnuaslink_options, management_timeout_ns) + sizeof(std::int64_t))
    return invalid("struct_bytes is too small: call cnuaslink_options_init() first");
  growing::read_over(out, given);
  return {};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Failure check_numbers(const cnuaslink_options& given) {
  if (!GpuId{given.gpu_id}.usable())
    return invalid("gpu_id is required, and neither 0x0000 nor 0xFFFF: (rack << 8) | slot");
  if ((given.flags & ~kAllFlags) != 0) return invalid("flags has a bit that stands for nothing");
  if (given.byte_order != CNUASLINK_BIG_ENDIAN && given.byte_order != CNUASLINK_LITTLE_ENDIAN)
    return invalid("byte_order is not of enum cnuaslink_byte_order");
  if (given.receive_policy != CNUASLINK_RECEIVE_STOPS && given.receive_policy != CNUASLINK_RECEIVE_DROPS)
    return invalid("receive_policy is not of enum cnuaslink_receive_policy");
  if (given.frame_bytes < kLeastFrameBytes || given.frame_bytes > wire::kMaxFrameBytes)
    return invalid("frame_bytes is not from 128 to 65536");
  if (given.send_buffer_bytes <= 0) return invalid("send_buffer_bytes is not above 0");
  if (given.receive_bytes == 0 || given.receive_bytes_per_source == 0)
    return invalid("receive_bytes and receive_bytes_per_source are above 0");
  if (given.receive_batch == 0 || given.receive_batch > ReceiveBatch::kSlots)
    return invalid("receive_batch is not from 1 to 16");
  if (given.max_doorbells == 0 || given.max_doorbells > kMostDoorbells)
    return invalid("max_doorbells is not from 1 to 1048576");
  for (const std::int64_t time : {given.keepalive_ns, given.connect_timeout_ns, given.management_timeout_ns})
    if (time < 0 || time > kLongestNs) return invalid("a time is not from 0 to a day");
  return {};
}

}  // namespace

Failure check(const cnuaslink_options& given, LinkOptions& out) {
  cnuaslink_options options;
  if (Failure failure = complete(given, options); failure.result != CNUASLINK_OK) return failure;
  if (Failure failure = check_numbers(options); failure.result != CNUASLINK_OK) return failure;
  if (options.socket_path != nullptr) {
    out.socket_path = options.socket_path;
    out.management_path = directory_of(out.socket_path) + "/mgmt.sock";
  } else {
    if (options.run_dir == nullptr) return invalid("run_dir and socket_path are both NULL");
    if (options.port > kHighestPort) return invalid("port is not from 0 to 1023");
    const std::string run_dir = options.run_dir;
    out.socket_path = run_dir + "/port_" + std::to_string(options.port) + ".sock";
    out.management_path = run_dir + "/mgmt.sock";
  }
  out.id = GpuId{options.gpu_id};
  out.raw = (options.flags & CNUASLINK_RAW) != 0;
  out.silent = (options.flags & CNUASLINK_SILENT) != 0;
  out.auto_reconnect = (options.flags & CNUASLINK_AUTO_RECONNECT) != 0;
  out.progress_thread = (options.flags & CNUASLINK_PROGRESS_THREAD) != 0;
  out.order = options.byte_order == CNUASLINK_BIG_ENDIAN ? wire::ByteOrder::big : wire::ByteOrder::little;
  out.send_buffer_bytes = options.send_buffer_bytes;
  out.frame_bytes = options.frame_bytes;
  out.combine_bytes = options.combine_bytes;
  out.receive_batch = options.receive_batch;
  out.inbox = {options.receive_bytes, options.receive_bytes_per_source,
               options.receive_policy == CNUASLINK_RECEIVE_DROPS, options.max_doorbells};
  out.keepalive_ps = options.keepalive_ns * kNanosecond;
  out.connect_timeout_ps = options.connect_timeout_ns * kNanosecond;
  out.management_timeout_ps = options.management_timeout_ns * kNanosecond;
  return {};
}

Picoseconds until(Picoseconds now, std::int64_t timeout_ns) {
  if (timeout_ns < 0) return kNever;
  if (timeout_ns >= (kNever - now) / kNanosecond) return kNever;
  return now + timeout_ns * kNanosecond;
}

}  // namespace cnuas::live::endpoint
