/* SPDX-License-Identifier: Apache-2.0
 *
 * hx: reductions and matrix products on CPU and GPU at once, with the same bits whatever the split.
 *
 *     hx_context *hx;
 *     if (hx_open(&hx, NULL) != HX_OK) { puts(hx_error_detail()); return 1; }
 *     hx_value sum;
 *     hx_task task = hx_reduce(HX_SUM, HX_F32, x, n, &sum);
 *     hx_status s = hx_offload(hx, &task, NULL);
 *     hx_close(hx);
 *
 * The order of every rounding is part of this interface: docs/ARITHMETIC.md. The environment variables are listed in
 * README.md and by `hx-bench env`. Sizes are in elements unless a name ends in bytes; times are seconds.
 *
 * Every function is safe from several threads, on one context or several, and inside an OpenMP region of the caller.
 * While a task is in flight nobody writes its inputs or touches its outputs; tasks in flight may share inputs only, and
 * they may end in any order (the caller's duty, not detected). After a call returns, no thread of hx or of a driver
 * touches the caller's memory. hx changes neither the affinity of the caller's threads nor the rounding mode. A forked
 * child may go on with a context of its parent: there it computes on the CPU, on one thread.
 *
 * Every function that returns hx_status writes its outputs only on HX_OK, unless it says otherwise; hx_error_detail()
 * then has one sentence that names the value at fault. A context that is NULL is HX_INVALID_ARGUMENT. The library never
 * aborts, exits or prints beyond HX_LOG.
 */
#ifndef HX_H
#define HX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HX_VERSION_NUMBER 100 /* major*10000 + minor*100 + patch */
#define HX_MAX_DEVICES 16

#if defined(__GNUC__)
#define HX_API __attribute__((visibility("default")))
#else
#define HX_API
#endif

#if defined(__GNUC__) && !defined(__cplusplus)
#define HX_EXTENSION __extension__ /* a union without a name is C11 */
#else
#define HX_EXTENSION
#endif

typedef struct hx_context hx_context;
typedef struct hx_event hx_event;

typedef enum hx_status {
  HX_OK = 0,
  HX_INVALID_ARGUMENT, /* a value of the call is wrong: the detail names it; nothing was written */
  HX_INVALID_CONFIG,   /* a setting or an HX_ variable is wrong: the detail starts NAME=VALUE */
  HX_OUT_OF_MEMORY,    /* host memory; a device without memory only loses its part of the work to the CPU */
  HX_UNSUPPORTED,      /* this build or machine, or a forked child, cannot do it */
  HX_DEVICE_FAILED,    /* HX_OFFLOAD=mandatory, or data that existed only on a card was lost with it */
  HX_INTERNAL          /* a defect of hx: please report it with the detail */
} hx_status;

/* Element types. 0 is unset and refused. */
typedef enum hx_type { HX_F32 = 1, HX_I32, HX_U32 } hx_type;

/* Operations of a reduction. 0 is unset and refused. */
typedef enum hx_op {
  HX_SUM = 1,
  HX_MIN,
  HX_MAX,
  HX_ARGMIN, /* the lowest index whose element no other beats; with a NaN the first NaN's index */
  HX_ARGMAX,
  HX_DOT, /* sum of x[i]*y[i] */
  HX_SUM_ABS,
  HX_SUM_SQUARES,
  HX_PROD
} hx_op;

typedef enum hx_kind { HX_REDUCE = 1, HX_REDUCE_SOA, HX_MATMUL } hx_kind;

typedef enum hx_device_kind { HX_CPU = 1, HX_IGPU, HX_GPU, HX_CPU_OPENCL, HX_SIM } hx_device_kind;
typedef enum hx_device_state { HX_BUILDING = 1, HX_USABLE, HX_REFUSED, HX_LOST } hx_device_state;

/* Bits of hx_advise. */
enum {
  HX_READ_MOSTLY = 1u, /* devices may keep copies, the CPU its packed panels, until hx_modified */
  HX_RESIDENT = 2u     /* the range may live on a card between calls, results too; hx_sync brings it back */
};

