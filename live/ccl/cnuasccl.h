/* libcnuasccl: collectives over CnuasLink.
 *
 * A communicator is N ranks, each a GPU. It is made by cnuasccl_comm_init_rank() from an allgather that the
 * caller supplies, is given a link by cnuasccl_comm_set_link(), and from then on every byte of every
 * collective goes over that link.
 *
 * Results. A reduction is the left fold in the order of ranks, ((r0 + r1) + r2) + ..., bit by bit, on every
 * rank, whatever the algorithm, size and timing, unless any order is allowed (struct cnuasccl_config).
 *
 * Calls. All ranks of a communicator make the same calls in the same order. A collective blocks until this
 * rank's result is complete and its buffers may be used again. Nothing moves outside of calls.
 *
 * Threads. One thread at a time uses a communicator; a second call meanwhile returns CNUASCCL_BUSY.
 * cnuasccl_comm_abort() and the functions that only ask may be called by any thread at any time before
 * cnuasccl_comm_destroy(). Different communicators may be used by different threads at the same time, also
 * when they share a link.
 *
 * Failures. Every failure is a status; the library never ends the process, prints, or throws, and starts no
 * thread. Every wait has a deadline (cnuasccl_config::timeout_ns). A collective that fails once it has begun
 * poisons its communicator: the other ranks are told and fail as well, and every later collective on it
 * returns CNUASCCL_POISONED at once. Other communicators are not affected. cnuasccl_last_error() says more:
 * which rank waited for which, in which collective, at which chunk.
 *
 * docs/cnuasccl.md is a tour of it and has the bytes on the wire. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CNUASCCL_API __attribute__((visibility("default")))

/* What a call comes to. Numbers never change their meaning; later versions may add some. */
typedef enum cnuasccl_status {
  CNUASCCL_OK = 0,
  CNUASCCL_AGAIN = 1, /* of a transport: not now. No function of the library returns it */
  CNUASCCL_INVALID_ARGUMENT = 2,
  CNUASCCL_NO_MEMORY = 3,
  CNUASCCL_NOT_SUPPORTED = 4, /* without a link; or the collective has no such algorithm */
  CNUASCCL_BUSY = 5,          /* another thread is in a call on this communicator */
  CNUASCCL_POISONED = 6,      /* an earlier collective failed: cnuasccl_last_error() says how */
  CNUASCCL_ABORTED = 7,       /* cnuasccl_comm_abort() was called here */
  CNUASCCL_PEER_ABORTED = 8,  /* another rank gave up, and said so */
  CNUASCCL_TIMEOUT = 9,       /* nothing came, or nothing was taken, for as long as allowed */
  CNUASCCL_LINK_FAILED = 10,  /* the transport failed */
  CNUASCCL_NOT_CANONICAL =
      11, /* the algorithm asked for does not fold in rank order, and nothing else is allowed */
  CNUASCCL_TOO_LARGE = 12, /* a buffer that cannot exist, or a message of 4 GiB and more */
  CNUASCCL_SYSTEM = 13,    /* the operating system refused */

  /* membership; *comm is NULL */
  CNUASCCL_BOOTSTRAP_FAILED = 20, /* the allgather failed, or did not give what it should */
  CNUASCCL_BAD_RECORD = 21,       /* a member's record is not one */
  CNUASCCL_RECORD_VERSION = 22,   /* a member speaks another version */
  CNUASCCL_DUPLICATE_RANK = 23,
  CNUASCCL_MISSING_RANK = 24,
  CNUASCCL_GPU_COLLISION = 25, /* two ranks with one gpu_id */
  CNUASCCL_SIZE_MISMATCH = 26, /* members disagree on n_ranks */
  CNUASCCL_BAD_GPU = 27,       /* a gpu_id of 0x0000 or 0xFFFF */
  CNUASCCL_WRONG_GPU = 28,     /* the link is that of another GPU */

  /* frames that are not what they must be */
  CNUASCCL_FRAME_TOO_SHORT = 40,
  CNUASCCL_FRAME_TOO_LONG = 41,
  CNUASCCL_BAD_MAGIC = 42,
  CNUASCCL_BAD_VERSION = 43,
  CNUASCCL_WRONG_KIND = 44,     /* of another collective: the ranks do not make the same calls */
  CNUASCCL_WRONG_COMM = 45,     /* of another communicator */
  CNUASCCL_WRONG_SEQUENCE = 46, /* of another collective of this communicator */
  CNUASCCL_WRONG_SOURCE = 47,
  CNUASCCL_WRONG_DESTINATION = 48,
  CNUASCCL_WRONG_CHUNK = 49, /* chunk_index */
  CNUASCCL_WRONG_CHUNK_COUNT = 50,
  CNUASCCL_WRONG_CHUNK_BYTES = 51, /* not as long as it says, or not as long as it must be */
  CNUASCCL_WRONG_TOTAL = 52,       /* total_bytes */
  CNUASCCL_DUPLICATE_FRAME = 53,
  CNUASCCL_LOST_FRAME = 54, /* one before it is missing, or they came in another order */
  CNUASCCL_CORRUPT = 55,    /* the checksum is wrong */
  CNUASCCL_BAD_CHUNK = 56,  /* the chunk's own header makes no sense */
  CNUASCCL_FLOODED = 57,    /* more frames than this rank has allowed */

  /* ranks that do not make the same call */
  CNUASCCL_OPERATOR_MISMATCH = 70,
  CNUASCCL_TYPE_MISMATCH = 71,
  CNUASCCL_COUNT_MISMATCH = 72,
  CNUASCCL_ROOT_MISMATCH = 73,
  CNUASCCL_ALGORITHM_MISMATCH = 74,
} cnuasccl_status_t;

