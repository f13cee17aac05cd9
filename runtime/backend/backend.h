/* SPDX-License-Identifier: Apache-2.0
 * The interface of a backend: a table of eight required entries, one optional entry, and four optional tables for what
 * only some devices have. backends.c lists the backends.
 *
 * A device belongs to the process or to a context (hx__discovery). A stream is one context's access to a device: its
 * queues, kernel objects and staging buffers. A stream carries one run at a time and is used by one thread, so the
 * entries that take a stream need no locks. Errors are returned as hx__outcome, with a sentence for the user by
 * hx__device_lost or hx__fail. A backend never calls back into the layers above.
 *
 * tests/toy_backend/ has the eight required entries in their simplest correct form; sim/ has every optional table. */
#ifndef HX_BACKEND_BACKEND_H
#define HX_BACKEND_BACKEND_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/cpu.h"
#include "runtime/base/config.h"
#include "runtime/task/launch.h"
#include "runtime/task/task.h"

typedef struct hx__backend hx__backend;
typedef struct hx__stream hx__stream;
typedef struct hx__inflight hx__inflight; /* a chunk in flight: each backend defines its own */

#define HX__MAX_INFLIGHT (HX__DEPTH + 1u) /* and one more whose results are being delivered */

#define HX__NEEDS (HX__FIRST_LINES + HX__REDUCTIONS)
_Static_assert(HX__NEEDS <= 61, "need bits 61 to 63 have a meaning of their own");

#define HX__WHY_TEXT 256u     /* bytes of hx_device_info.why */
#define HX__WHY_IN_FULL 4096u /* bytes that hold the text with the name of every refused kernel */

/* A device. A backend's own device structure begins with one. */
typedef struct hx__device {
  const hx__backend *backend;
  char name[128], vendor[64], driver[64];
  hx_device_kind kind;    /* what hx_device_info says; hx decides by the properties below */
  uint32_t words;         /* the words of HX_DEVICES that name it, as HX__DEV_ bits */
  bool is_host_cpu;       /* the CPU itself: computes on the caller's threads, also in a forked child */
  bool is_discrete;       /* has memory and power of its own: its energy is not in the processor's counters */
  bool uses_cpu_cores;    /* its kernels run on the cores of the host */
  bool reads_at_submit;   /* has read all operands when submit returns */
  bool reports_cancelled; /* its driver is known to report every command that it cancels */
  bool never_times_out;   /* its kernels read the caller's pages and cannot be stopped: chunks are waited for */
  uint32_t compute_units;
  uint64_t memory_bytes;
  uint64_t max_alloc;              /* bytes of one allocation; 0: no less than memory_bytes */
  uint32_t modes;                  /* hx__memory_mode bits (1 << mode) that it can serve */
  uint32_t zero_copy;              /* those of them in which it was seen to access host memory without a copy */
  _Atomic uint64_t ready, refused; /* bits of needs: kernels that can be used; kernels that never can */
  _Atomic uint64_t requested;      /* bits of needs that calls have requested */
  uint32_t tile[HX__TILES][3]; /* need bit HX__REDUCTIONS + i is the product with HX_TILE = tile[i]; tile[0]: default */
  _Atomic uint32_t tile_count; /* used entries of tile: at least 1 */
  float seed_rate[HX__NEEDS];  /* by need bit: units per ns of a small launch, set before it is ready; 0: unknown */
  float launch_ns;             /* time of an empty launch, with its wait; 0: unknown */
  float link_ns;               /* time per byte from pinned host memory; 0: accesses it in place, or unknown */
  _Atomic bool lost;           /* an error after a success: not used again in this process */
  _Atomic unsigned stuck_threads;    /* threads that were given up and are still inside a driver call */
  _Atomic unsigned given_up_threads; /* threads that were given up so far */
  char why[HX__WHY_TEXT]; /* the sentence on its state; only the hx__device_ functions below access this and refusal */
  const char *refusal[HX__NEEDS]; /* by need bit: why it is refused, a literal; NULL: it is not */
} hx__device;

/* Whether operands are copied to memory at the other end of a link whose rate is known. */
static inline bool hx__device_copies_over_link(const hx__device *device) { return device->link_ns > 0.0f; }

/* A device's copy of a range of host memory that outlives calls (HX_READ_MOSTLY, HX_RESIDENT). memory/ creates and
 * destroys mirrors; streams fill them as runs need the data. A backend's own mirror structure begins with one. */
