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
 * The order of every rounding is part of this interface: docs/ARITHMETIC.md. README.md lists the environment
 * variables. Sizes are in elements unless a name ends in bytes, times in seconds. Gaps between rows must be readable.
 *
 * Threads. Several threads may call any function at once, on one context or several, also in an OpenMP region. While a
 * task is in flight, nothing may write its inputs or touch its outputs. Tasks in flight may share inputs but no
 * outputs, and may end in any order. hx does not check this. After a call has returned, no thread of hx or a driver
 * touches the caller's memory. hx changes neither affinity nor rounding mode of the caller's threads. A thread that
 * calls hx needs a stack of 64 KiB. A forked child may use a context of its parent: hx then uses one thread of the CPU.
 *
 * Errors. A function that returns hx_status writes its outputs only if it returns HX_OK, unless it says otherwise.
 * After any other status hx_error_detail() is one sentence that names the wrong value. A context that is NULL is
 * HX_INVALID_ARGUMENT. The library never aborts or exits, and prints only what HX_LOG asks for.
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

/* Whether a function has done its work, and if not, why not. */
typedef enum hx_status {
  HX_OK = 0,
  HX_INVALID_ARGUMENT, /* an argument is wrong: the detail names it; nothing was written */
  HX_INVALID_CONFIG,   /* a setting or an HX_ variable is wrong: the detail starts with NAME=VALUE */
  HX_OUT_OF_MEMORY,    /* of the host; if a device has no memory, the CPU does its part of the work */
  HX_UNSUPPORTED,      /* this build, this machine or a forked child cannot do it */
  HX_DEVICE_FAILED,    /* a device failed under HX_OFFLOAD=mandatory, or was lost with data that it alone had */
  HX_INTERNAL          /* a defect of hx: please report it with the detail */
} hx_status;

/* Element types and operations of a reduction. 0 means not set, and is refused. */
typedef enum hx_type { HX_F32 = 1, HX_I32, HX_U32 } hx_type;
typedef enum hx_op {
  HX_SUM = 1,
  HX_MIN,
  HX_MAX,
  HX_ARGMIN, /* the lowest index of a smallest element; if there is a NaN, the index of the first NaN */
  HX_ARGMAX, /* the lowest index of a greatest element; likewise */
  HX_DOT,    /* sum of x[i]*y[i] */
  HX_SUM_ABS,
  HX_SUM_SQUARES,
  HX_PROD
} hx_op;

/* Kinds of tasks; the functions that make tasks set them. */
typedef enum hx_kind { HX_REDUCE = 1, HX_REDUCE_SOA, HX_MATMUL, HX_REDUCE_LINES, HX_MATMUL_BATCHED, HX_MAP } hx_kind;

/* What a device is, and its state. Refused: it has no right kernel, or HX_DEVICES or HX_OFFLOAD leaves it out. */
typedef enum hx_device_kind { HX_CPU = 1, HX_IGPU, HX_GPU, HX_CPU_OPENCL, HX_SIM } hx_device_kind;
typedef enum hx_device_state { HX_BUILDING = 1, HX_USABLE, HX_REFUSED, HX_LOST } hx_device_state;

/* Bits of hx_advise. */
enum {
  HX_READ_MOSTLY = 1u, /* devices may keep copies of the range, and the CPU packed ones, until hx_modified */
  HX_RESIDENT = 2u     /* the range, results included, may stay in device memory between calls, until hx_sync */
};

/* A result. Operation and element type decide which member is set; all other bytes are zero.
 *   SUM, DOT, SUM_ABS, SUM_SQUARES, PROD of f32: f32
 *   the same of i32: i64, of u32: u64. Elements are widened first, and the result is exact modulo 2^64
 *   MIN, MAX: the member of the element type; ARGMIN, ARGMAX: u64 */
typedef union hx_value {
  float f32;
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  uint64_t u64;
} hx_value;

/* One field of a structure of arrays: an operation over an array x of n elements; y: a second one, for HX_DOT only. */
typedef struct hx_field {
  hx_op op;
  hx_type type;
  const void *x, *y;
} hx_field;

/* A task of hx_reduce or hx_dot: out = op over x, or over x and y, of n elements. */
struct hx_reduce_args {
  hx_op op;
  hx_type type;
  const void *x, *y;
  size_t n;
  hx_value *out;
};

/* A task of hx_reduce_soa: out[f] = the reduction of fields[f], of n elements each. */
struct hx_soa_args {
  const hx_field *fields;
  size_t nfields, n;
  hx_value *out;
};

