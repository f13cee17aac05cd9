/* SPDX-License-Identifier: Apache-2.0
 * Times calls whose operands are on a discrete NVIDIA GPU, as their caller sees them: by the host's clock, with the
 * result of a sum on the host, and C of a product left on the device.
 *
 *   time_resident CASES [CUB]
 *
 * CASES has one case per line: `sum LOG2` for a sum of 2^LOG2 u32, `batch SIDE COUNT` for a batch of square products,
 * beside cublasSgemmStridedBatched, or a shape as in bench/shapes. CUB is a shared object made of
 * bench/ladder/ladder_cub.cu by `nvcc -O2 -shared -Xcompiler -fPIC`; products need cuBLAS.
 * Contestants: hx asked for the device (gpu_share 1), hx left to decide, the CPU alone (gpu_share 0), and the peer.
 * They take turns in blocks of some milliseconds, of which the first ten calls are not timed, because OpenCL and CUDA
 * have a context each and the device has to change between them: after a change, calls that read gigabytes stay slower
 * for several calls. Prints a row for each case: medians in microseconds,
 * the peer's time over that of hx asked, and that of hx left to decide over the better of asked and CPU. Products hold
 * small integers, so that every sum is exact and a C that differs from the peer's is wrong. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cuda.h"
#include "bench/measure.h"
#include "runtime/hx.h"

enum { ASKED, LEFT, CPU, PEER, CONTESTANTS, MOST_SAMPLES = 4096, BLOCK_CALLS = 60, ROUNDS = 12, UNTIMED = 10 };
#define BLOCK_SECONDS 0.03
#define SLOW_SECONDS 0.02 /* one call of the CPU that takes longer is its block */

/* A sum has m == 0 and n elements; count: of the products of a batch, else 1. */
typedef struct instance {
  size_t m, n, k, count;
  int trans_a, trans_b;
  float *a, *b, *c;
  hx_task task;
  hx_value sum;
  unsigned peer_sum;
} instance;

static struct {
  void *object; /* as dlopen returned it */
  int (*open)(const unsigned *x, size_t n);
  int (*sum)(size_t n, unsigned *sum, double *event_s, double *wall_s);
  void (*close)(void);
} cub;
static bench_cuda cuda;
static bool have_cublas;
static hx_context *hx;
static double samples[CONTESTANTS][MOST_SAMPLES];
static size_t counts[CONTESTANTS];

static void stop(const char *what) {
  fprintf(stderr, "time_resident: %s\n", what);
  exit(1);
}

static void find(void *function, const char *name) {
  void *const symbol = dlsym(cub.object, name);
  if (!symbol) stop(dlerror());
  memcpy(function, &symbol, sizeof symbol);
}

static void open_peers(const char *cub_file) {
  char why[128];
  have_cublas = bench_cuda_load(&cuda, why, sizeof why);
  if (!have_cublas) fprintf(stderr, "time_resident: no cuBLAS: %s\n", why);
  if (!cub_file) return;
  cub.object = dlopen(cub_file, RTLD_NOW | RTLD_LOCAL);
  if (!cub.object) stop(dlerror());
  find(&cub.open, "ladder_cub_open"), find(&cub.sum, "ladder_cub_sum"), find(&cub.close, "ladder_cub_close");
}

static bool has_peer(const instance *c) { return c->m ? have_cublas : cub.object != NULL; }

/* Seconds of one call. CUB's function times itself, because it makes another call before. */
static double call(instance *c, int contestant) {
  static const float shares[] = {[ASKED] = 1.0f, [LEFT] = -1.0f, [CPU] = 0.0f};
  double event, seconds;
  if (contestant == PEER && !c->m) return cub.sum(c->n, &c->peer_sum, &event, &seconds) ? -1.0 : seconds;
  const double from = bench_now();
  if (contestant == PEER && c->count > 1) {
    if (bench_cuda_multiply_batch(&cuda, c->m, c->count) || cuda.finish()) return -1.0;
  } else if (contestant == PEER) {
    if (bench_cuda_multiply(&cuda, c->m, c->n, c->k, c->trans_a, c->trans_b) || cuda.finish()) return -1.0;
  } else {
    hx_task task = c->task;
    task.gpu_share = shares[contestant];
    if (hx_offload(hx, &task, NULL) != HX_OK) stop(hx_error_detail());
  }
  return bench_now() - from;
}

static void time_block(instance *c, int contestant, bool slow) {
  for (int i = 0; i < UNTIMED && !slow; i++) call(c, contestant);
  const double end = bench_now() + BLOCK_SECONDS;
  for (int i = 0; i < BLOCK_CALLS && counts[contestant] < MOST_SAMPLES && (i == 0 || bench_now() < end); i++) {
    const double seconds = call(c, contestant);
    if (seconds < 0.0) stop("the peer fails");
    samples[contestant][counts[contestant]++] = seconds * 1e6;
  }
}

static float *shared(size_t count, bool integers) {
  float *const p = hx_alloc(hx, count * sizeof *p);
  uint32_t random = 7;
  if (!p) stop(hx_error_detail());
  for (size_t i = 0; i < count; i++) {
    random = random * 1664525u + 1013904223u;
    const uint32_t small = (random >> 28) % 5;
    const float number = (float)small - 2.0f;
    memcpy(p + i, integers ? (const void *)&small : (const void *)&number, sizeof *p);
  }
  return p;
}

