/* SPDX-License-Identifier: Apache-2.0
 * An upload that stalls for a long time (layers/fault_layer.c, FAULT_STALL_MS) does not delay the call: the CPU does
 * the work, and the device returns once the upload has ended. If a result does not arrive in time, hx_sync returns an
 * error, and a later hx_sync succeeds. If memory is short when hx_sync asks for it, it tries once more, and if memory
 * is still short, it returns an error and the device is not lost. Run by fault_test.sh.
 *     upload_stall_test sum|matmul|sync|shortage|longer-shortage STALL_MS */
#include "tests/check.h"
#include "reference/data.h"

enum { N = 12 << 20, M = 1600, K = 4000 }; /* operands of several halves of the ring, and a C of more than one */

static hx_context *hx;

/* The bits of the result; a is the first operand and b the second one. */
static uint64_t compute(bool product, const float *a, const float *b, float *c, float share, hx_report *report) {
  hx_value sum = {.u64 = 0};
  hx_task t = product ? hx_matmul(M, M, K, a, b, c) : hx_reduce(HX_SUM, HX_F32, a, N, &sum);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, report));
  if (!product) return sum.u64;
  uint64_t bits = 0;
  for (size_t i = 0; i < (size_t)M * M; i++) {
    uint32_t word;
    memcpy(&word, &c[i], sizeof word);
    bits = bits * 1099511628211u + word;
  }
  return bits;
}

static uint64_t on_device(const hx_report *report) {
  uint64_t units = 0;
  for (uint32_t i = 0; i < report->device_count; i++)
    if (report->device[i].index != 0) units += report->device[i].units;
  return units;
}

static void open_context(const char *timeout_ms) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,pocl";
  s.memory = "copy";
  s.cache_dir = "off";
  s.timeout_ms = timeout_ms;
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
}

static void sleep_until(double till) {
  while (seconds_now() < till) nanosleep(&(struct timespec){0, 50000000}, NULL);
}

static void stalled_upload(bool product, double stall, const float *a, const float *b, float *c) {
  hx_report report;
  const uint64_t want = compute(product, a, b, c, 0, NULL);
  const double from = seconds_now();
  CHECK(compute(product, a, b, c, 1, &report) == want, "other bits while the upload stalls");
  const double took = seconds_now() - from;
  printf("  %s: %.2f s, %u recovered\n", product ? "matmul" : "sum", took, report.recovered);
  CHECK(took < stall, "the call waited for the upload: %.2f s", took);
  CHECK(report.recovered > 0, "nothing was recovered");
  sleep_until(from + stall);
  const double back_by = seconds_now() + 30; /* other programs may use the cores that the device works on */
  do {
    sleep_until(seconds_now() + 0.2);
    CHECK(compute(product, a, b, c, 0.5f, &report) == want, "other bits afterwards");
  } while (on_device(&report) == 0 && seconds_now() < back_by);
  CHECK(on_device(&report) > 0, "the device has not returned");
}

/* The C of a product, which stays on the device; c: the same C, computed by the CPU. Other programs may use the cores
 * so much that the device misses the limit and the CPU computes C; then the device is asked again once it has returned.
 */
static float *resident_product(const float *a, const float *b, float *c) {
  const size_t bytes = (size_t)M * M * sizeof *c;
  const double until = seconds_now() + 60;
  compute(true, a, b, c, 0, NULL);
  for (;;) {
    float *const kept = hx_alloc(hx, bytes);
    if (!kept) exit(1);
    memset(kept, 0, bytes);
    CHECK_OK(hx_advise(hx, kept, bytes, HX_RESIDENT));
    compute(true, a, b, kept, 1, NULL);
    const bool stays = kept[0] == 0 && kept[M] == 0;
    if (stays || seconds_now() > until) {
      CHECK(stays, "C has reached the host");
      return kept;
    }
    hx_free(hx, kept);
    sleep_until(seconds_now() + 0.2);
  }
}

static void short_sync(bool longer, const float *a, const float *b, float *c) {
  const size_t bytes = (size_t)M * M * sizeof *c;
  float *const kept = resident_product(a, b, c);
  FILE *const arm = fopen(getenv("FAULT_ARM"), "w"); /* from now on calls count */
  if (arm) fclose(arm);
  if (longer) CHECK_REFUSED(hx_sync(hx, kept, bytes), HX_OUT_OF_MEMORY, "no memory");
  CHECK_OK(hx_sync(hx, kept, bytes));
  CHECK(memcmp(kept, c, bytes) == 0, "C differs");
  hx_free(hx, kept);
}

static void stalled_sync(double stall, const float *a, const float *b, float *c) {
  const size_t bytes = (size_t)M * M * sizeof *c;
  float *const kept = resident_product(a, b, c);
  const double from = seconds_now();
  CHECK_REFUSED(hx_sync(hx, kept, bytes), HX_DEVICE_FAILED, "does not answer");
  CHECK_REFUSED(hx_sync(hx, kept, bytes), HX_DEVICE_FAILED, "does not answer");
  const double took = seconds_now() - from;
  printf("  sync: %.2f s\n", took);
  CHECK(took < stall, "hx_sync waited: %.2f s", took);
  sleep_until(from + stall + 0.2);
  CHECK_OK(hx_sync(hx, kept, bytes));
  CHECK(memcmp(kept, c, bytes) == 0, "C differs");
  hx_free(hx, kept);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const double stall = atof(argv[2]) * 1e-3;
  float *const a = malloc(N * sizeof *a), *const b = malloc(N * sizeof *b), *const c = malloc(M * M * sizeof *c);
  if (!a || !b || !c) return 1;
  data_fill(HX_F32, DATA_SIGNED, 5, a, N);
  data_fill(HX_F32, DATA_SIGNED, 6, b, N);
  const bool sync = strcmp(argv[1], "sync") == 0, longer = strcmp(argv[1], "longer-shortage") == 0,
             is_short = longer || strcmp(argv[1], "shortage") == 0;
  /* The limits leave time for a product before hx_sync, even if other programs use the cores. */
  open_context(is_short ? "off" : sync ? "1200" : "400");
  if (is_short)
    short_sync(longer, a, b, c);
  else if (sync)
    stalled_sync(stall, a, b, c);
  else
    stalled_upload(strcmp(argv[1], "matmul") == 0, stall, a, b, c);
  hx_close(hx);
  return checks_end("upload_stall_test");
}