/* A result. The member by operation and type; the bytes beside it are zero.
 *   f32: SUM, DOT, SUM_ABS, SUM_SQUARES, PROD, MIN, MAX
 *   i64 (type i32), u64 (type u32): SUM, DOT, SUM_ABS, SUM_SQUARES, PROD, elements widened first, exact modulo 2^64
 *   i32, u32: MIN, MAX        u64: ARGMIN, ARGMAX */
typedef union hx_value {
  float f32;
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  uint64_t u64;
} hx_value;

/* One field of a structure of arrays: its operation and its own array of n elements. y: HX_DOT only, else not looked
 * at. */
typedef struct hx_field {
  hx_op op;
  hx_type type;
  const void *x, *y;
} hx_field;

struct hx_reduce_args {
  hx_op op;
  hx_type type;
  const void *x, *y;
  size_t n;
  hx_value *out;
};

struct hx_soa_args {
  const hx_field *fields;
  size_t nfields, n;
  hx_value *out;
};

/* C = alpha op(A) op(B) + beta C; row-major. op(A) is m x k, op(B) is k x n, C is m x n. lda, ldb, ldc: elements from
 * one stored row to the next; 0 means packed (lda = trans_a ? m : k, ldb = trans_b ? k : n, ldc = n). */
struct hx_matmul_args {
  size_t m, n, k, lda, ldb, ldc;
  const float *a, *b;
  float *c;
  float alpha, beta;
  bool trans_a, trans_b;
};

/* What to do. Made by a builder below; options are set on it before the call. */
typedef struct hx_task {
  hx_kind kind;
  float gpu_share; /* up to 1: the share of all GPUs together, before HX_SPLIT; negative: HX_SPLIT, else hx decides.
                      HX_OFFLOAD, and HX_DEVICES without the CPU or without a device, stand before it */
  HX_EXTENSION union {
    struct hx_reduce_args reduce;
    struct hx_soa_args soa;
    struct hx_matmul_args matmul;
  };
  uint64_t reserved[8]; /* zero */
} hx_task;

/* A unit is an element (reduce: n of each field; of HX_DOT a pair) or a multiply-add (matmul). */
typedef struct hx_device_report {
  uint32_t index, chunks;
  uint64_t units;
  double busy_seconds; /* wall time with a chunk of this call in flight */
} hx_device_report;

/* What a call did. Written only on HX_OK. */
typedef struct hx_report {
  double seconds, gpu_share; /* gpu_share: of the work as done */
  double joules;         /* that the processor drew meanwhile, for whatever program; NaN where its counters cannot be
                            read, in a call of under 10 ms, and where a discrete card took part */
  uint64_t bytes_copied; /* of inputs staged for a device and of results fetched from its own memory */
  uint32_t chunks, recovered, device_count; /* recovered: chunks that a device gave back and the CPU did again */
  hx_device_report device[HX_MAX_DEVICES];  /* those that got work, the CPU included */
  uint64_t reserved[8];
} hx_report;

typedef struct hx_device_info {
  char name[128], vendor[64], driver[64], memory[16]; /* memory: the mode in use */
  char why[256];                                      /* one sentence on the state, or on what is refused */
  hx_device_kind kind;
  hx_device_state state;
  uint32_t compute_units;
  uint64_t memory_bytes, reserved[8];
} hx_device_info;

/* One member for each variable of the environment, in lower case without the prefix; NULL or "": not set here. A
 * setting stands before the variable of the same name and is parsed by the same table; a variable that is not accepted
 * is refused also where a setting stands before it. The strings are copied by hx_open. */
typedef struct hx_settings {
  const char *devices, *split, *schedule, *chunk, *threads, *tile, *memory, *min_offload, *timeout_ms, *cache_dir;
  const char *objective, *trace, *isa, *offload, *sim, *log;
  uint64_t reserved[8]; /* zero */
} hx_settings;

