/* SPDX-License-Identifier: Apache-2.0
 * Lists of tasks: every output has the bits of a call for its task alone, whatever the kinds and sizes of the others
 * and the share of the devices; nothing else is written. A list with a wrong task is refused whole, with the index of
 * the first one. A device does neighbours that are alike in few launches. Usage: many_test [devices [memory [lists
 * [seed]]]] */
#define _GNU_SOURCE
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reference/data.h"
#include "runtime/api/pass.h"
#include "runtime/api/pieces.h"
#include "runtime/base/thresholds.h"
#include "runtime/hx_map.h"
#include "tests/check.h"

#define MOST_TASKS 300
#define CELLS ((size_t)1 << 17) /* of the inputs, which all tasks share */
#define ROOM ((size_t)1 << 20)  /* cells of the outputs of a list */

static hx_context *hx;
static bool has_devices;
static uint64_t seed, drawn;
static float *inputs;
static hx_field fields[] = {
    {HX_SUM, HX_F32, NULL, NULL}, {HX_ARGMIN, HX_I32, NULL, NULL}, {HX_DOT, HX_U32, NULL, NULL}};

static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }
#define PICK(list) (list)[draw(sizeof(list) / sizeof((list)[0]))]

/* Outputs are cut from the front of this. */
typedef struct room {
  float *p;
  size_t used;
} room;

static void *take(room *r, size_t cells) {
  float *const p = r->p + r->used;
  r->used += cells + 2 * (1 + draw(3)); /* cells that must not change lie between; values stay aligned to 8 bytes */
  r->used += r->used % 2;
  CHECK(r->used <= ROOM, "the test needs more room");
  return p;
}

static hx_task product(room *r) {
  static const size_t sides[] = {1, 3, 8, 16, 17, 33, 64, 100};
  const size_t m = PICK(sides), n = PICK(sides), k = PICK(sides);
  hx_task t = hx_matmul(m, n, k, inputs + draw(99), inputs + 20000 + draw(99), take(r, m * n));
  t.matmul.trans_a = draw(2), t.matmul.trans_b = draw(2);
  t.matmul.beta = draw(2) ? 0.0f : 0.5f;
  return t;
}

static hx_task batch(room *r) {
  const size_t count = draw(20), m = 1 + draw(20), n = 1 + draw(20), k = draw(30);
  float *const c = take(r, m * n * count + 1);
  return hx_matmul_batched(m, n, k, inputs, m * k, inputs + 50000, draw(2) * k * n, c, m * n, count);
}

static hx_task reduction(room *r) {
  static const size_t lengths[] = {1, 2, 100, 127, 4096, 4097, 32768, 32769, 100000};
  hx_task t = hx_reduce((hx_op)(1 + draw(9)), (hx_type)(1 + draw(3)), inputs + draw(99), PICK(lengths), take(r, 2));
  t.reduce.y = inputs + draw(99);
  return t;
}

static hx_task structure(room *r) { return hx_reduce_soa(fields, 3, 1 + draw(9000), take(r, 6)); }

static hx_task lines(room *r) {
  const size_t rows = 1 + draw(60), columns = 1 + draw(300);
  hx_value *const out = take(r, 2 * (rows + columns));
  return draw(2) ? hx_reduce_rows(HX_SUM, HX_F32, inputs + draw(99), rows, columns, 0, out)
                 : hx_reduce_columns(HX_MAX, HX_I32, inputs + draw(99), rows, columns, 0, out);
}

static hx_task any_task(room *r) {
  hx_task (*const makers[])(room *) = {product, product, product, batch, reduction, reduction, structure, lines};
  static const float shares[] = {-1, -1, -1, -1, -1, -1, 0, 0.5f, 1};
  hx_task t = PICK(makers)(r);
  if (has_devices) t.gpu_share = PICK(shares);
  return t;
}

static float *new_room(void) {
  float *const p = malloc(ROOM * sizeof *p);
  for (size_t i = 0; i < ROOM; i++) p[i] = (float)(i % 100);
  return p;
}

/* Moves the output of a task by some bytes. */
static void move_output(hx_task *t, ptrdiff_t bytes) {
  const bool matmul = t->kind == HX_MATMUL || t->kind == HX_MATMUL_BATCHED;
  char *const p = matmul                     ? (char *)t->matmul.c
                  : t->kind == HX_REDUCE     ? (char *)t->reduce.out
                  : t->kind == HX_REDUCE_SOA ? (char *)t->soa.out
                                             : (char *)t->lines.out;
  void *const to = p + bytes;
  if (matmul) t->matmul.c = to;
  if (t->kind == HX_REDUCE) t->reduce.out = to;
  if (t->kind == HX_REDUCE_SOA) t->soa.out = to;
  if (t->kind == HX_REDUCE_LINES) t->lines.out = to;
}

