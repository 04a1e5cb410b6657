/* libcnuaslink: one GPU's end of a CnuasLink fabric, over the socket of a switch port.
 *
 * Threads. Any thread may call any function on any link at any time, several threads on one link too; one
 * lock inside keeps them apart, and a call that waits does not hold it. Three exceptions: cnuaslink_close()
 * needs every other call on its link to have returned; what cnuaslink_borrow() lent may be read by one thread
 * while others call; and the memory of a window changes within calls of this library, on whatever thread they
 * are made.
 *
 * What it never does: end the process, print, throw, install a signal handler, raise SIGPIPE, or leave a
 * descriptor open across exec. It starts no thread unless CNUASLINK_PROGRESS_THREAD asks for one.
 *
 * Progress. Frames are read, and windows served, within calls: any call that may wait does it, and
 * cnuaslink_progress() does nothing else. A program that does not call for long holds up whoever sends to it,
 * and its switch drops frames for it after a while.
 *
 * Waiting. `timeout_ns` is how long a call may wait, in nanoseconds: 0 not at all, -1 without limit. A call
 * that could not do its work at once returns CNUASLINK_AGAIN when it was not to wait, and CNUASLINK_TIMEOUT
 * when it has waited in vain.
 *
 * docs/endpoint.md is a tour of it; docs/wire.md has the bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CNUASLINK_API __attribute__((visibility("default")))

#define CNUASLINK_ANY 0x0000u /* as a source: whoever it is */
#define CNUASLINK_ALL 0xFFFFu /* as a destination: every GPU of the fabric but this one */

/* What a call comes to. Numbers never change their meaning; later versions may add some. */
typedef enum cnuaslink_result {
  CNUASLINK_OK = 0,
  CNUASLINK_AGAIN = 1,            /* not now, and the call was not to wait */
  CNUASLINK_TIMEOUT = 2,          /* not within the time given */
  CNUASLINK_INVALID_ARGUMENT = 3, /* an argument that can never be right */
  CNUASLINK_NO_MEMORY = 4,
  CNUASLINK_SYSTEM = 5,         /* the operating system refused; struct cnuaslink_error has its errno */
  CNUASLINK_NO_SWITCH = 6,      /* nobody listens on the port's socket */
  CNUASLINK_DENIED = 7,         /* the operating system does not let this user at the socket */
  CNUASLINK_BUSY = 8,           /* the port has an endpoint already */
  CNUASLINK_REFUSED = 9,        /* the switch refused this endpoint; struct cnuaslink_error has its words */
  CNUASLINK_NOT_CONNECTED = 10, /* the link is down */
  CNUASLINK_TOO_LARGE = 11,     /* more bytes than one frame may carry */
  CNUASLINK_TOO_SMALL = 12,     /* the message is larger than the buffer; it is kept */
  CNUASLINK_UNAVAILABLE = 13,   /* the switch's management socket does not answer */
  CNUASLINK_NO_WINDOW = 14,     /* the peer has no window of this number */
  CNUASLINK_OUT_OF_BOUNDS = 15, /* not wholly within the window */
  CNUASLINK_NOT_PERMITTED = 16, /* the window is not open for this */
  CNUASLINK_MISALIGNED = 17,    /* an atomic's place in the peer's memory is no multiple of 8 */
  CNUASLINK_LOST = 18,          /* frames were lost on the way: something has not been done */
  CNUASLINK_UNSUPPORTED = 19,   /* not on a link that is CNUASLINK_RAW */
} cnuaslink_result;

/* One sentence, in English, for any number. */
CNUASLINK_API const char* cnuaslink_strerror(int result);

/* "0.1.0" */
CNUASLINK_API const char* cnuaslink_version(void);

/* Why something failed. `text` ends with 0 and is empty when there is nothing to add. */
struct cnuaslink_error {
  cnuaslink_result result;
  int system_error; /* errno; 0: none */
  char text[256];
};