/* One sentence, in English, for any number. */
CNUASCCL_API const char* cnuasccl_strerror(cnuasccl_status_t status);

/* "CNUASCCL_TIMEOUT"; "?" for a number that stands for none. */
CNUASCCL_API const char* cnuasccl_status_name(cnuasccl_status_t status);

/* "0.1.0" */
CNUASCCL_API const char* cnuasccl_version(void);

/* A communicator, as one rank has it. */
typedef struct cnuasccl_comm* cnuasccl_comm_t;

/* --- Making one ------------------------------------------------------------------------------------------
 */

/* Supplied by the caller. Contributes send_bytes from send_buf and fills recv_buf, which is n_ranks *
 * send_bytes long, with every rank's contribution in rank order. Blocking. */
typedef cnuasccl_status_t (*cnuasccl_oob_allgather_fn)(const void* send_buf, void* recv_buf,
                                                       size_t send_bytes, void* context);

struct cnuasccl_bootstrap {
  cnuasccl_oob_allgather_fn allgather;
  void* context;
  int n_ranks;
  int rank; /* this participant, in 0 .. n_ranks-1 */
};

/* Makes a communicator; every rank calls it. `allgather` is called exactly twice, for 16 bytes a rank (the
 * membership record) and for 4 (a nonce; all of them by XOR are the comm_id), and never again; only once when
 * the records are not those of one communicator. `boot` is not needed afterwards. Rank order is the caller's
 * and need not follow gpu_id.
 *
 * *comm is NULL unless OK. INVALID_ARGUMENT (no callback, rank not below n_ranks, n_ranks not in 1..65534, or
 * an environment variable that says nothing sensible: before the first allgather), NO_MEMORY, SYSTEM, and the
 * statuses of membership, which are the same on all ranks. Of an allgather that fails, TIMEOUT and the
 * statuses of membership are passed on; any other is BOOTSTRAP_FAILED. */
CNUASCCL_API cnuasccl_status_t cnuasccl_comm_init_rank(cnuasccl_comm_t* comm,
                                                       const struct cnuasccl_bootstrap* boot,
                                                       uint16_t gpu_id);

/* Gives up the communicator and its memory. Sends nothing; what other ranks still want from this one, they do
 * not get. NULL is allowed. */