static void check_list(void) {
  static const size_t counts[] = {1, 2, 3, 10, 50, MOST_TASKS};
  static hx_task tasks[MOST_TASKS];
  const uint64_t at = drawn;
  const size_t n = PICK(counts);
  float *const got = new_room(), *const wanted = new_room();
  room r = {.p = got};
  uint64_t units = 0, counted = 0;
  for (size_t i = 0; i < n && r.used < ROOM - 100000; i++) tasks[i] = any_task(&r);
  for (size_t i = 0; i < n; i++) {
    hx_task alone = tasks[i];
    hx_report one;
    move_output(&alone, (char *)wanted - (char *)got);
    CHECK_OK(hx_offload(hx, &alone, &one));
    for (uint32_t d = 0; d < one.device_count; d++) units += one.device[d].units;
  }
  hx_report report;
  CHECK_OK(hx_offload_many(hx, tasks, n, &report));
  CHECK(memcmp(got, wanted, ROOM * sizeof *got) == 0, "seed %llu, draw %llu: a list of %zu has other results",
        (unsigned long long)seed, (unsigned long long)at, n);
  for (uint32_t d = 0; d < report.device_count; d++) counted += report.device[d].units;
  CHECK(counted == units, "%llu units, not %llu", (unsigned long long)counted, (unsigned long long)units);
  CHECK(report.gpu_share >= 0 && report.gpu_share <= 1 && (has_devices || report.gpu_share == 0), "gpu_share %g",
        report.gpu_share);
  CHECK_OK(hx_offload_many(hx, tasks, n, NULL));
  free(got);
  free(wanted);
}

/* Thousands of tiny tasks: two threads or more. */
static void check_many(size_t count) {
  hx_task *const tasks = malloc(count * sizeof *tasks);
  hx_value *const out = calloc(count, sizeof *out);
  for (size_t i = 0; i < count; i++) tasks[i] = hx_reduce(HX_SUM, HX_U32, inputs + i % 1000, 1 + i % 50, &out[i]);
  hx_report report;
  CHECK_OK(hx_offload_many(hx, tasks, count, &report));
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t sum = 0;
    for (size_t j = 0; j <= i % 50; j++) {
      uint32_t bits;
      memcpy(&bits, inputs + i % 1000 + j, sizeof bits);
      sum += bits;
    }
    wrong += out[i].u64 != sum;
  }
  CHECK(wrong == 0, "%zu of %zu sums are wrong", wrong, count);
  for (size_t i = 0; i < count; i++) out[i].u64 = 5;
  for (size_t first = count; first > 1; first /= 3) {
    char words[32];
    tasks[first - 1].reduce.out = NULL;
    snprintf(words, sizeof words, "task %zu: out is NULL", first - 1);
    CHECK_REFUSED(hx_offload_many(hx, tasks, count, NULL), HX_INVALID_ARGUMENT, words);
  }
  wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += out[i].u64 != 5;
  CHECK(wrong == 0, "%zu outputs of refused lists were written", wrong);
  free(tasks);
  free(out);
}

/* One thread computes whole tasks of up to the limits if there are enough of them for all threads, and smaller ones if
 * there are few. */
static void check_limits(void) {
  for (const char *const *threads = (const char *const[]){"1", "2", "3", NULL}; *threads; threads++) {
    hx_settings s = HX_SETTINGS_DEFAULT;
    s.devices = "cpu";
    s.threads = *threads;
    hx_context *const own = open_or_exit(&s);
    const size_t enough = 4 * (size_t)atoi(*threads);
    for (size_t count = 1; count <= enough + 1; count++) {
      const hx__piece_limits most = hx__piece_limits_of(own, count);
      const size_t part = enough > 4 && count < enough ? count : enough;
      CHECK(most.units / (HX__PIECE_UNITS / enough) == part, "%zu tasks of up to %zu multiply-adds on %s threads",
            count, most.units, *threads);
      CHECK(most.elements / (HX__PIECE_ELEMENTS / enough) == part, "%zu tasks of up to %zu elements on %s threads",
            count, most.elements, *threads);
    }
    hx_close(own);
  }
}

/* Neighbours that differ in their arrays alone, at equal distances, among others that do not: a device does each such
 * part in one launch or a few, with the bits of single calls. */
