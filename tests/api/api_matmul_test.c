/* SPDX-License-Identifier: Apache-2.0
 * The arguments of products: refusals that leave C unchanged, empty shapes, operands that are not read, and which
 * overlaps are accepted. On the CPU alone. */
#include <math.h>
#include <stdint.h>

#include "tests/check.h"
#include "reference/ref.h"

enum { SIDE = 16, CELLS = SIDE * SIDE };

static hx_context *hx;
static float a[CELLS], b[CELLS], c[CELLS];

static void fill_matrices(void) {
  for (int i = 0; i < CELLS; i++) a[i] = (float)(i % 7), b[i] = (float)(i % 5), c[i] = -1;
}

static void expect_refusal(const hx_task *task, const char *text, int line) {
  hx_event *event = NULL;
  unsigned failed = checks_failed;
  fill_matrices();
  CHECK_REFUSED(hx_offload(hx, task, NULL), HX_INVALID_ARGUMENT, text);
  CHECK_REFUSED(hx_offload_async(hx, task, &event), HX_INVALID_ARGUMENT, text);
  CHECK(event == NULL, "an event was made");
  for (int i = 0; i < CELLS; i++)
    CHECK(c[i] == -1 && a[i] == (float)(i % 7) && b[i] == (float)(i % 5), "element %d was written", i);
  if (checks_failed != failed) printf("  (case of line %d)\n", line);
}
#define REFUSED(task, text) expect_refusal(&(task), text, __LINE__)

static void bad_pointers(void) {
  hx_task t = hx_matmul(4, 4, 4, NULL, b, c);
  REFUSED(t, "a");
  t = hx_matmul(4, 4, 4, a, NULL, c);
  REFUSED(t, "b");
  t = hx_matmul(4, 4, 4, a, b, NULL);
  REFUSED(t, "c");
  const float *odd = (const float *)(const void *)((const char *)a + 2);
  t = hx_matmul(4, 4, 4, odd, b, c);
  REFUSED(t, "aligned");
  t = hx_matmul(4, 4, 4, a, odd, c);
  REFUSED(t, "aligned");
  t = hx_matmul(4, 4, 4, a, b, (float *)(void *)((char *)c + 1));
  REFUSED(t, "aligned");
  t = hx_matmul(4, 4, 4, a, b, c);
  t.gpu_share = NAN;
  REFUSED(t, "gpu_share");
  t = hx_matmul(4, 4, 4, a, b, c);
  t.reserved[7] = UINT64_C(1) << 63;
  REFUSED(t, "reserved[7]");
}

