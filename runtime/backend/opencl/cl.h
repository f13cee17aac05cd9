/* SPDX-License-Identifier: Apache-2.0
 * Declarations that the files of this folder share. No file outside the folder includes CL. */
#ifndef HX_BACKEND_OPENCL_CL_H
#define HX_BACKEND_OPENCL_CL_H

#include <pthread.h>
#include <stdio.h>

#include "kernels/kernels.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/memory_jobs.h"
#include "runtime/backend/opencl/entries.h"
#include "runtime/base/log.h"

#include <CL/cl_ext.h>

#define HX__CL_TUNED 16u                                /* the most rows for which the tuner stores a choice */
#define HX__CL_VARIANTS 32u                             /* variants of the product, besides the first row of its set */
#define HX__TUNED_PROGRAM (HX__NEEDS + HX__CL_VARIANTS) /* the program that is being tuned */
#define HX__FIRST_FIELDS (HX__TUNED_PROGRAM + 1)        /* programs of several fields */
#define HX__CL_FIELDS 32u                               /* the most of those in a process */
#define HX__PROGRAMS (HX__FIRST_FIELDS + HX__CL_FIELDS) /* those, need bits and variants */

extern const hx__backend hx__opencl_backend;

typedef struct hx__cl_program {
  cl_program program;
  const hx__kernel_row *row;
  hx__layout layout; /* rows of a set only */
  hx__arithmetic arithmetic;
  uint32_t tile_m, tile_n, tile_k; /* products: as built */
  bool from_cache;
  float seed; /* hx__cl_seed_rate, in this process or in the one that built it */
} hx__cl_program;

/* The fastest variant that the tuner found for a product: a row, its tile if the row accepts any tile (otherwise
 * zeros), and the order of its fma. */
typedef struct hx__cl_tuned {
  const hx__kernel_row *row;
  uint32_t tile[3], order;
} hx__cl_tuned;

/* A user kernel of a device (maps.c). */
typedef struct hx__cl_map {
  struct hx_kernel kernel;   /* a copy */
  hx_op op;                  /* its elements are reduced by this in the same launch; 0: it writes them */
  const hx__kernel_row *row; /* op != 0: the geometry of the launch */
  bool group_makes_leaf;     /* and a group may have one leaf instead of the row's number (kernels/map_reduce.cl) */
  cl_program program;
  unsigned each;         /* op == 0: the elements that a work-item writes */
  float rate;            /* units per nanosecond, found by the self-test */
  _Atomic uint8_t state; /* hx__map_state */
} hx__cl_map;
#define HX__CL_MAPS 512u /* programs that generate kernels have hundreds; an entry takes 14 KB */

/* A device buffer that grows. */
typedef struct hx__cl_buffer {
  cl_mem mem;
  size_t bytes;
} hx__cl_buffer;

/* A live buffer over memory of the caller. It is shared by streams that read the same range at the same time, or by
 * contexts that have registered the range (pin.c). */
typedef struct hx__cl_hostptr {
  uintptr_t first, end;
  _Atomic(cl_mem) mem; /* NULL: it is being created */
  unsigned users;
  bool pins;                 /* it exists only to keep its pages pinned */
  bool in_use_after_timeout; /* a chunk that timed out may still read it, so it is not reused */
  struct hx__cl_hostptr *next;
} hx__cl_hostptr;

#define HX__CL_SPARES 2u

