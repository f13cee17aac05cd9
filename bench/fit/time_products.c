/* SPDX-License-Identifier: Apache-2.0
 * Times matrix products of one thread by the CPU kernels of several builds, and by a BLAS beside them.
 *     time_products [-i ISA] [-s SECONDS] [-b BLAS] [-u UNITS] [-c BETA] LIBRARY ... <SHAPES
 *   -i  sse2, avx2, avx512 or neon; left out: the kernels that hx takes on this CPU
 *   -s  seconds for each product (default 1)
 *   -b  a shared object with cblas_sgemm; set its threads to 1 by its own environment variable
 *   -u  the most multiply-adds of a product; larger ones are left out (default 2^31)
 *   -c  beta (default 0)
 * A LIBRARY is a shared object that exports hx__cpu_kernels_for, for example one made of cpu/isa*.c of an older commit
 * with the options of cpu/BUILD, -fPIC and -shared. SHAPES: lines as in bench/shapes.
 * Prints a row for each product: the GFLOP/s of the first library, and the time of each other library and of the BLAS
 * as a multiple of the first one's (above 1: the first is faster), by the least times of interleaved rounds; then the
 * same of the medians. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/measure.h"
#include "cpu/cpu.h"
#include "reference/data.h"
#include "runtime/topo/topo.h"

enum { MOST_SETS = 5, MOST_ROUNDS = 2001, LEAST_ROUNDS = 5, ALIGN = 64 };
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* of cblas.h */
#define SAMPLE_SECONDS 1e-3

typedef void cblas_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);
typedef const hx__cpu_kernels *kernels_for_fn(hx__isa isa);

typedef struct contest {
  const hx__cpu_kernels *sets[MOST_SETS];
  size_t libraries, count; /* count: with the BLAS */
  cblas_fn *blas;
  hx__gemm_blocking blocking[MOST_SETS];
} contest;

/* Seconds of this thread's own time: other programs may take the core. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *memory(size_t bytes) {
  void *const p = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN + ALIGN);
  if (p) return p;
  fputs("time_products: no memory\n", stderr);
  exit(1);
}

static void call(const contest *c, size_t set, const hx__gemm *g, void *scratch) {
  if (set < c->libraries) {
    if (c->sets[set]->gemm_direct(g)) return;
    c->sets[set]->gemm(g, c->blocking[set], NULL, NULL, scratch);
    return;
  }
  const bool ta = g->a_cs != 1, tb = g->b_cs != 1;
  c->blas(ROW_MAJOR, ta ? TRANSPOSED : PLAIN, tb ? TRANSPOSED : PLAIN, (int)g->m, (int)g->n, (int)g->k, 1, g->a,
          (int)(ta ? g->a_cs : g->a_rs), g->b, (int)(tb ? g->b_cs : g->b_rs), g->beta, g->c, (int)g->ldc);
}

static void time_product(const contest *c, const hx__gemm *g, void *scratch, double seconds) {
  static double times[MOST_SETS][MOST_ROUNDS];
  double one = now();
  call(c, 0, g, scratch);
  one = now() - one;
  const unsigned calls = one > SAMPLE_SECONDS ? 1 : (unsigned)(SAMPLE_SECONDS / (one > 1e-8 ? one : 1e-8)) + 1;
  size_t rounds = 0;
  for (double end = bench_now() + seconds; rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || bench_now() < end);
       rounds++)
    for (size_t turn = 0; turn < c->count; turn++) {
      const size_t s = rounds % 2 ? c->count - 1 - turn : turn; /* each leaves the caches to its neighbours alike */
      const double from = now();
      for (unsigned i = 0; i < calls; i++) call(c, s, g, scratch);
      times[s][rounds] = (now() - from) / calls;
    }
  bench_times t[MOST_SETS] = {{0}};
  for (size_t s = 0; s < c->count; s++) t[s] = bench_times_of(times[s], rounds);
  printf("%zu\t%zu\t%zu\t%d\t%d\t%zu\t%.1f", g->m, g->n, g->k, g->a_cs != 1, g->b_cs != 1, rounds,
         2e-9 * (double)g->m * (double)g->n * (double)g->k / t[0].least);
  for (size_t s = 1; s < c->count; s++) printf("\t%.3f", t[s].least / t[0].least);
  for (size_t s = 1; s < c->count; s++) printf("\t%.3f", t[s].median / t[0].median);
  printf("\n");
  fflush(stdout);
}

