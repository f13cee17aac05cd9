/* SPDX-License-Identifier: Apache-2.0
 * What every backend is: one table of eleven entries, one more for devices that pin, and three for those that keep
 * copies. A device belongs to the process, is found once and kept to exit; a stream is one context's way to a device
 * (queues, kernel objects, blocks) and carries one run at a time, so its entries need no locks of their own. Errors go
 * up as status values with a detail; nothing calls back.
 *
 * To add a backend copy sim/, which has every entry in its simplest right form. */
#ifndef HX_BACKEND_BACKEND_H
#define HX_BACKEND_BACKEND_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/cpu.h"
#include "runtime/base/config.h"
#include "runtime/task/task.h"

typedef struct hx__backend hx__backend;
typedef struct hx__stream hx__stream;     /* each backend's own; begins with hx__device * */
typedef struct hx__inflight hx__inflight; /* a chunk in flight, each backend's own */

#define HX__DEPTH 2u /* chunks in flight on a stream: a launch passes while the one before it is computed */
#define HX__MAX_INFLIGHT (HX__DEPTH + 1u) /* and one whose results are stored meanwhile */

#define HX__TILES 8u /* HX_TILE values that one process may use on a device */
#define HX__NEEDS (27u + HX__TILES)

#define HX__WHY_TEXT 256u /* bytes of hx_device_info.why */

/* A device of the process. A backend's own structure begins with one. */
typedef struct hx__device {
  const hx__backend *backend;
  char name[128], vendor[64], driver[64];
  hx_device_kind kind;
  uint32_t words; /* the HX__DEV_ words that name it */
  uint32_t compute_units;
  uint64_t memory_bytes;
  uint64_t max_alloc;              /* bytes of one allocation; 0: no fewer than memory_bytes */
  uint32_t modes;                  /* bits (1 << hx__memory_mode) that it passed, most direct first by number */
  uint32_t zero_copy;              /* of those, the ones that were seen to read host memory in place */
  bool waits_for_ever;             /* a CPU-type device reads the caller's pages: late chunks are waited for */
  _Atomic uint64_t ready, refused; /* bits of needs: kernels that are built, tested and run; that are refused */
  _Atomic uint64_t asked;          /* bits of needs that were asked for */
  uint32_t tile[HX__TILES][3];     /* products by tile: need bit 27 + i is the product with tile[i]; 0 is the default */
  _Atomic uint32_t tiles;          /* how many of them are known: at least 1 */
  float seed[HX__NEEDS];  /* units a nanosecond of a small launch, by need bit, set before it is ready; 0: unknown */
  float launch_ns;        /* of a launch of next to nothing, with its wait; 0: unknown */
  float link_ns;          /* a byte's way to it from pinned host memory; 0: it reads host memory in place, or unknown */
  _Atomic bool lost;      /* an error after success: never asked again in this process */
  _Atomic unsigned stuck; /* threads that were given up in calls that have not returned: not asked meanwhile */
  _Atomic unsigned given_up; /* threads that were given up, so far */
  char why[HX__WHY_TEXT]; /* on lost or refused: hx__device_why reads it, hx__device_note_refusal and _lost write it */
  size_t why_end;         /* of the last whole item in it */
  unsigned untold;        /* refusals that had no room */
} hx__device;

/* A device's own copy of a range of host memory, which outlives calls (HX_READ_MOSTLY, HX_RESIDENT): made and dropped
 * by memory/, filled by streams as runs need it. A backend's own structure begins with one. */
typedef struct hx__mirror {
  uintptr_t first; /* host address of its first byte */
  size_t bytes;
  _Atomic size_t filled; /* how many of them are there */
  uint64_t *present;     /* a bit for each HX__MIRROR_BLOCK bytes */
} hx__mirror;

#define HX__MIRROR_BLOCK ((size_t)64 << 10)

/* Nothing is there yet; false without memory. */
bool hx__mirror_init(hx__mirror *held, const void *first, size_t bytes);
void hx__mirror_free(hx__mirror *held);
/* What of [at, at+bytes) is missing first, in whole blocks: it then counts as there. False where nothing is. */
bool hx__mirror_next_gap(hx__mirror *held, size_t at, size_t bytes, size_t *gap_at, size_t *gap_bytes);
void hx__mirror_invalidate(hx__mirror *held); /* all of it is missing again */

