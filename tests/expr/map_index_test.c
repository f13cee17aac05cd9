/* SPDX-License-Identifier: Apache-2.0
 * index and row in the text of a user kernel: a text that uses index has the bits of the same text with an array of the
 * numbers 0, 1, 2 and so on in its place, on the CPU and with any share of a device, in the background, in lists of
 * short tasks and of tasks that read the same arrays, without any array, and behind 2^32 elements.
 * Usage: map_index_test [DEVICES [MEMORY]] */
#include <stdlib.h>

#include "reference/data.h"
#include "runtime/hx_map.h"
#include "tests/check.h"

enum { N = 150001, SHORT = 300, TASKS = 12 };

static const float shares[] = {-1, 0, 0.3f, 1};
static hx_context *hx;
static unsigned shared;
static float *x, *got, *want;
static uint32_t *numbers;

/* The same text with index, and with an input of that name. */
typedef struct pair {
  hx_kernel *counted, *read;
} pair;

static const char *const texts[] = {
    "p * (float)index + x",
    "index % 3u == 1u || index > 140000u ? x : 0.0f",
    "x * (0.5f - 0.5f * cosf(p * (float)index))",
    "unsigned h = index ^ index >> 16; unsigned g = h * 0x45d9f3bu; unsigned k = (g ^ g >> 15) * 0x2c1b3c6du;"
    " (float)(k >> 8) * 0x1p-24f - x * p",
    "float index2 = (float)index; index2 * index2 - x",
};
enum { TEXTS = sizeof texts / sizeof texts[0] };

static hx_kernel *compile(const char *text, const char *inputs, const char *parameters) {
  const hx_kernel_source source = {.text = text, .inputs = inputs, .parameters = parameters};
  hx_kernel *k = NULL;
  CHECK_OK(hx_compile(hx, &source, &k));
  if (!k) exit(1);
  return k;
}

static void offload(hx_task *task, float share) {
  static unsigned calls;
  hx_event *event;
  hx_report report;
  task->gpu_share = share;
  if (calls++ % 3) {
    CHECK_OK(hx_offload(hx, task, &report));
  } else {
    CHECK_OK(hx_offload_async(hx, task, &event));
    CHECK_OK(hx_wait(event, &report));
  }
  shared += report.gpu_share > 0;
  /* Bits of a device that are wrong are computed again. Without a share, so is a chunk that is late. */
  CHECK(share < 0 || report.recovered == 0, "%u chunks were recovered", report.recovered);
}

static void check_pair(const pair *k, const char *text) {
  static const hx_op ops[] = {HX_SUM, HX_ARGMAX, HX_MIN, HX_SUM_SQUARES};
  static const size_t sizes[] = {1, 7, 64, 4095, 4097, 20000, N};
  const void *inputs[] = {x, numbers};
  const hx_value p = {.f32 = 0.0123f};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes && checks_failed < 5; s++) {
    const size_t n = sizes[s];
    hx_task map = hx_map(k->read, inputs, n, &p, want);
    CHECK_OK(hx_offload(hx, &map, NULL));
    for (int repeat = 0; repeat < 4; repeat++) {
      memset(got, 0xa5, N * sizeof *got);
      map = hx_map(k->counted, inputs, n, &p, got);
      offload(&map, shares[repeat]);
      CHECK(!memcmp(got, want, n * sizeof *got), "map of %zu: %s", n, text);
    }
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
      hx_value a, b;
      hx_task reduce = hx_map_reduce(ops[o], k->counted, inputs, n, &p, &a);
      offload(&reduce, shares[(s + o) % 4]);
      reduce = hx_reduce(ops[o], HX_F32, want, n, &b);
      CHECK_OK(hx_offload(hx, &reduce, NULL));
      CHECK(a.u64 == b.u64, "op %d of %zu is %llx, not %llx: %s", ops[o], n, (unsigned long long)a.u64,
            (unsigned long long)b.u64, text);
    }
  }
}

