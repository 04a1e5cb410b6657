/* libcnuasccl_link: the link of libcnuasccl over the socket of a switch port, by libcnuaslink.
 *
 *   struct cnuasccl_link* link;
 *   cnuasccl_link_open(&options, &link, NULL, 0);
 *   cnuasccl_link_use(link, &transport, &extension, sizeof extension);
 *   cnuasccl_comm_set_link(comm, &transport, &extension, NULL, NULL);
 *
 * Threads. The functions of the transport are called by one thread at a time, as cnuasccl.h says; those here
 * by any, but for cnuasccl_link_close(), which needs every communicator that uses the link to be gone.
 *
 * Frames are DATA frames. Frames of other types that come in are dropped, and counted. */
#pragma once

#include <cnuasccl.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cnuaslink; /* cnuaslink.h */

struct cnuasccl_link; /* a link */

struct cnuasccl_link_options {
  size_t struct_bytes; /* as the caller was compiled; cnuasccl_link_options_init() sets it */
  const char* run_dir; /* of the switch; "/var/run/cnuaslink" */
  unsigned port;       /* connects to RUN_DIR/port_PORT.sock; 0 */
  /* (rack << 8) | slot. 0: the one that the switch expects at the port; where it expects none in particular,
   * or cannot be asked, slot PORT of rack 1. 0. */
  uint16_t gpu_id;
  /* 1: a thread reads what comes in while the program is in no collective. 0: nobody does, and the switch
   * drops frames for a GPU that has not read for its stall_timeout (50 ms) once its queue is full, which the
   * next collective reports. 1. */
  int progress_thread;
  int64_t connect_timeout_ns; /* until the switch has taken this endpoint in: 2 s; above 0 */
};

/* Fills in the values named above. `bytes` is sizeof(struct cnuasccl_link_options). */
CNUASCCL_API void cnuasccl_link_options_init(struct cnuasccl_link_options* options, size_t bytes);

/* Connects to a port of a switch as a GPU. `error` (may be NULL) receives one sentence when it fails, cut to
 * what fits in `capacity` with its final 0. INVALID_ARGUMENT, NO_MEMORY, SYSTEM; LINK_FAILED: there is no
 * switch, or it refused; WRONG_GPU: it expects another at this port; TIMEOUT. *link is NULL unless OK. */
CNUASCCL_API cnuasccl_status_t cnuasccl_link_open(const struct cnuasccl_link_options* options,
                                                  struct cnuasccl_link** link, char* error, size_t capacity);

/* Over a link that is open already, and stays the caller's: it must outlive this one, and nobody else takes
 * messages from it. Where it has no progress thread, see cnuasccl_link_options. INVALID_ARGUMENT (also: its
 * messages have less than 61,480 bytes, it may hold less than 7,902,208 bytes of them, all or of one source,
 * or drops what is beyond), NO_MEMORY. *link is NULL unless OK. */
CNUASCCL_API cnuasccl_status_t cnuasccl_link_wrap(struct cnuaslink* endpoint, struct cnuasccl_link** link);

/* NULL is allowed. */
CNUASCCL_API void cnuasccl_link_close(struct cnuasccl_link* link);

/* Waits until the switch knows a way to each of `count` GPUs; its own may be among them. Frames for a GPU
 * that it knows no way to are dropped: so, where ranks are not all there when the first of them begins, as
 * with several switches, before the first collective. INVALID_ARGUMENT (also: timeout_ns below 0), NO_MEMORY;
 * TIMEOUT: `error` says what is missing. A switch that gives no answer three times in a row cannot be asked,
 * and is not waited for: OK. */
CNUASCCL_API cnuasccl_status_t cnuasccl_link_wait_for(struct cnuasccl_link* link, const uint16_t* gpus,
                                                      size_t count, int64_t timeout_ns, char* error,
                                                      size_t capacity);

/* For cnuasccl_comm_set_link(). `extension` may be NULL; `extension_bytes` is its size. INVALID_ARGUMENT. */
CNUASCCL_API cnuasccl_status_t cnuasccl_link_use(struct cnuasccl_link* link,
                                                 struct cnuasccl_link_transport* transport,
                                                 struct cnuasccl_link_extension* extension,
                                                 size_t extension_bytes);

/* The endpoint of libcnuaslink below: for its counters, and for why it went down. */
CNUASCCL_API struct cnuaslink* cnuasccl_link_endpoint(struct cnuasccl_link* link);

/* Frames that were dropped because they are none that collectives use. */
CNUASCCL_API uint64_t cnuasccl_link_dropped(const struct cnuasccl_link* link);

#ifdef __cplusplus
}
#endif