#define HX_SETTINGS_DEFAULT                                                                               \
  {                                                                                                       \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, { 0 } \
  }

/* Reads the settings (NULL: environment, then defaults), starts nothing and loads no driver. *out: closed by hx_close.
 * HX_INVALID_ARGUMENT: out is NULL, or a reserved word is not zero. HX_INVALID_CONFIG: a setting or variable is not
 * accepted. HX_OUT_OF_MEMORY. On failure *out is NULL. */
HX_API hx_status hx_open(hx_context **out, const hx_settings *settings);

/* Waits for the tasks and calls that are in flight, then frees the context, its events and its hx_alloc memory. NULL is
 * nothing. No call on the context may begin once this has. Leaving the process without it is allowed. */
HX_API void hx_close(hx_context *hx);

/* Does *task and returns when its outputs are written. report may be NULL.
 * HX_INVALID_ARGUMENT: NULL where data is needed, an unknown kind, op or type, a reserved word that is not zero, n or a
 *   shape whose bytes overflow size_t, a leading dimension too small, a pointer not aligned (4 bytes; out 8), gpu_share
 *   over 1 or NaN, min/max/argmin/argmax of nothing, an output that shares an element with an input, or with fields.
 *   Where no element would be read (n == 0, alpha == 0) arrays may be NULL, and those of a reduction are not looked at;
 *   leading dimensions and the alignment of matrices are.
 * HX_OUT_OF_MEMORY: no host memory for the partials.
 * HX_DEVICE_FAILED: only with HX_OFFLOAD=mandatory, or where data that existed only on a card is lost; the outputs are
 *   then unspecified. */
HX_API hx_status hx_offload(hx_context *hx, const hx_task *task, hx_report *report);

/* The same, in the background. *task and the fields it names are copied; arrays and outputs live until hx_wait has
 * returned. *out: freed by hx_wait. HX_INVALID_ARGUMENT as above, at once. HX_OUT_OF_MEMORY. */
HX_API hx_status hx_offload_async(hx_context *hx, const hx_task *task, hx_event **out);

/* Waits for the task, frees the event and returns what hx_offload would have. On any thread, once an event.
 * HX_INVALID_ARGUMENT: event is NULL. HX_UNSUPPORTED: in a forked child, where the task runs in its parent. */
HX_API hx_status hx_wait(hx_event *event, hx_report *report);

/* Whether hx_wait would not block. NULL: true. */
HX_API bool hx_done(hx_event *event);

/* out = op over x[i], i in [0,n). n == 0: sums +0, products 1, the others HX_INVALID_ARGUMENT.
 *     for (i = 0; i < n; i++) *out = *out + x[i];          in the order of docs/ARITHMETIC.md */
HX_API hx_task hx_reduce(hx_op op, hx_type type, const void *x, size_t n, hx_value *out);

/* out = sum of x[i]*y[i], products rounded first (f32) or exact modulo 2^64. */
HX_API hx_task hx_dot(hx_type type, const void *x, const void *y, size_t n, hx_value *out);

/* out[f] = what hx_reduce of field f alone gives, for f in [0,nfields), in one pass. nfields == 0 is HX_OK. */
HX_API hx_task hx_reduce_soa(const hx_field *fields, size_t nfields, size_t n, hx_value *out);

/* C = A B, packed and row-major, alpha 1 and beta 0; set the other members of task.matmul for the rest.
 *     for (i < m) for (j < n) { s = 0; for (p < k) s = fma(a[i*lda+p], b[p*ldb+j], s); c[i*ldc+j] = s; }
 * with k cut into panels of 512 whose sums are added in order. m == 0 or n == 0: HX_OK, C untouched. alpha == 0 or
 * k == 0: A and B are not read and may be NULL. beta == 0: the old C is not read. Bytes between n and ldc are never
 * written. */
HX_API hx_task hx_matmul(size_t m, size_t n, size_t k, const float *a, const float *b, float *c);