static void time_shape(const contest *c, size_t m, size_t n, size_t k, bool ta, bool tb, float beta, double seconds) {
  float *const a = memory(m * k * sizeof *a), *const b = memory(k * n * sizeof *b),
               *const d = memory(m * n * sizeof *d);
  size_t bytes = 0;
  for (size_t s = 0; s < c->libraries; s++) {
    const size_t more = c->sets[s]->gemm_scratch_bytes(c->blocking[s], m, n, k);
    if (more > bytes) bytes = more;
  }
  void *const scratch = memory(bytes);
  data_fill(HX_F32, DATA_SIGNED, 1, a, m * k);
  data_fill(HX_F32, DATA_SIGNED, 2, b, k * n);
  memset(d, 0, m * n * sizeof *d);
  const hx__gemm g = {.m = m,
                      .n = n,
                      .k = k,
                      .a = a,
                      .a_rs = ta ? 1 : k,
                      .a_cs = ta ? m : 1,
                      .b = b,
                      .b_rs = tb ? 1 : n,
                      .b_cs = tb ? k : 1,
                      .c = d,
                      .ldc = n,
                      .alpha = 1,
                      .beta = beta};
  time_product(c, &g, scratch, seconds);
  free(a), free(b), free(d), free(scratch);
}

static void *symbol(const char *path, const char *name) {
  void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *const found = library ? dlsym(library, name) : NULL;
  if (found) return found;
  fprintf(stderr, "time_products: %s: %s\n", path, dlerror());
  exit(1);
}

static hx__isa isa_named(const char *name) {
  hx__isa isa = HX__ISA_SSE2;
  while (isa < HX__ISAS && strcmp(hx__isa_name(isa), name) != 0) isa++;
  return isa;
}

int main(int argc, char **argv) {
  contest c = {.blas = NULL};
  hx__isa isa = HX__ISA_AUTO;
  double seconds = 1, units = 0x1p31, beta = 0;
  void *blas = NULL;
  for (int o; (o = getopt(argc, argv, "i:s:b:u:c:")) != -1;) {
    if (o == 'i') isa = isa_named(optarg);
    if (o == 's') seconds = strtod(optarg, NULL);
    if (o == 'b') blas = symbol(optarg, "cblas_sgemm");
    if (o == 'u') units = strtod(optarg, NULL);
    if (o == 'c') beta = strtod(optarg, NULL);
    if (o == '?') return 2;
  }
  memcpy(&c.blas, &blas, sizeof blas);
  for (; optind < argc && c.libraries + 1 < MOST_SETS; optind++, c.libraries++) {
    void *const found = symbol(argv[optind], "hx__cpu_kernels_for");
    kernels_for_fn *function;
    memcpy(&function, &found, sizeof found);
    c.sets[c.libraries] = function(isa);
    if (!c.sets[c.libraries]) return fprintf(stderr, "time_products: %s has no such kernels\n", argv[optind]), 1;
    c.blocking[c.libraries] = c.sets[c.libraries]->gemm_blocking(hx__topo_get()->l2_bytes);
  }
  if (!c.libraries) return fputs("usage: time_products [OPTIONS] LIBRARY ... <SHAPES\n", stderr), 2;
  c.count = c.libraries + (blas != NULL);
  printf("# %s, %s\nm\tn\tk\tta\ttb\trounds\tGFLOP/s\tothers (least)\tothers (medians)\n", hx__topo_get()->cpu_name,
         hx__isa_name(c.sets[0]->isa));
  char line[128];
  while (fgets(line, sizeof line, stdin)) {
    unsigned long m, n, k;
    int ta = 0, tb = 0;
    if (sscanf(line, "%lu %lu %lu %d %d", &m, &n, &k, &ta, &tb) < 3 || !m || !n || !k) continue;
    if ((double)m * (double)n * (double)k <= units) time_shape(&c, m, n, k, ta, tb, (float)beta, seconds);
  }
  return 0;
}
