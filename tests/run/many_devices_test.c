/* SPDX-License-Identifier: Apache-2.0
 * Several devices in one task, and several tasks of several threads at once: the bits are always the same, every device
 * is used, and every call completes. Runs on simulated devices and on those of every driver present.
 *     many_devices_test [LEAST]      LEAST: how many OpenCL devices there have to be at least */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { WAIT_S = 90, N = 3 << 20, SIDE = 300, CELLS = SIDE * SIDE, THREADS = 4, CALLS = 16 };

static float *x, *a, *b, *old_c, *want_c;
static uint64_t want_sum;

static float *values(uint64_t seed, size_t n) {
  float *const p = malloc(n * sizeof *p);
  data_fill(HX_F32, DATA_SIGNED, seed, p, n);
  return p;
}

static void make_data(void) {
  x = values(41, N);
  a = values(42, CELLS);
  b = values(43, CELLS);
  old_c = values(44, CELLS);
  want_c = malloc(CELLS * sizeof *want_c);
  memcpy(want_c, old_c, CELLS * sizeof *want_c);
  want_sum = ref_reduce(HX_SUM, HX_F32, x, NULL, N).u64;
  const struct hx_matmul_args args = {
      .m = SIDE, .n = SIDE, .k = SIDE, .a = a, .b = b, .c = want_c, .alpha = 1, .beta = 0.5f};
  ref_matmul(&args);
}

static hx_context *open_all(const char *schedule, const char *min_offload, const char *sim) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "all";
  s.sim = sim;
  s.schedule = schedule;
  s.min_offload = min_offload;
  s.cache_dir = "off";
  return open_or_exit(&s);
}

static void one_call(hx_context *hx, bool product, float share, float *c, hx_report *report) {
  hx_value sum = {.u64 = 1};
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  if (product) {
    memcpy(c, old_c, CELLS * sizeof *c);
    t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
    t.matmul.beta = 0.5f;
  }
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, report));
  CHECK(product ? memcmp(c, want_c, CELLS * sizeof *c) == 0 : sum.u64 == want_sum, "a %s has other bits",
        product ? "product" : "sum");
}

static unsigned workers_of(const hx_report *r) {
  unsigned bits = 0;
  for (uint32_t d = 0; d < r->device_count; d++) bits |= 1u << r->device[d].index;
  return bits;
}

static unsigned count_of(unsigned bits) { return (unsigned)__builtin_popcount(bits); }

/* Waits until the kernels are ready; returns the devices that do both kinds of work, as bits. */
static unsigned wait_for_devices(hx_context *hx, unsigned devices, float *c) {
  const double give_up = seconds_now() + WAIT_S;
  unsigned both = 0;
  for (bool first = true; first || (count_of(both) < devices && seconds_now() < give_up); first = false) {
    hx_report sum, product;
    one_call(hx, false, -1.0f, c, &sum);
    one_call(hx, true, -1.0f, c, &product);
    both = workers_of(&sum) & workers_of(&product);
  }
  return both;
}

#define TWO_MORE "rate=4e8,latency_us=30;rate=2e8,latency_us=100"

/* Each device gets a share, and the CPU the rest. */
static void all_devices(unsigned least, float *c) {
  char split[128] = "0.1:0.1";
  for (unsigned i = 0; i < least && i < HX_MAX_DEVICES; i++) strcat(split, ":0.1");
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "all";
  s.sim = TWO_MORE;
  s.split = split;
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  const unsigned worked =
      wait_for_devices(hx, least + 3, c); /* the OpenCL devices, the CPU and two simulated devices */
  CHECK(count_of(worked) >= least + 3, "devices 0x%x worked, not %u of OpenCL", worked, least);
  hx_close(hx);
}

/* HX_SPLIT names two devices, one of which cannot be used. The share of that one goes to the CPU and not to the other
 * device; if the CPU has no share, the other device computes everything. */
static void a_missing_device(const char *split, const char *devices, double share, float *c) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.sim = "rate=4e8,latency_us=30;rate=4e8,latency_us=30,fail=prepare@1";
  s.split = split;
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  for (int product = 0; product <= 1; product++) {
    hx_report r;
    one_call(hx, product, -1.0f, c, &r);
    CHECK(r.gpu_share > share - 0.01 && r.gpu_share < share + 0.01, "%s of %s: %g on the device, not %g", split,
          devices, (double)r.gpu_share, share);
  }
  hx_close(hx);
}

/* With each schedule hx chooses among the devices. */
static void run_schedules(float *c) {
  static const char *const names[] = {"adaptive", "static", "dynamic", "guided"};
  for (size_t s = 0; s < sizeof names / sizeof *names; s++) {
    hx_context *const hx = open_all(names[s], "1", TWO_MORE);
    for (int i = 0; i < 20; i++) {
      hx_report r;
      uint64_t units = 0;
      one_call(hx, i % 2, i % 4 < 2 ? 0.8f : -1.0f, c, &r);
      for (uint32_t d = 0; d < r.device_count; d++) units += r.device[d].units;
      CHECK(units == (i % 2 ? (uint64_t)CELLS * SIDE : N), "%llu units in call %d", (unsigned long long)units, i);
    }
    hx_close(hx);
  }
}