CNUASCCL_API cnuasccl_status_t cnuasccl_comm_destroy(cnuasccl_comm_t comm);

/* Ends the collective that runs, if any, with CNUASCCL_ABORTED, tells the other ranks, and poisons the
 * communicator. The call that runs does the telling; if none does, this one does. */
CNUASCCL_API cnuasccl_status_t cnuasccl_comm_abort(cnuasccl_comm_t comm);

/* Divides a communicator: ranks that give the same color, not negative, make a new one, in the order of their
 * keys, and of their ranks where keys are equal. A negative color: none, and *child is NULL. The exchange
 * goes over the parent's link, and the child uses the same link; parent and child may then be used in any
 * order, as long as it is the same on all ranks that they share. Every rank of the parent calls it. */
CNUASCCL_API cnuasccl_status_t cnuasccl_comm_split(cnuasccl_comm_t comm, int color, int key,
                                                   cnuasccl_comm_t* child);

/* --- Links -----------------------------------------------------------------------------------------------
 */

/* What carries frames. Frames from one GPU to another arrive once, unchanged and in order, or the link has
 * failed; none is lost because a receiver is slow. All functions are called by one thread at a time. None may
 * wait for longer than some milliseconds; where the other end must do something first, they return AGAIN. Any
 * other status but OK is a failure of the link. */
struct cnuasccl_link_transport {
  /* Takes a frame of at most 61,480 bytes for a GPU, or returns AGAIN. The memory is the caller's again when
   * it returns. */
  cnuasccl_status_t (*send)(uint16_t dst_gpu, const void* frame, size_t bytes, void* context);
  /* Hands over the next frame for this GPU, from whichever one it is, or returns AGAIN. *bytes may be more
   * than `capacity` where a frame was cut. */
  cnuasccl_status_t (*recv)(uint16_t* src_gpu, void* frame, size_t capacity, size_t* bytes, void* context);
  /* The GPU whose link it is. */
  cnuasccl_status_t (*local_gpu)(uint16_t* gpu, void* context);
  void* context; /* the caller's */
};

#define CNUASCCL_MOST_BORROWED 64

/* A frame in two pieces, one behind the other. */
struct cnuasccl_frame {
  const void* head;
  size_t head_bytes;
  const void* body;
  size_t body_bytes;
};

/* What a transport can do beyond that. Zero and NULL: it cannot. */
struct cnuasccl_link_extension {
  size_t struct_bytes; /* sizeof(struct cnuasccl_link_extension), as the caller was compiled */
  /* What to call it: "cnuaslink", "rdma". Copied, at most 31 bytes. */
  const char* name;
  /* Frames it takes for one receiver before `send` may return AGAIN: so many are sent in one go before this
   * rank looks for what it has received. 0: 1. */
  uint32_t frames_per_receiver;
  /* Whether it can be used now. Asked once, by cnuasccl_comm_set_link(). NULL: it can. */
  int (*available)(void* context);
  /* As `send`, of a frame in two pieces, without a copy of the larger one. */
  cnuasccl_status_t (*send_pieces)(uint16_t dst_gpu, const void* head, size_t head_bytes, const void* body,
                                   size_t body_bytes, void* context);
  /* As `recv`, and waits for so long at most. */
  cnuasccl_status_t (*recv_wait)(uint16_t* src_gpu, void* frame, size_t capacity, size_t* bytes,
                                 int64_t timeout_ns, void* context);
  /* A descriptor that is readable while `recv` would have something; -1: none. */
  int (*descriptor)(void* context);
  /* As `recv_wait`, of a frame that stays where it is until `give_back`. At most CNUASCCL_MOST_BORROWED are
   * out at a time. Both or neither; with them `recv` and `recv_wait` are not used. */
  cnuasccl_status_t (*borrow)(uint16_t* src_gpu, const void** frame, size_t* bytes, int64_t timeout_ns,
                              void* context);
  void (*give_back)(const void* frame, void* context);
  /* 1: what arrives is what was sent, bit by bit, as over a socket of this host, so that chunks need no
   * checksum. */
  int keeps_bytes;
  /* As `send_pieces`, of frames for one GPU in order; with it `send` and `send_pieces` are not used. *sent is
   * how many it took, whatever it returns. */
  cnuasccl_status_t (*send_many)(uint16_t dst_gpu, const struct cnuasccl_frame* frames, size_t count,
                                 size_t* sent, void* context);
};

