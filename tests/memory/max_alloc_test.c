/* SPDX-License-Identifier: Apache-2.0
 * Arrays around and above the device's CL_DEVICE_MAX_MEM_ALLOC_SIZE: the device takes part, and the results have the
 * bits that the CPU gives them. dress_layer makes the limit small.
 *     max_alloc_test DEVICES MEMORY SIDE [DRESS [TILE [SEED]]]
 * SIDE: the limit is that of a square matrix of so many rows, 256 (256 KiB) or 512 (1 MiB). DRESS: none, igpu or gpu.
 */
#include "tests/check.h"
#include "reference/data.h"

static hx_context *hx;
static size_t side; /* the device allocates at most side * side elements in one piece */
static uint64_t seed;

/* How an array is allocated, registered and advised. */
enum { MALLOCED, REGISTERED, ALLOCATED, MOSTLY_READ, RESIDENT, SOURCES };
static const char *const kSources[] = {"malloc", "hx_register", "hx_alloc", "HX_READ_MOSTLY", "HX_RESIDENT"};

static void *filled_array(int source, hx_type type, size_t count) {
  const size_t bytes = count * 4;
  void *const p = source == MALLOCED || source == REGISTERED ? malloc(bytes) : hx_alloc(hx, bytes);
  if (!p) exit(1);
  data_fill(type, DATA_SIGNED, ++seed, p, count);
  if (source == REGISTERED) CHECK_OK(hx_register(hx, p, bytes));
  if (source == MOSTLY_READ) CHECK_OK(hx_advise(hx, p, bytes, HX_READ_MOSTLY));
  if (source == RESIDENT) CHECK_OK(hx_advise(hx, p, bytes, HX_RESIDENT));
  return p;
}

static void release(int source, void *p) {
  if (source == REGISTERED) CHECK_OK(hx_unregister(hx, p));
  if (source == MALLOCED || source == REGISTERED)
    free(p);
  else
    hx_free(hx, p);
}

/* Runs the task with this share of the device, which must take part and must not fail. */
static void offload(hx_task *t, float share, const char *what) {
  hx_report report = {0};
  t->gpu_share = share;
  CHECK_OK(hx_offload(hx, t, &report));
  CHECK((share > 0) == (report.gpu_share > 0) && report.recovered == 0, "%s: share %g of %g, %u recovered", what,
        report.gpu_share, (double)share, report.recovered);
}

static const float kShares[] = {1.0f, 0.5f};

/* Two fields of each kind of operation, over n elements. */
static void reduce(int source, size_t n) {
  char what[96];
  float *const x = filled_array(source, HX_F32, n), *const y = filled_array(source, HX_F32, n);
  int32_t *const i = filled_array(source, HX_I32, n);
  const hx_field fields[] = {{HX_SUM, HX_F32, x, NULL},
                             {HX_DOT, HX_F32, x, y},
                             {HX_ARGMIN, HX_I32, i, NULL},
                             {HX_SUM_SQUARES, HX_I32, i, NULL}};
  enum { FIELDS = sizeof fields / sizeof fields[0] };
  hx_value want[FIELDS], got[FIELDS];
  hx_task all = hx_reduce_soa(fields, FIELDS, n, want);
  snprintf(what, sizeof what, "%zu elements, %s", n, kSources[source]);
  offload(&all, 0, what);
  all.soa.out = got;
  for (size_t s = 0; s < sizeof kShares / sizeof kShares[0]; s++) {
    for (size_t f = 0; f < FIELDS; f++) {
      hx_task one = hx_reduce(fields[f].op, fields[f].type, fields[f].x, n, &got[f]);
      one.reduce.y = fields[f].y;
      offload(&one, kShares[s], what);
    }
    CHECK(memcmp(want, got, sizeof got) == 0, "%s", what);
    memset(got, 0, sizeof got);
    offload(&all, kShares[s], what);
    CHECK(memcmp(want, got, sizeof got) == 0, "%s, all fields at once", what);
  }
  release(source, x);
  release(source, y);
  release(source, i);
}

/* So many fields that one slot of each needs about the largest buffer, or more. */
static void reduce_fields(size_t count) {
  const size_t n = 4096 + 5;
  char what[96];
  float *const x = filled_array(MALLOCED, HX_F32, n);
  hx_field *const fields = malloc(count * sizeof *fields);
  hx_value *const want = calloc(count, sizeof *want), *const got = calloc(count, sizeof *got);
  if (!fields || !want || !got) exit(1);
  for (size_t f = 0; f < count; f++) fields[f] = (hx_field){f % 3 ? HX_SUM : HX_MAX, HX_F32, x, NULL};
  hx_task t = hx_reduce_soa(fields, count, n, want);
  snprintf(what, sizeof what, "%zu fields", count);
  offload(&t, 0, what);
  t.soa.out = got;
  offload(&t, 1, what);
  CHECK(memcmp(want, got, count * sizeof *got) == 0, "%s", what);
  release(MALLOCED, x);
  free(fields);
  free(want);
  free(got);
}

