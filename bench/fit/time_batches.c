/* SPDX-License-Identifier: Apache-2.0
 * Times batches of products of f32: hx_matmul_batched beside the other ways to do the same.
 *     time_batches [-s SECONDS] [-b BLAS] [-m MKL] [-k SIDE]... [-n COUNT]... [-t LAYOUTS]
 *   -s  seconds for each batch (default 1)
 *   -b  a shared object with cblas_sgemm, which is called in a parallel loop: set its own threads to 1
 *   -m  a shared object with cblas_sgemm_batch_strided, which brings its own threads
 *   -k  one side instead of 16 to 256; MxNxK; or A,B,...: every product whose m, n and k are among these
 *   -n  one count instead of 10 to 10000
 *   -t  layouts (default nn): what is transposed (t) and what is not (n) of A and B, for example nn,nt,tn,tt
 * OMP_NUM_THREADS bounds the threads of all. Prints a row for each batch: the microseconds and GFLOP/s of
 * hx_matmul_batched, and the times of the others as multiples of its (above 1: it is faster), by the medians of
 * interleaved rounds, then by the least times. The others: hx_offload_many, a loop of hx_offload, BLAS, MKL. */
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure.h"
#include "reference/data.h"

enum { MOST_WAYS = 5, MOST_ROUNDS = 2001, LEAST_ROUNDS = 5, ALIGN = 64 };
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* of cblas.h */
#define MOST_FLOATS ((size_t)1 << 28)                    /* of an operand */
#define SAMPLE_SECONDS 1e-3

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);
typedef void batch_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      int stride_a, const float *b, int ldb, int stride_b, float beta, float *c, int ldc, int stride_c,
                      int count);

typedef struct batch {
  hx_context *hx;
  sgemm_fn *sgemm;
  batch_fn *sgemm_batch;
  hx_task task, *tasks;
  int m, n, k, count, ta, tb, lda, ldb; /* ta, tb: PLAIN or TRANSPOSED */
  const float *a, *b;
  float *c;
} batch;

static hx_status by_batch(const batch *t) { return hx_offload(t->hx, &t->task, NULL); }
static hx_status by_list(const batch *t) { return hx_offload_many(t->hx, t->tasks, (size_t)t->count, NULL); }

static hx_status by_loop(const batch *t) {
  hx_status s = HX_OK;
  for (int i = 0; i < t->count && s == HX_OK; i++) s = hx_offload(t->hx, &t->tasks[i], NULL);
  return s;
}

static hx_status by_blas(const batch *t) {
  const size_t a = (size_t)t->m * (size_t)t->k, b = (size_t)t->k * (size_t)t->n, c = (size_t)t->m * (size_t)t->n;
#pragma omp parallel for schedule(dynamic, 1 + t->count / (16 * omp_get_max_threads()))
  for (int i = 0; i < t->count; i++) {
    const size_t at = (size_t)i;
    t->sgemm(ROW_MAJOR, t->ta, t->tb, t->m, t->n, t->k, 1.0f, t->a + at * a, t->lda, t->b + at * b, t->ldb, 0.0f,
             t->c + at * c, t->n);
  }
  return HX_OK;
}

static hx_status by_mkl(const batch *t) {
  t->sgemm_batch(ROW_MAJOR, t->ta, t->tb, t->m, t->n, t->k, 1.0f, t->a, t->lda, t->m * t->k, t->b, t->ldb, t->k * t->n,
                 0.0f, t->c, t->n, t->m * t->n, t->count);
  return HX_OK;
}

typedef hx_status way_fn(const batch *t);