/* Gives a communicator the link that carries its payload, and a second one (`fallback`, may be NULL) for when
 * the first is not available. The communicator keeps copies of the structures; the contexts must outlive it
 * and those split from it. `extension` and `fallback_extension` may be NULL. Once, and not while poisoned.
 *
 * Without a fallback: a local matter. With one, a collective: the ranks tell each other over the fallback
 * whether their first link is available, and use it if it is on all of them; otherwise the fallback. That is
 * decided here and never changes: a link that fails later is CNUASCCL_LINK_FAILED.
 *
 * INVALID_ARGUMENT, WRONG_GPU, LINK_FAILED (no fallback, and it is not available), and what a collective may
 * return. */
CNUASCCL_API cnuasccl_status_t cnuasccl_comm_set_link(
    cnuasccl_comm_t comm, const struct cnuasccl_link_transport* link,
    const struct cnuasccl_link_extension* extension, const struct cnuasccl_link_transport* fallback,
    const struct cnuasccl_link_extension* fallback_extension);

/* Gives a communicator the very link that another one of this process uses, so that frames for either are
 * told apart, whoever receives them. (Two communicators of one GPU with links of their own need transports of
 * their own.) A collective on `comm`, which ends with a barrier. As cnuasccl_comm_set_link(). */
CNUASCCL_API cnuasccl_status_t cnuasccl_comm_share_link(cnuasccl_comm_t comm, cnuasccl_comm_t with);

/* --- Asking ----------------------------------------------------------------------------------------------
 */

/* -1 for a NULL communicator or a GPU, rank or neighbour that there is not; 0 as a GPU. */
CNUASCCL_API int cnuasccl_comm_rank(cnuasccl_comm_t comm);
CNUASCCL_API int cnuasccl_comm_size(cnuasccl_comm_t comm);
CNUASCCL_API int cnuasccl_comm_rank_of(cnuasccl_comm_t comm, uint16_t gpu_id);
CNUASCCL_API uint16_t cnuasccl_comm_gpu_of(cnuasccl_comm_t comm, int rank);
CNUASCCL_API int cnuasccl_comm_ring_next(
    cnuasccl_comm_t comm); /* the rank after this one, 0 after the last */
CNUASCCL_API int cnuasccl_comm_ring_previous(cnuasccl_comm_t comm);
CNUASCCL_API uint32_t cnuasccl_comm_id(cnuasccl_comm_t comm);

enum cnuasccl_carrier {
  CNUASCCL_CARRIER_NONE = 0,     /* no link yet */
  CNUASCCL_CARRIER_LINK = 1,     /* the first link */
  CNUASCCL_CARRIER_FALLBACK = 2, /* the second */
};

struct cnuasccl_comm_state {
  size_t struct_bytes;              /* sizeof(struct cnuasccl_comm_state), set by the caller */
  enum cnuasccl_carrier carrier;    /* which link carries the payload */
  char carrier_name[32];            /* as its extension has it; else "link" or "fallback" */
  cnuasccl_status_t poisoned;       /* OK: it is not; else the status of the collective that failed */
  uint64_t collectives;             /* begun */
  uint64_t frames_sent, bytes_sent; /* envelopes and all, by this communicator */
  uint64_t frames_received, bytes_received;
  uint64_t frames_held; /* received and not due yet */
};

/* Fills in `state` as far as state->struct_bytes. */
CNUASCCL_API cnuasccl_status_t cnuasccl_comm_status(cnuasccl_comm_t comm, struct cnuasccl_comm_state* state);

/* Why the last call on this communicator that failed did so, in one sentence; "" when none has. With NULL:
 * the last call of this thread that had no communicator to tell it to, such as cnuasccl_comm_init_rank().
 * Copied to `text`, cut to what fits in `capacity` with its final 0. Returns the length that it has. */