/* --- Opening ------------------------------------------------------------------------------------------- */

struct cnuaslink; /* a link */

enum cnuaslink_byte_order {
  CNUASLINK_BIG_ENDIAN = 0, /* headers begin with "HL" */
  CNUASLINK_LITTLE_ENDIAN = 1,
};

enum cnuaslink_receive_policy {
  CNUASLINK_RECEIVE_STOPS = 0, /* no more is read until messages are taken: nothing is lost here */
  CNUASLINK_RECEIVE_DROPS = 1, /* messages beyond the limits are dropped, and counted */
};

enum cnuaslink_flags {
  CNUASLINK_RAW = 1,    /* no windows: payloads are sent and received as they are, ATOMIC frames too */
  CNUASLINK_SILENT = 2, /* does not announce itself: the switch learns it from its first frame */
  CNUASLINK_AUTO_RECONNECT = 4,  /* connects again by itself when the link has gone down */
  CNUASLINK_PROGRESS_THREAD = 8, /* starts a thread that does cnuaslink_progress() when there is need */
};

struct cnuaslink_options {
  size_t struct_bytes; /* as the caller was compiled; cnuaslink_options_init() sets it */

  const char* run_dir;     /* of the switch; "/var/run/cnuaslink" */
  unsigned port;           /* connects to RUN_DIR/port_PORT.sock; 0 */
  const char* socket_path; /* instead of the two; NULL. Management is then asked in the same directory */
  uint16_t gpu_id;         /* (rack << 8) | slot, 0x0001 to 0xFFFE; required */
  unsigned flags;          /* of enum cnuaslink_flags; 0 */
  unsigned byte_order; /* of enum cnuaslink_byte_order, for the headers it sends; CNUASLINK_BIG_ENDIAN. Reads
                          both */

  int send_buffer_bytes; /* of the socket: 1 MiB. The kernel may grant less */
  size_t frame_bytes;    /* largest frame it sends, header included: 65,536, which is also the most */

  size_t combine_bytes; /* puts of up to so many bytes are combined: 4096; 0: none is */

  /* Messages that have been read and not taken: when they reach a limit, the policy holds. A message counts
   * with its memory and some 100 bytes; a limit is exceeded by what one call to the kernel brings. */
  size_t receive_bytes;            /* of all sources: 16 MiB */
  size_t receive_bytes_per_source; /* 8 MiB */
  unsigned receive_batch;          /* packets that one call to the kernel brings, at most: 16; 1 to 16 */
  unsigned receive_policy;         /* of enum cnuaslink_receive_policy; CNUASLINK_RECEIVE_STOPS */
  uint32_t max_doorbells;          /* that wait to be taken: 1024; one more is dropped, and counted */

  int64_t keepalive_ns;       /* LINK_KEEPALIVE after so long without a frame: 1 s; 0: never */
  int64_t connect_timeout_ns; /* until the switch has taken this endpoint in: 2 s; 0: does not wait for it */
  int64_t management_timeout_ns; /* for an answer of the switch's management socket: 1 s */
};

/* Fills in the values named above. `bytes` is sizeof(struct cnuaslink_options). */
CNUASLINK_API void cnuaslink_options_init(struct cnuaslink_options* options, size_t bytes);

/* Connects to a port of a switch and announces the GPU there. `error` may be NULL.
 * INVALID_ARGUMENT, NO_MEMORY, SYSTEM, NO_SWITCH, DENIED, BUSY, REFUSED; TIMEOUT: the switch did not take
 * the endpoint in within connect_timeout_ns. *link is NULL unless OK. */
CNUASLINK_API cnuaslink_result cnuaslink_open(const struct cnuaslink_options* options,
                                              struct cnuaslink** link, struct cnuaslink_error* error);

/* Gives up the link and all its memory; what has not been sent or taken is lost. NULL is allowed. */
CNUASLINK_API void cnuaslink_close(struct cnuaslink* link);

