/* The four calls by which software of a CnuasGPU reaches its fabric, over a link of libcnuaslink.
 *
 * They return 0 or a negative errno, and hand over whole frames: no demultiplexing by source, which is left
 * to the caller, as the device does. Threads: as in cnuaslink.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CNUASDEV_API __attribute__((visibility("default")))

struct cnuaslink; /* from cnuaslink_open() */

/* The GPU's own ID. -EINVAL. */
CNUASDEV_API int cnuasdev_link_id(struct cnuaslink* link, uint16_t* gpu_id);

struct cnuasdev_link_state {
  uint16_t gpu_id;
  uint16_t up;          /* 1: frames can be sent; 0: the link is down */
  uint32_t max_payload; /* bytes that one frame may carry */
  uint64_t tx_frames, tx_bytes;
  uint64_t rx_frames, rx_bytes;
  uint64_t rx_waiting; /* frames received and not taken */
};

/* -EINVAL. */
CNUASDEV_API int cnuasdev_link_status(struct cnuaslink* link, struct cnuasdev_link_state* state);

/* Sends one DATA frame to a GPU, or to all (0xFFFF), and returns when the switch has it or will. -EINVAL;
 * -EMSGSIZE: more than max_payload; -ENOTCONN: the link is down, now or while waiting. */
CNUASDEV_API int cnuasdev_link_send(struct cnuaslink* link, uint16_t dst_gpu, const void* payload,
                                    size_t bytes);

/* Takes the next frame, whoever it is from. `timeout_ms`: 0 does not wait, -1 waits without limit. -EINVAL;
 * -EAGAIN: nothing there, without waiting; -ETIMEDOUT; -EMSGSIZE: larger than `capacity`, *bytes says how
 * large, and it is still there; -ENOTCONN: the link is down and nothing is left to take. */
CNUASDEV_API int cnuasdev_link_recv(struct cnuaslink* link, uint16_t* src_gpu, void* payload, size_t capacity,
                                    size_t* bytes, int timeout_ms);

#ifdef __cplusplus
}
#endif
