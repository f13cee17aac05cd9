/* SPDX-License-Identifier: Apache-2.0
 * What the files of this folder share. Nothing outside it includes CL. */
#ifndef HX_BACKEND_OPENCL_CL_H
#define HX_BACKEND_OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdio.h>

#include "kernels/kernels.h"
#include "kernels/tiles.h"
#include "runtime/backend/backend.h"
#include "runtime/base/log.h"

#define HX__CL_TUNED 8u
#define HX__VARIANTS 32u                     /* of the product, beside the first row of its set */
#define HX__TRIAL (HX__NEEDS + HX__VARIANTS) /* the program that is being tuned */
#define HX__PROGRAMS (HX__TRIAL + 1)         /* one a need bit, those variants, and it */

typedef struct hx__cl_program {
  cl_program program;
  const hx__kernel_row *row;
  hx__layout layout; /* of a set */
  hx__arithmetic arithmetic;
  uint32_t tile_m, tile_n, tile_k; /* matmul: as built */
  bool kept;                       /* it came from the cache */
  float seed;                      /* hx__cl_seed_rate, of this process or of the one that built it */
} hx__cl_program;

/* What the tuner found to be the fastest for a product: a row, its tile where it takes any, the order of its fma. */
typedef struct hx__cl_tuned {
  const hx__kernel_row *row;
  uint32_t tile[3], order;
} hx__cl_tuned;

/* A device buffer that grows. */
typedef struct hx__cl_buffer {
  cl_mem mem;
  size_t bytes;
} hx__cl_buffer;

/* A live buffer over memory of the caller, shared by the lanes that read the same range at once; or by the contexts
 * that have registered it (pin.c). */
typedef struct hx__cl_hostptr {
  uintptr_t first, end;
  cl_mem mem;
  unsigned users;
  bool pins; /* it is only there for its pages to be pinned */
  bool late; /* a chunk that was given up may read it still: for nobody else, its pages may be others by now */
  struct hx__cl_hostptr *next;
} hx__cl_hostptr;

#define HX__CL_SPARES 2u

typedef struct hx__cl_device {
  hx__device base;
  cl_platform_id platform;
  cl_device_id id;
  unsigned version; /* 12, 20, 30: of the device; entries newer than it are never called */
  uint32_t families;
  size_t max_local;
  cl_ulong max_alloc;
  cl_device_svm_capabilities svm;
  bool unified, usm;
  clHostMemAllocINTEL_fn usm_alloc;
  clMemFreeINTEL_fn usm_free;
  clSetKernelArgMemPointerINTEL_fn usm_arg;

  pthread_mutex_t pins; /* held by whoever pins, for as long as that takes; before lock */
  pthread_mutex_t lock; /* what follows */
  bool opened;
  cl_context context;
  bool fma_ok, add_ok; /* by the probe kernel */
  hx__cl_program program[HX__PROGRAMS];
  _Atomic uint32_t variants;        /* bits of program[HX__NEEDS + i] that are ready */
  unsigned tried;                   /* of the variants there may be */
  hx__cl_tuned tuned[HX__CL_TUNED]; /* those with a row; of no set: the first alone */
  hx__cl_hostptr *hostptrs;
  hx__cl_buffer spare[HX__CL_SPARES]; /* of copies that were dropped: a chain of products needs one anew each time */

  hx__lane *tester; /* of the thread that prepares: tries what comes from the cache, one program after the other */
} hx__cl_device;

/* A call that failed: its name and code, said once. Returns what it means for the chunk. */
hx__outcome hx__cl_failed(hx__cl_device *device, const char *call, cl_int code);
const char *hx__cl_code_name(cl_int code);

/* Creates the context, runs the first kernel and finds out what the device does: modes, zero copy, fma. Once; false
 * where it cannot be used, with base.why. */
bool hx__cl_device_open(hx__cl_device *device);
/* Which modes the device passes (base.modes, base.zero_copy): touch is a kernel hx_touch, on an empty queue. */
void hx__cl_find_modes(hx__cl_device *device, cl_command_queue queue, cl_kernel touch);

/* clBuildProgram; idle: on a thread that runs at SCHED_IDLE, given up after a minute. CL_SUCCESS or a code. */
cl_int hx__cl_build(cl_program program, cl_device_id id, const char *options, bool idle);
/* Begins a build that hx__cl_program_new will be asked for, where the device's compiler does several at once and a core
 * is idle; false where it does not. */