typedef struct hx__mirror {
  uintptr_t first; /* host address of its first byte */
  size_t bytes;
  _Atomic size_t filled; /* how many of its bytes are on the device */
  uint64_t *present;     /* a bit for each block of HX__MIRROR_BLOCK bytes: it is on the device */
  struct hx__copy *copy; /* of memory/, which the mirror belongs to */
} hx__mirror;

#define HX__MIRROR_BLOCK ((size_t)64 << 10)

/* An empty mirror of [first, first+bytes). False if there is no memory for its bits. Ended by hx__mirror_free. */
bool hx__mirror_init(hx__mirror *mirror, const void *first, size_t bytes);
void hx__mirror_free(hx__mirror *mirror);
/* Finds the first run of missing blocks in the bytes [at, at+bytes) of the mirror, marks it as present and returns its
 * place in *gap_at and *gap_bytes: the caller copies it. False if nothing is missing. */
bool hx__mirror_next_gap(hx__mirror *mirror, size_t at, size_t bytes, size_t *gap_at, size_t *gap_bytes);
/* Marks all blocks as missing. */
void hx__mirror_invalidate(hx__mirror *mirror);

/* How an array reaches a device in one run. memory/ decides. */
typedef struct hx__array {
  const void *p;
  size_t rows, cols, ld; /* 4-byte elements; a reduction's array is one row, except of lines */
  hx__memory_mode mode;
  void *block;        /* the handle of memory->alloc or, in mode copy, memory->pin that contains it; NULL: none */
  hx__mirror *mirror; /* mode copy: the mirror that contains it; NULL: it is copied for this run only */
  bool device_only;   /* the mirror holds a result that the host does not have */
} hx__array;

/* For a product or a map that one device computes whole: where its result, here called C, stays on the device. */
typedef struct hx__resident_output {
  hx__mirror *mirror;     /* of C's extent: rows have the same distance as on the host */
  hx__mirror *old_mirror; /* of the old C if beta != 0 and the device has it; NULL: the host has it */
  bool old_device_only;   /* the host does not have the old C */
  bool overwrites;        /* the mirror has an old C that is not needed any more; otherwise it is new and empty */
  bool complete;          /* set by end: every slice of the run is in the mirror, none is on the host */
} hx__resident_output;

#define HX__PRODUCT_ARRAYS 2u /* operands of a product, in this order: A, B */

/* Which threads copy between the caller's memory and staging buffers (copy_pool.h). */
typedef enum hx__copy_threads {
  HX__COPY_BY_WORKER,   /* the device's worker alone, because the CPU computes, too */
  HX__COPY_BY_COPY_POOL /* the copy pool, whose threads sleep between copies */
} hx__copy_threads;

/* One call's work as a stream sees it. */
typedef struct hx__request {
  const hx__work *work;
  const hx__cpu_kernels *kernels;  /* store is used to write a device's block to C */
  const hx__array *arrays;         /* a reduction: x and y of field f at [2f] and [2f+1] (y is x if the operation has no
                                      y); a product: A and B; a user kernel: its inputs */
  uint64_t *slots;                 /* reductions: hx__work_slots for each field, field after field; or the values of
                                      lines (hx__slots_are_values) */
  const struct hx__packed *packed; /* products on the CPU: an operand packed for all chunks; NULL: none */
  bool *joined; /* reductions: a stream that computes all slices in one chunk may join them, write only the first slot
                   of each field and set this. NULL: every slot is wanted */
  hx__resident_output *resident; /* products and maps: where C stays on the device; NULL: it goes to the host */
  bool heap_scratch; /* The CPU takes scratch memory from the heap: the caller's stack may be nearly used up. */
  hx__copy_threads copy_threads;
  hx__chunk upcoming; /* the stream's next chunk will lie in this range, as far as is known; empty: unknown */
} hx__request;

/* When the devices of a backend are found, and how long they live. */
typedef enum hx__discovery {
  HX__DISCOVER_HOST,    /* the CPU itself: one device, described without waiting, kept to exit */
  HX__DISCOVER_PROCESS, /* found once, on a thread of the registry because drivers may take seconds; kept to exit */
  HX__DISCOVER_CONTEXT  /* made from the settings of one context; each is one block of malloc, freed with the context */
} hx__discovery;