static void check_alike(float share) {
  enum {
    PRODUCTS = 60,
    SUMS = 70,
    DOTS = 50,
    SIDE = 20,
    LENGTH = 5000, /* so that sums of one kind are enough for a device together */
    MOST = PRODUCTS + SUMS + DOTS + 4
  };
  static hx_task tasks[MOST];
  static hx_value got[MOST], wanted[MOST];
  float *const c = new_room(), *const want = new_room();
  const size_t cells = (size_t)SIDE * SIDE;
  size_t n = 0;
  tasks[n] = hx_reduce(HX_MAX, HX_F32, inputs, 777, &got[n]), n++;
  for (size_t i = 0; i < PRODUCTS; i++, n++) {
    tasks[n] = hx_matmul(SIDE, SIDE, SIDE, inputs + i * cells, inputs + 300 + i * 40, c + i * cells);
    tasks[n].matmul.beta = 0.5f;
  }
  tasks[n] = hx_matmul(SIDE, SIDE, SIDE, inputs, inputs, c + 100000), n++;
  for (size_t i = 0; i < SUMS; i++, n++) tasks[n] = hx_reduce(HX_SUM, HX_F32, inputs + i * 1000, LENGTH, &got[n]);
  for (size_t i = 0; i < DOTS; i++, n++)
    tasks[n] = hx_dot(HX_U32, inputs + i * 300, inputs + 5 + i * 600, LENGTH + LENGTH / 5, &got[n]);
  for (size_t i = 0; i < 2; i++, n++) tasks[n] = hx_reduce(HX_ARGMIN, HX_I32, inputs + 5 * i, 99, &got[n]);
  for (size_t i = 0; i < n; i++) {
    hx_task alone = tasks[i];
    alone.gpu_share = 0;
    const bool product = alone.kind == HX_MATMUL;
    move_output(&alone, product ? (char *)want - (char *)c : (char *)wanted - (char *)got);
    CHECK_OK(hx_offload(hx, &alone, NULL));
    tasks[i].gpu_share = share;
  }
  hx_report report;
  const hx_task right = tasks[37];
  tasks[37].matmul.a = NULL;
  CHECK_REFUSED(hx_offload_many(hx, tasks, n, &report), HX_INVALID_ARGUMENT, "task 37: a is NULL");
  tasks[37] = right;
  for (size_t i = 0; i < PRODUCTS * cells; i++) CHECK(c[i] == (float)(i % 100), "a refused list wrote element %zu", i);
  CHECK_OK(hx_offload_many(hx, tasks, n, &report));
  CHECK(memcmp(c, want, ROOM * sizeof *c) == 0 && memcmp(got, wanted, n * sizeof *got) == 0, "share %g: other results",
        (double)share);
  if (has_devices && share == 1.0f) CHECK(report.gpu_share > 0.9, "the device's part is %g", report.gpu_share);
  for (uint32_t d = 0; d < report.device_count; d++)
    CHECK(report.device[d].units > 0, "device %u is in the report and did nothing", report.device[d].index);
  free(c);
  free(want);
}

/* Arrays at equal distances, each alone in memory: the pages between them cannot be read. */
static void check_apart(void) {
  enum { COUNT = 6, SIDE = 32 };
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), each = page + (size_t)SIDE * SIDE * sizeof(float);
  char *p[3];
  hx_task tasks[2 * COUNT];
  hx_value sums[COUNT], want[COUNT];
  float product[SIDE * SIDE];
  for (int a = 0; a < 3; a++) {
    p[a] = mmap(NULL, COUNT * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p[a] != MAP_FAILED, "no memory");
    for (size_t i = 0; i < COUNT; i++)
      data_fill(HX_F32, DATA_SIGNED, i, (float *)(void *)(p[a] + i * each), (size_t)SIDE * SIDE);
    for (size_t i = 1; i <= COUNT; i++) mprotect(p[a] + i * each - page, page, PROT_NONE);
  }
  for (size_t i = 0; i < COUNT; i++) {
    float *const at[] = {(float *)(void *)(p[0] + i * each), (float *)(void *)(p[1] + i * each),
                         (float *)(void *)(p[2] + i * each)};
    tasks[i] = hx_matmul(SIDE, SIDE, SIDE, at[0], at[1], at[2]);
    tasks[COUNT + i] = hx_reduce(HX_SUM, HX_F32, at[0], (size_t)SIDE * SIDE, &sums[i]);
    if (has_devices) tasks[i].gpu_share = tasks[COUNT + i].gpu_share = 1.0f;
    const hx_task sum = hx_reduce(HX_SUM, HX_F32, at[0], (size_t)SIDE * SIDE, &want[i]);
    CHECK_OK(hx_offload(hx, &sum, NULL));
  }
  CHECK_OK(hx_offload_many(hx, tasks, 2 * COUNT, NULL));
  for (size_t i = 0; i < COUNT; i++) {
    hx_task one = tasks[i];
    one.matmul.c = product;
    one.gpu_share = 0;
    CHECK_OK(hx_offload(hx, &one, NULL));
    CHECK(memcmp(product, tasks[i].matmul.c, sizeof product) == 0 && sums[i].u64 == want[i].u64, "task %zu is wrong",
          i);
  }
  for (int a = 0; a < 3; a++) munmap(p[a], COUNT * each);
}

