/* SPDX-License-Identifier: Apache-2.0
 * Batches of products: every C has the bits of a call for its product alone, for shapes around each boundary of the
 * CPU's kernels, with matrices packed, apart, shared, interleaved or adjacent, any transposes, alpha and beta, and any
 * share of the devices. Nothing else is written. Then the errors, empty batches, and a batch in the background. Usage:
 * batch_test [devices [memory [cases [seed]]]] */
#include "reference/data.h"
#include "reference/ref.h"
#include "tests/check.h"

#define MOST_UNITS ((size_t)1 << 24) /* of a batch with random shape */
#define MOST_CELLS ((size_t)1 << 22) /* of an operand */
#define MOST_LAUNCHES 20             /* products of a batch that devices may take one by one: launches are slow */

static hx_context *hx;
static bool has_devices;
static uint64_t seed, drawn;

static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }
#define PICK(list) (list)[draw(sizeof(list) / sizeof((list)[0]))]

/* One operand: matrices of rows x cols stored elements, in memory with some elements around. */
typedef struct operand {
  size_t rows, cols, ld, stride, cells;
  float *block, *p;
} operand;

typedef enum layout { PACKED, APART, SHARED, INTERLEAVED, LAYOUTS } layout;

static operand make(size_t rows, size_t cols, size_t count, layout form, data_kind kind) {
  static const size_t gaps[] = {0, 0, 1, 5};
  operand o = {.rows = rows, .cols = cols, .ld = cols + PICK(gaps)};
  const size_t gap = PICK(gaps) + 1;
  o.stride = form == SHARED ? 0 : form == PACKED ? rows * o.ld : form == APART ? rows * o.ld + gap : cols;
  if (form == INTERLEAVED) o.ld = cols * count + gap - 1;
  o.cells = (rows - 1) * o.ld + cols + (count - 1) * o.stride;
  const size_t around = 1 + draw(16);
  o.block = malloc((o.cells + 32) * sizeof *o.block);
  data_fill(HX_F32, kind, seed + drawn, o.block, o.cells + 32);
  o.p = o.block + around;
  return o;
}

static float *copy_of(const operand *o) {
  float *const p = malloc((o->cells + 32) * sizeof *p);
  return memcpy(p, o->block, (o->cells + 32) * sizeof *p);
}

/* The batch as a loop of products into `block`, by the definition or by single calls. */
static void expect(const hx_task *t, float *c, bool by_definition) {
  for (size_t i = 0; i < t->batch.count; i++) {
    hx_task one = hx_matmul(0, 0, 0, NULL, NULL, NULL);
    one.matmul = t->matmul;
    one.matmul.a += i * t->batch.stride_a;
    one.matmul.b += i * t->batch.stride_b;
    one.matmul.c = c + i * t->batch.stride_c;
    if (by_definition)
      ref_matmul(&one.matmul);
    else
      CHECK_OK(hx_offload(hx, &one, NULL));
  }
}

static void check_report(const hx_report *r, uint64_t units) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < r->device_count; i++) sum += r->device[i].units;
  CHECK(sum == units, "%llu units, not %llu", (unsigned long long)sum, (unsigned long long)units);
  CHECK(r->chunks >= 1 && r->seconds > 0.0, "%u chunks, %g s", r->chunks, r->seconds);
}

static hx_status run(const hx_task *t, hx_report *report) {
  hx_event *event;
  if (draw(4)) return hx_offload(hx, t, report);
  const hx_status s = hx_offload_async(hx, t, &event);
  return s == HX_OK ? hx_wait(event, report) : s;
}