bool hx__cl_build_ahead(hx__cl_device *device, hx__kernel_kind kind, const char *options);
/* Such a build is not wanted any more. */
void hx__cl_build_forget(hx__cl_device *device, hx__kernel_kind kind, const char *options);
/* What stands for device, driver and hx in the keys of the cache. */
void hx__cl_write_key(FILE *f, const hx__cl_device *device);

/* Reads what the tuner kept for this device and driver, if anything; what is damaged is nothing. */
void hx__cl_tuned_load(hx__cl_device *device);
/* Keeps it for the processes to come; false where there is no cache. */
bool hx__cl_tuned_store(const hx__cl_device *device, const hx__cl_tuned *tuned);
/* What was found for a row, or NULL. */
const hx__cl_tuned *hx__cl_tuned_for(const hx__cl_device *device, const hx__kernel_row *row);

/* One program that the tuner timed. */
typedef struct hx__cl_trial {
  hx__cl_tuned what;
  double flops;    /* a second; 0: not timed */
  const char *why; /* it was not */
  bool chosen;
} hx__cl_trial;
/* Times the product's rows, tiles and orders on a device that does nothing else, and keeps the winners. Returns how
 * many were tried. */
size_t hx__cl_tune(hx__cl_device *device, hx__cl_trial *trials, size_t room, size_t *side);
/* Seconds of a launch of the need's program (HX__TRIAL: the one that is being tuned) for three matrices of `side` on
 * the device, the least of so many; 0: it failed. */
double hx__cl_time_product(hx__cl_device *device, unsigned need, size_t side, int times);

/* Nanoseconds a byte of pinned host memory takes to a device that copies; 0: that failed. */
float hx__cl_link_ns(hx__cl_device *device, cl_command_queue queue);

/* The built program of a kind, or NULL with *code. */
cl_program hx__cl_program_new(hx__cl_device *device, hx__kernel_kind kind, const char *options, bool idle,
                              cl_int *code);

/* A program that passed its self-test in an earlier process, where one is kept that this driver takes. Its trial ends
 * with hx__cache_trial_end once it has run. */
typedef struct hx__cl_kept {
  cl_program program; /* NULL: none */
  float seed;
  int trial;
} hx__cl_kept;

hx__cl_kept hx__cl_binary_load(hx__cl_device *device, hx__kernel_kind kind, const char *options, bool idle);
/* Kept after the program has run: some drivers compile at a launch, and their binaries hold what was compiled so far.
 */
void hx__cl_binary_store(hx__cl_device *device, cl_program program, hx__kernel_kind kind, const char *options,
                         float seed);

void hx__cl_prepare(hx__device *device, uint64_t needs);
/* NULL where the kernel gives hx's bits on its small cases, else one sentence. */
const char *hx__cl_self_test(hx__cl_device *device, unsigned need);
/* The same by one case, on the device's tester: for a program that passed all of them before it was kept. */
const char *hx__cl_self_test_once(hx__cl_device *device, unsigned need);
void hx__cl_tester_close(hx__cl_device *device);
/* Units a nanosecond of a launch that takes a few milliseconds on the slowest of devices: what a first call goes by. */
float hx__cl_seed_rate(hx__cl_device *device, unsigned need);

void *hx__cl_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, void **block);
void hx__cl_free(hx__device *device, void *block);

/* A block of hx_alloc memory that the device knows, or memory of others that is pinned for it. */
typedef struct hx__cl_block {
  void *p; /* as the driver gave it: the caller's begins at the first page boundary in it */
  size_t bytes;
  cl_mem mem; /* mode copy: a pinned buffer, mapped at p for as long as it lives; no kernel uses it */
  hx__memory_mode mode;
  pthread_mutex_t lock;
  unsigned readers;       /* coarse SVM: runs whose kernels may read it; the host then holds a read map only */
  hx__cl_hostptr **piece; /* what is pinned of memory of others, by addresses; NULL: a block of the driver's */
  size_t pieces;
} hx__cl_block;

void *hx__cl_pin(hx__device *device, void *p, size_t bytes);
void hx__cl_unpin(hx__cl_device *device, hx__cl_block *block);
void hx__cl_pin_late(hx__cl_device *device, hx__cl_block *block);
/* How far the device itself reads on from p in a block of mode copy; *direct false: how far it does not. */
size_t hx__cl_reach(const hx__cl_block *block, const void *p, bool *direct);