typedef struct hx__cl_device {
  hx__device base;
  cl_platform_id platform;
  cl_device_id id;
  unsigned version; /* of the device: 12, 20, 30; newer entry points are never called */
  uint32_t families;
  size_t max_local;
  cl_device_svm_capabilities svm;
  bool unified, usm;
  clHostMemAllocINTEL_fn usm_alloc;
  clMemFreeINTEL_fn usm_free;
  clSetKernelArgMemPointerINTEL_fn usm_arg;

  hx__memory_jobs jobs;    /* the device's memory thread */
  pthread_mutex_t opening; /* held while the device is opened; only threads of hx lock it */
  _Atomic bool opened;
  cl_context context;
  _Atomic(cl_command_queue) blocks; /* of block.c; NULL: none yet */
  pthread_mutex_t lock;             /* protects hostptrs and spare; never held across a driver call */
  bool copied, wrote;               /* its first copy and its first kernel took place */
  bool fma_ok, add_ok;              /* found by the probe kernel */
  const char *slow_fma; /* the driver computes fma in software: why products are refused; NULL: it does not */
  hx__cl_program program[HX__PROGRAMS];
  _Atomic uint64_t variants; /* bits of program[HX__NEEDS + i] that are ready */
  unsigned tried;            /* how many of the possible variants were tried */
  /* program[HX__FIRST_FIELDS + i] is that of fields[i], which a chunk has asked for; 0: the entry and all after it are
   * free. Bits of both masks belong to entries. */
  _Atomic hx__kernel_fields fields[HX__CL_FIELDS];
  _Atomic uint64_t fields_ready;
  uint64_t fields_tried;
  hx__cl_tuned tuned[HX__CL_TUNED]; /* entries with a row are used; a device without a set uses only the first */
  hx__cl_hostptr *hostptrs;
  _Atomic unsigned shortages;         /* how often it has had too little memory, */
  _Atomic uint64_t short_ns;          /* and when last */
  hx__cl_buffer spare[HX__CL_SPARES]; /* from destroyed mirrors: each product of a chain needs a new one */

  hx__cl_map *map[HX__CL_MAPS];
  uint64_t map_hash[HX__CL_MAPS]; /* of the expressions */
  _Atomic unsigned maps_known;

  bool completions_tried;         /* by the preparing thread */
  _Atomic(cl_program) completion; /* kernels/completion.cl; NULL: the ends of chunks are events (completion.c) */

  hx__stream *tester; /* used by the preparing thread to test programs from the cache, one after the other */
} hx__cl_device;

/* Handles a failed call. Returns HX__NO_MEMORY if the code means that memory is short. Otherwise marks the device as
 * lost and returns HX__FAILED. */
hx__outcome hx__cl_failed(hx__cl_device *device, const char *call, cl_int code);
const char *hx__cl_code_name(cl_int code);

/* Opens the device at the first call: creates the context, runs the first kernels, and finds out which memory modes
 * work, which of them work in place, and whether fma is right. False if the device cannot be used; base.why then has
 * the reason. */
bool hx__cl_device_open(hx__cl_device *device);
/* Whether the device has been opened and can be used. */
bool hx__cl_device_is_open(const hx__cl_device *device);
/* Marks the device as lost if that is why a build failed with this code. Unless the code says that the text is at
 * fault, the device is asked for a queue. */
void hx__cl_build_failed(hx__cl_device *device, cl_int code);
/* False if the device reports success for a copy between two buffers that did not take place. An error of a call is
 * left to the first kernel. */
bool hx__cl_copies(hx__cl_device *device, cl_command_queue queue);
/* Tests the memory modes and sets base.modes and base.zero_copy. touch: the kernel hx_touch. The queue must be
 * empty. */
void hx__cl_find_modes(hx__cl_device *device, cl_command_queue queue, cl_kernel touch);

/* Builds a program and returns the code of clBuildProgram. idle: builds on a thread with low priority, as build.c
 * explains, and gives up after a minute. */
cl_int hx__cl_build(const hx__cl_device *device, cl_program program, const char *options, bool idle);
/* Whether the code means that the build was given up. The program must then not be released. */
bool hx__cl_build_was_abandoned(cl_int code);
/* Starts a build for a later call of hx__cl_program_new if the device's compiler can build several programs at once and
 * a core is idle. Returns false if it starts none. */
bool hx__cl_build_ahead(hx__cl_device *device, hx__kernel_kind kind, const char *options);
/* Cancels such a build. */
void hx__cl_build_cancel(hx__cl_device *device, hx__kernel_kind kind, const char *options);
/* Writes the part of a cache key that identifies the device, its driver and this version of hx. */
void hx__cl_write_key(FILE *f, const hx__cl_device *device);

/* Loads the results of the tuner for this device and driver. A damaged file is ignored. */
void hx__cl_tuned_load(hx__cl_device *device);
/* Stores the results of the tuner in the cache for later processes. Returns false if there is no cache or no memory. */
bool hx__cl_tuned_store(const hx__cl_device *device, const hx__cl_tuned *tuned);
/* The result of the tuner for a row, or NULL. */
const hx__cl_tuned *hx__cl_tuned_for(const hx__cl_device *device, const hx__kernel_row *row);