CNUASCCL_API size_t cnuasccl_last_error(cnuasccl_comm_t comm, char* text, size_t capacity);

/* --- Settings --------------------------------------------------------------------------------------------
 */

typedef enum cnuasccl_algorithm {
  CNUASCCL_AUTO = 0, /* that of the least predicted time */
  CNUASCCL_RING = 1,
  CNUASCCL_CHAIN = 2,
  CNUASCCL_DIRECT = 3,
  CNUASCCL_ONE_SHOT = 4,
  CNUASCCL_RECURSIVE_DOUBLING = 5,
  CNUASCCL_HALVING_DOUBLING = 6,
  CNUASCCL_HALVING = 7,
  CNUASCCL_TREE = 8,
  CNUASCCL_DOUBLE_TREE = 9,
  CNUASCCL_PAIRWISE = 10,
  CNUASCCL_BRUCK = 11,
} cnuasccl_algorithm_t;

/* The same on all ranks, but for the deadline. */
struct cnuasccl_config {
  size_t struct_bytes; /* as the caller was compiled; cnuasccl_config_init() sets it */
  /* For every collective that has it; the others are CNUASCCL_AUTO. CNUASCCL_AUTO: what the environment
   * variable CNUASCCL_ALGORITHM says ("direct"; or "all_reduce:chain,broadcast:tree"), else the choice is the
   * library's. The variable is read when the communicator is made. */
  cnuasccl_algorithm_t algorithm;
  /* 0: only algorithms whose reductions are the left fold in rank order; one asked for that is not returns
   * CNUASCCL_NOT_CANONICAL. 1: any. CNUASCCL_ORDER=any in the environment is 1 as well. */
  int any_order;
  /* A wait without any progress for so long fails: 60 s. Above 0. */
  int64_t timeout_ns;
  /* Of a chunk, its headers included: 61,440, which is also the most. At least 64, a multiple of 8. */
  uint32_t chunk_bytes;
  /* 1: chunks carry a CRC-32C. 0: they do not, and data that were changed on the way are not detected. -1,
   * which is the default: unless the link's extension has `keeps_bytes`. Ranks may differ. */
  int checksum;
  /* What the choice of an algorithm reckons with: 2.5e9 bytes a second one way, 20,000 ns a message. Above 0;
   * from 0 to a second. */
  uint64_t rate_bytes_per_s;
  int64_t latency_ns;
  /* Collectives that the flight recorder keeps: 256. At most 65,536; 0: none. */
  uint32_t flight_entries;
  /* Of the links of a rack to other racks together, one way; 0, which is the default: rate_bytes_per_s. GPUs
   * are in one rack whose gpu_id has the same upper byte, and what an algorithm sends from one rack to
   * another goes over these. */
  uint64_t uplink_bytes_per_s;
};

/* Fills in the values named above. `bytes` is sizeof(struct cnuasccl_config). */
CNUASCCL_API void cnuasccl_config_init(struct cnuasccl_config* config, size_t bytes);

/* Between collectives. INVALID_ARGUMENT. A communicator that is split from this one has its settings. */
CNUASCCL_API cnuasccl_status_t cnuasccl_comm_configure(cnuasccl_comm_t comm,
                                                       const struct cnuasccl_config* config);

/* --- Collectives -----------------------------------------------------------------------------------------
 */

typedef enum cnuasccl_type {
  CNUASCCL_INT8 = 0,
  CNUASCCL_UINT8 = 1,
  CNUASCCL_INT32 = 2,
  CNUASCCL_UINT32 = 3,
  CNUASCCL_INT64 = 4,
  CNUASCCL_UINT64 = 5,
  CNUASCCL_FLOAT32 = 6,
  CNUASCCL_FLOAT64 = 7,
} cnuasccl_type_t;

/* Integers wrap. min and max: a NaN wins over a number, the left one over another NaN; of +0 and -0 the left
 * one. */