/* Neighbours that read the same large arrays, which the CPU computes in one pass: reductions, structures and
 * map-reduces, among tasks with other arrays or lengths, with the bits of single calls. */
static void check_pass(size_t n, int threads) {
  enum { TASKS = 90 };
  static const hx_kernel_source source = {
      .text = "x < limit ? x : y", .inputs = "float x, float y", .parameters = "float limit"};
  static hx_task tasks[TASKS];
  static hx_value got[3 * TASKS], wanted[3 * TASKS];
  char text[12];
  snprintf(text, sizeof text, "%d", threads);
  hx_settings settings = {.devices = has_devices ? "cpu,sim" : "cpu", .threads = text};
  hx_context *const own = open_or_exit(&settings);
  hx_kernel *kernel;
  float *const x = malloc(3 * (n + 9) * sizeof *x), *const y = x + n + 9, *const z = y + n + 9;
  const void *const xy[] = {x, y}, *const zy[] = {z, y};
  const hx_field own_fields[] = {{HX_SUM, HX_F32, x, NULL}, {HX_ARGMIN, HX_I32, y, NULL}, {HX_DOT, HX_U32, y, x}};
  hx_value limit = {.f32 = 0.25f};
  data_fill(HX_F32, DATA_SIGNED, seed, x, 3 * (n + 9));
  CHECK_OK(hx_compile(own, &source, &kernel));
  memset(got, 1, sizeof got);
  memset(wanted, 1, sizeof wanted);
  for (size_t i = 0; i < TASKS; i++) {
    hx_value *const out = &got[3 * i];
    const size_t kind = draw(6);
    tasks[i] = kind == 0   ? hx_reduce((hx_op)(1 + draw(8)), (hx_type)(1 + draw(3)), x, n, out)
               : kind == 1 ? hx_dot((hx_type)(1 + draw(3)), y, draw(2) ? x : z, n, out)
               : kind == 2 ? hx_map_reduce(draw(2) ? HX_SUM : HX_MAX, kernel, draw(3) ? xy : zy, n, &limit, out)
               : kind == 3 ? hx_reduce_soa(own_fields, 3, n, out)
               : kind == 4 ? hx_reduce(HX_SUM, HX_F32, x + draw(2), draw(2) ? n : n - draw(9), out)
                           : hx_reduce(HX_MIN, HX_F32, draw(9) ? x : z, draw(9) ? n : 99, out);
    if (tasks[i].kind == HX_REDUCE && tasks[i].reduce.op == HX_DOT) tasks[i].reduce.y = z;
    tasks[i].gpu_share = has_devices && draw(9) == 0 ? 0.5f : 0.0f;
    hx_task alone = tasks[i];
    if (alone.kind == HX_MAP)
      alone.map.out = &wanted[3 * i];
    else
      move_output(&alone, (char *)wanted - (char *)got);
    CHECK_OK(hx_offload(own, &alone, NULL));
  }
  hx_report report;
  CHECK_OK(hx_offload_many(own, tasks, TASKS, &report));
  CHECK(memcmp(got, wanted, sizeof got) == 0, "%zu elements, %d threads: other results", n, threads);
  CHECK(report.chunks > 0 && report.device_count > 0, "nothing is reported");
  memset(got, 1, sizeof got);
  tasks[TASKS - 1].gpu_share = NAN;
  CHECK_REFUSED(hx_offload_many(own, tasks, TASKS, NULL), HX_INVALID_ARGUMENT, "task 89: gpu_share");
  memset(wanted, 1, sizeof wanted);
  CHECK(memcmp(got, wanted, sizeof got) == 0, "a refused list wrote results");
  free(x);
  hx_kernel_free(kernel);
  hx_close(own);
}

