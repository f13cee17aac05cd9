/* SPDX-License-Identifier: Apache-2.0
 * Batches that a device computes: it gets whole products, as many as asked, many at once, and every C has
 * the bits of the definition. With gaps, shared operands, transposes, beta, more products than a launch has, long k;
 * and with operands and results that stay on the device. Usage: batch_device_test [DEVICE [memory]] */
#include "reference/data.h"
#include "reference/ref.h"
#include "tests/check.h"

static hx_context *hx;
static bool has_device;

typedef struct shape {
  size_t m, n, k, count;
  size_t gap; /* of each row and each matrix */
  bool trans_a, trans_b, same_a, same_b;
  float alpha, beta;
} shape;

/* A batch, and its operands without the products of the device. */
typedef struct batch {
  hx_task task;
  size_t cells[3]; /* of A, B and C, with gaps */
  float *p[3], *want;
} batch;

static batch make(const shape *s) {
  const size_t rows[] = {s->trans_a ? s->k : s->m, s->trans_b ? s->n : s->k, s->m};
  const size_t cols[] = {s->trans_a ? s->m : s->k, s->trans_b ? s->k : s->n, s->n};
  const bool same[] = {s->same_a, s->same_b, false};
  size_t ld[3], stride[3];
  batch b;
  for (int i = 0; i < 3; i++) {
    ld[i] = cols[i] + s->gap;
    stride[i] = same[i] ? 0 : rows[i] * ld[i] + s->gap;
    b.cells[i] = (s->count - 1) * stride[i] + rows[i] * ld[i];
    b.p[i] = hx_alloc(hx, b.cells[i] * sizeof(float));
    if (!b.p[i]) exit(1);
    data_fill(HX_F32, DATA_SIGNED, 7 + (uint64_t)i, b.p[i], b.cells[i]);
  }
  b.task = hx_matmul_batched(s->m, s->n, s->k, b.p[0], stride[0], b.p[1], stride[1], b.p[2], stride[2], s->count);
  b.task.matmul.lda = ld[0], b.task.matmul.ldb = ld[1], b.task.matmul.ldc = ld[2];
  b.task.matmul.trans_a = s->trans_a, b.task.matmul.trans_b = s->trans_b;
  b.task.matmul.alpha = s->alpha, b.task.matmul.beta = s->beta;
  b.want = malloc(b.cells[2] * sizeof(float));
  if (!b.want) exit(1);
  memcpy(b.want, b.p[2], b.cells[2] * sizeof(float));
  return b;
}

static void discard(const batch *b) {
  for (int i = 0; i < 3; i++) hx_free(hx, b->p[i]);
  free(b->want);
}

/* The definition, product by product. */
static void expect(const batch *b) {
  for (size_t i = 0; i < b->task.batch.count; i++) {
    struct hx_matmul_args one = b->task.matmul;
    one.a += i * b->task.batch.stride_a;
    one.b += i * b->task.batch.stride_b;
    one.c = b->want + i * b->task.batch.stride_c;
    ref_matmul(&one);
  }
}

static bool same(const batch *b) { return memcmp(b->want, b->p[2], b->cells[2] * sizeof(float)) == 0; }

static void check_shape(const shape *s, float share) {
  batch b = make(s);
  b.task.gpu_share = share;
  hx_report report;
  expect(&b);
  CHECK_OK(hx_offload(hx, &b.task, &report));
  CHECK(same(&b), "%zu of %zux%zux%zu, gap %zu, trans %d %d, same %d %d, beta %g, share %g", s->count, s->m, s->n, s->k,
        s->gap, s->trans_a, s->trans_b, s->same_a, s->same_b, (double)s->beta, (double)share);
  const double apart = report.gpu_share - (double)share; /* up to half a product */
  if (has_device)
    CHECK(apart * apart * (double)(s->count * s->count) <= 0.251, "the device's share is %g, not %g", report.gpu_share,
          (double)share);
  if (has_device && s->count > 1000) /* not one by one; how many there are depends on the load of the machine */
    CHECK(report.chunks < s->count / 10, "%zu of %zux%zux%zu: %u chunks", s->count, s->m, s->n, s->k, report.chunks);
  discard(&b);
}