/* Connects again, whether the link is down or not. Messages that have been received stay; what was under way
 * in the fabric may be lost. Waits while the port is busy: the switch may not have noticed yet that the old
 * connection is gone. As cnuaslink_open(). */
CNUASLINK_API cnuaslink_result cnuaslink_reconnect(struct cnuaslink* link, int64_t timeout_ns);

/* --- What it is and how it does ------------------------------------------------------------------------- */

/* The GPU's ID. */
CNUASLINK_API uint16_t cnuaslink_id(const struct cnuaslink* link);

/* The most bytes that one message may have. */
CNUASLINK_API size_t cnuaslink_max_message(const struct cnuaslink* link);

enum cnuaslink_link_state {
  CNUASLINK_DOWN = 0,
  CNUASLINK_CONNECTING = 1, /* connected, and the switch has not been seen to read yet */
  CNUASLINK_UP = 2,
};

struct cnuaslink_counters {
  /* frames of any type, headers included */
  uint64_t frames_sent, bytes_sent;
  uint64_t frames_received, bytes_received;
  /* of these */
  uint64_t messages_sent, message_bytes_sent;         /* payload bytes */
  uint64_t messages_received, message_bytes_received; /* held for the caller, or dropped at once */
  uint64_t messages_taken;
  uint64_t messages_dropped; /* beyond the limits */
  uint64_t doorbells_sent, doorbells_received, doorbells_dropped;
  uint64_t announcements_sent, keepalives_sent;
  uint64_t link_frames_received;  /* DISCOVERY and LINK_KEEPALIVE: nothing is done with them */
  uint64_t invalid_frames;        /* received, and no frames, or with a payload that their type cannot have */
  uint64_t misdirected_frames;    /* received, and for another GPU */
  uint64_t frames_without_memory; /* received, and lost because there was no memory to deal with them */
  /* windows of other GPUs: calls that came back OK, and what puts came to */
  uint64_t puts, put_bytes;
  uint64_t put_segments; /* pieces of consecutive bytes; adjacent puts share one */
  uint64_t put_frames;   /* frames; combined puts share one */
  uint64_t gets, get_bytes, atomics, flushes;
  uint64_t stale_replies; /* answers that nobody waited for any more */
  /* windows of this GPU */
  uint64_t served_put_frames, served_put_bytes;
  uint64_t served_gets, served_get_bytes, served_atomics;
  uint64_t refused_requests; /* no such window, out of bounds, not permitted, misaligned */
  uint64_t replies_dropped;  /* answers that could not be sent */
  /* waiting */
  uint64_t send_waits;    /* times that the socket did not take a frame at once */
  uint64_t receive_stops; /* times that reading stopped at a limit */
  uint64_t connects;      /* connections made, the first one included */
};

struct cnuaslink_state {
  size_t struct_bytes; /* sizeof(struct cnuaslink_state), set by the caller */
  enum cnuaslink_link_state link;
  int receive_stopped;    /* at a limit: nothing is read until messages are taken */
  uint64_t held_messages; /* received and not taken */
  uint64_t held_bytes;    /* as the limits count them */
  uint64_t held_doorbells;
  int send_buffer_bytes;        /* as granted: the kernel's own, doubled figure */
  struct cnuaslink_error error; /* why the link went down last; OK: it has not */
  struct cnuaslink_counters counters;
  unsigned receive_policy; /* these three as the link was opened */
  uint64_t receive_bytes;
  uint64_t receive_bytes_per_source;
};

/* Fills in `state` as far as state->struct_bytes. Reads and sends nothing. INVALID_ARGUMENT. */
CNUASLINK_API cnuaslink_result cnuaslink_status(struct cnuaslink* link, struct cnuaslink_state* state);

