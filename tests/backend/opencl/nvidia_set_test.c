/* SPDX-License-Identifier: Apache-2.0
 * Products on a discrete GPU alone, by the programs of its set, compared with the CPU's: with and without panels,
 * transposed, with edges; shapes that differ in k alone; into a resident C with beta; batches. Waits until all programs
 * are ready. `nvidia_set_test busy`: programs are loaded from the cache even if all cores are busy. card_test.sh runs
 * it on a device that looks like such a GPU. */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "tests/check.h"
#include "reference/data.h"

#define BUSY_WAIT_S 150

static const struct shape {
  size_t m, n, k;
  bool trans_a, trans_b;
} shapes[] = {{64, 128, 64, false, false},  {200, 300, 77, false, false}, {64, 64, 2100, false, false},
              {128, 132, 520, true, false}, {70, 133, 40, true, false},   {65, 132, 33, false, true},
              {33, 30, 1030, true, true},   {1, 300, 1100, false, false}, {1, 301, 1541, false, true},
              {300, 1, 515, true, false},   {299, 1, 1030, false, false}, {3, 100, 1030, true, true},
              {130, 2, 700, true, true},    {70, 7, 1025, false, true},   {1, 1, 33, true, false},
              {1, 1, 1030, true, false},    {16, 68, 523, true, false},   {20, 70, 1040, false, true},
              {68, 31, 545, false, true},   {97, 259, 530, false, true},  {211, 131, 1029, false, true}};

static void multiply(hx_context *hx, const struct shape *s, const float *a, const float *b, float *c, float beta,
                     hx_report *report) {
  hx_task task = hx_matmul(s->m, s->n, s->k, a, b, c);
  task.matmul.beta = beta;
  task.matmul.trans_a = s->trans_a;
  task.matmul.trans_b = s->trans_b;
  task.matmul.lda = s->trans_a ? s->m : s->k;
  task.matmul.ldb = s->trans_b ? s->k : s->n;
  task.gpu_share = 1.0f;
  CHECK_OK(hx_offload(hx, &task, report));
}

/* C stays on the GPU from one product to the next; `want` is the C of the CPU. */
static void result_stays_on_card(hx_context *card, hx_context *cpu, const struct shape *s, const float *a,
                                 const float *b, float *want) {
  const size_t bytes = s->m * s->n * sizeof(float);
  float *const c = hx_alloc(card, bytes);
  if (!c) exit(1);
  memcpy(c, want, bytes);
  CHECK_OK(hx_advise(card, c, bytes, HX_RESIDENT));
  for (int i = 0; i < 2; i++) {
    hx_report report, unused;
    multiply(card, s, a, b, c, -0.5f, &report);
    multiply(cpu, s, a, b, want, -0.5f, &unused);
    CHECK(report.gpu_share == 1.0, "%zu x %zu x %zu: the card computed %g of the resident product", s->m, s->n, s->k,
          report.gpu_share);
  }
  CHECK(memcmp(c, want, bytes) != 0, "%zu x %zu x %zu: C reached the host before hx_sync", s->m, s->n, s->k);
  CHECK_OK(hx_sync(card, c, bytes));
  CHECK(memcmp(c, want, bytes) == 0, "%zu x %zu x %zu: C differs after hx_sync", s->m, s->n, s->k);
  hx_free(card, c);
}

/* Batches by each row for them, in all layouts, and larger ones by rows for single products. */
static void batches_on_card(hx_context *card, hx_context *cpu) {
  static const struct shape of[] = {{16, 16, 16, 0, 0}, {5, 16, 33, 1, 0},  {32, 32, 32, 0, 1},   {17, 30, 200, 1, 1},
                                    {48, 48, 48, 0, 0}, {33, 47, 20, 0, 1}, {64, 64, 64, 0, 0},   {64, 50, 513, 0, 0},
                                    {96, 96, 96, 0, 0}, {70, 90, 60, 1, 0}, {128, 128, 40, 0, 0}, {129, 65, 31, 1, 1}};
  for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
    const struct shape *const s = &of[i];
    const size_t count = 5, a_step = s->m * s->k, b_step = i % 3 ? s->k * s->n : 0, c_step = s->m * s->n;
    float *const a = malloc(count * a_step * sizeof *a), *const b = malloc(count * s->k * s->n * sizeof *b);
    float *const c = calloc(count * c_step, sizeof *c), *const want = calloc(count * c_step, sizeof *want);
    data_fill(HX_F32, DATA_EXPONENTS, 2 * i, a, count * a_step);
    data_fill(HX_F32, DATA_EXPONENTS, 2 * i + 1, b, count * s->k * s->n);
    hx_task task = hx_matmul_batched(s->m, s->n, s->k, a, a_step, b, b_step, c, c_step, count);
    task.matmul.trans_a = s->trans_a, task.matmul.trans_b = s->trans_b;
    task.matmul.beta = i % 2 ? 0.5f : 0.0f;
    task.gpu_share = 1.0f;
    hx_report report;
    CHECK_OK(hx_offload(card, &task, &report));
    CHECK(report.gpu_share == 1.0, "5 of %zu x %zu x %zu: the card computed %g", s->m, s->n, s->k, report.gpu_share);
    task.matmul.c = want;
    CHECK_OK(hx_offload(cpu, &task, NULL));
    CHECK(memcmp(c, want, count * c_step * sizeof *c) == 0, "5 of %zu x %zu x %zu: C differs", s->m, s->n, s->k);
    free(a);
    free(b);
    free(c);
    free(want);
  }
}