static void check_shapes(void) {
  static const size_t sides[] = {1, 3, 16, 31, 32, 65, 130};
  for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
    for (unsigned form = 0; form < 16; form++) {
      const size_t m = sides[i], n = sides[(i + form) % 7], k = sides[(i + form / 3) % 7];
      const shape s = {.m = m,
                       .n = n,
                       .k = k,
                       .count = m * n * k > 100000 ? 3 : 17,
                       .gap = form % 3 == 2 && m > 1 && n > 1 && k > 1 ? 1 : 0,
                       .trans_a = form & 1,
                       .trans_b = form & 2,
                       .same_a = (form & 12) == 4,
                       .same_b = (form & 12) == 8,
                       .alpha = form % 5 == 4 ? -0.5f : 1.0f,
                       .beta = form % 4 == 3 ? 0.75f : 0.0f};
      check_shape(&s, 1.0f);
      check_shape(&s, 0.5f);
    }
  check_shape(&(shape){.m = 5, .n = 7, .k = 2100, .count = 3, .alpha = 1}, 1);
  check_shape(&(shape){.m = 2, .n = 3, .k = 4, .count = 70000, .alpha = 1, .beta = 1}, 1);
  check_shape(&(shape){.m = 2, .n = 3, .k = 4, .count = 70000, .alpha = 1}, 0.3f);
}

/* A and B stay on the device, and so does C, which is then the A of another batch, at last on the CPU; it is copied
 * when the CPU or hx_sync asks for it, gaps not included. */
static void check_resident(size_t side, size_t count, size_t gap) {
  const shape s = {.m = side, .n = side, .k = side, .count = count, .gap = gap, .alpha = 1, .beta = 0};
  batch b = make(&s), next = make(&s);
  for (int i = 0; i < 3; i++) {
    CHECK_OK(hx_advise(hx, b.p[i], b.cells[i] * sizeof(float), i < 2 ? HX_READ_MOSTLY : HX_RESIDENT));
    CHECK_OK(hx_advise(hx, next.p[i], next.cells[i] * sizeof(float), i < 2 ? HX_READ_MOSTLY : HX_RESIDENT));
  }
  b.task.gpu_share = next.task.gpu_share = 1;
  hx_report report;
  for (int call = 0; call < 3; call++) {
    if (call) b.task.matmul.beta = 0.5f; /* the C of the call before */
    expect(&b);
    CHECK_OK(hx_offload(hx, &b.task, &report));
    next.task.matmul.a = b.p[2];
    memcpy(next.p[0], b.want, b.cells[2] * sizeof(float)); /* what the definition reads */
    struct hx_matmul_args wanted = next.task.matmul;
    next.task.matmul.a = next.p[0];
    expect(&next);
    next.task.matmul = wanted;
    next.task.gpu_share = call < 2; /* The CPU has to get the result first. */
    CHECK_OK(hx_offload(hx, &next.task, &report));
  }
  CHECK_OK(hx_sync(hx, next.p[2], next.cells[2] * sizeof(float)));
  CHECK(same(&next), "%zu of %zu, gap %zu: the batch of a result differs", count, side, gap);
  CHECK_OK(hx_sync(hx, b.p[2], b.cells[2] * sizeof(float)));
  CHECK(same(&b), "%zu of %zu, gap %zu: the result differs", count, side, gap);
  discard(&b);
  discard(&next);
}

/* Results that only the device has survive a batch that writes every other one of them: 5 products, then 3 that are
 * twice as far apart. */
static void check_resident_between(void) {
  enum { SIDE = 8, CELLS = SIDE * SIDE, COUNT = 5 };
  const shape s = {.m = SIDE, .n = SIDE, .k = SIDE, .count = COUNT, .alpha = 1};
  batch b = make(&s);
  hx_report report;
  CHECK_OK(hx_advise(hx, b.p[2], b.cells[2] * sizeof(float), HX_RESIDENT));
  b.task.gpu_share = 1;
  expect(&b);
  CHECK_OK(hx_offload(hx, &b.task, &report));
  b.task.batch.count = 3, b.task.batch.stride_c = 2 * CELLS;
  b.task.matmul.alpha = -3;
  for (float share = 1; share >= 0; share -= 0.5f) {
    b.task.gpu_share = share;
    expect(&b);
    CHECK_OK(hx_offload(hx, &b.task, &report));
  }
  CHECK_OK(hx_sync(hx, b.p[2], b.cells[2] * sizeof(float)));
  CHECK(same(&b), "results between those of a batch are lost");
  discard(&b);
}

int main(int argc, char **argv) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  char devices[64];
  snprintf(devices, sizeof devices, "cpu,%s", argc > 1 ? argv[1] : "cpu");
  s.devices = devices;
  if (argc > 2) s.memory = argv[2];
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  hx_device_info info;
  has_device = hx_device(hx, 1, &info) == HX_OK && info.state == HX_USABLE;
  check_shapes();
  check_resident(16, 40, 0);
  check_resident(33, 5, 0);
  check_resident(20, 7, 3);
  check_resident_between();
  hx_close(hx);
  return checks_end("batch_device_test");
}