typedef enum cnuasccl_op {
  CNUASCCL_SUM = 0,
  CNUASCCL_PRODUCT = 1,
  CNUASCCL_MIN = 2,
  CNUASCCL_MAX = 3,
} cnuasccl_op_t;

/* Counts are elements, and may be 0. Buffers may have any alignment and may be NULL where they have no
 * elements. Send and receive buffer are apart, or in place as said; any other overlap is INVALID_ARGUMENT.
 * With one rank, the send buffer is copied to the receive buffer, with or without a link.
 *
 * Statuses: INVALID_ARGUMENT, BUSY, NOT_SUPPORTED, NOT_CANONICAL and TOO_LARGE are found before anything is
 * sent, and poison nothing. All others do; NO_MEMORY may (cnuasccl_comm_status() tells). */

/* recv[i] = send[i] of all ranks, folded. In place: send == recv. `count` elements each. */
CNUASCCL_API cnuasccl_status_t cnuasccl_all_reduce(cnuasccl_comm_t comm, const void* send, void* recv,
                                                   size_t count, cnuasccl_type_t type, cnuasccl_op_t op);

/* recv = send of rank `root`, on all ranks. Only the root's `send` is read. In place: send == recv.
 * The root may be done before anyone has received, and any rank before those after it: what goes wrong there,
 * the next call returns. */
CNUASCCL_API cnuasccl_status_t cnuasccl_broadcast(cnuasccl_comm_t comm, const void* send, void* recv,
                                                  size_t count, cnuasccl_type_t type, int root);

/* recv = `count` elements of each rank, in rank order. In place: send == recv + rank * count. */
CNUASCCL_API cnuasccl_status_t cnuasccl_all_gather(cnuasccl_comm_t comm, const void* send, void* recv,
                                                   size_t count, cnuasccl_type_t type);

/* recv = the rank's `count` of the N * count folded elements. In place: recv == send + rank * count. */
CNUASCCL_API cnuasccl_status_t cnuasccl_reduce_scatter(cnuasccl_comm_t comm, const void* send, void* recv,
                                                       size_t count, cnuasccl_type_t type, cnuasccl_op_t op);

/* Block s of recv = block `rank` of rank s's send; blocks of `count` elements. In place: send == recv. */
CNUASCCL_API cnuasccl_status_t cnuasccl_all_to_all(cnuasccl_comm_t comm, const void* send, void* recv,
                                                   size_t count, cnuasccl_type_t type);

/* Returns when all ranks have called it. */
CNUASCCL_API cnuasccl_status_t cnuasccl_barrier(cnuasccl_comm_t comm);

/* --- Explaining ------------------------------------------------------------------------------------------
 */

typedef enum cnuasccl_collective {
  CNUASCCL_ALL_REDUCE = 0,
  CNUASCCL_BROADCAST = 1,
  CNUASCCL_ALL_GATHER = 2,
  CNUASCCL_REDUCE_SCATTER = 3,
  CNUASCCL_ALL_TO_ALL = 4,
} cnuasccl_collective_t;

struct cnuasccl_choice {
  size_t struct_bytes;            /* sizeof(struct cnuasccl_choice), set by the caller */
  cnuasccl_algorithm_t algorithm; /* never CNUASCCL_AUTO */
  int canonical;                  /* whether its reductions are the left fold in rank order */
  int forced;                     /* by the settings or the environment */
  uint64_t pieces;                /* that a pipelined algorithm cuts the vector into; else 1 */
  int64_t predicted_ns;           /* by the closed form, with the settings' rate and latency */
};

/* Which algorithm a collective of `count` elements (as its function counts them) takes, and why. Local.
 * `choice` and `text` may be NULL; the text is a table of all candidates, cut to what fits in `capacity` with
 * its final 0. */
CNUASCCL_API cnuasccl_status_t cnuasccl_explain(cnuasccl_comm_t comm, cnuasccl_collective_t collective,
                                                size_t count, cnuasccl_type_t type,
                                                struct cnuasccl_choice* choice, char* text, size_t capacity);