/* How an array reaches a device in one run; chosen by memory/. */
typedef struct hx__array {
  const void *p;
  size_t rows, cols, ld; /* 4-byte elements; a reduction's array is one row */
  hx__memory_mode mode;
  void *block;      /* the handle of backend->alloc or, in mode copy, backend->pin that holds it; NULL: none does */
  hx__mirror *held; /* mode copy: the device's copy of a range that holds it; NULL: none outlives the run */
} hx__array;

/* A product whose C stays on the device that does all of it. */
typedef struct hx__resident_output {
  hx__mirror *to;   /* C's extent, fresh: its rows lie there as on the host */
  hx__mirror *from; /* the old C, where beta wants it and the device has it; NULL: the host has */
  bool done;        /* set by end(): every slice of the run is in *to, none on the host */
} hx__resident_output;

#define HX__WHOLE_ARRAYS 2u /* a product's operands, in this order: A, B */

/* Who copies for a device (crew.h). */
typedef enum hx__copy_threads {
  HX__COPY_BY_WORKER,    /* its worker alone: the CPU takes part */
  HX__COPY_BY_COPY_POOL, /* threads that sleep between copies, */
  HX__COPY_BY_CPU_POOL   /* and the CPU's team where it spins anyway: the device has cores and power of its own */
} hx__copy_threads;

/* One call's work as a stream sees it. arrays: for a reduction x and y of field f at [2f] and [2f+1] (y == x's where
 * the operation has one); for a product A and B. */
typedef struct hx__request {
  const hx__work *work;
  const hx__cpu_kernels *kernels; /* for storing a device's block into C */
  const hx__array *arrays;
  uint64_t *slots;                 /* reductions: nfields runs of work->slices slots each */
  const struct hx__packed *packed; /* products on the CPU: an operand packed for all chunks; NULL: none */
  bool *whole; /* set by who did all slices of a reduction in one chunk and joined them: only the first slot of each run
                  is there, and stands for all. NULL: all slots are wanted */
  hx__resident_output *keep; /* products: NULL: C goes to the host */
  hx__copy_threads copiers;
  hx__chunk reach; /* slices among which the stream's next chunk will be, as far as that can be told; none where not */
} hx__request;

typedef enum hx__outcome {
  HX__DONE = 0,   /* the chunk is computed */
  HX__TIMED_OUT,  /* not done by the deadline: given up; the ticket is the backend's to keep, and writes nothing of ours
                   */
  HX__NO_MEMORY,  /* the device has no room for this chunk; it is not lost */
  HX__SUPERSEDED, /* somebody else has done the chunk that was being submitted: nothing of it is on its way */
  HX__FAILED      /* an error: the device is lost */
} hx__outcome;

struct hx__backend {
  const char *name;

  /* Writes the devices of the process into list, at most max, and returns how many. config: sim only (a simulated
   * device belongs to the context that asked for it). Called from one thread. */
  size_t (*discover)(const hx__config *config, hx__device **list, size_t max);

  /* Makes the kernels of `needs` ready, or refused with why: builds, tests, runs each launch shape once. Returns when
   * each is decided; HX__NEED_TILES takes a call for each step. Optional: NULL where every kernel is ready from the
   * start. Called from one thread a device. needs 0: that was all for now; what only preparing needs can be given back.
   */
  void (*prepare)(hx__device *device, uint64_t needs);

  /* A stream for a context, or NULL. */
  hx__stream *(*open)(hx__device *device, const hx__config *config);
  /* Frees the stream and what no late ticket holds. */
  void (*close)(hx__stream *stream);

  /* Brackets a run: the arrays are reachable from begin to end. */
  hx__outcome (*begin)(hx__stream *stream, const hx__request *request);
  /* Fills *copied with the bytes copied since begin. Never fails; a late ticket keeps what it may still touch. */
  void (*end)(hx__stream *stream, uint64_t *copied);