/* out[l] = op over x[l*line_stride + i*stride], i < n, for l in [0, lines); of HX_DOT the sum of their products with
 * y[l*y_line_stride + i*y_stride]. Strides are in elements and at least 1, except that a stride of one line, or of one
 * element a line, is not used. Lines may overlap each other. */
struct hx_lines_args {
  hx_op op;
  hx_type type;
  const void *x, *y; /* y: HX_DOT only */
  size_t lines, n, line_stride, stride, y_line_stride, y_stride;
  hx_value *out; /* out[lines] */
};

/* C = alpha op(A) op(B) + beta C, all row-major. op(A) is m x k, op(B) is k x n and C is m x n; op transposes if
 * trans_a or trans_b is set. lda, ldb, ldc: elements from one stored row to the next; 0 means that rows follow each
 * other without a gap (lda = trans_a ? m : k, ldb = trans_b ? k : n, ldc = n). */
struct hx_matmul_args {
  size_t m, n, k, lda, ldb, ldc;
  const float *a, *b;
  float *c;
  float alpha, beta;
  bool trans_a, trans_b;
};

/* A task of a user kernel (hx_map.h). op: 0 of maps. ld_out: 1 of hx_map_reduce_rows. */
struct hx_map_args {
  hx_op op;
  const struct hx_kernel *kernel;
  const void *const *inputs;
  size_t n;
  const hx_value *parameters;
  void *out;                    /* of hx_map_outputs, whose nfields is 1, the list of outputs */
  const size_t *ld;             /* of tasks with rows; NULL: rows are n elements apart, values of rows adjacent */
  size_t rows, ld_out, nfields; /* rows, ld_out: the same; 0: one row, n elements */
  const hx_field *fields;       /* of hx_map_reduce_fields, with nfields of them; else NULL */
};

/* The products of a task of hx_matmul_batched. */
struct hx_batch {
  size_t count, stride_a, stride_b, stride_c;
};

/* A task. Make it with one of the functions that return one, then change members before the call if needed. */
typedef struct hx_task {
  hx_kind kind;
  float gpu_share; /* of all devices but the CPU, 0 to 1; negative: HX_SPLIT decides, or hx if that is not set.
                      HX_OFFLOAD overrides it, as does an HX_DEVICES without the CPU or without other devices */
  HX_EXTENSION union {
    struct hx_reduce_args reduce;
    struct hx_soa_args soa;
    struct hx_matmul_args matmul; /* of HX_MATMUL and HX_MATMUL_BATCHED */
    struct hx_lines_args lines;
    struct hx_map_args map;
  };
  HX_EXTENSION union {
    uint64_t reserved[8];  /* zero, except that the first four are those of a batch */
    struct hx_batch batch; /* of HX_MATMUL_BATCHED */
  };
} hx_task;

/* The part of one device in a call. A unit is an element (n for each field, or line) or a multiply-add of a product. */
typedef struct hx_device_report {
  uint32_t index, chunks; /* index: as for hx_device */
  uint64_t units;
  double busy_seconds; /* wall time during which a chunk of this call was in flight */
} hx_device_report;

/* What a call did. Written only if the call returns HX_OK. */
typedef struct hx_report {
  double seconds, gpu_share; /* gpu_share: the part of the units that devices other than the CPU have done */
  double joules;         /* drawn by the processor; NaN: no counters, a call under 10 ms, or a discrete GPU took part */
  uint64_t bytes_copied; /* inputs copied to devices, and results copied from the memory of devices */
  uint32_t chunks, recovered, device_count; /* recovered: chunks that a device did not complete and the CPU computed */
  hx_device_report device[HX_MAX_DEVICES];  /* the first device_count are set: those that did work, the CPU included */
  uint64_t reserved[8];
} hx_report;

/* A device, as hx_device describes it. */
typedef struct hx_device_info {
  char name[128], vendor[64], driver[64], memory[16]; /* memory: the memory mode in use (HX_MEMORY) */
  char why[256];                                      /* one sentence: why it is in this state, or what it refuses */
  hx_device_kind kind;
  hx_device_state state;
  uint32_t compute_units;
  uint64_t memory_bytes, reserved[8];
} hx_device_info;

/* A member for each environment variable, in lower case and without HX_; NULL or "": not set. It overrides the variable
 * and accepts the same values; a variable with a wrong value is refused even then. hx_open copies the strings. */
typedef struct hx_settings {
  const char *devices, *split, *schedule, *chunk, *threads, *tile, *memory, *min_offload, *timeout_ms, *cache_dir;
  const char *objective, *trace, *isa, *offload, *sim, *log;
  uint64_t reserved[8]; /* zero */
} hx_settings;