/* With one thread, that thread's own time: other programs may take the core. */
static double now(void) {
  struct timespec t;
  clock_gettime(omp_get_max_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(way_fn *way, const batch *t, unsigned calls) {
  const double from = now();
  for (unsigned i = 0; i < calls; i++)
    if (way(t) != HX_OK) fprintf(stderr, "time_batches: %s\n", hx_error_detail()), exit(1);
  return (now() - from) / calls;
}

static void time_batch(const batch *t, double seconds) {
  static double times[MOST_WAYS][MOST_ROUNDS];
  way_fn *const ways[MOST_WAYS] = {by_batch, by_list, by_loop, t->sgemm ? by_blas : NULL,
                                   t->sgemm_batch ? by_mkl : NULL};
  bench_times least[MOST_WAYS] = {{0}};
  const double one = seconds_of(by_batch, t, 1);
  const unsigned calls = one > SAMPLE_SECONDS ? 1 : (unsigned)(SAMPLE_SECONDS / one) + 1;
  size_t rounds = 0;
  for (double end = bench_now() + seconds; rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || bench_now() < end);
       rounds++)
    for (size_t turn = 0; turn < MOST_WAYS; turn++) {
      const size_t w = rounds % 2 ? MOST_WAYS - 1 - turn : turn; /* each leaves the caches to its neighbours alike */
      if (!ways[w]) continue;
      seconds_of(ways[w], t, 1); /* wakes its threads */
      times[w][rounds] = seconds_of(ways[w], t, calls);
    }
  const double flops = 2.0 * t->m * t->n * t->k * t->count;
  for (size_t w = 0; w < MOST_WAYS; w++)
    if (ways[w]) least[w] = bench_times_of(times[w], rounds);
  printf("%c%c\t%d\t%d\t%d\t%d\t%zu\t%.2f\t%.1f", t->ta == PLAIN ? 'n' : 't', t->tb == PLAIN ? 'n' : 't', t->m, t->n,
         t->k, t->count, rounds, least[0].median * 1e6, 1e-9 * flops / least[0].median);
  for (size_t w = 1; w < MOST_WAYS; w++) printf("\t%.2f", ways[w] ? least[w].median / least[0].median : 0.0);
  for (size_t w = 1; w < MOST_WAYS; w++) printf("\t%.2f", ways[w] ? least[w].least / least[0].least : 0.0);
  printf("\n");
  fflush(stdout);
}

static float *matrices(size_t floats, uint64_t seed) {
  float *const p = aligned_alloc(ALIGN, (floats * sizeof *p + ALIGN - 1) / ALIGN * ALIGN);
  if (!p) fputs("time_batches: no memory\n", stderr), exit(1);
  data_fill(HX_F32, DATA_SIGNED, seed, p, floats);
  return p;
}

static void time_shape(batch t, double seconds) {
  const size_t m = (size_t)t.m, n = (size_t)t.n, k = (size_t)t.k, of_a = m * k, of_b = k * n, of_c = m * n,
               count = (size_t)t.count;
  if (of_a > MOST_FLOATS / count || of_b > MOST_FLOATS / count || of_c > MOST_FLOATS / count) return;
  float *const a = matrices(of_a * count, 1), *const b = matrices(of_b * count, 2),
               *const c = matrices(of_c * count, 3);
  const bool ta = t.ta == TRANSPOSED, tb = t.tb == TRANSPOSED;
  t.a = a, t.b = b, t.c = c, t.lda = ta ? t.m : t.k, t.ldb = tb ? t.k : t.n;
  t.task = hx_matmul_batched(m, n, k, a, of_a, b, of_b, c, of_c, count);
  t.task.matmul.trans_a = ta, t.task.matmul.trans_b = tb;
  t.task.matmul.lda = (size_t)t.lda, t.task.matmul.ldb = (size_t)t.ldb;
  t.tasks = malloc(count * sizeof *t.tasks);
  if (!t.tasks) fputs("time_batches: no memory\n", stderr), exit(1);
  for (size_t i = 0; i < count; i++) {
    t.tasks[i] = hx_matmul(m, n, k, a + i * of_a, b + i * of_b, c + i * of_c);
    t.tasks[i].matmul.trans_a = ta, t.tasks[i].matmul.trans_b = tb;
    t.tasks[i].matmul.lda = (size_t)t.lda, t.tasks[i].matmul.ldb = (size_t)t.ldb;
  }
  time_batch(&t, seconds);
  free(t.tasks);
  free(a), free(b), free(c);
}

/* The shape of the text, MxNxK, or all whose m, n and k are among its numbers, which commas separate. */
static void time_shapes(batch t, const char *text, double seconds) {
  if (sscanf(text, "%dx%dx%d", &t.m, &t.n, &t.k) == 3) {
    time_shape(t, seconds);
    return;
  }
  int side[32];
  size_t sides = 0;
  for (const char *p = text; p; p = *p ? p + 1 : NULL) {
    char *end;
    const long n = strtol(p, &end, 10);
    if (n <= 0 || n > 1 << 14 || (*end && *end != ',') || sides == 32)
      fprintf(stderr, "time_batches: %s: no shape\n", text), exit(2);
    side[sides++] = (int)n;
    p = end;
  }
  for (size_t i = 0; i < sides * sides * sides; i++) {
    t.m = side[i / sides / sides], t.n = side[i / sides % sides], t.k = side[i % sides];
    time_shape(t, seconds);
  }
}

static void *symbol(const char *path, const char *name) {
  void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *const found = library ? dlsym(library, name) : NULL;
  if (found) return found;
  fprintf(stderr, "time_batches: %s: %s\n", path, dlerror());
  exit(1);
}

int main(int argc, char **argv) {
  static const char *const usual[] = {"16", "32", "48", "64", "96", "128", "192", "256"};
  const char *sides[16], *layouts = "nn";
  int counts[16] = {10, 100, 1000, 10000}, nsides = 0, ncounts = 0;
  double seconds = 1;
  batch t = {.sgemm = NULL};
  void *blas = NULL, *mkl = NULL;
  for (int o; (o = getopt(argc, argv, "s:b:m:k:n:t:")) != -1;) {
    if (o == 's') seconds = strtod(optarg, NULL);
    if (o == 'b') blas = symbol(optarg, "cblas_sgemm");
    if (o == 'm') mkl = symbol(optarg, "cblas_sgemm_batch_strided");
    if (o == 'k' && nsides < 16) sides[nsides++] = optarg;
    if (o == 'n' && ncounts < 16) counts[ncounts++] = atoi(optarg);
    if (o == 't') layouts = optarg;
    if (o == '?') return 2;
  }
  memcpy(&t.sgemm, &blas, sizeof blas);
  memcpy(&t.sgemm_batch, &mkl, sizeof mkl);
  if (hx_open(&t.hx, NULL) != HX_OK) return fprintf(stderr, "time_batches: %s\n", hx_error_detail()), 1;
  printf("layout\tm\tn\tk\tcount\trounds\tus\tGFLOP/s\tmany\tloop\tBLAS\tMKL\tmany, loop, BLAS, MKL (least)\n");
  for (const char *l = layouts; l; l = strchr(l, ',') ? strchr(l, ',') + 1 : NULL) {
    t.ta = l[0] == 't' ? TRANSPOSED : PLAIN, t.tb = l[0] && l[1] == 't' ? TRANSPOSED : PLAIN;
    for (int i = 0; i < (nsides ? nsides : 8); i++)
      for (int j = 0; j < (ncounts ? ncounts : 4); j++) {
        t.count = counts[j];
        time_shapes(t, nsides ? sides[i] : usual[i], seconds);
      }
  }
  hx_close(t.hx);
  return 0;
}