  /* Starts a chunk. HX__DONE: *ticket is to be waited for; otherwise *ticket is NULL. */
  hx__outcome (*submit)(hx__stream *stream, const hx__request *request, hx__chunk chunk, hx__inflight **ticket);
  /* Waits for the oldest chunk in flight until *deadline_ns (UINT64_MAX: as long as it takes), which others may bring
   * forward meanwhile. HX__DONE: its results are to be delivered; otherwise the ticket is freed, or the backend's. */
  hx__outcome (*wait)(hx__stream *stream, hx__inflight *ticket, const _Atomic uint64_t *deadline_ns);
  /* Puts the results of `part` of a chunk that is done where the request wants them, without a driver call. False if a
   * part cannot be told from the whole: nothing is delivered then. The next chunk may have been submitted before. */
  bool (*deliver)(hx__stream *stream, const hx__request *request, hx__inflight *ticket, hx__chunk part);
  /* Optional: frees the ticket of a chunk that was delivered. */
  void (*retire)(hx__stream *stream, hx__inflight *ticket);
  /* Optional, by another thread than the stream's, which was given up in a driver call of this run (gate.h) and will
   * not use the stream any more: what the device may still touch is kept from others. Makes no driver call. */
  void (*abandon)(hx__stream *stream);

  /* Memory that host and device share in this mode, aligned to a page: *block is its handle, for hx__array. NULL if
   * the device cannot, or is in one driver call for limit_ns. On any thread, like free, pin and drop. Optional. */
  void *(*alloc)(hx__device *device, size_t bytes, hx__memory_mode mode, uint64_t limit_ns, void **block);
  void (*free)(hx__device *device, uint64_t limit_ns, void *block);
  /* Optional: waits until what free and drop have left to a thread is done, unless that hangs. */
  void (*settle)(hx__device *device, uint64_t limit_ns);
  /* Optional: makes memory of others such as the device reads itself in mode copy, for as long as the handle lives:
   * hx__array.block, and freed like one. Takes a while. NULL: it gains nothing by that, or cannot. */
  void *(*pin)(hx__device *device, void *p, size_t bytes, uint64_t limit_ns);

  /* Optional, all three or none. hold: an empty copy of [first, first+bytes), or NULL where there is no room. drop:
   * when no run uses it. Both are called under locks, and make no driver call on the calling thread. fetch: on the
   * stream between runs, the array's part of its held copy to the host. */
  hx__mirror *(*hold)(hx__device *device, const void *first, size_t bytes);
  void (*drop)(hx__device *device, hx__mirror *held);
  hx__outcome (*fetch)(hx__stream *stream, const hx__array *array);
};

/* Beside the table, two facts of a stream that the scheduler needs as plain data: */
struct hx__stream {
  hx__device *device;
  unsigned depth;                 /* chunks that it may have in flight: HX__DEPTH at most */
  bool late;                      /* a ticket that was given up is still running: the stream takes no work */
  bool grown;                     /* it has pinned memory to keep, which takes long; whoever measures puts it back */
  uint64_t expected_ns;           /* when what is waited for next is expected to end; 0: unknown */
  double sent;                    /* HX__SUPERSEDED: the part of the chunk's operands that was on its way, at least */
  const _Atomic uint64_t *wanted; /* of the chunk that is being submitted: 0 as soon as nobody wants it; NULL: it is */
  struct hx__trace *trace;        /* what it copies goes there, */
  size_t row;                     /* under this number; set by who opened it */
  /* Optional: whether the late ticket has ended, so that the stream is free again. */
  bool (*recovered)(hx__stream *stream);
  size_t (*grain)(const hx__stream *stream,
                  const hx__work *work); /* slices a chunk should be a multiple of; at least 1 */
  size_t (*most)(const hx__stream *stream, const hx__work *work); /* slices a chunk may have at most; at least 1 */
};

extern const hx__backend hx__cpu_backend, hx__opencl_backend, hx__sim_backend;

/* Puts the results of part of a finished chunk where the request wants them: from is the chunk's slots, field after
 * field, or its block t with ldt floats from row to row, stored into C with beta. */
void hx__deliver(const hx__request *request, hx__chunk chunk, hx__chunk part, const void *from, size_t ldt);

/* Brackets what a thread of a backend's own does in a driver, which may take cores. False where exit has begun. */
bool hx__driver_enter(void);
void hx__driver_leave(void);

/* What is said of a device: a copy of it; a new sentence; one more kernel that it refuses. On any thread. */
void hx__device_why(const hx__device *device, char out[HX__WHY_TEXT]);
void hx__device_set_why(hx__device *device, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void hx__device_append_why(hx__device *device, const char *sentence);
void hx__device_note_refusal(hx__device *device, const char *name, const char *why);

/* Marks a device lost with one sentence; the first reason stays. */
void hx__device_lost(hx__device *device, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

#endif