/* The value of an hx_settings in which nothing is set. */
#define HX_SETTINGS_DEFAULT                                                                               \
  {                                                                                                       \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, { 0 } \
  }

/* Opens a context by *settings (NULL: none), the environment and the defaults. Starts no thread and loads no driver.
 * *out: closed by hx_close; NULL on failure.
 * HX_INVALID_ARGUMENT: out is NULL, or a reserved word is not zero.
 * HX_INVALID_CONFIG: a setting or a variable has a wrong value.
 * HX_OUT_OF_MEMORY: no memory for the context. */
HX_API hx_status hx_open(hx_context **out, const hx_settings *settings);

/* Waits for the tasks and calls that are in flight, then frees the context, its events and its hx_alloc memory. Does
 * nothing if hx is NULL. No call on the context may begin once hx_close has. A process may exit without calling it. */
HX_API void hx_close(hx_context *hx);

/* Does *task, and returns when its outputs are written. report: filled in; may be NULL, in which case small calls are
 * faster, because nothing is measured.
 * HX_INVALID_ARGUMENT: an argument or array is NULL; the kind, operation or type is unknown; a reserved word is not
 *   zero; the bytes of n or of a shape overflow size_t; a leading dimension is too small; a stride is 0; an array is
 *   not aligned to 4 bytes, or out to 8; gpu_share is NaN or above 1; min, max, argmin or argmax of no element; an
 *   output shares an element with an input, or with the array of fields, or lies in the gaps of lines whose stride and
 *   line_stride are both above 1; two matrices C of a batch share an element, or they lie in the gaps of A or B and
 *   their strides differ. If no element would be read (n == 0, alpha == 0), arrays may be NULL. A reduction then does
 *   not check its arrays at all; a product still checks alignment and leading dimensions.
 * HX_OUT_OF_MEMORY: no host memory for partial results.
 * HX_DEVICE_FAILED: a device failed under HX_OFFLOAD=mandatory, or was lost with data that it alone had. The outputs
 * are then unspecified. */
HX_API hx_status hx_offload(hx_context *hx, const hx_task *task, hx_report *report);

/* Does n tasks, as this loop does, with the same results to the last bit and in less time if the tasks are small:
 *     for (i = 0; i < n; i++) hx_offload(hx, &tasks[i], NULL);
 * They may be done in any order and at once: no output may share an element with an input or an output of another task,
 * which the caller has to see to. Threads take small tasks whole. Larger ones, and small ones that are alike and whose
 * arrays follow one another, are shared among devices and threads. report: of all tasks together. n == 0 is HX_OK.
 * HX_INVALID_ARGUMENT: tasks is NULL, or hx_offload would refuse a task: the detail begins with "task" and the lowest
 *   such index, and no output was written.
 * HX_OUT_OF_MEMORY, HX_DEVICE_FAILED: as for hx_offload. The outputs of all tasks are then unspecified. */
HX_API hx_status hx_offload_many(hx_context *hx, const hx_task *tasks, size_t n, hx_report *report);

/* Starts *task in the background. hx copies *task and the fields that it names; arrays and outputs have to live until
 * hx_wait has returned. *out: freed by hx_wait.
 * HX_INVALID_ARGUMENT: as for hx_offload, or out is NULL; returned at once.
 * HX_OUT_OF_MEMORY: no memory for the event. */
HX_API hx_status hx_offload_async(hx_context *hx, const hx_task *task, hx_event **out);

/* Waits for the task, frees the event, and returns what hx_offload would have returned. May be called on any thread,
 * once for each event. report: as for hx_offload.
 * HX_INVALID_ARGUMENT: event is NULL.
 * HX_UNSUPPORTED: in a forked child whose parent runs the task; the event is not freed. */
HX_API hx_status hx_wait(hx_event *event, hx_report *report);

/* Whether hx_wait would return at once; true if event is NULL. */
HX_API bool hx_done(hx_event *event);

/* The task out = op over x[0] .. x[n-1]. For HX_SUM:
 *     s = 0; for (i = 0; i < n; i++) s = s + x[i]; *out = s;          in the order of docs/ARITHMETIC.md
 * n == 0: sums give +0 and HX_PROD gives 1; the others are HX_INVALID_ARGUMENT. */
HX_API hx_task hx_reduce(hx_op op, hx_type type, const void *x, size_t n, hx_value *out);

/* The task out = x . y, with n elements each:
 *     s = 0; for (i = 0; i < n; i++) s = s + x[i] * y[i]; *out = s;   in the order of docs/ARITHMETIC.md
 * f32: each product is rounded before it is added. i32, u32: exact modulo 2^64. */
