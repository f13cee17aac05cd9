/* SPDX-License-Identifier: Apache-2.0
 * Declarations that the files of `hx-bench ladder` share. A rung is one way to do the same work: a published step, hx,
 * or another library. All rungs of a size are verified, then timed in the same interleaved rounds. */
#ifndef HX_BENCH_LADDER_H
#define HX_BENCH_LADDER_H

#include "runtime/backend/opencl/entries.h"

#include "bench/compare.h"
#include "bench/opencl.h"

#define LADDER_MOST_RUNGS 144 /* a split for every percent, and others */
#define LADDER_MOST_PASSES 8  /* the most launches of one call */
#define LADDER_MOST_SUMS 4    /* the most results of one call of a reduction */

/* An OpenCL device with a context and queues for the ladder, and a context of hx in which this device does all work. */
typedef struct ladder_device {
  hx_context *hx;
  struct hx__cl_device *shipped; /* hx's own object for this device */
  const hx_device_info *info;
  const char *label; /* its name in tables */
  cl_platform_id platform;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue, timed; /* the second one has profiling enabled */
  cl_uint units;
  size_t max_local;
  cl_ulong max_alloc, local_bytes;
  cl_uint sub_group; /* items that run in step: a warp or wavefront; 0: the driver does not say */
  bool cpu, nvidia;
} ladder_device;

/* Returns false after printing one sentence to stderr. */
bool ladder_device_open(ladder_device *device, const bench_session *session, size_t index);
void ladder_device_close(ladder_device *device);

/* The kernel of a step. NULL: it cannot run, for the reason `why`. */
typedef struct ladder_kernel {
  cl_kernel kernel;
  char why[128];
} ladder_kernel;

void ladder_kernel_build(const ladder_device *device, const char *source, const char *options, const char *name,
                         ladder_kernel *kernel);
void ladder_kernels_release(ladder_kernel *kernels, size_t count);

/* Seconds from the start of the first command of a list to the end of the last, by the device's clock. Releases the
 * events. */
double ladder_span(cl_event *events, size_t count);

/* Rungs that differ in one number are a family: a series of a chart, with that number as x. */
typedef struct ladder_family {
  const char *name, *x; /* x: what the number is */
} ladder_family;

typedef struct ladder_rung ladder_rung;
struct ladder_rung {
  char name[32];
  char note[160];              /* printed in the row: a remark, or why the rung is out */
  const ladder_family *family; /* NULL: none */
  unsigned x;                  /* its place in the family */
  const char *against;         /* the name of the rung from which its gap is counted; NULL: none */
  unsigned rule;               /* transactions that a published rule gives; 0: there is none */
  bool out, wrong;
  /* Makes one call and returns its seconds by the host's clock; negative: it failed, as `note` says. *event: seconds by
   * the device's clock, or NaN. */
  double (*call)(ladder_rung *rung, double *event);
  bool (*fetch)(ladder_rung *rung); /* products: copies C of the last call to the host; NULL: it is there */
  void (*close)(ladder_rung *rung); /* may be NULL */
  void *self;
  bool owns_self;                    /* self is freed after close */
  uint64_t result[LADDER_MOST_SUMS]; /* results of the last call; reductions only */
  uint64_t copied;                   /* bytes moved to and from the device in the last call */
  double *events;                    /* seconds by the device's clock, for each sample */
  size_t count, room;
  double event_s, wall_s, least_s, most_s, low_s, high_s; /* low_s, high_s: the interval of wall_s */
  size_t rounds;
};

typedef double ladder_call(ladder_rung *rung, double *event);