static void check_batch(size_t m, size_t n, size_t k, size_t count, const layout form[3]) {
  static const float shares[] = {-1, -1, 0, 0.5f, 1}, factors[] = {1, 1, 0, 0.37f, -2};
  const uint64_t at = drawn;
  const bool ta = draw(2), tb = draw(2), measured = draw(2);
  const data_kind kind = (data_kind)draw(DATA_KINDS);
  const operand a = make(ta ? k : m, ta ? m : k, count, form[0], kind);
  const operand b = make(tb ? n : k, tb ? k : n, count, form[1], kind);
  const operand c = make(m, n, count, form[2] == SHARED ? PACKED : form[2], kind);
  float *const wanted = copy_of(&c);
  hx_task t = hx_matmul_batched(m, n, k, a.p, a.stride, b.p, b.stride, c.p, c.stride, count);
  t.matmul.lda = a.ld, t.matmul.ldb = b.ld, t.matmul.ldc = c.ld;
  t.matmul.trans_a = ta, t.matmul.trans_b = tb;
  t.matmul.alpha = PICK(factors), t.matmul.beta = PICK(factors);
  t.gpu_share = PICK(shares);
  const bool apart = form[0] == INTERLEAVED || form[1] == INTERLEAVED || form[2] == INTERLEAVED;
  if (has_devices && apart && count > MOST_LAUNCHES) t.gpu_share = -1;
  hx_report report;
  expect(&t, wanted + (c.p - c.block), m * n * k * count < 20000);
  CHECK_OK(run(&t, measured ? &report : NULL));
  if (measured && t.matmul.alpha != 0) check_report(&report, (uint64_t)m * n * k * count);
  CHECK(memcmp(wanted, c.block, (c.cells + 32) * sizeof *wanted) == 0,
        "seed %llu, draw %llu: %zu of %zux%zux%zu, trans %d %d, layouts %d %d %d, alpha %g, beta %g, share %g",
        (unsigned long long)seed, (unsigned long long)at, count, m, n, k, ta, tb, (int)form[0], (int)form[1],
        (int)form[2], (double)t.matmul.alpha, (double)t.matmul.beta, (double)t.gpu_share);
  free(wanted);
  free(a.block);
  free(b.block);
  free(c.block);
}

static void check_random(void) {
  static const size_t sides[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12,  15,  16,  17,  23,  24,
                                 25, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 160, 161, 513};
  static const size_t counts[] = {1, 2, 3, 5, 10, 17, 100, 257, 1000};
  const size_t m = PICK(sides), n = PICK(sides), k = PICK(sides);
  size_t count = PICK(counts);
  const size_t most_units = MOST_UNITS / (m * n * k), largest = m > n ? m : n,
               most_cells = MOST_CELLS / (largest * (k > largest ? k : largest));
  if (count > most_units) count = most_units + 1;
  if (count > most_cells) count = most_cells + 1;
  const layout form[] = {(layout)draw(LAYOUTS), (layout)draw(LAYOUTS), (layout)draw(LAYOUTS)};
  check_batch(m, n, k, count, form);
}

/* On both sides of what one thread computes whole, and batches that are one product. */
static void check_boundaries(void) {
  static const layout packed[] = {PACKED, PACKED, PACKED}, rows[] = {PACKED, SHARED, PACKED},
                      columns[] = {SHARED, INTERLEAVED, INTERLEAVED};
  check_batch(256, 256, 256, 3, packed);
  check_batch(256, 256, 257, 3, packed);
  check_batch(50, 51, 50, 2, packed); /* one thread or two */
  check_batch(16, 16, 16, 31, packed);
  check_batch(16, 16, 16, 33, packed);
  check_batch(3, 3, 3, 10000, packed);
  check_batch(64, 40, 40, 50, rows);
  check_batch(40, 24, 40, 50, columns);
}

static float x[400], y[400], z[400];

#define REFUSED(text)                                                               \
  do {                                                                              \
    for (int cell = 0; cell < 400; cell++) z[cell] = 7.0f;                          \
    CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, text);             \
    for (int cell = 0; cell < 400; cell++) CHECK(z[cell] == 7.0f, "z was written"); \
  } while (0)