enum cnuaslink_transport {
  CNUASLINK_TRANSPORT_NONE = 0,    /* it cannot be reached now */
  CNUASLINK_TRANSPORT_SWITCH = 1,  /* by frames through the switch */
  CNUASLINK_TRANSPORT_IVSHMEM = 2, /* by shared memory of this host */
};

struct cnuaslink_peer {
  enum cnuaslink_transport transport;
  uint64_t region_bytes;    /* with IVSHMEM: of the shared memory */
  char ivshmem_socket[108]; /* with IVSHMEM: where it is handed out; else empty */
  char reason[256];         /* one sentence of the switch, or why it could not be asked */
};

/* Asks the switch, on its management socket, how this GPU and `peer` reach each other; at most
 * management_timeout_ns. INVALID_ARGUMENT, NO_MEMORY; UNAVAILABLE: there is no such socket, it is not for
 * this user, or it gives no answer that can be understood; `reason` says which. */
CNUASLINK_API cnuaslink_result cnuaslink_peer_transport(struct cnuaslink* link, uint16_t peer,
                                                        struct cnuaslink_peer* out);

/* Asks a switch, on its management socket, which GPU it expects at a port: what to fill in as gpu_id. 0: none
 * in particular. Waits for `timeout_ns`, above 0, at most. INVALID_ARGUMENT, NO_MEMORY; UNAVAILABLE as above.
 */
CNUASLINK_API cnuaslink_result cnuaslink_expected_gpu(const char* run_dir, uint32_t port, uint16_t* gpu_id,
                                                      int64_t timeout_ns);

/* --- Event loops ---------------------------------------------------------------------------------------- */

/* A descriptor to poll for reading, the link's own: not to be read, written or closed. Readable while there
 * is something to do: frames to read, a time that has come, or messages and doorbells that have been read and
 * not taken. So: poll, cnuaslink_progress(), then take with a timeout of 0 until CNUASLINK_AGAIN.
 * -1: the system gave none. */
CNUASLINK_API int cnuaslink_fd(struct cnuaslink* link);

/* Does what there is to do, and waits for nothing. OK; NOT_CONNECTED. */
CNUASLINK_API cnuaslink_result cnuaslink_progress(struct cnuaslink* link);

/* --- Messages ------------------------------------------------------------------------------------------- */

/* Types of frames that carry messages. */
enum cnuaslink_type {
  CNUASLINK_DATA = 1,
  CNUASLINK_ATOMIC = 3, /* with CNUASLINK_RAW only */
  CNUASLINK_COLLECTIVE_REDUCE = 4,
  CNUASLINK_COLLECTIVE_GATHER = 5,
};

/* One message is one frame. OK: the switch has it, or will; a peer that is not there does not show. Messages
 * from one GPU to another arrive in the order in which they were sent. While it waits, it receives.
 * INVALID_ARGUMENT (a peer that is no GPU, or this one), TOO_LARGE, NOT_CONNECTED, AGAIN, TIMEOUT. */
CNUASLINK_API cnuaslink_result cnuaslink_send(struct cnuaslink* link, uint16_t peer, const void* data,
                                              size_t bytes, int64_t timeout_ns);

/* The same, of a message in pieces, at most CNUASLINK_MOST_PIECES, one behind the other, without a copy of
 * any: a head of the caller's, say, and its data. */
#define CNUASLINK_MOST_PIECES 8
CNUASLINK_API cnuaslink_result cnuaslink_send_pieces(struct cnuaslink* link, uint16_t peer,
                                                     const struct iovec* pieces, size_t count,
                                                     int64_t timeout_ns);

struct cnuaslink_pieces {
  uint16_t peer;
  const struct iovec* pieces;
  size_t count;
};

/* Sends such messages in order, several for each call to the kernel; as cnuaslink_send_many(). */
CNUASLINK_API cnuaslink_result cnuaslink_send_pieces_many(struct cnuaslink* link,
                                                          const struct cnuaslink_pieces* messages,
                                                          size_t count, size_t* sent, int64_t timeout_ns);

