/* SPDX-License-Identifier: Apache-2.0
 * Times tasks by the whole libhx of several builds in turns, and products by a BLAS beside them.
 *     time_builds [-s SECONDS] [-b BLAS] LIBRARY ... <LINES
 *   -s  seconds for each line (default 1)
 *   -b  a shared object with cblas_sgemm, and cblas_sgemm_batch_strided for batches and lists
 * A LIBRARY is a libhx.so.0. OMP_NUM_THREADS bounds the threads of all, HX_DEVICES and others apply to all of hx.
 * LINES, one task each:
 *     M N K [TA TB [LD]]         a product, as in bench/shapes; rows are LD floats apart if they have fewer elements
 *     batch M N K COUNT [TA TB]  hx_matmul_batched
 *     list M N K COUNT           hx_offload_many of COUNT products
 *     reduce OP TYPE N           for example: reduce sum_squares i32 4096
 * Prints a row for each line: the microseconds of the first library, and the time of each other library and of the BLAS
 * as a multiple of the first one's (above 1: the first is faster), by the least times of interleaved rounds, then by
 * the medians, then by the 95th percentiles; at the end the geometric means over all lines. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure.h"
#include "reference/data.h"

enum { MOST_WAYS = 8, MOST_ROUNDS = 4001, LEAST_ROUNDS = 7, MOST_TASKS = 10000, PAGE = 4096 };
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* of cblas.h */
enum { LEAST, MEDIAN, P95, STATISTICS };
#define SAMPLE_SECONDS 5e-4

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);
typedef void batch_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      int stride_a, const float *b, int ldb, int stride_b, float beta, float *c, int ldc, int stride_c,
                      int count);

/* The functions of one build. */
typedef struct build {
  hx_context *hx;
  hx_status (*open)(hx_context **out, const hx_settings *settings);
  hx_status (*offload)(hx_context *hx, const hx_task *task, hx_report *report);
  hx_status (*offload_many)(hx_context *hx, const hx_task *tasks, size_t n, hx_report *report);
  void (*close)(hx_context *hx);
  const char *(*error_detail)(void);
} build;

static build builds[MOST_WAYS];
static size_t build_count;
static sgemm_fn *sgemm;
static batch_fn *sgemm_batch;
static bool one_thread;

/* What a line says. count: of products. */
static struct line {
  bool is_product;
  int m, n, k, count, ta, tb, lda, ldb, ldc;
  float *a, *b, *c;
  size_t tasks;
} line;
static hx_task tasks[MOST_TASKS];
static hx_value value;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "time_builds: %s: %s\n", what, why);
  exit(1);
}

static void find(void *library, const char *name, void *function) {
  void *const found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
}

static void *open_library(const char *path) {
  void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(path, dlerror());
  return library;
}

static void add_build(const char *path) {
  build *const b = &builds[build_count++];
  void *const library = open_library(path);
  find(library, "hx_open", &b->open);
  find(library, "hx_offload", &b->offload);
  find(library, "hx_offload_many", &b->offload_many);
  find(library, "hx_close", &b->close);
  find(library, "hx_error_detail", &b->error_detail);
  if (!b->open || !b->offload_many || !b->error_detail) fail(path, "no libhx");
  if (b->open(&b->hx, NULL) != HX_OK) fail(path, b->error_detail());
}

static void run(size_t way) {
  const struct line *const l = &line;
  const int a = l->m * l->k, b = l->k * l->n, c = l->m * l->n;
  if (way < build_count) {
    const build *const x = &builds[way];
    const hx_status s = l->tasks == 1 ? x->offload(x->hx, tasks, NULL) : x->offload_many(x->hx, tasks, l->tasks, NULL);
    if (s != HX_OK) fail("a call", x->error_detail());
  } else if (l->count == 1) {
    sgemm(ROW_MAJOR, l->ta, l->tb, l->m, l->n, l->k, 1, l->a, l->lda, l->b, l->ldb, 0, l->c, l->ldc);
  } else {
    sgemm_batch(ROW_MAJOR, l->ta, l->tb, l->m, l->n, l->k, 1, l->a, l->lda, a, l->b, l->ldb, b, 0, l->c, l->n, c,
                l->count);
  }
}

