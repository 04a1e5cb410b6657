// The functions of cnuasdev_link.h, by those of cnuaslink.h.
#include "live/endpoint/cnuasdev_link.h"

#include "live/endpoint/cnuaslink.h"

#include <cerrno>

namespace {

int negative_errno(cnuaslink_result result) {
  switch (result) {
    case CNUASLINK_OK:
      return 0;
    case CNUASLINK_AGAIN:
      return -EAGAIN;
    case CNUASLINK_TIMEOUT:
      return -ETIMEDOUT;
    case CNUASLINK_INVALID_ARGUMENT:
      return -EINVAL;
    case CNUASLINK_NO_MEMORY:
      return -ENOMEM;
    case CNUASLINK_NOT_CONNECTED:
      return -ENOTCONN;
    case CNUASLINK_TOO_LARGE:
    case CNUASLINK_TOO_SMALL:
      return -EMSGSIZE;
    default:
      return -EIO;
  }
}

}  // namespace

extern "C" {

int cnuasdev_link_id(cnuaslink* link, uint16_t* gpu_id) {
  if (link == nullptr || gpu_id == nullptr) return -EINVAL;
  *gpu_id = cnuaslink_id(link);
  return 0;
}

int cnuasdev_link_status(cnuaslink* link, cnuasdev_link_state* state) {
  if (link == nullptr || state == nullptr) return -EINVAL;
  cnuaslink_state full;
  full.struct_bytes = sizeof(full);
  const cnuaslink_result result = cnuaslink_status(link, &full);
  if (result != CNUASLINK_OK) return negative_errno(result);
  *state = cnuasdev_link_state{};
  state->gpu_id = cnuaslink_id(link);
  state->up = full.link == CNUASLINK_DOWN ? 0 : 1;
  state->max_payload = static_cast<uint32_t>(cnuaslink_max_message(link));
  state->tx_frames = full.counters.frames_sent;
  state->tx_bytes = full.counters.bytes_sent;
  state->rx_frames = full.counters.frames_received;
  state->rx_bytes = full.counters.bytes_received;
  state->rx_waiting = full.held_messages;
  return 0;
}

int cnuasdev_link_send(cnuaslink* link, uint16_t dst_gpu, const void* payload, size_t bytes) {
  return negative_errno(cnuaslink_send(link, dst_gpu, payload, bytes, -1));
}

int cnuasdev_link_recv(cnuaslink* link, uint16_t* src_gpu, void* payload, size_t capacity, size_t* bytes,
                       int timeout_ms) {
  if (src_gpu == nullptr || bytes == nullptr) return -EINVAL;
  cnuaslink_message message{};
  const int64_t timeout_ns = timeout_ms < 0 ? -1 : int64_t{timeout_ms} * 1'000'000;
  const cnuaslink_result result =
      cnuaslink_recv(link, CNUASLINK_ANY, payload, capacity, &message, timeout_ns);
  *src_gpu = message.source;
  *bytes = message.bytes;
  return negative_errno(result);
}

}  // extern "C"