static void *try_idle_priority(void *refused) {
  *(bool *)refused = !hx__thread_set_idle_priority();
  return NULL;
}

/* All programs except the first one are built and tested on idle cores, so that times measured during that are valid.
 * */
static void in_the_background(hx_context *card) {
  bool refused;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, try_idle_priority, &refused) == 0 && pthread_join(thread, NULL) == 0,
        "no thread");
  if (refused) {
    puts("nvidia_set_test: SCHED_IDLE is refused here: whether threads yield is not tested");
    return;
  }
  float a[64] = {0}, b[64] = {0}, c[64];
  hx_task task = hx_matmul(8, 8, 8, a, b, c);
  task.gpu_share = 1.0f; /* the call asks for the GPU */
  CHECK_OK(hx_offload(card, &task, NULL));
  hx__device *const *list;
  CHECK(hx__registry_devices(&list) > 0, "no device");
  const uint64_t until = hx__now_ns() + 120000000000u;
  unsigned quiet = 0; /* not programs begun while the call waited; between two programs no thread is busy */
  while (quiet < 100 && !(atomic_load(&list[0]->ready) & HX__NEED_TILES) && hx__now_ns() < until) {
    hx__sleep_ns(1000000);
    quiet += !hx__registry_slows_cpu();
  }
  CHECK(quiet == 100, "threads were busy: only %u checks of 100 found none", quiet);
  /* A program that a call waits for is built by a thread with normal priority. */
  hx__prepare(list[0], HX__NEED_ALL);
  bool relieved = false;
  while (!relieved && hx__now_ns() < until) relieved = hx__registry_slows_cpu();
  CHECK(relieved, "no thread took over");
}

static void *spin_until_over(void *over) {
  while (!atomic_load((atomic_bool *)over)) {
  }
  return NULL;
}

static void *exit_if_too_slow(void *over) {
  for (int i = 0; i < BUSY_WAIT_S && !atomic_load((atomic_bool *)over); i++) hx__sleep_ns(1000000000u);
  if (atomic_load((atomic_bool *)over)) return NULL;
  printf("nvidia_set_test: hx_ready waits for over %d s beside busy threads\n", BUSY_WAIT_S);
  fflush(stdout);
  _exit(1);
}

/* Everything is in the cache, and the thread that loads the set stops when all cores become busy: a call that then
 * waits for a program still gets it. */
static void beside_busy_threads(hx_context *card) {
  hx__device *const *list;
  hx_device_count(card);
  CHECK(hx__registry_devices(&list) > 0, "no device");
  hx__prepare(list[0], HX__NEED_MATMUL);
  const uint64_t until = hx__now_ns() + 60000000000u;
  unsigned quiet = 0;
  while (quiet < 100 && !(atomic_load(&list[0]->ready) & HX__NEED_TILES) && hx__now_ns() < until) {
    hx__sleep_ns(1000000);
    quiet = atomic_load(&list[0]->ready) & HX__NEED_MATMUL && !hx__registry_slows_cpu() ? quiet + 1 : 0;
  }
  static atomic_bool over;
  static pthread_t thread[CPU_SETSIZE + 1];
  cpu_set_t mask;
  CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0, "no affinity");
  const int cores = CPU_COUNT(&mask);
  for (int i = 0; i <= cores; i++)
    CHECK(pthread_create(&thread[i], NULL, i ? spin_until_over : exit_if_too_slow, &over) == 0, "no thread");
  hx__sleep_ns(500000000u);
  CHECK_OK(hx_ready(card));
  atomic_store(&over, true);
  for (int i = 0; i <= cores; i++) pthread_join(thread[i], NULL);
}

int main(int argc, char **argv) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  hx_context *card, *cpu;
  settings.devices = "nvidia";
  settings.memory = "copy";    /* with copies a GPU keeps resident results */
  settings.timeout_ms = "off"; /* the device has the speed of a busy CPU and the deadlines of a card */
  CHECK_OK(hx_open(&card, &settings));
  if (argc > 1 && strcmp(argv[1], "busy") == 0) {
    beside_busy_threads(card);
    hx_close(card);
    return checks_end("nvidia_set_test");
  }
  settings.devices = "cpu";
  CHECK_OK(hx_open(&cpu, &settings));
  in_the_background(card);
  CHECK_OK(hx_ready(card)); /* hx_ready waits, so a thread with normal priority takes over. */
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const struct shape *const s = &shapes[i];
    float *const a = malloc(s->m * s->k * sizeof *a), *const b = malloc(s->k * s->n * sizeof *b);
    float *const c = calloc(s->m * s->n, sizeof *c), *const want = calloc(s->m * s->n, sizeof *want);
    data_fill(HX_F32, DATA_EXPONENTS, 2 * i, a, s->m * s->k);
    data_fill(HX_F32, DATA_EXPONENTS, 2 * i + 1, b, s->k * s->n);
    hx_report report, unused;
    multiply(card, s, a, b, c, 0.0f, &report);
    multiply(cpu, s, a, b, want, 0.0f, &unused);
    CHECK(report.gpu_share == 1.0, "%zu x %zu x %zu: the card computed %g of it", s->m, s->n, s->k, report.gpu_share);
    CHECK(memcmp(c, want, s->m * s->n * sizeof *c) == 0, "%zu x %zu x %zu: C differs", s->m, s->n, s->k);
    result_stays_on_card(card, cpu, s, a, b, want);
    free(a);
    free(b);
    free(c);
    free(want);
  }
  batches_on_card(card, cpu);
  hx_close(card);
  hx_close(cpu);
  return checks_end("nvidia_set_test");
}