/* Optional: limits on the size of a chunk, in slices. Without this table a chunk may have any number of slices. */
typedef struct hx__backend_chunking {
  size_t (*grain)(const hx__stream *stream, const hx__work *work); /* a chunk should be a multiple of it; at least 1 */
  size_t (*most)(const hx__stream *stream, const hx__request *request); /* the most slices of a chunk; at least 1 */
} hx__backend_chunking;

/* Optional: for devices whose chunks run in a driver, and so may outlive the call that launched them. */
typedef struct hx__backend_recovery {
  /* Whether the chunk that timed out has ended, so that the stream can be used again. Required if wait returns
   * HX__TIMED_OUT. */
  bool (*recovered)(hx__stream *stream);
  /* Frees a chunk after it was delivered. NULL: the backend reuses the memory by itself. */
  void (*retire)(hx__stream *stream, hx__inflight *inflight);
  /* Called by another thread than the stream's, which was given up inside a driver call of this run (gate.h) and will
   * not use the stream again: marks what the device may still access, so that it is not reused. Makes no driver call.
   * NULL: no call of the backend can hang. */
  void (*abandon)(hx__stream *stream);
} hx__backend_recovery;

/* Optional: memory that the device accesses better than the caller's pages. Any thread may call these. They return
 * after at most limit_ns in one driver call. */
typedef struct hx__backend_memory {
  /* Memory for host and device in this mode, aligned to a page. *block is its handle, for hx__array and free. NULL if
   * the device has none. */
  void *(*alloc)(hx__device *device, size_t bytes, hx__memory_mode mode, uint64_t limit_ns, void **block);
  /* Frees a handle of alloc or pin. */
  void (*free)(hx__device *device, uint64_t limit_ns, void *block);
  /* Pins memory of the caller so that the device can copy from it directly, until the handle that it returns is freed.
   * NULL if that is impossible or useless. The entry itself may be NULL. */
  void *(*pin)(hx__device *device, void *p, size_t bytes, uint64_t limit_ns);
  /* Waits until memory that was freed on a background thread is free. NULL if free is synchronous. */
  void (*settle)(hx__device *device, uint64_t limit_ns);
} hx__backend_memory;

/* Optional: device copies of host memory that outlive a run (HX_READ_MOSTLY, HX_RESIDENT). */
typedef struct hx__backend_residency {
  /* An empty mirror of [first, first+bytes), or NULL if the device has no room. Called under a lock of memory/: makes
   * no driver call on the calling thread. */
  hx__mirror *(*create)(hx__device *device, const void *first, size_t bytes);
  /* Frees a mirror that no run uses. Called under the same lock, with the same rule. */
  void (*destroy)(hx__device *device, hx__mirror *mirror);
  /* Copies the array from its mirror to the host. Called on the stream's thread, between runs. */
  hx__outcome (*fetch)(hx__stream *stream, const hx__array *array);
} hx__backend_residency;

/* Whether a device can compute a user kernel. */
typedef enum hx__map_state { HX__MAP_UNKNOWN, HX__MAP_REQUESTED, HX__MAP_READY, HX__MAP_REFUSED } hx__map_state;

struct hx__backend {
  const char *name;
  hx__discovery discovery;

  /* Writes the devices, at most max, to list and returns how many there are. config: of the context that asks
   * (HX__DISCOVER_CONTEXT), otherwise NULL. */
  size_t (*discover)(const hx__config *config, hx__device **list, size_t max);

  /* A stream for a context, or NULL after hx__fail. */
  hx__stream *(*open)(hx__device *device, const hx__config *config);
  /* Frees the stream, except what a chunk that timed out may still access. */
  void (*close)(hx__stream *stream);

  /* Begins and ends a run. The request's arrays are accessible between the two. end writes the bytes that were copied
   * since begin; it cannot fail. */
  hx__outcome (*begin)(hx__stream *stream, const hx__request *request);
  void (*end)(hx__stream *stream, uint64_t *copied);

  /* Starts a chunk. HX__DONE: *inflight identifies it in wait and deliver. Otherwise *inflight is NULL. */
  hx__outcome (*submit)(hx__stream *stream, const hx__request *request, hx__chunk chunk, hx__inflight **inflight);
  /* Waits for the oldest chunk in flight until *deadline_ns (UINT64_MAX: without limit), which other threads may move
   * to an earlier time while this waits. HX__DONE: the results can be delivered. Otherwise the inflight is not used any
   * more; after HX__TIMED_OUT stream->timed_out is set, and the chunk never writes memory of the caller. */
  hx__outcome (*wait)(hx__stream *stream, hx__inflight *inflight, const _Atomic uint64_t *deadline_ns);
  /* Writes the results of `part` of a finished chunk where the request wants them (hx__deliver), without a driver call.
   * The next chunk may have been submitted before. False: the part cannot be separated from the rest of the chunk, and
   * nothing was written. */
  bool (*deliver)(hx__stream *stream, const hx__request *request, hx__inflight *inflight, hx__chunk part);

