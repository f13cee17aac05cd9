/* SPDX-License-Identifier: Apache-2.0
 * Threads that share one matrix with advice, each with columns of its own: products, batches, sums of rows and columns,
 * and hx_sync have the results of a context without devices, whatever the neighbours do.
 *     neighbours_test [DEVICE [ROUNDS [SEED]]]      default: sim */
#include <pthread.h>
#include <stdint.h>

#include "reference/data.h"
#include "tests/check.h"

enum { THREADS = 3, WIDTH = 16, ROWS = 48, LD = THREADS * WIDTH + 5, INPUTS = 4096, TOGETHER = 16 };

static hx_context *hx, *cpu;
static float *shared, *want; /* the matrix, and the same without devices */
static float inputs[INPUTS];
static size_t rounds;
static uint64_t seed;
static pthread_barrier_t barrier;

/* A thread, and its columns: `mine` of the shared matrix, and `right` of the other one. */
typedef struct neighbour {
  uint64_t state;
  size_t number;
  float *mine, *right;
  float share;
} neighbour;

static size_t below(neighbour *t, size_t n) {
  t->state = t->state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(t->state >> 33) % n;
}

static void do_both(const neighbour *t, hx_task task, hx_task same) {
  task.gpu_share = t->share;
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK_OK(hx_offload(cpu, &same, NULL));
}

/* A product into some of the columns, of inputs or of a narrow block that the thread has made before. */
static void multiply(neighbour *t) {
  enum { NARROW = 4 };
  const size_t row = 2 * below(t, ROWS / 4), m = 2 + below(t, 20), n = WIDTH - NARROW * below(t, 2);
  const size_t from = below(t, ROWS - m);
  const bool own = n == WIDTH - NARROW && below(t, 2);
  const float *const b = inputs + below(t, 100), *const a = inputs + below(t, 100);
  hx_task task = hx_matmul(m, n, NARROW, own ? t->mine + from * LD + n : a, b, t->mine + row * LD), same;
  task.matmul.lda = own ? LD : NARROW;
  task.matmul.ldc = LD;
  task.matmul.alpha = 0.25f;
  task.matmul.beta = below(t, 3) ? 0.0f : 0.5f;
  same = task;
  same.matmul.c = t->right + row * LD;
  if (own) same.matmul.a = t->right + from * LD + n;
  do_both(t, task, same);
}

static void multiply_batch(const neighbour *t) {
  hx_task task = hx_matmul_batched(8, WIDTH, 4, inputs, 0, inputs + 50, 7, t->mine, (size_t)8 * LD, ROWS / 8), same;
  task.matmul.ldc = LD;
  same = task;
  same.matmul.c = t->right;
  do_both(t, task, same);
}

static void sum(const neighbour *t, bool rows) {
  hx_value got[ROWS], right[ROWS];
  const size_t sums = rows ? ROWS : WIDTH;
  if (rows)
    do_both(t, hx_reduce_rows(HX_SUM, HX_F32, t->mine, ROWS, WIDTH, LD, got),
            hx_reduce_rows(HX_SUM, HX_F32, t->right, ROWS, WIDTH, LD, right));
  else
    do_both(t, hx_reduce_columns(HX_SUM, HX_F32, t->mine, ROWS, WIDTH, LD, got),
            hx_reduce_columns(HX_SUM, HX_F32, t->right, ROWS, WIDTH, LD, right));
  CHECK(memcmp(got, right, sums * sizeof *got) == 0, "thread %zu: other sums of %s", t->number,
        rows ? "rows" : "columns");
}

static void sync_rows(const neighbour *t) {
  for (size_t i = 0; i < ROWS; i++) {
    CHECK_OK(hx_sync(hx, t->mine + i * LD, WIDTH * sizeof *shared));
    CHECK(memcmp(t->mine + i * LD, t->right + i * LD, WIDTH * sizeof *shared) == 0, "thread %zu: row %zu differs",
          t->number, i);
  }
}

/* All threads meet, and one compares all columns. */
static void compare_all(const neighbour *t) {
  pthread_barrier_wait(&barrier);
  if (t->number == 0) {
    CHECK_OK(hx_sync(hx, shared, ROWS * LD * sizeof *shared));
    size_t wrong = 0;
    for (size_t i = 0; i < (size_t)ROWS * LD; i++) wrong += memcmp(&shared[i], &want[i], sizeof *shared) != 0;
    CHECK(wrong == 0, "%zu elements are wrong", wrong);
  }
  pthread_barrier_wait(&barrier);
}

static void *work(void *arg) {
  static const float shares[] = {1.0f, 1.0f, 0.0f, 0.5f};
  neighbour *const t = arg;
  for (size_t round = 0; round < rounds; round++) {
    const bool brings_all = round / TOGETHER % 4 == 3; /* otherwise results stay on the device for long */
    const size_t kind = below(t, 8);
    t->share = shares[below(t, 4)];
    if (kind < 4)
      multiply(t);
    else if (kind < 6)
      sum(t, kind == 4);
    else if (brings_all && kind == 6)
      multiply_batch(t);
    else if (brings_all)
      sync_rows(t);
    if (round % TOGETHER == TOGETHER - 1) compare_all(t);
  }
  return NULL;
}

static void open_contexts(const char *device) {
  char list[64];
  hx_settings s = HX_SETTINGS_DEFAULT;
  snprintf(list, sizeof list, "cpu,%s", device);
  s.devices = list;
  s.memory = "copy";
  s.threads = "1";
  if (strcmp(device, "sim") == 0)
    s.sim = seed % 4 < 2 ? "rate=1e10,latency_us=5" : "rate=1e10,latency_us=5;rate=2e10,latency_us=3";
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  s.devices = "cpu";
  s.memory = s.sim = NULL;
  cpu = open_or_exit(&s);
}

int main(int argc, char **argv) {
  rounds = argc > 2 ? strtoull(argv[2], NULL, 0) : 3200;
  seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 20261128;
  printf("  seed %llu\n", (unsigned long long)seed);
  open_contexts(argc > 1 ? argv[1] : "sim");
  shared = hx_alloc(hx, ROWS * LD * sizeof *shared);
  want = malloc(ROWS * LD * sizeof *want);
  if (!shared || !want) exit(1);
  data_fill(HX_F32, DATA_SIGNED, 1, shared, ROWS * LD);
  data_fill(HX_F32, DATA_SIGNED, 2, inputs, INPUTS);
  memcpy(want, shared, ROWS * LD * sizeof *want);
  CHECK_OK(hx_advise(hx, shared, ROWS * LD * sizeof *shared, seed % 2 ? HX_RESIDENT : HX_RESIDENT | HX_READ_MOSTLY));
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_t thread[THREADS];
  neighbour own[THREADS];
  for (size_t i = 0; i < THREADS; i++) {
    own[i] = (neighbour){
        .state = seed * 77 + i, .number = i, .mine = shared + i * WIDTH, .right = want + i * WIDTH, .share = 0.0f};
    if (pthread_create(&thread[i], NULL, work, &own[i]) != 0) exit(1);
  }
  for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&barrier);
  hx_free(hx, shared);
  hx_close(cpu);
  hx_close(hx);
  free(want);
  return checks_end("neighbours_test");
}