static void multiply(int source, size_t m, size_t n, size_t k) {
  static unsigned variant;
  const bool trans_a = variant & 1, trans_b = variant & 2, scaled = variant & 4;
  variant++;
  char what[128];
  float *const a = filled_array(source, HX_F32, m * k), *const b = filled_array(source, HX_F32, k * n);
  float *const c = filled_array(source, HX_F32, m * n), *const want = malloc(m * n * sizeof *want);
  if (!want) exit(1);
  snprintf(what, sizeof what, "%zu x %zu x %zu, %d%d%d, %s", m, n, k, trans_a, trans_b, scaled, kSources[source]);
  for (size_t s = 0; s < sizeof kShares / sizeof kShares[0]; s++) {
    hx_task t = hx_matmul(m, n, k, a, b, want);
    t.matmul.trans_a = trans_a, t.matmul.trans_b = trans_b;
    t.matmul.lda = trans_a ? m : k, t.matmul.ldb = trans_b ? k : n;
    if (scaled) t.matmul.alpha = 1.25f, t.matmul.beta = 0.5f;
    CHECK_OK(source == RESIDENT ? hx_sync(hx, c, m * n * sizeof *c) : HX_OK);
    memcpy(want, c, m * n * sizeof *c);
    offload(&t, 0, what);
    t.matmul.c = c;
    offload(&t, kShares[s], what);
    CHECK_OK(source == RESIDENT ? hx_sync(hx, c, m * n * sizeof *c) : HX_OK);
    CHECK(memcmp(want, c, m * n * sizeof *c) == 0, "%s, share %g", what, (double)kShares[s]);
  }
  release(source, a);
  release(source, b);
  release(source, c);
  free(want);
}

/* A mirror stays on the device although one for another array would be too large. */
static void keep_copies(void) {
  const size_t small = side * side / 4, large = 3 * side * side;
  float *const x = filled_array(MOSTLY_READ, HX_F32, small), *const y = filled_array(MOSTLY_READ, HX_F32, large);
  uint64_t copied[4];
  hx_value out;
  for (int i = 0; i < 4; i++) { /* the third one reads y */
    hx_report report = {0};
    hx_task t = hx_reduce(HX_SUM, HX_F32, i == 2 ? y : x, i == 2 ? large : small, &out);
    t.gpu_share = 1;
    CHECK_OK(hx_offload(hx, &t, &report));
    copied[i] = report.bytes_copied;
  }
  CHECK(copied[3] == copied[1], "%zu bytes were copied although there was a mirror, %zu before", (size_t)copied[3],
        (size_t)copied[1]);
  release(MOSTLY_READ, x);
  release(MOSTLY_READ, y);
}

int main(int argc, char **argv) {
  char devices[128], limit[32];
  if (argc < 4) return 2;
  side = strtoull(argv[3], NULL, 10);
  seed = argc > 6 ? strtoull(argv[6], NULL, 10) : 1;
  printf("max_alloc_test: seed %llu\n", (unsigned long long)seed);
  snprintf(devices, sizeof devices, "cpu,%s", argv[1]);
  snprintf(limit, sizeof limit, "%zu", side * side * sizeof(float));
  setenv("DRESS_ALLOC", limit, 1);
  if (argc > 4 && strcmp(argv[4], "none") != 0) setenv("DRESS", argv[4], 1);
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.memory = argv[2];
  s.tile = argc > 5 && strcmp(argv[5], "default") != 0 ? argv[5] : NULL;
  s.cache_dir = "off";
  s.timeout_ms = "off";
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  /* A matrix with one element less than the limit, with exactly the limit, with one or two elements more, and with 3.5
   * times as many. */
  const size_t rows[] = {side - 1, side, side == 256 ? 198 : 481, side * 7 / 4};
  const size_t cols[] = {side + 1, side, side == 256 ? 331 : 545, side * 2};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int source = 0; source < SOURCES; source++) {
      reduce(source, rows[i] * cols[i]);
      multiply(source, rows[i], 40, cols[i]);                          /* A has the size of the row */
      multiply(source, 40, cols[i], rows[i]);                          /* B has it */
      multiply(source, rows[i], cols[i], 70);                          /* C has it */
      multiply(source, cols[i], rows[i], 70);                          /* C has it and more rows than columns */
      if (source == (int)i) multiply(source, 3, 5, rows[i] * cols[i]); /* a row of A has it */
    }
  multiply(MALLOCED, 2 * side + 3, 2 * side + 5, 2 * side + 7);
  multiply(ALLOCATED, 2 * side + 3, 2 * side + 5, 2 * side + 7);
  keep_copies();
  reduce_fields(1000);
  if (side < 512) { /* with a greater limit the launches take minutes, and are the same */
    reduce_fields(side * side / 2);
    reduce_fields(side * side / 2 + 1);
  }
  hx_close(hx);
  return checks_end("max_alloc_test");
}