static void prepare(instance *c) {
  const size_t a = c->m ? c->m * c->k * c->count : c->n, b = c->m ? c->k * c->n * c->count : 1;
  const size_t product = c->m ? c->m * c->n * c->count : 1;
  c->a = shared(a, !c->m), c->b = shared(b, false), c->c = shared(product, false);
  hx_advise(hx, c->a, a * sizeof(float), HX_RESIDENT | HX_READ_MOSTLY);
  hx_advise(hx, c->b, b * sizeof(float), HX_RESIDENT | HX_READ_MOSTLY);
  hx_advise(hx, c->c, product * sizeof(float), HX_RESIDENT);
  c->task = hx_reduce(HX_SUM, HX_U32, c->a, c->n, &c->sum);
  if (c->m) {
    c->task = hx_matmul(c->m, c->n, c->k, c->a, c->b, c->c);
    c->task.matmul.trans_a = c->trans_a, c->task.matmul.trans_b = c->trans_b;
  }
  const size_t cells = c->m * c->m;
  if (c->count > 1) c->task = hx_matmul_batched(c->m, c->m, c->m, c->a, cells, c->b, cells, c->c, cells, c->count);
  if (has_peer(c) && (c->m ? bench_cuda_open(&cuda, c->a, a, c->b, b, product) : cub.open((const void *)c->a, c->n)))
    stop("the peer does not open");
}

static const char *verdict(instance *c) {
  const size_t count = c->m * c->n * c->count;
  call(c, ASKED);
  if (!has_peer(c)) return "not compared";
  call(c, PEER);
  if (!c->m) return (unsigned)c->sum.u64 == c->peer_sum ? "same" : "WRONG";
  float *const other = malloc(count * sizeof *other);
  if (!other || cuda.copy(other, cuda.c, count * sizeof *other, BENCH_TO_HOST) != 0) stop("no copy of the peer's C");
  hx_sync(hx, c->c, count * sizeof *other);
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += c->c[i] != other[i];
  free(other);
  return wrong ? "WRONG" : "same";
}

static void end(instance *c) {
  if (has_peer(c) && !c->m) cub.close();
  if (has_peer(c) && c->m) cuda.release(cuda.a), cuda.release(cuda.b), cuda.release(cuda.c), cuda.close(cuda.handle);
  hx_free(hx, c->a), hx_free(hx, c->b), hx_free(hx, c->c);
}

static void run_case(instance *c) {
  double medians[CONTESTANTS];
  prepare(c);
  memset(counts, 0, sizeof counts);
  for (int i = 0; i < 4; i++) call(c, ASKED), call(c, LEFT);
  const bool slow = call(c, CPU) > SLOW_SECONDS;
  for (int round = 0; round < ROUNDS; round++)
    for (int contestant = 0; contestant < CONTESTANTS; contestant++)
      if ((contestant != PEER || has_peer(c)) && !(contestant == CPU && slow && round > 2))
        time_block(c, contestant, contestant == CPU && slow);
  for (int i = 0; i < CONTESTANTS; i++) medians[i] = bench_median(samples[i], counts[i]);
  const char *const outcome = verdict(c);
  if (c->count > 1)
    printf("%zu of %zu", c->count, c->m);
  else if (c->m)
    printf("%zux%zux%zu%c%c", c->m, c->n, c->k, c->trans_a ? 't' : 'n', c->trans_b ? 't' : 'n');
  else
    printf("sum 2^%d", (int)log2((double)c->n));
  printf("\t%.1f\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\t%s\n", medians[ASKED], medians[LEFT], medians[CPU], medians[PEER],
         medians[PEER] / medians[ASKED], medians[LEFT] / fmin(medians[ASKED], medians[CPU]), outcome);
  fflush(stdout);
  end(c);
}

int main(int argc, char **argv) {
  char line[128];
  FILE *const cases = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (!cases) stop("usage: time_resident CASES [CUB]");
  open_peers(argc > 2 ? argv[2] : NULL);
  if (hx_open(&hx, NULL) != HX_OK) stop(hx_error_detail());
  const double from = bench_now();
  hx_ready(hx);
  printf("# ready after %.2f s\n", bench_now() - from);
  for (size_t i = 0; i < hx_device_count(hx); i++) {
    hx_device_info info;
    if (hx_device(hx, i, &info) == HX_OK) printf("# %s\n", info.name);
  }
  printf("case\tasked_us\tleft_us\tcpu_us\tpeer_us\tpeer_over_asked\tleft_over_best\tresult\n");
  while (fgets(line, sizeof line, cases)) {
    instance c = {.count = 1};
    unsigned log = 0;
    if (sscanf(line, "sum %u", &log) == 1)
      c.n = (size_t)1 << log;
    else if (sscanf(line, "batch %zu %zu", &c.m, &c.count) == 2)
      c.n = c.k = c.m;
    else if (sscanf(line, "%zu %zu %zu %d %d", &c.m, &c.n, &c.k, &c.trans_a, &c.trans_b) < 3 || !c.m)
      continue;
    run_case(&c);
  }
  fclose(cases);
  hx_close(hx);
  return 0;
}
