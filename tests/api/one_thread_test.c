/* SPDX-License-Identifier: Apache-2.0
 * Tasks that the CPU computes by one thread, as it does if other programs use the cores: those that fit on the calling
 * thread, but take long enough for a device, are planned, and so may go to one. Shorter ones, and tasks of a context
 * without devices, are not planned, which takes time. */
#include <stdlib.h>

#include "reference/ref.h"
#include "runtime/api/context.h"
#include "tests/check.h"

static unsigned planned;

hx_status __real_hx__offload_planned(hx_context *hx, const hx__work *work, double share, unsigned threads,
                                     hx_report *report);
hx_status __wrap_hx__offload_planned(hx_context *hx, const hx__work *work, double share, unsigned threads,
                                     hx_report *report);
hx_status __wrap_hx__offload_planned(hx_context *hx, const hx__work *work, double share, unsigned threads,
                                     hx_report *report) {
  planned++;
  return __real_hx__offload_planned(hx, work, share, threads, report);
}

static void sum(hx_context *hx, size_t n, bool is_planned) {
  uint32_t *const x = malloc(n * sizeof *x);
  hx_value got;
  for (size_t i = 0; i < n; i++) x[i] = (uint32_t)(i * 2654435761u);
  const hx_task task = hx_reduce(HX_SUM, HX_U32, x, n, &got);
  planned = 0;
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK(planned == is_planned, "a sum of %zu is planned %u times", n, planned);
  CHECK(got.u64 == ref_reduce(HX_SUM, HX_U32, x, NULL, n).u64, "the sum of %zu", n);
  free(x);
}

static void product(hx_context *hx, size_t side, bool is_planned) {
  float *const a = calloc(side * side, sizeof *a), *const c = calloc(side * side, sizeof *c);
  for (size_t i = 0; i < side; i++) a[i * side + i] = 2.0f;
  const hx_task task = hx_matmul(side, side, side, a, a, c);
  planned = 0;
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK(planned == is_planned, "a product of %zu is planned %u times", side, planned);
  CHECK(c[0] == 4.0f && c[1] == 0.0f, "c is %g and %g", (double)c[0], (double)c[1]);
  free(a), free(c);
}

static void check_context(const char *devices, bool is_planned) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices;
  settings.sim = "rate=1e12,latency_us=1";
  settings.threads = "1";
  hx_context *const hx = open_or_exit(&settings);
  CHECK_OK(hx_ready(hx));
  sum(hx, 1 << 18, false); /* HX__QUICK_ELEMENTS */
  sum(hx, (1 << 18) + 1, is_planned);
  sum(hx, 1 << 20, is_planned); /* HX__STACK_SLOTS leaves */
  product(hx, 128, false);      /* HX__QUICK_UNITS */
  product(hx, 129, is_planned);
  product(hx, 161, is_planned); /* fewer than HX__SERIAL_UNITS */
  hx_close(hx);
}

int main(void) {
  check_context("cpu,sim", true);
  check_context("cpu", false);
  return checks_end("one_thread_test");
}