/* "direct"; "?" for a number that stands for none. */
CNUASCCL_API const char* cnuasccl_algorithm_name(cnuasccl_algorithm_t algorithm);

/* --- Flight recorder -------------------------------------------------------------------------------------
 */

/* Writes what the recorder has of this communicator to a file, as JSON ("schema": "cnuasccl.flight/1"; see
 * docs/cnuasccl.md). Any thread, also while a collective runs. INVALID_ARGUMENT, NO_MEMORY, SYSTEM (the file
 * cannot be written). */
CNUASCCL_API cnuasccl_status_t cnuasccl_flight_dump(cnuasccl_comm_t comm, const char* path);

/* --- Ranks that are threads of one process: a bootstrap and a link ----------------------------------------
 */

/* A world of ranks that know each other. Any thread may call any function. */
struct cnuasccl_inproc;

/* `frames_per_receiver`: how many frames a receiver holds before `send` returns CNUASCCL_AGAIN, at least 1.
 * `timeout_ns`: how long an allgather waits for the other ranks, above 0; then it fails, now and for ever.
 * INVALID_ARGUMENT, NO_MEMORY; *world is NULL unless OK. */
CNUASCCL_API cnuasccl_status_t cnuasccl_inproc_create(int n_ranks, uint32_t frames_per_receiver,
                                                      int64_t timeout_ns, struct cnuasccl_inproc** world);

/* Once no communicator uses it any more. NULL is allowed. */
CNUASCCL_API void cnuasccl_inproc_destroy(struct cnuasccl_inproc* world);

/* For cnuasccl_comm_init_rank(). Several communicators may be made one after the other. INVALID_ARGUMENT. */
CNUASCCL_API cnuasccl_status_t cnuasccl_inproc_bootstrap(struct cnuasccl_inproc* world, int rank,
                                                         struct cnuasccl_bootstrap* bootstrap);

/* For cnuasccl_comm_set_link(). There is one link for each rank, whose GPU is set here, once; frames for GPUs
 * without a link wait for it. `extension` may be NULL; `extension_bytes` is its size. INVALID_ARGUMENT
 * (another GPU, or one that another rank has). */
CNUASCCL_API cnuasccl_status_t cnuasccl_inproc_link(struct cnuasccl_inproc* world, int rank, uint16_t gpu_id,
                                                    struct cnuasccl_link_transport* link,
                                                    struct cnuasccl_link_extension* extension,
                                                    size_t extension_bytes);

/* --- A bootstrap for processes of one host ----------------------------------------------------------------
 */

/* A UNIX socket at which the ranks meet: rank 0 serves it, the others come to it. */
struct cnuasccl_store;

/* Rank 0 takes the path, which must be free or left over, and the others wait until it is there; it is free
 * again when all have met. Every rank then makes one communicator with it. `timeout_ns`, above 0, is how long
 * this call, and later each allgather, waits for the others. INVALID_ARGUMENT (a path of no or more than 107
 * bytes), SYSTEM (the path is taken), TIMEOUT, NO_MEMORY; *store is NULL unless OK, and
 * cnuasccl_last_error(NULL) says why. */
CNUASCCL_API cnuasccl_status_t cnuasccl_store_open(const char* path, int n_ranks, int rank,
                                                   int64_t timeout_ns, struct cnuasccl_store** store);

/* Once the communicator is made. NULL is allowed. */
CNUASCCL_API void cnuasccl_store_close(struct cnuasccl_store* store);

/* For cnuasccl_comm_init_rank(). Its allgather fails with TIMEOUT, with BOOTSTRAP_FAILED when a rank leaves,
 * and with DUPLICATE_RANK or SIZE_MISMATCH when the ranks that come are not those that were expected.
 * INVALID_ARGUMENT. */
CNUASCCL_API cnuasccl_status_t cnuasccl_store_bootstrap(struct cnuasccl_store* store,
                                                        struct cnuasccl_bootstrap* bootstrap);

#ifdef __cplusplus
}
#endif