static void check_errors(void) {
  const hx_task right = hx_matmul_batched(3, 4, 5, x, 15, y, 20, z, 12, 6);
  hx_task t = right;
  CHECK_OK(hx_offload(hx, &t, NULL));
  t.batch.stride_c = 0;
  REFUSED("stride_c is 0");
  t.batch.stride_c = 11;
  REFUSED("stride_c is 11");
  t.batch.stride_c = SIZE_MAX / 16;
  REFUSED("c of 6 matrices with stride_c");
  t.batch.stride_c = SIZE_MAX / 20 - 100;
  REFUSED("wraps the address space");
  t = right;
  t.batch.stride_a = SIZE_MAX / 2;
  REFUSED("stride_a");
  t = right;
  t.batch.stride_b = SIZE_MAX / 5;
  REFUSED("stride_b");
  t = right;
  t.matmul.ldc = 25; /* six matrices of four columns, and one element to spare */
  t.batch.stride_c = 4;
  CHECK_OK(hx_offload(hx, &t, NULL));
  t.matmul.ldc = 23;
  REFUSED("share an element");
  t = hx_matmul_batched(3, 4, 5, z + 71, 15, y, 20, z, 12, 6);
  REFUSED("shares an element with a");
  t.matmul.a = z + 72;
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_matmul_batched(3, 4, 5, x, 0, z + 11, 0, z, 12, 6);
  REFUSED("shares an element with b");
  t = hx_matmul_batched(3, 4, 5, z, 40, x, 0, z + 15, 40, 6); /* one after the other: A, C, A, C */
  CHECK_OK(hx_offload(hx, &t, NULL));
  t.matmul.c = z + 14;
  REFUSED("shares an element with a");
  t.matmul.c = z + 29;
  REFUSED("shares an element with a");
  t = hx_matmul_batched(3, 4, 5, z + 15, 0, x, 0, z, 30, 6); /* one A between the first C and the second */
  REFUSED("lies between");
  t = hx_matmul_batched(3, 4, 5, z + 162, 0, x, 0, z, 30, 6); /* behind the last one */
  CHECK_OK(hx_offload(hx, &t, NULL));
  t.matmul.a = z + 161;
  REFUSED("shares an element with a");
  t = hx_matmul(3, 4, 5, x, y, z);
  t.batch.count = 1;
  REFUSED("reserved[0] of the task is 1");
  t.batch = (struct hx_batch){.stride_c = 12};
  REFUSED("only hx_matmul_batched has a batch");
  t = right;
  t.matmul.a = NULL;
  REFUSED("a is NULL");
  t = right;
  t.reserved[4] = 1;
  REFUSED("reserved[4]");
}

static void check_empty(void) {
  hx_task t = hx_matmul_batched(3, 4, 5, x, 15, z + 1, 20, z, 12, 0); /* B and C share none of their no elements */
  z[0] = 7.0f;
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(z[0] == 7.0f, "an empty batch wrote");
  t = hx_matmul_batched(3, 4, 5, NULL, 0, NULL, 0, NULL, 0, 0);
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_matmul_batched(0, 4, 5, NULL, 0, NULL, 0, NULL, 0, 9);
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_matmul_batched(3, 4, 0, NULL, SIZE_MAX, NULL, 3, z, 13, 6); /* A and B are not read */
  for (int i = 0; i < 400; i++) z[i] = 7.0f;
  CHECK_OK(hx_offload(hx, &t, NULL));
  for (int i = 0; i < 400; i++) {
    const bool inside = i < 77 && i % 13 < 12;
    CHECK(z[i] == (inside ? 0.0f : 7.0f), "z[%d] is %g", i, (double)z[i]);
  }
  t = hx_matmul_batched(3, 4, 5, x, 15, y, 20, z, 0, 1); /* strides of one product are not used */
  CHECK_OK(hx_offload(hx, &t, NULL));
}

int main(int argc, char **argv) {
  const hx_settings settings = {.devices = argc > 1 ? argv[1] : "cpu", .memory = argc > 2 ? argv[2] : NULL};
  const int cases = argc > 3 ? atoi(argv[3]) : 500;
  seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 20261126;
  has_devices = argc > 1;
  printf("seed %llu\n", (unsigned long long)seed);
  hx = open_or_exit(&settings);
  if (has_devices) CHECK_OK(hx_ready(hx));
  for (int i = 0; i < cases; i++) check_random();
  check_boundaries();
  check_errors();
  check_empty();
  hx_close(hx);
  return checks_end("batch_test");
}