/* A device's copy of host memory (backend.h). */
typedef struct hx__cl_held {
  hx__held base;
  cl_mem mem;
  bool late; /* a chunk that was given up may use it still */
} hx__cl_held;

hx__held *hx__cl_hold(hx__device *device, const void *first, size_t bytes);
void hx__cl_drop(hx__device *device, hx__held *held);

/* Coarse SVM: from the host's writable map to one for reading, and back. */
hx__outcome hx__cl_block_begin(hx__cl_device *device, hx__cl_block *block, cl_command_queue queue);
hx__outcome hx__cl_block_end(hx__cl_device *device, hx__cl_block *block, cl_command_queue queue);

/* The live buffer over [p, p+bytes), whole pages; NULL where one overlaps it in part or the driver refuses. */
hx__cl_hostptr *hx__cl_hostptr_get(hx__cl_device *device, const void *p, size_t bytes);
void hx__cl_hostptr_share(hx__cl_device *device, hx__cl_hostptr *hostptr);
void hx__cl_hostptr_late(hx__cl_device *device, hx__cl_hostptr *hostptr);
void hx__cl_hostptr_put(hx__cl_device *device, hx__cl_hostptr *hostptr);

/* Where a kernel finds part of an array: a buffer or a pointer, the first element, and the leading dimension there. */
typedef struct hx__cl_view {
  hx__memory_mode mode;
  cl_mem mem;
  const void *p;
  cl_ulong first, ld;
} hx__cl_view;

/* The part of an array that a view is asked for. */
typedef struct hx__cl_region {
  size_t row, rows, col, cols;
} hx__cl_region;

#define HX__CL_PAGE 4096u
#define HX__CL_STAGE_BYTES ((size_t)8 << 20)

/* One array of the run. */
typedef struct hx__cl_operand {
  const hx__array *array;
  hx__memory_mode mode; /* as used: copy where the wanted one could not be had */
  hx__cl_hostptr *hostptr;
  hx__cl_block *coarse;
  hx__held *held; /* the device's copy of all of it: of memory/, or of this run */
  bool of_run;
  hx__cl_buffer copy; /* copy mode without held: the region it holds */
  hx__cl_region region;
  bool holds;
} hx__cl_operand;

/* A kernel object and the kinds of argument it has had: once it was given a pointer, one driver refuses a buffer in the
 * same place (CL_INVALID_KERNEL_ARGS), so another mix of modes gets a new object. */
typedef struct hx__cl_kernel {
  cl_kernel kernel;
  hx__memory_mode x, y;
} hx__cl_kernel;

#define HX__CL_LANDINGS 2u /* one is stored from while another is read into */

/* A pinned block for a product's results. */
typedef struct hx__cl_landing {
  void *p, *block;
  size_t bytes;
  bool busy;
} hx__cl_landing;

/* A chunk in flight. Given up, it owns its block, and with it the lane, until its event completes. */
typedef struct hx__cl_flight {
  hx__chunk chunk;
  hx__cl_buffer out; /* slots, or t; kept for the next chunk */
  cl_event event;    /* the results are there; NULL: nothing is in flight, or they wait for a landing */
  cl_event computed; /* where they are read beside kernels: before that */
  void *mapped;      /* results, where they are not in a landing */
  hx__cl_landing *landing;
  size_t bytes; /* of the results there */
  bool product, joined;
  size_t ldt;
} hx__cl_flight;

#define HX__CL_CHOICES 4u

/* What a product of a set of rows was launched by, for the next one of its shape: to choose takes 10 us. */
typedef struct hx__cl_choice {
  hx__tiles_shape shape;
  uint32_t ready; /* the variants there were; 0: no choice was made */
  unsigned program;
  hx__tiles_plan plan;
} hx__cl_choice;

