/* SPDX-License-Identifier: Apache-2.0
 * Products whose operands are uploaded in parts, and whose results are read back while kernels run: C has the same bits
 * as on the CPU.
 *     upload_parts_test [DEVICES [TILE [SEED]]]      default: sim, the device's own, 1  */
#include "tests/check.h"
#include "reference/data.h"

/* Operands of more than 16 MB and sides of more than 1024, because only larger ones are divided. */
typedef struct shape {
  size_t m, n, k, gap;
  bool trans_a, trans_b;
  float alpha, beta, share;
  bool allocated;
  unsigned advice;
} shape;

static const shape shapes[] = {
    {1100, 1100, 4000, 0, false, false, 1, 0, 1, true, 0},
    {1100, 1087, 4100, 5, false, false, 1, 0.5f, 1, true, 0},
    {1090, 1090, 4100, 3, true, false, 1.25f, 0, 1, false, 0},
    {1103, 1103, 3900, 0, false, true, 1, 0.5f, 1, false, 0},
    {1050, 1111, 4001, 0, false, false, 1, 0, 1, true, 0}, /* more columns than rows: divided by columns */
    {1060, 1110, 4100, 7, true, false, 1, 0.5f, 1, false, 0},
    {1070, 1120, 3950, 0, true, true, 1, 0, 1, true, 0},
    {1400, 1100, 4000, 0, false, false, 1, 0.5f, 0.5f, true, 0},
    {1400, 1100, 4000, 1, false, false, 1, 0, 0.4f, false, 0},
    {1100, 1100, 4000, 0, false, false, 1, 0.5f, 1, true, HX_READ_MOSTLY},
    {1100, 1100, 4000, 9, false, false, 1, 0, 1, true, HX_READ_MOSTLY},
    {1100, 1088, 4000, 0, false, false, 1, 0, 1, true, HX_RESIDENT},
};

/* Chunks are columns of an operand as it is stored, of which the next are uploaded while one is computed. The first
 * product may be one chunk: from it hx learns how long storing C takes, by which the others are cut. */
static const shape by_columns[] = {
    {130, 2100, 700, 0, false, false, 1, 0, -1, true, 0},
    {130, 2100, 701, 0, false, false, 1, 0.5f, -1, false, 0},
    {2300, 140, 650, 0, true, false, 1, 0, -1, true, 0}, /* of A, which is transposed */
    {2299, 140, 650, 0, true, false, 1.25f, 0, -1, false, 0},
    {130, 2100, 700, 6, false, false, 1, 0, -1, true, 0}, /* with gaps, row by row */
    {140, 2200, 1300, 0, true, false, 1, 0, -1, true, 0},
    {2, 6000000, 4, 0, false, false, 1, 0, -1, false, 0}, /* rows longer than half of the staging ring */
};

static hx_context *hx, *cpu; /* cpu: for the values to compare with */

static float *filled_array(const shape *s, size_t count, uint64_t seed) {
  float *const p = s->allocated ? hx_alloc(hx, count * sizeof *p) : malloc(count * sizeof *p);
  if (!p) exit(1);
  data_fill(HX_F32, DATA_SIGNED, seed, p, count);
  if (s->advice) CHECK_OK(hx_advise(hx, p, count * sizeof *p, s->advice));
  return p;
}

static void release(const shape *s, float *p) {
  if (s->allocated)
    hx_free(hx, p);
  else
    free(p);
}

static void multiply(const shape *s, uint64_t seed) {
  const size_t a_rows = s->trans_a ? s->k : s->m, a_cols = s->trans_a ? s->m : s->k;
  const size_t b_rows = s->trans_b ? s->n : s->k, b_cols = s->trans_b ? s->k : s->n;
  const size_t lda = a_cols + s->gap, ldb = b_cols + s->gap, ldc = s->n + s->gap;
  float *const a = filled_array(s, a_rows * lda, seed), *const b = filled_array(s, b_rows * ldb, seed + 1),
               *const c = filled_array(s, s->m * ldc, seed + 2), *const want = malloc(s->m * ldc * sizeof *want);
  if (!want) exit(1);
  memcpy(want, c, s->m * ldc * sizeof *want);
  hx_task t = hx_matmul(s->m, s->n, s->k, a, b, want);
  t.matmul.lda = lda, t.matmul.ldb = ldb, t.matmul.ldc = ldc;
  t.matmul.trans_a = s->trans_a, t.matmul.trans_b = s->trans_b;
  t.matmul.alpha = s->alpha, t.matmul.beta = s->beta;
  CHECK_OK(hx_offload(cpu, &t, NULL));
  t.matmul.c = c;
  t.gpu_share = s->share;
  hx_report report;
  CHECK_OK(hx_offload(hx, &t, &report));
  CHECK_OK(s->advice ? hx_sync(hx, c, s->m * ldc * sizeof *c) : HX_OK);
  size_t wrong = 0;
  for (size_t i = 0; i < s->m; i++) wrong += memcmp(c + i * ldc, want + i * ldc, s->n * sizeof *c) != 0;
  printf("  %zu x %zu x %zu + %zu, %d %d, share %.2f: %u chunks, %zu rows differ\n", s->m, s->n, s->k, s->gap,
         s->trans_a, s->trans_b, report.gpu_share, report.chunks, wrong);
  CHECK(wrong == 0, "%zu rows differ", wrong);
  CHECK(report.gpu_share > 0 && report.recovered == 0, "share %g, %u recovered", report.gpu_share, report.recovered);
  release(s, a);
  release(s, b);
  release(s, c);
  free(want);
}

int main(int argc, char **argv) {
  const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  char devices[128];
  hx_settings s = HX_SETTINGS_DEFAULT;
  snprintf(devices, sizeof devices, "cpu,%s", argc > 1 ? argv[1] : "sim");
  s.devices = devices;
  s.memory = "copy";
  s.tile = argc > 2 ? argv[2] : NULL;
  s.cache_dir = "off";
  if (argc < 2) s.sim = "rate=1e12,latency_us=10";
  hx = open_or_exit(&s);
  s.devices = "cpu";
  cpu = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  printf("upload_parts_test: seed %llu\n", (unsigned long long)seed);
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) multiply(&shapes[i], seed + 3 * i);
  hx_close(hx);
  s.devices = devices + strlen("cpu,"); /* if the CPU worked, too, nothing would be uploaded ahead */
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  for (size_t i = 0; i < sizeof by_columns / sizeof by_columns[0]; i++) multiply(&by_columns[i], seed + 3 * i);
  hx_close(hx);
  hx_close(cpu);
  return checks_end("upload_parts_test");
}