HX_API hx_task hx_dot(hx_type type, const void *x, const void *y, size_t n, hx_value *out);

/* The task out[f] = the reduction of fields[f], for f in [0, nfields), as hx_reduce or hx_dot would give it:
 *     for (f = 0; f < nfields; f++) out[f] = fields[f].op over fields[f].x[0] .. fields[f].x[n-1];
 * nfields == 0 is HX_OK. */
HX_API hx_task hx_reduce_soa(const hx_field *fields, size_t nfields, size_t n, hx_value *out);

/* The tasks out[l] = op over row (column) l of a row-major matrix, as hx_reduce would give it for a copy of that row
 * (column); an index counts within it. hx_reduce_rows, for HX_SUM:
 *     for (l < rows) { s = 0; for (i < columns) s = s + x[l*ld + i]; out[l] = s; }            out has `rows` values
 * hx_reduce_columns:
 *     for (l < columns) { s = 0; for (i < rows) s = s + x[i*ld + l]; out[l] = s; }            out has `columns` values
 * each in the order of docs/ARITHMETIC.md. ld: elements from one row to the next; 0 means columns. For HX_DOT set
 * task.lines.y, a matrix of the same shape, and y_line_stride or y_stride if its ld differs.
 * No line: HX_OK, and out is not touched. No element in a line: as hx_reduce with n == 0, for each line. */
HX_API hx_task hx_reduce_rows(hx_op op, hx_type type, const void *x, size_t rows, size_t columns, size_t ld,
                              hx_value *out);
HX_API hx_task hx_reduce_columns(hx_op op, hx_type type, const void *x, size_t rows, size_t columns, size_t ld,
                                 hx_value *out);

/* The task out = op over x[0], x[stride], ..., x[(n-1) * stride], such as a field of an array of structures: x points
 * to the field in the first structure, and stride is the size of a structure divided by 4. */
HX_API hx_task hx_reduce_strided(hx_op op, hx_type type, const void *x, size_t stride, size_t n, hx_value *out);

/* A result as a double: exact, but 64-bit integers beyond 2^53 are rounded. NaN if op or type is unknown. */
HX_API double hx_value_as_double(hx_op op, hx_type type, hx_value value);

/* Statistics of n elements from the results of HX_SUM and HX_SUM_SQUARES of the same elements, computed in double. Both
 * results take one pass over the data: hx_reduce_soa with two fields of the same x.
 *   hx_mean      sum / n
 *   hx_variance  sum_squares / n - mean^2, of the population; a negative difference is returned as 0
 *   hx_norm      the square root of sum_squares
 * f32: the variance is good only if the standard deviation is not far below the mean: docs/ARITHMETIC.md, section 6.
 * i32, u32: it has no cancellation, unless the sums exceed 64 bits. n == 0: mean and variance are NaN. */
HX_API double hx_mean(hx_type type, hx_value sum, size_t n);
HX_API double hx_variance(hx_type type, hx_value sum, hx_value sum_squares, size_t n);
HX_API double hx_norm(hx_type type, hx_value sum_squares);

/* The task C = A B, where A is m x k, B is k x n and C is m x n, row-major and without gaps; alpha is 1 and beta is 0.
 * Set the other members of task.matmul for more.
 *     for (i < m) for (j < n) { s = 0; for (p < k) s = fma(a[i*lda+p], b[p*ldb+j], s); c[i*ldc+j] = s; }
 * k is cut into panels of 512, whose sums are added in order. m == 0 or n == 0: HX_OK, C is not touched. alpha == 0 or
 * k == 0: A and B are not read and may be NULL. beta == 0: the old C is not read. Gaps of C are never written. */
HX_API hx_task hx_matmul(size_t m, size_t n, size_t k, const float *a, const float *b, float *c);

/* The task of `count` products of one shape, each with the bits of an hx_matmul:
 *     for (i < count) C[i] = A[i] B[i], where A[i] = a + i*stride_a, B[i] = b + i*stride_b, C[i] = c + i*stride_c
 * Strides are in elements, usually m*k, k*n and m*n; stride_a or stride_b == 0: one matrix for all products. No two
 * matrices C may share an element. The other members of task.matmul hold for all products. Use hx_offload_many if the
 * distances differ. A device computes many products in one launch. count == 0: HX_OK, C is not touched. */
HX_API hx_task hx_matmul_batched(size_t m, size_t n, size_t k, const float *a, size_t stride_a, const float *b,
                                 size_t stride_b, float *c, size_t stride_c, size_t count);