typedef struct hx__cl_lane {
  hx__lane base;
  hx__cl_device *device;
  cl_command_queue queue;
  cl_command_queue uploads; /* beside kernels, on devices with memory of their own; NULL: on queue as well */
  cl_command_queue results; /* likewise, of what kernels have computed */
  size_t previous;          /* first slice of the chunk before this one; SIZE_MAX: there was none */
  cl_event uploaded;        /* the last one on uploads that no kernel waits for yet; NULL: none */
  unsigned product;         /* index of the product's program: HX_TILE chooses it */
  unsigned tested;          /* index of the variant that this lane tests; 0: none */
  bool reached;             /* that one has been launched */
  bool copy_inputs;         /* a timeout set by hand on a CPU-type device: late chunks may then be given up */
  uint64_t patience_ns;     /* with what comes without a prediction: uploads; UINT64_MAX: as long as it takes */
  bool joins;               /* reductions: chunks are joined on the device where they can be */
  hx__cl_kernel kernel[HX__PROGRAMS], pack_a[HX__PROGRAMS], pack_b[HX__PROGRAMS];
  hx__cl_kernel join[HX__PROGRAMS], copy[HX__PROGRAMS], store[HX__PROGRAMS];

  bool idle_cores;         /* of the run's request */
  hx__cl_operand *operand; /* of the run */
  size_t operands, operand_room;
  hx__cl_buffer packed_a, packed_b;
  bool shared_packed;    /* the operand that all chunks of the run share is packed */
  hx__cl_buffer tickets; /* of launches that join: HX__JOIN_TICKETS of them, 0 between launches */
  hx__cl_buffer partials, part;
  hx__cl_choice choice[HX__CL_CHOICES];
  unsigned choices; /* made so far: the oldest is the next to go */
  bool back; /* the last launch for few rows of C went so: they go to and fro over B, of which a cache holds an end */
  cl_mem stage[2]; /* the pinned ring and its mapped halves */
  void *stage_host[2];
  cl_event stage_event[2];
  unsigned stage_next;

  cl_mem t;            /* where the product of this chunk goes: out, or C itself where that stays */
  hx__keep *keep;      /* of the run: C stays here */
  size_t kept, slices; /* of the run: those that are in keep->to, and all */
  size_t most_bytes;   /* of results of a chunk of the run */

  uint64_t copied;
  size_t unsent; /* bytes of an array that nobody wanted any more */
  hx__cl_landing landing[HX__CL_LANDINGS];
  hx__cl_flight flight[HX__TICKETS];
  unsigned next; /* of them */
  /* Of the chunk that is being launched: */
  hx__cl_buffer out; /* slots, or t */
  size_t bytes;      /* of its results at the start of out */
  bool joined;       /* a reduction's: one slot a field, of all its leaves */
  size_t ldt;
} hx__cl_lane;

hx__lane *hx__cl_lane_open(hx__device *device, const hx__config *config);
void hx__cl_lane_close(hx__lane *lane);
hx__outcome hx__cl_begin(hx__lane *lane, const hx__request *request);
void hx__cl_end(hx__lane *lane, uint64_t *copied);
hx__outcome hx__cl_submit(hx__lane *lane, const hx__request *request, hx__chunk chunk, hx__ticket **ticket);
hx__outcome hx__cl_wait(hx__lane *lane, hx__ticket *ticket, const _Atomic uint64_t *deadline_ns);
bool hx__cl_deliver(hx__lane *lane, const hx__request *request, hx__ticket *ticket, hx__chunk part);
bool hx__cl_recovered(hx__lane *lane);

/* Once a device is lost no OpenCL call is made on it. */
static inline bool hx__cl_is_lost(const hx__cl_lane *lane) {
  return atomic_load_explicit(&lane->device->base.lost, memory_order_acquire);
}
/* The event's state without waiting: CL_COMPLETE, a positive state, or a negative error. */
cl_int hx__cl_state_of(cl_event event);
/* The same, asleep until it has completed or the deadline is there; expected_ns: when it may be so, 0: unknown. */
cl_int hx__cl_wait_until(cl_event event, uint64_t expected_ns, const _Atomic uint64_t *deadline_ns);
/* Waits for an event as long as the lane has patience. HX__LATE: the lane takes no work until it has ended. */
hx__outcome hx__cl_await(hx__cl_lane *lane, cl_event event);
/* After an error on a device that reads the caller's pages, or where one had no room for the rest of a chunk: what is
 * still running there is waited for. */
hx__outcome hx__cl_quiesce(hx__cl_lane *lane, hx__outcome outcome);
/* Gives back what the run bound; the copies' buffers stay for the next run unless they are large. */
void hx__cl_unbind(hx__cl_lane *lane);
#define HX__CL_MOST_LEAVES 16384u            /* of a reduction's chunk: 256 MiB a field */
#define HX__CL_KEPT_BYTES ((size_t)64 << 20) /* of a buffer that outlives the run, and of a product's result block */

/* After the kernels of a chunk: how its results come, to their event; come: those that waited for a landing, if there
 * is one now; end: the chunk lets go of what it holds. */