typedef struct caller {
  hx_context *hx;
  bool product;
  float share;
  unsigned done, with_device, at_first_end;
} caller;

static caller callers[THREADS];
static _Atomic bool one_ended;

static void *call_often(void *p) {
  caller *const me = p;
  float *const c = malloc(CELLS * sizeof *c);
  for (; me->done < CALLS; me->done++) {
    hx_report r;
    one_call(me->hx, me->product, me->share, c, &r);
    me->with_device += r.gpu_share > 0.0;
    if (!atomic_load(&one_ended)) me->at_first_end = me->done + 1;
  }
  atomic_store(&one_ended, true);
  free(c);
  return NULL;
}

/* Many threads use the same devices: each thread gets them in turn (a fixed share waits for them), or computes without
 * them. */
static void many_callers(float share) {
  hx_context *const hx = open_all(NULL, "1", "rate=3e8,latency_us=30");
  pthread_t thread[THREADS];
  unsigned fewest = CALLS, most_with = 0;
  atomic_store(&one_ended, false);
  for (int i = 0; i < THREADS; i++) {
    callers[i] = (caller){.hx = hx, .share = share};
    CHECK(pthread_create(&thread[i], NULL, call_often, &callers[i]) == 0, "no thread");
  }
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    if (callers[i].at_first_end < fewest) fewest = callers[i].at_first_end;
    if (callers[i].with_device > most_with) most_with = callers[i].with_device;
    CHECK(share < 0.0f || callers[i].with_device == CALLS, "thread %d: %u calls with a device", i,
          callers[i].with_device);
  }
  printf("  share %g: as the first of %d threads had done %d calls, the last had done %u; at most %u with a device\n",
         (double)share, THREADS, CALLS, fewest, most_with);
  if (share >= 0.0f) CHECK(fewest >= CALLS / 2, "a thread did %u calls while another did %d", fewest, CALLS);
  CHECK(most_with > 0, "no call had a device");
  hx_close(hx);
}

/* Devices without measurements: rates measured beside the CPU count separately for each, so that every device gets its
 * turn. */
static void unknown_devices(void) {
  enum { MORE = 12 << 20, TIMES = 96 };
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = "rate=4e9,latency_us=20;rate=2e9,latency_us=30";
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  const uint32_t last = (uint32_t)hx_device_count(hx) - 1;
  float *const y = values(45, MORE);
  unsigned with[2] = {0};
  for (int i = 0; i < TIMES && !(with[0] && with[1]); i++) {
    hx_value sum;
    hx_report report;
    const hx_task t = hx_reduce(HX_SUM, HX_F32, y, MORE, &sum);
    CHECK_OK(hx_offload(hx, &t, &report));
    for (uint32_t d = 0; d < report.device_count; d++)
      if (report.device[d].index + 1 >= last) with[last - report.device[d].index]++;
  }
  printf("  unknown devices: used in %u and %u calls\n", with[1], with[0]);
  CHECK(with[0] && with[1], "one of them was not used in %d calls", TIMES);
  free(y);
  hx_close(hx);
}

/* hx_close finishes the tasks in flight, from any thread. */
static void close_waits(void) {
  enum { TASKS = 12 };
  hx_value sum[TASKS];
  float *c[TASKS];
  hx_event *event;
  hx_context *const hx = open_all(NULL, "1", "rate=3e8,latency_us=30;rate=1e8,latency_us=30");
  for (int i = 0; i < TASKS; i++) {
    sum[i].u64 = 1;
    c[i] = malloc(CELLS * sizeof *c[i]);
    memcpy(c[i], old_c, CELLS * sizeof *c[i]);
    hx_task t = i % 2 ? hx_matmul(SIDE, SIDE, SIDE, a, b, c[i]) : hx_reduce(HX_SUM, HX_F32, x, N, &sum[i]);
    if (i % 2) t.matmul.beta = 0.5f;
    if (i % 3 == 0) t.gpu_share = 0.5f;
    CHECK_OK(hx_offload_async(hx, &t, &event));
  }
  hx_close(hx);
  for (int i = 0; i < TASKS; i++) {
    CHECK(i % 2 ? memcmp(c[i], want_c, CELLS * sizeof *c[i]) == 0 : sum[i].u64 == want_sum,
          "task %d was not finished by hx_close", i);
    free(c[i]);
  }
}

int main(int argc, char **argv) {
  make_data();
  float *const c = malloc(CELLS * sizeof *c);
  all_devices(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, c);
  a_missing_device("0.5:0.5", "cpu,sim", 0.5, c);
  a_missing_device("0.3:0.3", "cpu,sim", 0.3, c);
  a_missing_device("0.5:0.5", "sim", 1.0, c);
  run_schedules(c);
  free(c);
  many_callers(0.5f);
  many_callers(-1.0f);
  unknown_devices();
  close_waits();
  return checks_end("many_devices_test");
}