/* Memory that CPU and devices can both reach, without a copy if the devices allow it; aligned to a page at least. NULL
 * if there is none or hx is NULL: hx_error_detail() says why. The context owns it; hx_free or hx_close frees it.
 * bytes == 0: a pointer that may only be passed to hx_free. */
HX_API void *hx_alloc(hx_context *hx, size_t bytes);

/* Frees memory of hx_alloc, once the asynchronous tasks that use it have ended; no hx_offload may be using it. NULL
 * does nothing; another pointer only logs a warning. A forked child keeps blocks that a device provided. */
HX_API void hx_free(hx_context *hx, void *p);

/* Makes the caller's own memory known to hx until hx_unregister, so that devices may pin it. The caller may free it, or
 * map anything else there, only after that. Use it for arrays that are passed to several calls. If a discrete GPU is in
 * use already the range is pinned now (some 50 ms/GiB); otherwise later, in the background; or never, such as a mapped
 * file. HX_INVALID_ARGUMENT: p is NULL, bytes is 0, the range wraps around, or it overlaps a known range.
 * HX_OUT_OF_MEMORY: no memory for hx's record of the range. */
HX_API hx_status hx_register(hx_context *hx, void *p, size_t bytes);

/* Ends hx_register, once the asynchronous tasks that use the memory have ended. The caller has to see to it that no
 * hx_offload of another thread uses it. HX_INVALID_ARGUMENT: no registered range begins at p. */
HX_API hx_status hx_unregister(hx_context *hx, void *p);

/* Sets the advice for a part of a block of hx_alloc or of a registered range: bits HX_READ_MOSTLY, HX_RESIDENT; 0 takes
 * advice back. Each block or range has one advised part, the last one given (bytes == 0: none). Results in the block
 * that only a device has are brought back first, as by hx_sync. HX_INVALID_ARGUMENT: unknown bits, or the part is not
 * inside one block or registered range. HX_OUT_OF_MEMORY, HX_DEVICE_FAILED: as for hx_sync. */
HX_API hx_status hx_advise(hx_context *hx, const void *p, size_t bytes, unsigned advice);

/* To be called when the host has written a range with advice: invalidates device copies of it, including results that
 * overlap it and are not yet synced to the host. To write only a part of such a result, call hx_sync first.
 * HX_INVALID_ARGUMENT: the range is not inside one block of hx_alloc or one registered range. */
HX_API hx_status hx_modified(hx_context *hx, const void *p, size_t bytes);

/* Copies results that overlap the range and that only a device has to the host; the device keeps them for the next
 * call. Needed only for C of a product and the out of a map if they have the advice HX_RESIDENT: a discrete GPU that
 * did all of the task keeps them. Call it before the host reads such a result, and before hx_free or hx_unregister if
 * it is still wanted. HX_INVALID_ARGUMENT: the range is not inside one block of hx_alloc or one registered range.
 * HX_OUT_OF_MEMORY: no memory, or no thread, for the copy. HX_DEVICE_FAILED, and the detail names the range: the device
 *   was lost, and the results with it; or it does not answer within HX_TIMEOUT_MS (5 s by default); try again later. */
HX_API hx_status hx_sync(hx_context *hx, void *p, size_t bytes);

/* The number of devices; waits for their discovery. Numbers are those of HX_DEVICES and of hx_report: 0 is the CPU,
 * then come OpenCL devices, by the names of their platforms, then simulated ones; all in use or not. 0: hx is NULL. */
HX_API size_t hx_device_count(hx_context *hx);

/* Describes a device; waits for the discovery. HX_INVALID_ARGUMENT: index is not below hx_device_count, or out is NULL.
 * HX_UNSUPPORTED: in a forked child whose parent had not found its devices. */
HX_API hx_status hx_device(hx_context *hx, size_t index, hx_device_info *out);

/* Finds the devices, and builds and tests the kernels of each one in use; those of user kernels if calls have asked for
 * them, and none for HX_REDUCE_LINES. Each device is then HX_USABLE, HX_REFUSED or HX_LOST, unless its driver has slept
 * inside one call for a minute. HX_INVALID_ARGUMENT: hx is NULL. */
HX_API hx_status hx_ready(hx_context *hx);

/* The name of a status, such as "HX_OK"; never NULL. */
HX_API const char *hx_status_string(hx_status s);

/* One sentence on the last failure of this thread; "" before the first, and never NULL. */
HX_API const char *hx_error_detail(void);

/* The version of the library, such as "0.1.0". */
HX_API const char *hx_version(void);

#ifdef __cplusplus
}
#endif
#endif
