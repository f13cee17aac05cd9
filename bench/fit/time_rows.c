/* SPDX-License-Identifier: Apache-2.0
 * Times the products of an NVIDIA GPU, for fit_plan.py and prune_rows.py, and cuBLAS beside them:
 *
 *   time_rows rows SHAPES    every program of the set on every shape of the file (bench/shapes has the format)
 *   time_rows waited SHAPES  the same, but each launch is waited for before the next one
 *   time_rows chosen SHAPES  the program that the planner chooses
 *   time_rows ready          seconds until hx_ready returns
 *
 * A line with a sixth number is a batch of so many products, square and without transposes.
 *
 * Writes tab-separated values to stdout. Operands lie on the device and hold integers from -8 to 8, so that every sum
 * is exact and a result that differs from cuBLAS's is wrong. Launches follow one another; a time is the median of a few
 * samples of enough launches that waiting for their end does not count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cuda.h"
#include "bench/measure.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/config.h"

#define MOST_ELEMENTS ((size_t)72 << 20)    /* the most elements of a matrix */
#define COMPARED_ELEMENTS ((size_t)1 << 20) /* the most elements of a C that is compared for every program */
#define MOST_SAMPLES 9

typedef struct product {
  size_t m, n, k;
  int trans_a, trans_b;
  size_t count; /* of a batch; 1: one product */
} product;

static bool waits; /* for each launch */

static size_t ceil16(size_t n) { return (n + 15) & ~(size_t)15; }

/* Rows of C, of all products, and their distance. */
static size_t rows_of(const product *p) { return p->m * p->count; }
static size_t ld_of(const product *p) { return p->count > 1 ? p->n : ceil16(p->n); }

/* cuBLAS, if it is installed. */
static bench_cuda cu;

static bool cublas_open(const float *x) {
  char why[128];
  if (!bench_cuda_load(&cu, why, sizeof why)) {
    fprintf(stderr, "time_rows: %s\n", why);
    return false;
  }
  return !bench_cuda_open(&cu, x, MOST_ELEMENTS, x, MOST_ELEMENTS, MOST_ELEMENTS);
}

/* hx: a stream of the device, on buffers of this program. */
static struct subject {
  hx__cl_device *device;
  hx__cl_stream *stream;
  cl_mem a, b, c;
} hx;

static bool hx_begin(hx_context *context) {
  hx__device *const *list;
  hx_device_count(context);
  const size_t count = hx__registry_devices(&list);
  for (size_t i = 0; i < count && !hx.device; i++)
    if (list[i]->backend == &hx__opencl_backend && ((hx__cl_device *)list[i])->families & HX__FAMILY_NVIDIA)
      hx.device = (hx__cl_device *)list[i];
  if (!hx.device) return false;
  hx__prepare_wait(&hx.device->base, HX__NEED_MATMUL | HX__NEED_TILES, UINT64_MAX, UINT64_MAX);
  return true;
}