/* Memory that both sides reach without a copy where they can, aligned to a page at least; NULL, with hx_error_detail,
 * where there is none or hx is NULL.
 * Owned by the context: hx_free, or hx_close. bytes == 0 gives a pointer that is only good for hx_free. */
HX_API void *hx_alloc(hx_context *hx, size_t bytes);

/* Frees what hx_alloc gave, once the asynchronous tasks that use it have ended; that no hx_offload of another thread
 * does is the caller's duty. NULL is nothing; another pointer is warned of and left alone. */
HX_API void hx_free(hx_context *hx, void *p);

/* Makes the caller's own memory known until hx_unregister, so that devices may keep objects over it; the caller frees
 * it, or maps anything else there, only afterwards. Worth it for arrays of more than one call: a card with memory of
 * its own that is in use already pins it here (some 50 ms a GiB), others in the background when they are; what cannot
 * be pinned, such as a file, is copied like any array. HX_INVALID_ARGUMENT: NULL, bytes 0, a range that wraps, or one
 * that overlaps a known range. HX_OUT_OF_MEMORY. */
HX_API hx_status hx_register(hx_context *hx, void *p, size_t bytes);

/* Waits for the asynchronous tasks that use the memory; that no hx_offload of another thread does is the caller's duty.
 * HX_INVALID_ARGUMENT: p was not registered. */
HX_API hx_status hx_unregister(hx_context *hx, void *p);

/* Sets the advice of a range to the given HX_ bits (0 takes it back). A block of hx_alloc, or a registered range, has
 * one advised part, the last one given (of 0 bytes: none); what only a card has of the block is brought back first, as
 * by hx_sync. HX_INVALID_ARGUMENT: unknown bits, or a range not inside one that was allocated or registered.
 * HX_DEVICE_FAILED. */
HX_API hx_status hx_advise(hx_context *hx, const void *p, size_t bytes, unsigned advice);

/* Says that the host wrote a READ_MOSTLY or RESIDENT range: copies of it are of the past. So is a result that only a
 * card has and that meets the range; a host that writes a part of one calls hx_sync first. HX_INVALID_ARGUMENT as
 * hx_advise.
 */
HX_API hx_status hx_modified(hx_context *hx, const void *p, size_t bytes);

/* Brings a RESIDENT range back to the host, results that it meets as a whole. The card has them still, for the next
 * call. To be called before the host reads C of a product whose C is RESIDENT, and before hx_free and hx_unregister
 * where it is wanted: C stays on a card that did all of the product, without a copy on the host. HX_INVALID_ARGUMENT as
 * hx_advise. HX_DEVICE_FAILED: what exists only on a card was lost with it, or the card does not answer (HX_TIMEOUT_MS;
 * 5 s by default), and a later call may have it; the detail names it. */
HX_API hx_status hx_sync(hx_context *hx, void *p, size_t bytes);

/* Devices in the numbering of HX_DEVICES and the report: 0 the CPU, then OpenCL devices with platforms sorted by name,
 * then simulated ones. A device left out keeps its number, with state HX_REFUSED. These wait for the discovery. */
HX_API size_t hx_device_count(hx_context *hx);
/* HX_INVALID_ARGUMENT: index out of range, or out is NULL. HX_UNSUPPORTED: in a forked child whose parent had not
 * looked for its devices. */
HX_API hx_status hx_device(hx_context *hx, size_t index, hx_device_info *out);

/* Builds and tests every kernel of every device in use; returns when each device is HX_USABLE, HX_REFUSED or HX_LOST.
 */
HX_API hx_status hx_ready(hx_context *hx);

HX_API const char *hx_status_string(hx_status s); /* "HX_OK" ...; never NULL */
HX_API const char *hx_error_detail(void);         /* this thread's last failure; "" before the first; never NULL */
HX_API const char *hx_version(void);              /* "0.1.0" */

#ifdef __cplusplus
}
#endif
#endif
