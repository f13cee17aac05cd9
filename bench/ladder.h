/* SPDX-License-Identifier: Apache-2.0
 * What the files of `hx-bench ladder` share. A rung is one way to do the same work: a step of a published technique,
 * hx, or another library. All rungs of a size are verified, then timed in the same interleaved rounds. */
#ifndef HX_BENCH_LADDER_H
#define HX_BENCH_LADDER_H

#include "runtime/backend/opencl/entries.h"

#include "bench/compare.h"
#include "bench/opencl.h"

#define LADDER_MOST_RUNGS 112 /* every percent of a split, and others */
#define LADDER_MOST_PASSES 8  /* launches of one call */

/* An OpenCL device with a context and queues of the ladder's own; and hx on this device, the CPU only recovering. */
typedef struct ladder_device {
  hx_context *hx;
  struct hx__cl_device *shipped; /* as hx has it */
  const hx_device_info *info;
  cl_platform_id platform;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue, timed; /* the second one takes the times of its commands */
  cl_uint units;
  size_t max_local;
  cl_ulong max_alloc, local_bytes;
  bool cpu, nvidia;
} ladder_device;

/* False after one sentence to stderr. */
bool ladder_device_open(ladder_device *device, const bench_session *session, size_t index);
void ladder_device_close(ladder_device *device);

/* The kernel of a step; NULL if there is none, and why says so. */
typedef struct ladder_kernel {
  cl_kernel kernel;
  char why[128];
} ladder_kernel;

void ladder_kernel_build(const ladder_device *device, const char *source, const char *options, const char *name,
                         ladder_kernel *kernel);
void ladder_kernels_release(ladder_kernel *kernels, size_t count);

/* From the start of the first command of a list to the end of the last, by the device's clock; releases the events. */
double ladder_span(cl_event *events, size_t count);

typedef struct ladder_rung ladder_rung;
struct ladder_rung {
  char name[32];
  char note[160]; /* on the row; if the rung is out, why */
  bool out, wrong;
  /* One call: seconds by the clock, negative if it failed (note says how); *event: by the device's clock, or NaN. */
  double (*call)(ladder_rung *rung, double *event);
  bool (*fetch)(ladder_rung *rung); /* products: brings the last call's C to the host; or NULL */
  void (*close)(ladder_rung *rung); /* or NULL */
  void *self;
  bool owns_self;  /* self is freed after close */
  uint64_t result; /* reductions */
  uint64_t copied; /* bytes moved to and from the device in the last call */
  double *events;  /* of each sample */
  size_t count, room;
  double event_s, wall_s, least_s, most_s;
  size_t rounds;
};

typedef double ladder_call(ladder_rung *rung, double *event);

/* Takes the rung out for a reason. Returns false. */
bool ladder_out(ladder_rung *rung, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct ladder_case {        /* one size on one device */
  const char *ladder, *unit, *base; /* base: the rung that speed-ups are over */
  const hx_device_info *device;     /* NULL: several */
  size_t m, n, k;                   /* m == 0: a reduction of n */
  double work;                      /* in 1e-9 units */
  const uint64_t *sum;              /* reductions: the expected result, compared after every sample */
  struct ladder_product *product;   /* products: compared before and after the rounds */
  ladder_rung rung[LADDER_MOST_RUNGS];
  size_t rungs;
} ladder_case;

/* The next rung, which calls `call` on self. */
ladder_rung *ladder_add(ladder_case *c, const char *name, ladder_call *call, void *self);
/* Likewise, on memory of its own, which is zero; if there is none, the rung is out. */
ladder_rung *ladder_add_owner(ladder_case *c, const char *name, ladder_call *call, size_t bytes);
/* The case of a product whose arrays are there. */
void ladder_case_of_product(ladder_case *c, const char *ladder, const char *base, struct ladder_product *product);

/* Verifies all rungs, times those that are right, and prints and stores the rows. False if memory ran out. */
bool ladder_run(bench_session *session, ladder_case *c, double seconds);
/* Speed of a rung of the last case over another, by the clock (wall) or the device's; NaN if one is out. */
double ladder_ratio(const ladder_case *c, const char *fast, const char *slow, bool wall);

/* Rows stored, and whether anything was wrong. ladder_rows_add: prints the case's rows and stores them; false if memory
 * ran out. */
bool ladder_rows_add(const ladder_case *c);
bool ladder_failed(void);
void ladder_fail(void);
void ladder_rows_write(const bench_session *session, const char *ladder); /* to the files */
void ladder_rows_free(void);

/* The ladders, on one device (offload: all of the session's). False if something could not be made. */
bool ladder_reduce(bench_session *session, size_t index, const void *tasks);
bool ladder_matmul(bench_session *session, size_t index, const void *tasks);
bool ladder_offload(bench_session *session, const bench_tasks *tasks);

/* Adds two rungs for the task (whose output they replace): the kernels that hx runs on this device, on data that the
 * device holds, and hx_offload from host memory. */
void ladder_hx_rungs(const ladder_device *device, ladder_case *c, const hx_task *task);
void ladder_hx_call_rung(hx_context *hx, ladder_case *c, const char *name, const hx_task *task, float share);

/* Other libraries' sums of the first n of x: u32 below 8, so that every type holds every sum. most: elements of x. */
void ladder_opencv_rungs(ladder_case *c, const ladder_device *device, const uint32_t *x, size_t n, unsigned threads);
void ladder_cub_rung(ladder_case *c, const ladder_device *device, const uint32_t *x, size_t most);
void ladder_cub_close(void);

/* A product's arrays. */
typedef struct ladder_product {
  const ladder_device *device; /* NULL: no OpenCL buffers */
  size_t m, n, k;
  float *a, *b, *got, *expected;
  cl_mem da, db, dc;
} ladder_product;
bool ladder_product_open(ladder_product *p, const ladder_device *device,
                         const bench_size *size); /* false after one sentence to stderr */
void ladder_product_close(ladder_product *p);
bool ladder_product_same(ladder_product *p);  /* got == expected; spoils got and dc, so that nothing passes twice */
bool ladder_product_fetch(ladder_rung *rung); /* of rungs whose self is the ladder_product: dc to got */
void ladder_clblast_rung(ladder_case *c, ladder_product *p);
void ladder_cublas_rung(ladder_case *c, ladder_product *p);

#endif