/* Which tasks are a pass, and that none is if they have to go to a device. */
static void check_pass_found(void) {
  enum { N = 300000 };
  float *const x = calloc(2 * N, sizeof *x), *const y = x + N;
  hx_value out[5];
  hx_settings settings = {.devices = "cpu"};
  hx_context *const own = open_or_exit(&settings);
  hx_task tasks[] = {hx_reduce(HX_SUM, HX_F32, y, 99, &out[0]), hx_reduce(HX_SUM, HX_F32, x, N, &out[1]),
                     hx_dot(HX_F32, y, x, N, &out[2]), hx_reduce(HX_MAX, HX_F32, y, N, &out[3]),
                     hx_reduce(HX_MIN, HX_F32, y, N, &out[4])};
  hx__pass pass;
  CHECK(hx__find_pass(own, tasks, 5, 0, &pass) && pass.first == 1 && pass.count == 2, "the first pass");
  CHECK(hx__find_pass(own, tasks, 5, 3, &pass) && pass.first == 3 && pass.count == 2, "the second pass");
  CHECK(!hx__find_pass(own, tasks, 5, 4, &pass), "one task is a pass");
  hx_close(own);
  settings.offload = "mandatory";
  hx_context *const mandatory = open_or_exit(&settings);
  CHECK(!hx__find_pass(mandatory, tasks, 5, 0, &pass), "tasks that need a device are a pass");
  CHECK_REFUSED(hx_offload_many(mandatory, tasks + 1, 4, NULL), HX_DEVICE_FAILED, "mandatory");
  hx_close(mandatory);
  free(x);
}

static void check_errors(void) {
  hx_value out[3] = {{.u64 = 7}, {.u64 = 7}, {.u64 = 7}};
  hx_task t[3];
  for (int i = 0; i < 3; i++) t[i] = hx_reduce(HX_SUM, HX_F32, inputs, 10, &out[i]);
  CHECK_OK(hx_offload_many(hx, NULL, 0, NULL));
  CHECK_OK(hx_offload_many(hx, t, 0, NULL));
  CHECK_REFUSED(hx_offload_many(NULL, t, 3, NULL), HX_INVALID_ARGUMENT, "hx is NULL");
  CHECK_REFUSED(hx_offload_many(hx, NULL, 3, NULL), HX_INVALID_ARGUMENT, "tasks is NULL with n = 3");
  t[2].kind = (hx_kind)9;
  CHECK_REFUSED(hx_offload_many(hx, t, 3, NULL), HX_INVALID_ARGUMENT, "task 2: kind is 9");
  t[1].gpu_share = NAN;
  CHECK_REFUSED(hx_offload_many(hx, t, 3, NULL), HX_INVALID_ARGUMENT, "task 1: gpu_share");
  t[0] = hx_matmul_batched(2, 2, 2, inputs, 4, inputs, 4, (float *)(void *)out, 1, 2);
  CHECK_REFUSED(hx_offload_many(hx, t, 3, NULL), HX_INVALID_ARGUMENT, "task 0: stride_c is 1");
  for (int i = 0; i < 3; i++) CHECK(out[i].u64 == 7, "output %d was written", i);
}

int main(int argc, char **argv) {
  const hx_settings settings = {.devices = argc > 1 ? argv[1] : "cpu", .memory = argc > 2 ? argv[2] : NULL};
  const int lists = argc > 3 ? atoi(argv[3]) : 150;
  seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 20261126;
  has_devices = argc > 1;
  printf("seed %llu\n", (unsigned long long)seed);
  hx = open_or_exit(&settings);
  if (has_devices) CHECK_OK(hx_ready(hx));
  inputs = malloc(CELLS * sizeof *inputs);
  data_fill(HX_F32, DATA_SIGNED, seed, inputs, CELLS);
  for (int f = 0; f < 3; f++) fields[f].x = inputs + f, fields[f].y = inputs + 7;
  for (int i = 0; i < lists; i++) check_list();
  check_many(20000);
  check_many(3);
  check_alike(-1.0f);
  check_alike(1.0f);
  check_alike(0.5f);
  check_apart();
  for (int threads = 1; threads <= 3; threads++) {
    check_pass(300000, threads);
    check_pass(286721, threads); /* the last leaf has one element */
    check_pass(140000, threads);
  }
  check_pass_found();
  check_errors();
  check_limits();
  free(inputs);
  hx_close(hx);
  return checks_end("many_test");
}
