/* SPDX-License-Identifier: Apache-2.0
 * A device that is far slower than the CPU, although the model estimates that it is far faster. Calls that it gets
 * alone time out, and after a few of them it is no longer used. */
#include "runtime/base/clock.h"
#include "runtime/plan/key.h"
#include "runtime/sched/store.h"
#include "tests/check.h"
#include "reference/data.h"

/* Four or five calls are given up on an idle machine, eight beside a compiler; all are if nothing is learned. */
enum { N = 8 << 20, CALLS = 16, MOST_GIVEN_UP = 11 };

static const double believed_ns = 2e5, pause_s = 0.15; /* a chunk takes 0.21 s, and is given up after 0.1 s */

static void learn_sample(const hx__rate_key *key, const hx__estimate *prior, double units, uint64_t call_number) {
  const hx__sample sample = {.units = units, .ns = believed_ns, .call_number = call_number};
  hx__model_learn(hx__model_of_process(), key, prior, sample, hx__date_s());
}

/* Teaches the model wrong rates of the device, alone and beside the CPU. */
static void teach_rates(hx_context *hx, const hx_task *task) {
  hx_device_info info;
  hx__work work;
  CHECK_OK(hx_device(hx, hx_device_count(hx) - 1, &info));
  CHECK_OK(hx__task_check(task, &work));
  const uint64_t it = hx__identity(info.name, info.driver), both = it + HX__CPU_IDENTITY;
  const hx__rate_key task_key = hx__task_key(&work, hx__power_source());
  const hx__rate_key alone = hx__key_in_company(&task_key, it, it, 0),
                     beside = hx__key_in_company(&task_key, it, both, 1);
  const hx__rate_key call = hx__key_in_company(&task_key, 0, it, 0);
  for (uint64_t call_number = 1; call_number <= 20; call_number++) {
    learn_sample(&alone, &hx__prior_device, N, 0);
    learn_sample(&beside, &hx__prior_device, N, 0);
    learn_sample(&call, &hx__prior_call, N, call_number);
  }
}

int main(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = "rate=4e7,latency_us=20";
  s.threads = "1";
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  float *const x = malloc(N * sizeof *x);
  data_fill(HX_F32, DATA_SIGNED, 3, x, N);
  hx_value sum, want;
  const hx_task task = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  hx_task by_cpu = hx_reduce(HX_SUM, HX_F32, x, N, &want);
  by_cpu.gpu_share = 0.0f;
  CHECK_OK(hx_offload(hx, &by_cpu, NULL));
  teach_rates(hx, &task);
  unsigned given_up = 0;
  for (int i = 0; i < CALLS; i++) {
    hx_report report;
    CHECK_OK(hx_offload(hx, &task, &report));
    CHECK(sum.u64 == want.u64, "other bits");
    given_up += report.recovered > 0;
    const double from = seconds_now();
    while (seconds_now() < from + pause_s)
      nanosleep(&(struct timespec){0, 10000000}, NULL); /* until then the device is free again */
  }
  printf("  %u of %d calls were given up\n", given_up, CALLS);
  CHECK(given_up > 0, "no call used the device");
  CHECK(given_up <= MOST_GIVEN_UP, "%u of %d calls were given up", given_up, CALLS);
  hx_close(hx);
  free(x);
  return checks_end("slow_device_test");
}