struct cnuaslink_outgoing {
  uint16_t peer;
  uint8_t type; /* of enum cnuaslink_type */
  const void* data;
  size_t bytes;
};

/* Sends messages of any type in order, several for each call to the kernel. *sent (may be NULL) is how many
 * were sent, whatever the result, which is that of the first that was not. */
CNUASLINK_API cnuaslink_result cnuaslink_send_many(struct cnuaslink* link,
                                                   const struct cnuaslink_outgoing* messages, size_t count,
                                                   size_t* sent, int64_t timeout_ns);

struct cnuaslink_message {
  uint16_t source;
  uint16_t destination; /* this GPU, or CNUASLINK_ALL */
  uint8_t type;         /* of enum cnuaslink_type */
  size_t bytes;
};

/* Takes the next message of one source, or of any (CNUASLINK_ANY): those of one source in their order, those
 * of several in the order in which they came. `message` may be NULL.
 * TOO_SMALL: `message` tells how large it is, and it is still there. NOT_CONNECTED: the link is down, and
 * what had been received is taken. AGAIN, TIMEOUT, INVALID_ARGUMENT. */
CNUASLINK_API cnuaslink_result cnuaslink_recv(struct cnuaslink* link, uint16_t source, void* buffer,
                                              size_t capacity, struct cnuaslink_message* message,
                                              int64_t timeout_ns);

/* The same without a copy: *data is the message, at an address that 64 divides, until cnuaslink_give_back().
 * What is borrowed counts as held. */
CNUASLINK_API cnuaslink_result cnuaslink_borrow(struct cnuaslink* link, uint16_t source, const void** data,
                                                struct cnuaslink_message* message, int64_t timeout_ns);
CNUASLINK_API void cnuaslink_give_back(struct cnuaslink* link, const void* data);

/* --- Doorbells ------------------------------------------------------------------------------------------ */

/* As cnuaslink_send(), in order with messages to the same peer. */
CNUASLINK_API cnuaslink_result cnuaslink_doorbell_send(struct cnuaslink* link, uint16_t peer, uint64_t value,
                                                       int64_t timeout_ns);

struct cnuaslink_doorbell {
  uint16_t source;
  uint64_t value;
};

/* As cnuaslink_recv(). */
CNUASLINK_API cnuaslink_result cnuaslink_doorbell_recv(struct cnuaslink* link, uint16_t source,
                                                       struct cnuaslink_doorbell* doorbell,
                                                       int64_t timeout_ns);

/* --- Windows --------------------------------------------------------------------------------------------
 *
 * A window is a piece of this process's memory that other GPUs may write, read and change in place, while
 * this process makes progress. Whatever goes from one GPU to another keeps its order: puts, atomics, gets,
 * messages and doorbells. So a doorbell after a put tells that the bytes are there.
 *
 * Small puts to one GPU are combined into one frame. The frame is sent when it is full, when something else
 * is sent to the same GPU, and by fence and flush; a put that nothing follows stays here. */

enum cnuaslink_access {
  CNUASLINK_ACCESS_PUT = 1,
  CNUASLINK_ACCESS_GET = 2,
  CNUASLINK_ACCESS_ATOMIC = 4,
};

/* Opens memory to other GPUs, under a number of the caller's choice, until it is unregistered or the link is
 * closed. `access`: of enum cnuaslink_access, or-ed. At most 2^48 bytes; for atomics the memory should start
 * at a multiple of 8. INVALID_ARGUMENT (the number is in use, too), NO_MEMORY, UNSUPPORTED. */
CNUASLINK_API cnuaslink_result cnuaslink_window_register(struct cnuaslink* link, uint16_t window, void* base,
                                                         size_t bytes, unsigned access);