/* One program that the tuner timed. */
typedef struct hx__cl_tune_result {
  hx__cl_tuned what;
  double flops;    /* per second; 0: not timed */
  const char *why; /* why it was not timed */
  bool chosen;
} hx__cl_tune_result;
/* Called before each candidate, with its index and their number. If it returns true, tuning ends. */
typedef bool hx__cl_tune_next(const hx__cl_tuned *candidate, size_t index, size_t count);
/* Times the rows, tiles and orders of the product on a device that does nothing else, and stores the fastest. If
 * is_stopped returns true it ends early and stores nothing. Returns the number of candidates. */
size_t hx__cl_tune(hx__cl_device *device, hx__cl_tune_result *results, size_t room, size_t *side,
                   hx__cl_tune_next *is_stopped);
/* Seconds that a launch of the need's program takes for three side x side matrices on the device: the least of `times`
 * launches. HX__TUNED_PROGRAM: the program being tuned. Returns 0 after an error. */
double hx__cl_time_product(hx__cl_device *device, unsigned need, size_t side, int times);

/* Nanoseconds that a copy from pinned host memory to the device takes per byte; 0 after an error. */
float hx__cl_link_ns(hx__cl_device *device, cl_command_queue queue);

/* Builds the program of a kind from its sources. Returns NULL, with the code in *code, if that fails. */
cl_program hx__cl_program_new(hx__cl_device *device, hx__kernel_kind kind, const char *options, bool idle,
                              cl_int *code);

/* A cached program that passed its self-test in an earlier process and that this driver accepts. The caller
 * passes crash_mark to hx__cache_crash_mark_end after the program has run. */
typedef struct hx__cl_cached_program {
  cl_program program; /* NULL: none */
  float seed;
  int crash_mark;
} hx__cl_cached_program;

hx__cl_cached_program hx__cl_binary_load(hx__cl_device *device, hx__kernel_kind kind, const char *options, bool idle);
/* Stores a program in the cache. Called after the program has run, because some drivers compile at the first launch and
 * their binaries contain only what has been compiled so far. */
void hx__cl_binary_store(hx__cl_device *device, cl_program program, hx__kernel_kind kind, const char *options,
                         float seed);

void hx__cl_prepare(hx__device *device, uint64_t needs);
/* Runs the self-test of a need's program. Returns NULL if the program gives hx's bits on all small cases, otherwise the
 * reason in one sentence. */
const char *hx__cl_self_test(hx__cl_device *device, unsigned need);
/* The same with a single case on the device's tester stream, for a program from the cache: it passed all cases before
 * it was stored. */
const char *hx__cl_self_test_once(hx__cl_device *device, unsigned need);
void hx__cl_tester_close(hx__cl_device *device);
/* Units per nanosecond of a small launch, which takes a few milliseconds on the slowest devices. The first call uses it
 * as the device's rate. */
float hx__cl_seed_rate(hx__cl_device *device, unsigned need);

/* Whether pinned memory probably has the same address on the device as on the host. hx__cl_completions_prepare tries
 * it, at its first call. */
bool hx__cl_has_host_addresses(const hx__cl_device *device);
void hx__cl_completions_prepare(hx__cl_device *device);

void *hx__cl_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, void **block);
void hx__cl_free(hx__device *device, void *block);
void *hx__cl_usm_alloc(hx__cl_device *device, size_t bytes);
void hx__cl_usm_free(hx__cl_device *device, void *p);
cl_int hx__cl_usm_arg(const hx__cl_device *device, cl_kernel kernel, cl_uint index, const void *p);

/* The same for threads that must not wait for a driver (memory_jobs.h). alloc and pin return NULL if the driver takes
 * too long. free returns at once, except that it waits for a pin to be released, for at most the limit. mirror_destroy
 * returns at once. */
void *hx__cl_job_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, uint64_t limit_ns, void **block);
void hx__cl_job_free(hx__device *device, uint64_t limit_ns, void *block);
void *hx__cl_job_pin(hx__device *device, void *p, size_t bytes, uint64_t limit_ns);
void hx__cl_job_mirror_destroy(hx__device *device, hx__mirror *mirror);
void hx__cl_jobs_settle(hx__device *device, uint64_t limit_ns);