/* With one thread, that thread's own time: other programs may take the core. */
static double now(void) {
  struct timespec t;
  clock_gettime(one_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(size_t way, unsigned calls) {
  const double from = now();
  for (unsigned i = 0; i < calls; i++) run(way);
  return (now() - from) / calls;
}

/* The statistics of each way over those of the first; what[0]: its seconds. Returns the number of ways. */
static size_t time_line(double seconds, double what[MOST_WAYS][STATISTICS]) {
  static double times[MOST_WAYS][MOST_ROUNDS];
  const bool has_blas = line.is_product && (line.count == 1 ? sgemm != NULL : sgemm_batch != NULL);
  const size_t ways = build_count + has_blas;
  run(0);
  const double one = seconds_of(0, 1);
  const unsigned calls = one > SAMPLE_SECONDS ? 1 : (unsigned)(SAMPLE_SECONDS / one) + 1;
  size_t rounds = 0;
  for (double end = bench_now() + seconds; rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || bench_now() < end);
       rounds++)
    for (size_t turn = 0; turn < ways; turn++) {
      const size_t way = rounds % 2 ? ways - 1 - turn : turn; /* each leaves the caches to its neighbours alike */
      run(way);                                               /* wakes its threads */
      times[way][rounds] = seconds_of(way, calls);
    }
  for (size_t way = 0; way < ways; way++) {
    bench_sort(times[way], rounds);
    what[way][LEAST] = times[way][0];
    what[way][MEDIAN] = bench_quantile(times[way], rounds, .5);
    what[way][P95] = bench_quantile(times[way], rounds, .95);
    for (int s = 0; s < STATISTICS && way; s++) what[way][s] /= what[0][s];
  }
  return ways;
}

static float *memory(size_t floats, uint64_t seed) {
  float *const p = aligned_alloc(PAGE, (floats * sizeof *p + PAGE - 1) / PAGE * PAGE);
  if (!p) fail("memory", "there is not enough");
  data_fill(HX_F32, DATA_SIGNED, seed, p, floats);
  return p;
}

static int more_of(int x, int y) { return x > y ? x : y; }

/* ld: how many floats rows are apart, at least. */
static void make_products(bool is_batch, int ld) {
  struct line *const l = &line;
  const size_t m = (size_t)l->m, n = (size_t)l->n, k = (size_t)l->k, count = (size_t)l->count;
  const bool ta = l->ta, tb = l->tb;
  l->is_product = true;
  l->lda = more_of(ld, ta ? l->m : l->k), l->ldb = more_of(ld, tb ? l->k : l->n), l->ldc = more_of(ld, l->n);
  const size_t a = (ta ? k : m) * (size_t)l->lda, b = (tb ? n : k) * (size_t)l->ldb, c = m * (size_t)l->ldc;
  l->a = memory(a * count, 1), l->b = memory(b * count, 2), l->c = memory(c * count, 3);
  l->ta = ta ? TRANSPOSED : PLAIN, l->tb = tb ? TRANSPOSED : PLAIN;
  l->tasks = is_batch ? 1 : count;
  for (size_t i = 0; i < l->tasks; i++) {
    tasks[i] = is_batch ? hx_matmul_batched(m, n, k, l->a, a, l->b, b, l->c, c, count)
                        : hx_matmul(m, n, k, l->a + i * a, l->b + i * b, l->c + i * c);
    tasks[i].matmul.trans_a = ta, tasks[i].matmul.trans_b = tb;
    tasks[i].matmul.lda = (size_t)l->lda, tasks[i].matmul.ldb = (size_t)l->ldb, tasks[i].matmul.ldc = (size_t)l->ldc;
  }
}

static int index_of(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return i;
  fail(name, "is neither an operation nor a type");
  return 0;
}

static void make_reduction(const char *op_name, const char *type_name, size_t n) {
  static const char *const ops[] = {"sum", "min", "max", "argmin", "argmax", "dot", "sum_abs", "sum_squares", "prod"};
  static const char *const types[] = {"f32", "i32", "u32"};
  const hx_op op = (hx_op)(HX_SUM + index_of(ops, HX_PROD - HX_SUM + 1, op_name));
  const hx_type type = (hx_type)(HX_F32 + index_of(types, 3, type_name));
  line.a = memory(n, 1), line.b = memory(n, 2);
  line.tasks = 1;
  tasks[0] = op == HX_DOT ? hx_dot(type, line.a, line.b, n, &value) : hx_reduce(op, type, line.a, n, &value);
}

/* False: there is no task in the text. */
static bool parse(const char *text) {
  char op[16], type[8];
  size_t n;
  int ld = 1;
  struct line *const l = &line;
  line = (struct line){.count = 1};
  if (sscanf(text, "%d %d %d %d %d %d", &l->m, &l->n, &l->k, &l->ta, &l->tb, &ld) >= 3)
    make_products(false, ld);
  else if (sscanf(text, "batch %d %d %d %d %d %d", &l->m, &l->n, &l->k, &l->count, &l->ta, &l->tb) >= 4)
    make_products(true, 1);
  else if (sscanf(text, "list %d %d %d %d", &l->m, &l->n, &l->k, &l->count) == 4 && l->count <= MOST_TASKS)
    make_products(false, 1);
  else if (sscanf(text, "reduce %15s %7s %zu", op, type, &n) == 3)
    make_reduction(op, type, n);
  return l->a != NULL;
}

int main(int argc, char **argv) {
  double seconds = 1, logs[MOST_WAYS][STATISTICS] = {{0}};
  size_t lines[MOST_WAYS] = {0};
  for (int o; (o = getopt(argc, argv, "s:b:")) != -1;) {
    if (o == 's') seconds = strtod(optarg, NULL);
    if (o == 'b') {
      void *const blas = open_library(optarg);
      find(blas, "cblas_sgemm", &sgemm);
      find(blas, "cblas_sgemm_batch_strided", &sgemm_batch);
    }
    if (o == '?') return 2;
  }
  if (argc - optind < 1 || argc - optind >= MOST_WAYS) fail("arguments", "one to seven libraries");
  for (int i = optind; i < argc; i++) add_build(argv[i]);
  const char *const threads = getenv("OMP_NUM_THREADS");
  one_thread = threads && strcmp(threads, "1") == 0;
  printf("task\tus\tleast of the others over it\tmedian\t95th percentile\n");
  for (char text[256]; fgets(text, sizeof text, stdin);) {
    double what[MOST_WAYS][STATISTICS];
    text[strcspn(text, "\n")] = '\0';
    if (!parse(text)) continue;
    const size_t ways = time_line(seconds, what);
    printf("%s\t%.3f", text, what[0][LEAST] * 1e6);
    for (int s = 0; s < STATISTICS; s++)
      for (size_t way = 1; way < ways; way++) printf("%c%.3f", way == 1 ? '\t' : ' ', what[way][s]);
    printf("\n");
    fflush(stdout);
    for (size_t way = 1; way < ways; lines[way++]++)
      for (int s = 0; s < STATISTICS; s++) logs[way][s] += log(what[way][s]);
    free(line.a), free(line.b), free(line.c);
  }
  printf("geometric means\t");
  for (int s = 0; s < STATISTICS; s++)
    for (size_t way = 1; way < MOST_WAYS && lines[way]; way++)
      printf("%c%.3f", way == 1 ? '\t' : ' ', exp(logs[way][s] / (double)lines[way]));
  printf("\n");
  for (size_t i = 0; i < build_count; i++) builds[i].close(builds[i].hx);
  return 0;
}