/* Short tasks, which a thread computes whole, and long ones that read one array, of which leaves take turns. */
static void check_lists(const pair *k, const char *text) {
  const hx_value p = {.f32 = 0.0123f};
  hx_task tasks[TASKS];
  const void *inputs[TASKS][2];
  hx_value a[TASKS], b[TASKS];
  for (int i = 0; i < TASKS; i++) {
    inputs[i][0] = x + SHORT * i, inputs[i][1] = numbers;
    tasks[i] = hx_map(k->counted, inputs[i], SHORT, &p, got + SHORT * i);
  }
  CHECK_OK(hx_offload_many(hx, tasks, TASKS, NULL));
  for (int i = 0; i < TASKS; i++) tasks[i] = hx_map(k->read, inputs[i], SHORT, &p, want + SHORT * i);
  CHECK_OK(hx_offload_many(hx, tasks, TASKS, NULL));
  CHECK(!memcmp(got, want, sizeof *got * SHORT * TASKS), "%d short tasks: %s", TASKS, text);
  for (int i = 0; i < TASKS; i++) {
    inputs[i][0] = x;
    tasks[i] = hx_map_reduce(i % 2 ? HX_SUM : HX_MAX, k->counted, inputs[i], N, &p, &a[i]);
  }
  CHECK_OK(hx_offload_many(hx, tasks, TASKS, NULL));
  for (int i = 0; i < TASKS; i++) tasks[i] = hx_map_reduce(i % 2 ? HX_SUM : HX_MAX, k->read, inputs[i], N, &p, &b[i]);
  CHECK_OK(hx_offload_many(hx, tasks, TASKS, NULL));
  for (int i = 0; i < TASKS; i++) CHECK(a[i].u64 == b[i].u64, "task %d of a list: %s", i, text);
}

/* A text without arrays: the numbers themselves, and those behind 2^32, which a device has if there is one. */
static void check_without_arrays(void) {
  enum { LAST = 70000 };
  const size_t n = ((size_t)1 << 32) + LAST;
  hx_kernel *const k = compile("index", NULL, NULL), *const first =
                                                         compile("index < 70000u ? index + 1u : 0u", NULL, NULL);
  uint32_t *const out = (uint32_t *)(void *)got;
  for (int repeat = 0; repeat < 4; repeat++) {
    hx_task map = hx_map(k, NULL, N, NULL, out);
    memset(out, 0xa5, N * sizeof *out);
    offload(&map, shares[repeat]);
    CHECK(!memcmp(out, numbers, N * sizeof *out), "index alone");
  }
  hx_value sum;
  hx_task reduce = hx_map_reduce(HX_SUM, first, NULL, n, NULL, &sum);
  offload(&reduce, 0.001f);
  CHECK(sum.u64 == (uint64_t)LAST * (LAST + 1), "the sum behind 2^32 elements is %llu", (unsigned long long)sum.u64);
  hx_kernel_free(k);
  hx_kernel_free(first);
}

/* The number of a row is 0 in a task without rows, and a declared name is no such number. */
static void check_names(void) {
  static const struct {
    const char *text, *inputs, *parameters;
    uint32_t value;
  } cases[] = {{"row + 7u", NULL, NULL, 7},
               {"row", "unsigned row", NULL, 50},
               {"index", "unsigned x, row unsigned index", NULL, 50},
               {"row + index", NULL, "unsigned index, unsigned row", 11},
               {"unsigned index = 5u; unsigned row = index; row", NULL, NULL, 5}};
  const uint32_t fifty[] = {50};
  const void *const inputs[] = {fifty, fifty};
  const hx_value parameters[] = {{.u32 = 5}, {.u32 = 6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hx_kernel *const k = compile(cases[i].text, cases[i].inputs, cases[i].parameters);
    uint32_t out = 0;
    const hx_task map = hx_map(k, inputs, 1, parameters, &out);
    CHECK_OK(hx_offload(hx, &map, NULL));
    CHECK(out == cases[i].value, "%s is %u, not %u", cases[i].text, out, cases[i].value);
    hx_kernel_free(k);
  }
}

int main(int argc, char **argv) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = argc > 1 ? argv[1] : "cpu";
  s.memory = argc > 2 ? argv[2] : NULL;
  hx = open_or_exit(&s);
  x = malloc(N * sizeof *x), got = malloc(N * sizeof *got), want = malloc(N * sizeof *want);
  numbers = malloc(N * sizeof *numbers);
  if (!x || !got || !want || !numbers) exit(1);
  for (uint32_t i = 0; i < N; i++) numbers[i] = i;
  data_fill(HX_F32, DATA_SIGNED, 3, x, N);
  for (size_t t = 0; t < TEXTS && checks_failed < 5; t++) {
    const pair k = {compile(texts[t], "float x", "float p"), compile(texts[t], "float x, unsigned index", "float p")};
    check_pair(&k, texts[t]);
    check_lists(&k, texts[t]);
    hx_kernel_free(k.counted);
    hx_kernel_free(k.read);
  }
  check_without_arrays();
  check_names();
  printf("map_index_test: devices took part in %u tasks\n", shared);
  CHECK(shared || !strcmp(s.devices, "cpu"), "devices did nothing");
  free(x), free(got), free(want), free(numbers);
  hx_close(hx);
  return checks_end("map_index_test");
}