hx__outcome hx__cl_mark_end(hx__cl_lane *lane, cl_event *end); /* of what was launched; the device begins with it */
hx__outcome hx__cl_results_begin(hx__cl_lane *lane, hx__cl_flight *flight);
hx__outcome hx__cl_results_come(hx__cl_lane *lane, hx__cl_flight *flight);
void hx__cl_results_end(hx__cl_lane *lane, hx__cl_flight *flight, bool right);
void hx__cl_results_close(hx__cl_lane *lane);

/* The lane's tickets, zero. */
hx__outcome hx__cl_tickets_ready(hx__cl_lane *lane);

/* Enqueues the kernels of a chunk; its results are then lane->bytes of lane->out. */
hx__outcome hx__cl_launch_reduce(hx__cl_lane *lane, const hx__request *request, hx__chunk chunk);
hx__outcome hx__cl_launch_matmul(hx__cl_lane *lane, const hx__request *request, hx__chunk chunk);
/* A product by a set of rows: op(A) and op(B) of m x k and k x n, alpha times their product into lane->out. */
typedef struct hx__cl_strides {
  size_t rs, cs;
} hx__cl_strides;
typedef struct hx__tiles_size {
  size_t m, n, k;
  float alpha;
} hx__tiles_size;
hx__outcome hx__cl_launch_tiles(hx__cl_lane *lane, const hx__cl_view *a, hx__cl_strides as, const hx__cl_view *b,
                                hx__cl_strides bs, const hx__tiles_size *size);

/* `bytes` of host memory to a place of a device buffer: through the ring, or where the block is pinned (NULL: nothing
 * is) by the device itself. */
hx__outcome hx__cl_upload(hx__cl_lane *lane, const void *from, size_t bytes, const hx__cl_block *block, cl_mem to,
                          size_t at);
/* Part of an array to a buffer, from byte `at` on, its rows to_pitch bytes apart. */
hx__outcome hx__cl_upload_rows(hx__cl_lane *lane, const hx__array *array, hx__cl_region region, cl_mem to, size_t at,
                               size_t to_pitch);
/* A copy of the whole array, completed for a region. */
hx__outcome hx__cl_view_held(hx__cl_lane *lane, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
/* A run's first chunk may take it in parts, each with its own view; all_parts ends that: all of it is there, or none.
 */
bool hx__cl_comes_in_parts(const hx__cl_operand *operand);
hx__outcome hx__cl_view_part(hx__cl_lane *lane, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
void hx__cl_all_parts(hx__cl_operand *operand, bool there);
/* What is launched from here on waits for what was uploaded. */
hx__outcome hx__cl_await_uploads(hx__cl_lane *lane);
/* While a chunk is computed: what the next one will want, if it is the neighbour on the side that chunks go to. */
void hx__cl_prefetch(hx__cl_lane *lane, const hx__work *work, hx__chunk chunk);
/* C that stays on the device: what it begins with; a chunk's block stored into it; whether the product is written there
 * at once, so that nothing is to be stored (lane->t and lane->ldt then say where). */
hx__outcome hx__cl_keep_begin(hx__cl_lane *lane, const hx__work *work);
hx__outcome hx__cl_keep_chunk(hx__cl_lane *lane, const hx__work *work, hx__chunk chunk);
bool hx__cl_keep_directly(hx__cl_lane *lane, const hx__work *work, hx__chunk chunk);
hx__outcome hx__cl_fetch(hx__lane *lane, const hx__array *array);
hx__outcome hx__cl_view_of(hx__cl_lane *lane, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
hx__outcome hx__cl_buffer_reserve(hx__cl_device *device, hx__cl_buffer *buffer, size_t bytes, cl_mem_flags flags);
void hx__cl_buffer_release(hx__cl_buffer *buffer);
void hx__cl_stage_close(hx__cl_lane *lane);
void hx__cl_release_kernels(const hx__cl_kernel *kernels); /* HX__PROGRAMS of them */
/* The kernel object of a program on this lane for operands of these views (NULL: it has none), made at first use; NULL
 * with a failed outcome in *outcome. */
cl_kernel hx__cl_lane_kernel(hx__cl_lane *lane, hx__cl_kernel *slot, unsigned need, const char *name,
                             const hx__cl_view *x, const hx__cl_view *y, hx__outcome *outcome);

#define HX__FIRST_PRODUCT 27u /* the need of the product with the device's own tile */
/* Index of a single need bit. */
static inline unsigned hx__need_index(uint64_t need) { return (unsigned)__builtin_ctzll(need); }

#endif