  /* Optional: builds, tests and runs the kernels of `needs` once, and marks each as ready or refused in the device
   * before it returns. HX__NEED_TILES takes several calls, one step each. needs 0: nothing more is needed for now, so
   * what only preparing uses can be freed. NULL: every kernel is ready from the start. One thread at a time. */
  void (*prepare)(hx__device *device, uint64_t needs);

  /* Optional: the state of the work's user kernel on the device. request: if it is not known there, it will be built
   * and tested by prepare(HX__NEED_MAPS). *rate, if not NULL: units per nanosecond, if it is ready. NULL: the devices
   * compute no user kernels. */
  hx__map_state (*map)(hx__device *device, const hx__work *work, bool request, float *rate);

  const hx__backend_chunking *chunking; /* each of these may be NULL */
  const hx__backend_recovery *recovery;
  const hx__backend_memory *memory;
  const hx__backend_residency *residency;
};

/* The part of a stream that the scheduler reads and writes. A backend's own stream structure begins with one. */
struct hx__stream {
  hx__device *device;
  unsigned depth; /* chunks that it may have in flight, 1 to HX__DEPTH; the results of one more may be in delivery */
  bool timed_out; /* a chunk that timed out is still running: the stream takes no work */
  bool lacked_memory;      /* this run found the device's memory full: the scheduler makes room and clears the flag */
  bool grew_pinned_memory; /* this run allocated pinned memory: the scheduler discards its timing and clears the flag */
  uint64_t expected_end_ns; /* when the chunk that is waited for is expected to end; 0: unknown */
  double sent_fraction;     /* after HX__SUPERSEDED: lower bound of the fraction of the operands already copied */
  const _Atomic uint64_t *still_wanted; /* becomes 0 once the chunk being submitted is superseded; NULL: it never is */
  struct hx__trace *trace;              /* copies are recorded in this trace, */
  size_t trace_row;                     /* on this track; both are set by the caller of open */
};

static inline size_t hx__stream_grain(const hx__stream *stream, const hx__work *work) {
  const hx__backend_chunking *const limits = stream->device->backend->chunking;
  return limits ? limits->grain(stream, work) : 1;
}

static inline size_t hx__stream_most(const hx__stream *stream, const hx__request *request) {
  const hx__backend_chunking *const limits = stream->device->backend->chunking;
  return limits ? limits->most(stream, request) : request->work->slices;
}

/* The backends in the order of their device numbers; the first one is the host's CPU. */
const hx__backend *const *hx__backend_rows(size_t *count);

/* Writes the results of `part` of a finished chunk where the request wants them. Reductions: from is the chunk's slots,
 * field after field. Products: from is its block t = alpha op(A) op(B) with ldt floats from row to row, and C becomes
 * t + beta C. */
void hx__deliver(const hx__request *request, hx__chunk chunk, hx__chunk part, const void *from, size_t ldt);

/* Bracket driver calls of a thread that a backend started itself, so that exit waits for them and the scheduler knows
 * that they use cores. hx__driver_enter is false once exit has begun: no driver call may be made then. */
bool hx__driver_enter(void);
void hx__driver_leave(void);

/* The text of hx_device_info.why: a sentence on the device's state, then the kernels that it refuses. Any thread may
 * call these. hx__device_why names the refused kernels if there is room, else it counts them; why_in_full names them
 * always. set_why replaces everything by a formatted sentence, replace_why the sentence by a literal one. note_refusal
 * adds the kernel of a need bit, with a literal reason. */
void hx__device_why(const hx__device *device, char out[HX__WHY_TEXT]);
void hx__device_why_in_full(const hx__device *device, char out[HX__WHY_IN_FULL]);
void hx__device_set_why(hx__device *device, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void hx__device_replace_why(hx__device *device, const char *sentence);
void hx__device_note_refusal(hx__device *device, unsigned need, const char *reason);

/* Marks a device as lost, with one sentence. If it was lost before, the first sentence stays. */
void hx__device_lost(hx__device *device, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

#endif