/* Excludes the rung, with the reason as its note. Returns false. */
bool ladder_out(ladder_rung *rung, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct ladder_case {        /* one size on one device */
  const char *ladder, *unit, *base; /* base: the rung to which speed-ups refer */
  const hx_device_info *device;     /* NULL: several devices */
  const char *label;                /* its name in tables */
  const char *task;                 /* what is computed, if the ladder has several tasks; NULL: it has one */
  size_t m, n, k;                   /* m == 0: n elements, or what `counted` says */
  const char *counted;              /* what n counts; NULL: elements */
  double work;                      /* in the units of `unit` and a second */
  const uint64_t *sum;              /* reductions: the expected results, compared after every sample */
  size_t sums;                      /* how many they are */
  struct ladder_product *product;   /* products: compared before and after the rounds */
  ladder_rung rung[LADDER_MOST_RUNGS];
  size_t rungs;
} ladder_case;

/* Adds a rung whose calls are call(self). */
ladder_rung *ladder_add(ladder_case *c, const char *name, ladder_call *call, void *self);
/* The same with new memory for `self`, filled with zeros. If there is none, the rung is out. */
ladder_rung *ladder_add_owner(ladder_case *c, const char *name, ladder_call *call, size_t bytes);
/* Sets up the case of a product whose arrays exist already. */
void ladder_case_of_product(ladder_case *c, const char *ladder, const char *base, struct ladder_product *product);

/* Verifies all rungs, times the correct ones, and prints and stores the rows. Returns false if there is no memory. */
bool ladder_run(bench_session *session, ladder_case *c, double seconds);
/* The speed of one rung of the last case divided by another's, by the host's clock (wall) or the device's. NaN if one
 * is out. */
double ladder_ratio(const ladder_case *c, const char *fast, const char *slow, bool wall);

/* The stored rows, and whether a result was wrong. ladder_rows_add prints and stores the rows of a case, and returns
 * false if there is no memory. */
bool ladder_rows_add(const ladder_case *c);
void ladder_rows_end(void); /* prints what compares several cases */
bool ladder_failed(void);
void ladder_fail(void);
void ladder_rows_write(const bench_session *session, const char *ladder); /* writes the files */
void ladder_rows_free(void);

/* The ladders. reduce, matmul, lds and addressing use one device, offload all devices of the session. Returns false if
 * something could not be created. */
bool ladder_reduce(bench_session *session, size_t index, const void *tasks);
bool ladder_matmul(bench_session *session, size_t index, const void *tasks);
bool ladder_lds(bench_session *session, size_t index, const void *tasks);
bool ladder_addressing(bench_session *session, size_t index, const void *tasks);
bool ladder_offload(bench_session *session, const bench_tasks *tasks);
#define LADDER_SUM_TASKS 3 /* what ladder offload computes of a length: sum, dot product, sums of a structure */

/* Adds two rungs for the task, with outputs of their own: the kernels that hx runs on this device, with data in device
 * memory, and hx_offload with data in host memory. */
void ladder_hx_rungs(const ladder_device *device, ladder_case *c, const hx_task *task);
void ladder_hx_call_rung(hx_context *hx, ladder_case *c, const char *name, const hx_task *task, float share);

/* Adds sums by other libraries over the first n elements of x, which has `most` elements. All are u32 below 8, so that
 * every type can represent every sum. */
void ladder_opencv_rungs(ladder_case *c, const ladder_device *device, const uint32_t *x, size_t n, unsigned threads);
void ladder_cub_rung(ladder_case *c, const ladder_device *device, const uint32_t *x, size_t most);
void ladder_cub_close(void);

/* The arrays of a product. */
typedef struct ladder_product {
  const ladder_device *device; /* NULL: no OpenCL buffers */
  size_t m, n, k;
  float *a, *b, *got, *expected;
  cl_mem da, db, dc;
} ladder_product;
bool ladder_product_open(ladder_product *p, const ladder_device *device,
                         const bench_size *size); /* returns false after printing one sentence to stderr */
void ladder_product_close(ladder_product *p);
bool ladder_product_same(ladder_product *p); /* whether got == expected; overwrites got and dc, so that an old result is
                                                never compared again */
bool ladder_product_fetch(ladder_rung *rung); /* `fetch` of rungs whose self is the ladder_product: copies dc to got */
void ladder_clblast_rung(ladder_case *c, ladder_product *p);
void ladder_cublas_rung(ladder_case *c, ladder_product *p);

#endif