/* A block of hx_alloc memory that the device can access, or memory of the caller that is pinned for the device. */
typedef struct hx__cl_block {
  hx__memory_job job; /* frees the block */
  hx__device *device;
  void *p; /* from the driver; the memory that the caller gets begins at the first page boundary in it */
  size_t bytes;
  cl_mem mem; /* mode copy: a pinned buffer, mapped at p until it is freed; no kernel uses it */
  hx__memory_mode mode;
  bool mapped_to_read;    /* coarse SVM: the host has it mapped for reading only, so kernels may read it */
  _Atomic bool broken;    /* coarse SVM: a thread was given up during a remap: devices do not read it any more */
  hx__cl_hostptr **piece; /* pinned pieces of the caller's memory, by address; NULL: the driver allocated the block */
  size_t pieces;
} hx__cl_block;

/* job: stops as soon as that is not waited for any more, because the caller may free the memory then; NULL: it is
 * not called for a job. */
void *hx__cl_pin(hx__device *device, void *p, size_t bytes, hx__awaited_job *job);
void hx__cl_unpin(hx__cl_device *device, hx__cl_block *block);
void hx__cl_pin_timed_out(hx__cl_device *device, const hx__cl_block *block);
/* Copies memory of this process as the operating system sees it, and returns how many bytes. -1 with EFAULT, and no
 * signal, if it cannot be read; -1 with another code if the call is not allowed. */
ssize_t hx__cl_read_host(void *into, void *from, size_t bytes);
/* In a block of mode copy, how many bytes from p on the device can read directly (*direct true), or cannot (*direct
 * false). SIZE_MAX: all that follow. */
size_t hx__cl_direct_bytes(const hx__cl_block *block, const void *p, bool *direct);

/* A device's copy of host memory (backend.h). */
typedef struct hx__cl_mirror {
  hx__mirror base;
  hx__memory_job job; /* destroys the mirror */
  hx__device *device;
  cl_mem mem;                /* NULL: not created yet */
  bool in_use_after_timeout; /* a chunk that timed out may still use it */
} hx__cl_mirror;

hx__mirror *hx__cl_mirror_create(hx__device *device, const void *first, size_t bytes);
/* Creates the mirror's buffer if it has none. Called on a stream's thread, because the thread that creates a mirror may
 * hold locks. */
hx__outcome hx__cl_mirror_allocate(hx__cl_device *device, hx__mirror *mirror);
void hx__cl_mirror_destroy(hx__device *device, hx__mirror *mirror);
/* Releases the buffers of destroyed mirrors that are kept for new ones. */
void hx__cl_spares_release(hx__cl_device *device);

/* Coarse SVM: begin replaces the host's writable map by one for reading only, end does the reverse. */
hx__outcome hx__cl_block_begin(hx__cl_device *device, hx__cl_block *block, cl_command_queue queue);
hx__outcome hx__cl_block_end(hx__cl_device *device, hx__cl_block *block, cl_command_queue queue);

/* A live buffer over the whole pages that contain [p, p+bytes). NULL if another buffer overlaps them in part or the
 * driver refuses. */
hx__cl_hostptr *hx__cl_hostptr_get(hx__cl_device *device, const void *p, size_t bytes);
void hx__cl_hostptr_share(hx__cl_device *device, hx__cl_hostptr *hostptr);
void hx__cl_hostptr_timed_out(hx__cl_device *device, hx__cl_hostptr *hostptr);
void hx__cl_hostptr_put(hx__cl_device *device, hx__cl_hostptr *hostptr);

/* Makes the buffer at least `bytes` large. If it was smaller, its contents are lost. */
/* The most bytes of a buffer that outlives the run, and of a product's result block. */
#define HX__CL_RETAINED_BYTES ((size_t)64 << 20)
/* The same of a buffer on this device: more on a discrete GPU, where allocating is slow. */
size_t hx__cl_most_retained_bytes(const hx__cl_device *device);
hx__outcome hx__cl_buffer_reserve(hx__cl_device *device, hx__cl_buffer *buffer, size_t bytes, cl_mem_flags flags);
void hx__cl_buffer_release(hx__cl_buffer *buffer);

#define HX__CL_PAGE 4096u
#define HX__FIRST_PRODUCT HX__REDUCTIONS /* the need of the product with the device's own tile */
/* Index of a single need bit. */
static inline unsigned hx__need_index(uint64_t need) { return (unsigned)__builtin_ctzll(need); }

#endif
