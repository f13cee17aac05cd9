/* SPDX-License-Identifier: Apache-2.0
 * A device that another thread uses: calls do not wait for it, and the time in which the CPU computes all of a call is
 * not learned as a time of the device. */
#include <pthread.h>

#include "runtime/base/clock.h"
#include "runtime/hx.h"
#include "runtime/plan/key.h"
#include "runtime/sched/store.h"
#include "tests/check.h"

enum { N = 1 << 20, CALLS = 60, BEGUN_NS = 20000000 };

static float x[2 * N];
static hx_context *hx;
static _Atomic bool stops;

static void *keep_busy(void *unused) {
  (void)unused;
  hx_value sum;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, 2 * N, &sum);
  t.gpu_share = 1;
  while (!stops) CHECK_OK(hx_offload(hx, &t, NULL));
  return NULL;
}

/* Samples of whole calls in which a device took part. */
static uint32_t calls_learned(void) {
  const hx__model *const m = hx__model_of_process();
  uint32_t samples = 0;
  for (size_t i = 0; i < HX__MODEL_ENTRIES; i++)
    if (m->entry[i].key.device == 0 && m->entry[i].key.company != HX__CPU_IDENTITY) samples += m->entry[i].samples;
  return samples;
}

int main(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = "rate=1e12,latency_us=1";
  s.cache_dir = "off";
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&threads[i], NULL, keep_busy, NULL) != 0) return 1;
  hx__sleep_ns(BEGUN_NS);
  uint32_t with_device = 0;
  for (int i = 0; i < CALLS; i++) {
    hx_value sum;
    hx_report r;
    const hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
    CHECK_OK(hx_offload(hx, &t, &r));
    with_device += r.gpu_share > 0;
  }
  stops = true;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(calls_learned() <= with_device, "%u calls of the device learned, of %u", calls_learned(), with_device);
  printf("%u of %d calls used the device, %u were learned\n", with_device, CALLS, calls_learned());
  hx_close(hx);
  return checks_end("busy_device_test");
}