/* A leading dimension one less than what a stored row holds. */
static void bad_leading_dimensions(void) {
  static const struct {
    bool trans_a, trans_b;
    size_t lda, ldb, ldc; /* the leading dimensions of a 3 x 5 x 7 product */
    const char *name;
  } rows[] = {{false, false, 6, 0, 0, "lda"}, {true, false, 2, 0, 0, "lda"},  {false, false, 0, 4, 0, "ldb"},
              {false, true, 0, 6, 0, "ldb"},  {false, false, 0, 0, 4, "ldc"}, {true, true, 3, 7, 4, "ldc"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    hx_task t = hx_matmul(3, 5, 7, a, b, c);
    t.matmul.trans_a = rows[i].trans_a;
    t.matmul.trans_b = rows[i].trans_b;
    t.matmul.lda = rows[i].lda;
    t.matmul.ldb = rows[i].ldb;
    t.matmul.ldc = rows[i].ldc;
    REFUSED(t, rows[i].name);
  }
}

static void overflowing_shapes(void) {
  static const size_t shapes[][3] = {{SIZE_MAX, 2, 2},
                                     {2, SIZE_MAX, 2},
                                     {2, 2, SIZE_MAX},
                                     {SIZE_MAX / 4 + 1, 1, 1},
                                     {1, SIZE_MAX / 4 + 1, 1},
                                     {1, 1, SIZE_MAX / 4 + 1},
                                     {(size_t)1 << 32, (size_t)1 << 32, 1},
                                     {(size_t)1 << 31, 1, (size_t)1 << 31}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    hx_task t = hx_matmul(shapes[i][0], shapes[i][1], shapes[i][2], a, b, c);
    REFUSED(t, "overflow");
  }
  hx_task t = hx_matmul(4, 4, 4, a, b, c);
  t.matmul.lda = SIZE_MAX / 4;
  REFUSED(t, "a");
  t = hx_matmul(4, 4, 4, a, b, c);
  t.matmul.ldc = SIZE_MAX;
  REFUSED(t, "c");
}

static void overlaps_are_refused(void) {
  hx_task t = hx_matmul(4, 4, 4, a, b, a);
  REFUSED(t, "a");
  t = hx_matmul(4, 4, 4, a, b, b);
  REFUSED(t, "b");
  t = hx_matmul(4, 4, 4, a, b, a + 15); /* the last element of A */
  REFUSED(t, "a");
  t = hx_matmul(4, 4, 4, a + 15, b, a);
  REFUSED(t, "a");
  t = hx_matmul(4, 4, 4, a, b, b);
  t.matmul.ldb = t.matmul.ldc = SIDE;
  t.matmul.c = b + 3; /* column 3 of B is column 0 of C */
  REFUSED(t, "b");
  t.matmul.c = b + SIDE - 1; /* C runs over the end of B's rows into the next ones */
  REFUSED(t, "b");

  t = hx_matmul(4, 4, 4, a, b, a + 5);
  t.matmul.lda = 7;
  t.matmul.ldc = 11; /* C begins in a gap of A; its second row begins at 16, in the third row of A */
  REFUSED(t, "a");
  t.matmul.ldc = 28; /* each row of C reaches into the next row of A */
  REFUSED(t, "a");

  t = hx_matmul(4, 4, 4, a, a, c); /* inputs may be one array */
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_matmul(4, 4, 4, a, b, a + 16); /* C directly follows A */
  fill_matrices();
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_matmul(4, 4, 4, a, b, a + 4); /* in the gaps of A, whose rows are half as far apart */
  t.matmul.lda = 8;
  t.matmul.ldc = 16;
  fill_matrices();
  CHECK_OK(hx_offload(hx, &t, NULL));
}

/* A, B and C as columns of one wider matrix: no element is shared. */
static void columns_of_one_matrix(void) {
  float wide[8 * SIDE], want[8 * SIDE];
  for (int i = 0; i < 8 * SIDE; i++) want[i] = wide[i] = (float)(i % 11);
  hx_task t = hx_matmul(5, 4, 5, wide, wide + 5, wide + 9);
  t.matmul.lda = t.matmul.ldb = t.matmul.ldc = SIDE;
  t.matmul.beta = 1;
  struct hx_matmul_args reference = t.matmul;
  reference.a = want;
  reference.b = want + 5;
  reference.c = want + 9;
  ref_matmul(&reference);
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(memcmp(wide, want, sizeof wide) == 0, "columns 9 to 12 are not the product, or others were written");
}

static void empty_shapes(void) {
  static const struct {
    size_t m, n, k;
    float alpha, beta, want; /* want: each element of C afterwards; all are -1 before */
  } rows[] = {{0, 4, 4, 1, 0, -1},
              {4, 0, 4, 1, 0, -1},
              {0, 0, 0, 1, 1, -1},
              {4, 4, 0, 1, 0, 0},
              {4, 4, 0, 1, 2, -2},
              {4, 4, 3, 0, 0, 0},
              {4, 4, 3, 0, 0.5f, -0.5f},
              {4, 4, 3, -0.0f, 0, 0},
              {4, 4, 0, NAN, 1, -1},
              /* nothing is touched, so no extent is too large */
              {0, 4, SIZE_MAX, 1, 0, -1},
              {4, 0, SIZE_MAX / 4 + 1, 1, 0, -1},
              {0, SIZE_MAX, SIZE_MAX, 1, 1, -1},
              {SIZE_MAX, 0, 4, 1, 1, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fill_matrices();
    hx_task t = hx_matmul(rows[i].m, rows[i].n, rows[i].k, NULL, NULL, rows[i].m && rows[i].n ? c : NULL);
    t.matmul.alpha = rows[i].alpha;
    t.matmul.beta = rows[i].beta;
    hx_report report;
    CHECK_OK(hx_offload(hx, &t, &report));
    for (size_t j = 0; j < rows[i].m * rows[i].n; j++)
      CHECK(ref_bits(c[j]) == ref_bits(rows[i].want), "row %zu, element %zu: %g", i, j, (double)c[j]);
    CHECK(c[CELLS - 1] == -1, "row %zu wrote past C", i);
  }
  fill_matrices();
  hx_task t = hx_matmul(0, 4, 4, a, b, c); /* a leading dimension is checked for an empty shape, too */
  t.matmul.ldc = 3;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "ldc");
}

/* beta == 0 does not read C, and NaN is stored as one NaN. */
static void nan_rules(void) {
  fill_matrices();
  for (int i = 0; i < 16; i++) c[i] = NAN;
  hx_task t = hx_matmul(4, 4, 4, a, b, c);
  t.matmul.beta = -0.0f;
  CHECK_OK(hx_offload(hx, &t, NULL));
  for (int i = 0; i < 16; i++) CHECK(!isnan(c[i]), "element %d is NaN", i);
  a[0] = -NAN;
  CHECK_OK(hx_offload(hx, &t, NULL));
  for (int i = 0; i < 4; i++) CHECK(ref_bits(c[i]) == 0x7fc00000u, "element %d is %08x", i, ref_bits(c[i]));
}

int main(void) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  hx = open_or_exit(&settings);
  bad_pointers();
  bad_leading_dimensions();
  overflowing_shapes();
  overlaps_are_refused();
  columns_of_one_matrix();
  empty_shapes();
  nan_rules();
  hx_close(hx);
  return checks_end("api_matmul_test");
}