static bool hx_buffers(const float *x) {
  static const hx__config plain = {.timeout_ms = HX__TIMEOUT_AUTO};
  const size_t bytes = MOST_ELEMENTS * sizeof(float);
  cl_int code;
  hx.stream = (hx__cl_stream *)hx__cl_stream_open(&hx.device->base, &plain);
  if (!hx.stream) return false;
  hx.a = clCreateBuffer(hx.device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, (void *)x, &code);
  hx.b = clCreateBuffer(hx.device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, (void *)x, &code);
  hx.c = clCreateBuffer(hx.device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  return hx.a && hx.b && hx.c;
}

static hx__gemm_shape shape_of(const product *p) {
  const size_t lda = p->trans_a ? p->m : p->k, ldb = p->trans_b ? p->k : p->n;
  const hx__gemm_operand a = {p->trans_a ? 1 : lda, p->trans_a ? lda : 1, true};
  const hx__gemm_operand b = {p->trans_b ? 1 : ldb, p->trans_b ? ldb : 1, true};
  return (hx__gemm_shape){p->m, p->n, p->k, a, b, p->count};
}

static bool launch_hx(const product *p, unsigned times) {
  const hx__gemm_shape s = shape_of(p);
  const hx__cl_factors f = {.a = {.mode = HX__MEMORY_COPY, .mem = hx.a},
                            .b = {.mode = HX__MEMORY_COPY, .mem = hx.b},
                            .as = {s.a.rs, s.a.cs},
                            .bs = {s.b.rs, s.b.cs},
                            .products = p->count,
                            .a_step = p->m * p->k,
                            .b_step = p->k * p->n};
  bool fine = true;
  const hx__cl_target t = {.mem = hx.c, .ldt = ld_of(p), .step = p->m * p->n};
  for (unsigned i = 0; i < times && fine; i++)
    fine = hx__cl_launch_tiles(hx.stream, &f, &(hx__gemm_size){p->m, p->n, p->k, 1.0f}, &t) == HX__DONE &&
           (!waits || clFinish(hx.stream->queue) == CL_SUCCESS);
  return fine && clFinish(hx.stream->queue) == CL_SUCCESS;
}

static bool launch_cublas(const product *p, unsigned times) {
  bool fine = cu.c != NULL;
  for (unsigned i = 0; i < times && fine; i++)
    fine = !(p->count > 1 ? bench_cuda_multiply_batch(&cu, p->m, p->count)
                          : bench_cuda_multiply(&cu, p->m, p->n, p->k, p->trans_a, p->trans_b)) &&
           (!waits || !cu.finish());
  return fine && !cu.finish();
}

/* Nanoseconds per launch; NaN: a launch failed. */
static double time_launches(bool (*launch)(const product *, unsigned), const product *p, unsigned samples,
                            double sample_ns) {
  double ns[MOST_SAMPLES];
  if (!launch(p, 1)) return NAN;
  uint64_t from = hx__now_ns();
  if (!launch(p, 2)) return NAN;
  const double each = (double)(hx__now_ns() - from) / 2;
  const unsigned times = each > sample_ns ? 1 : (unsigned)(sample_ns / each) + 1;
  for (unsigned i = 0; i < samples; i++) {
    from = hx__now_ns();
    if (!launch(p, times)) return NAN;
    ns[i] = (double)(hx__now_ns() - from) / times;
  }
  return bench_median(ns, samples);
}

/* Compares C of the last launch with cuBLAS's, and overwrites it with NaN. */
static bool c_is_right(const product *p, const float *want, float *got) {
  const size_t ld = ld_of(p), bytes = rows_of(p) * ld * sizeof(float);
  bool equal = clEnqueueReadBuffer(hx.stream->queue, hx.c, CL_TRUE, 0, bytes, got, 0, NULL, NULL) == CL_SUCCESS;
  for (size_t i = 0; i < rows_of(p) && equal; i++)
    for (size_t j = 0; j < p->n; j++) equal = equal && got[i * ld + j] == want[i * p->n + j];
  memset(got, 0xff, bytes); /* NaNs */
  clEnqueueWriteBuffer(hx.stream->queue, hx.c, CL_TRUE, 0, bytes, got, 0, NULL, NULL);
  return equal;
}

static void print_row(const product *p, const char *row, int layout, bool joins, double ns, const char *result) {
  printf("%zu\t%zu\t%zu\t%d\t%d\t%s\t%d\t%d\t%.0f\t%s", p->m, p->n, p->k, p->trans_a, p->trans_b, row, layout, joins,
         ns, result);
  if (p->count > 1) printf("\t%zu", p->count);
  printf("\n");
}

/* Times one program on one shape, with each way to add its panels. The plan is stored as the stream's remembered choice
 * for this shape, so that the launch uses it. */
static void time_program(unsigned program, const product *p, const float *want, float *got) {
  const hx__cl_program *const of = &hx.device->program[program];
  const hx__gemm_shape shape = shape_of(p);
  hx__gemm_plan plan = hx__gemm_plan_for(of->row, of->layout, &shape, hx.device->base.compute_units);
  if (!(plan.ns < INFINITY)) return;
  const size_t tail = plan.tiles - plan.full_tiles;
  const bool both = of->row->chains && tail && plan.panels <= HX__JOIN_TICKETS / tail, own = plan.joins;
  for (int other = 0; other < (both ? 2 : 1); other++) {
    plan.joins = own != (other != 0);
    for (unsigned i = 0; i < HX__CL_CHOICES; i++)
      hx.stream->choices.entry[i] = (hx__cl_choice){shape, atomic_load(&hx.device->variants), program, plan};
    const double ns = time_launches(launch_hx, p, 5, 4e5);
    const bool compare = rows_of(p) * ld_of(p) <= COMPARED_ELEMENTS;
    const char *const result = !compare ? "-" : c_is_right(p, want, got) ? "same" : "WRONG";
    print_row(p, of->row->name, (int)of->layout, plan.joins, ns, result);
  }
}

static void time_chosen(const product *p, const float *want, float *got) {
  const double before = time_launches(launch_cublas, p, 5, 2e6), ns = time_launches(launch_hx, p, 9, 2e6),
               after = time_launches(launch_cublas, p, 5, 2e6);
  const unsigned last = (hx.stream->choices.made - 1) % HX__CL_CHOICES;
  const hx__cl_choice *const choice = &hx.stream->choices.entry[last];
  const hx__cl_program *const of = &hx.device->program[choice->program];
  const bool equal = c_is_right(p, want, got);
  print_row(p, of->row->name, (int)of->layout, choice->plan.joins, ns, equal ? "same" : "WRONG");
  print_row(p, "cublas", 0, false, fmin(before, after), "");
}

static void time_rows(const product *p, const float *want, float *got) {
  const uint64_t ready = atomic_load(&hx.device->variants);
  const double before = time_launches(launch_cublas, p, 5, 1e6);
  time_program(HX__FIRST_PRODUCT, p, want, got);
  for (unsigned i = HX__NEEDS; i < HX__TUNED_PROGRAM; i++)
    if (ready >> (i - HX__NEEDS) & 1) time_program(i, p, want, got);
  print_row(p, "cublas", 0, false, fmin(before, time_launches(launch_cublas, p, 5, 1e6)), "");
}

static int time_shapes(FILE *f, bool rows, float *x, float *want, float *got) {
  char line[256];
  uint64_t state = 88172645463325252u;
  for (size_t i = 0; i < MOST_ELEMENTS; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    x[i] = (float)(int)(state % 17) - 8.0f;
  }
  if (!hx_buffers(x)) {
    fprintf(stderr, "time_rows: no room on the device\n");
    return 1;
  }
  if (!cublas_open(x)) fprintf(stderr, "time_rows: no cuBLAS: its times are nan, and every result is called wrong\n");
  printf("# %s\n", hx.device->base.name);
  printf("m\tn\tk\tta\ttb\trow\tlayout\tjoins\tns\tresult\n");
  while (fgets(line, sizeof line, f)) {
    product p = {.count = 1};
    if (line[0] == '#' || sscanf(line, "%zu %zu %zu %d %d %zu", &p.m, &p.n, &p.k, &p.trans_a, &p.trans_b, &p.count) < 3)
      continue;
    const size_t most = p.m > p.n ? p.m : p.n;
    if (p.count * most * p.k > MOST_ELEMENTS || rows_of(&p) * ld_of(&p) > MOST_ELEMENTS) continue;
    launch_cublas(&p, 1);
    if (cu.c && (!rows || rows_of(&p) * ld_of(&p) <= COMPARED_ELEMENTS))
      cu.copy(want, cu.c, rows_of(&p) * p.n * sizeof *want, BENCH_TO_HOST);
    (rows ? time_rows : time_chosen)(&p, want, got);
    fflush(stdout);
  }
  return 0;
}

static int time_file(FILE *f, bool rows) {
  float *const x = malloc(MOST_ELEMENTS * sizeof *x), *const want = malloc(MOST_ELEMENTS * sizeof *want);
  float *const got = malloc(MOST_ELEMENTS * sizeof *got);
  const int status = x && want && got ? time_shapes(f, rows, x, want, got) : 1;
  free(x);
  free(want);
  free(got);
  return status;
}

int main(int argc, char **argv) {
  const bool ready = argc == 2 && strcmp(argv[1], "ready") == 0;
  waits = argc == 3 && strcmp(argv[1], "waited") == 0;
  const bool rows = waits || (argc == 3 && strcmp(argv[1], "rows") == 0);
  FILE *const shapes = argc == 3 ? fopen(argv[2], "r") : NULL;
  if (!ready && (!shapes || (!rows && strcmp(argv[1], "chosen") != 0))) {
    fprintf(stderr, "usage: time_rows rows|waited|chosen SHAPES, time_rows ready\n");
    return 2;
  }
  const uint64_t from = hx__now_ns();
  hx_settings settings = HX_SETTINGS_DEFAULT;
  hx_context *context;
  settings.devices = "nvidia";
  if (hx_open(&context, &settings) != HX_OK) return 1;
  if (ready) {
    const hx_status status = hx_ready(context);
    printf("ready\t%.2f\n", (double)(hx__now_ns() - from) * 1e-9);
    return status != HX_OK;
  }
  if (!hx_begin(context)) {
    fprintf(stderr, "time_rows: no NVIDIA GPU\n");
    return 1;
  }
  return time_file(shapes, rows);
}