/* When it returns nobody reaches the memory any more. INVALID_ARGUMENT: there is no such window. */
CNUASLINK_API cnuaslink_result cnuaslink_window_unregister(struct cnuaslink* link, uint16_t window);

/* Writes into a window of a peer. OK: the bytes have been taken; cnuaslink_flush() tells what became of them.
 * Bytes of one put that fit a frame are written together or not at all. AGAIN, TIMEOUT: a part of a large put
 * may be on its way. INVALID_ARGUMENT, NOT_CONNECTED, NO_MEMORY, OUT_OF_BOUNDS (beyond 2^48), UNSUPPORTED. */
CNUASLINK_API cnuaslink_result cnuaslink_put(struct cnuaslink* link, uint16_t peer, uint16_t window,
                                             uint64_t offset, const void* data, size_t bytes,
                                             int64_t timeout_ns);

/* Reads from a window of a peer, behind all puts of this GPU. Unless OK, `data` may be written in part, but
 * not after the call has returned. NO_WINDOW, OUT_OF_BOUNDS, NOT_PERMITTED, LOST, NOT_CONNECTED, AGAIN,
 * TIMEOUT, INVALID_ARGUMENT, UNSUPPORTED. A peer that knows no windows does not answer. */
CNUASLINK_API cnuaslink_result cnuaslink_get(struct cnuaslink* link, uint16_t peer, uint16_t window,
                                             uint64_t offset, void* data, size_t bytes, int64_t timeout_ns);
/* The same, but returns when it has been asked for; `data` must stay until cnuaslink_flush() has returned
 * anything but AGAIN or TIMEOUT, or cnuaslink_close() has, and is valid when the flush returned OK. */
CNUASLINK_API cnuaslink_result cnuaslink_get_nbi(struct cnuaslink* link, uint16_t peer, uint16_t window,
                                                 uint64_t offset, void* data, size_t bytes,
                                                 int64_t timeout_ns);

/* On eight bytes, in the peer's byte order. */
enum cnuaslink_atomic {
  CNUASLINK_ATOMIC_ADD = 0,
  CNUASLINK_ATOMIC_SWAP = 1,
  CNUASLINK_ATOMIC_COMPARE_SWAP = 2, /* writes `value` if `compare` is there */
  CNUASLINK_ATOMIC_AND = 3,
  CNUASLINK_ATOMIC_OR = 4,
  CNUASLINK_ATOMIC_XOR = 5,
  CNUASLINK_ATOMIC_MIN = 6, /* without a sign */
  CNUASLINK_ATOMIC_MAX = 7,
};

/* One indivisible operation on a peer's window. `before`: receives what was there; NULL: does not wait for
 * the operation to be done, which cnuaslink_flush() does. As cnuaslink_get(), and MISALIGNED. After TIMEOUT
 * it is not known whether it was done. */
CNUASLINK_API cnuaslink_result cnuaslink_atomic(struct cnuaslink* link, uint16_t peer, uint16_t window,
                                                uint64_t offset, unsigned operation, uint64_t value,
                                                uint64_t compare, uint64_t* before, int64_t timeout_ns);

/* Sends the puts to a peer, or to all peers (CNUASLINK_ALL), that are still here: what follows comes after
 * them. NOT_CONNECTED, AGAIN, TIMEOUT, INVALID_ARGUMENT. */
CNUASLINK_API cnuaslink_result cnuaslink_fence(struct cnuaslink* link, uint16_t peer, int64_t timeout_ns);

/* Waits until all puts, gets and atomics for a peer, or for all peers (CNUASLINK_ALL), are done. The first
 * failure since the last flush: NO_WINDOW, OUT_OF_BOUNDS, NOT_PERMITTED, MISALIGNED, LOST, NOT_CONNECTED; or
 * AGAIN, TIMEOUT, INVALID_ARGUMENT. */
CNUASLINK_API cnuaslink_result cnuaslink_flush(struct cnuaslink* link, uint16_t peer, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
