/* SPDX-License-Identifier: Apache-2.0
 * What a device pins for calls to come takes several times as long as the call: times of such a call are no device's
 * rate. The first calls over a copying lane teach nothing, those after them do.
 *     grown_test DEVICE  */
#include "runtime/run/run.h"
#include "runtime/sched/store.h"
#include "tests/check.h"
#include "tests/data.h"

enum { SIDE = 1000, CALLS = 12 };

/* Entries of devices: those of the CPU and of whole calls aside. */
static unsigned entries(void) {
  hx__model *const model = hx__model_of_process();
  unsigned count = 0;
  for (size_t i = 0; i < HX__MODEL_ENTRIES; i++) {
    const hx__model_entry *const e = &model->entry[i];
    count += e->samples && e->key.device && e->key.device != HX__CPU_IDENTITY && e->key.device != HX__CALL_IDENTITY;
  }
  return count;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char devices[64];
  snprintf(devices, sizeof devices, "cpu,%s", argv[1]);
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.memory = "copy";
  s.schedule = "static"; /* halves at first */
  s.cache_dir = "off";
  s.timeout_ms = "off";
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  float *const a = malloc(3 * sizeof *a * SIDE * SIDE), *const b = a + SIDE * SIDE, *const c = b + SIDE * SIDE;
  if (!a) return 1;
  data_fill(HX_F32, DATA_SIGNED, 1, a, 2 * SIDE * SIDE);
  const hx_task t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  hx_report report;
  CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(report.gpu_share > 0, "the device did nothing");
  CHECK(entries() == 0, "the call that pinned the ring and a block for results has taught %u", entries());
  for (int i = 0; i < CALLS && !entries(); i++) CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(entries() > 0, "%d calls have taught nothing", CALLS);
  hx_close(hx);
  free(a);
  return checks_end("grown_test");
}
