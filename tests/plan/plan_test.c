/* SPDX-License-Identifier: Apache-2.0
 * Plans of snapshots that are made by hand, without a context or a device. The same snapshot gives the same bytes, on
 * any thread and whatever was planned in between; the snapshot is not changed; and the keys name the participants. */
#include <pthread.h>
#include <string.h>

#include "runtime/plan/expected.h"
#include "runtime/plan/plan.h"
#include "tests/check.h"

enum { DEVICES = 3, THREADS = 8 };

static const hx__work product = {.matmul = true,
                                 .gpu_share = -1.0f,
                                 .slices = 2048,
                                 .units = 1ull << 33,
                                 .needs = HX__NEED_MATMUL,
                                 .gemm = {.m = 2048, .n = 2048, .k = 2048, .alpha = 1.0f}};

/* Device 0 has the highest rate and device 2 the lowest, which is not measured; devices with odd numbers are behind a
 * link. */
static hx__plan_snapshot snapshot_of(const hx__config *config, const hx__work *work, double share, unsigned devices) {
  hx__plan_snapshot s = {.config = config, .work = work, .share = share, .threads = THREADS, .learns = true};
  s.key = hx__task_key(work, HX__POWER_MAINS);
  s.inputs.units = (double)work->units;
  s.inputs.devices = devices;
  s.inputs.cpu_alone = (hx__estimate){.ns_per_unit = 0.01, .samples = 9, .sigma = 0.1};
  s.break_even_ns = HX__BREAK_EVEN_NS;
  s.cpu = hx__cpu_time_of(work, THREADS, &s.inputs.cpu_alone, s.break_even_ns);
  s.usable = devices;
  s.copy_threads = devices / 2;
  for (unsigned i = 0; i < devices; i++) {
    s.device[i] = (hx__device_facts){.entry = DEVICES - i,
                                     .identity = 1001 + 2 * i,
                                     .seed_rate = 300,
                                     .launch_ns = 1e4,
                                     .link_ns = i % 2 ? 0.1 : 0.0};
    const hx__estimate rate = {.ns_per_unit = 0.002 * (i + 1), .latency_ns = 1e4, .samples = i < 2 ? 5 : 0};
    const hx__nearest nearest = {.rate = rate, .elsewhere = i == 1, .placement = work->placement};
    hx__expect_device(&s, i, &nearest, &nearest);
  }
  hx__expect_company(&s, &(hx__estimate){.samples = 0});
  return s;
}

typedef struct planning {
  const hx__plan_snapshot *snapshot;
  hx__plan plan;
} planning;

static void *make_plan(void *p) {
  planning *const job = p;
  hx__decision decision;
  memset(&decision, 0xa5, sizeof decision);
  memset(&job->plan, 0, sizeof job->plan);
  hx__plan_make(job->snapshot, &job->plan, &decision);
  return NULL;
}

/* Makes the plan here and on another thread, and another plan in between. */
static hx__plan plan_of(const hx__plan_snapshot *s) {
  static const hx__config other_config = {.offload = HX__OFFLOAD_MANDATORY, .min_offload = UINT64_MAX};
  static const hx_field sum = {.op = HX_SUM, .type = HX_F32};
  static const hx__work other_work = {.slices = 7, .units = 28672, .needs = 1, .fields = &sum, .nfields = 1};
  const hx__plan_snapshot before = *s, other = snapshot_of(&other_config, &other_work, 1.0, 1);
  static planning here, between, elsewhere;
  here.snapshot = elsewhere.snapshot = s;
  between.snapshot = &other;
  pthread_t thread;
  make_plan(&here);
  make_plan(&between);
  if (pthread_create(&thread, NULL, make_plan, &elsewhere) != 0) exit(1);
  pthread_join(thread, NULL);
  CHECK(memcmp(&here.plan, &elsewhere.plan, sizeof here.plan) == 0, "two plans of one snapshot differ");
  CHECK(memcmp(s, &before, sizeof before) == 0, "planning has changed its snapshot");
  return here.plan;
}

static void check_keys(const hx__plan *plan) {
  uint64_t company = plan->cpu_works ? HX__CPU_IDENTITY : 0;
  for (size_t i = 0; i < plan->devices; i++) company += plan->device[i].key.device;
  CHECK(plan->call_key.company == company && plan->cpu_key.company == company, "keys of another company");
  CHECK(plan->call_key.threads == (plan->cpu_works ? plan->threads : 0), "a key of %u threads", plan->call_key.threads);
  for (size_t i = 0; i < plan->devices; i++)
    CHECK(plan->device[i].key.company == company &&
              plan->device[i].entry == DEVICES - (plan->device[i].key.device - 1001) / 2,
          "device %zu has the key of another one", i);
}

static void check_parts(const hx__plan *plan, size_t slices) {
  size_t next = plan->cpu_fixed.count;
  for (size_t i = 0; i < plan->devices; i++) {
    CHECK(plan->device[i].fixed.first == next, "device %zu begins at %zu, not %zu", i, plan->device[i].fixed.first,
          next);
    next += plan->device[i].fixed.count;
  }
  CHECK(next == slices, "%zu of %zu slices", next, slices);
}

/* A map of 1024 x 1024 elements on a device behind a link, before anything is measured. */
static double map_ns_per_unit(bool per_row, size_t ld) {
  enum { SIDE = 1024 };
  struct hx_kernel *const kernel = calloc(1, sizeof *kernel);
  if (!kernel) exit(1);
  kernel->expr.inputs = 2;
  kernel->expr.row_inputs = per_row;
  kernel->expr.per_row[1] = per_row;
  const hx__work w = {.kernel = kernel, .map = true, .units = SIDE * SIDE, .cols = SIDE, .ld = {SIDE, ld}};
  const hx__nearest none = {.rate = {.samples = 0}};
  hx__plan_snapshot s = {.work = &w};
  s.device[0] = (hx__device_facts){.seed_rate = 300, .launch_ns = 1e4, .link_ns = 0.1};
  hx__expect_device(&s, 0, &none, &none);
  free(kernel);
  return s.inputs.device[0].beside.ns_per_unit;
}

/* What every row shares, and one value per row, take a device next to no time to get. */
static void check_transfers(void) {
  const double both = map_ns_per_unit(false, 1024), row = map_ns_per_unit(false, 0), values = map_ns_per_unit(true, 1);
  CHECK(both > row * 1.3 && row > 0.3, "%g ns with two matrices, %g with one", both, row);
  CHECK(values >= row * 0.999 && values < row * 1.001, "%g ns with a value per row, %g with one row", values, row);
}

int main(void) {
  check_transfers();
  static const double shares[] = {HX__SHARE_AUTO, 0.0, 0.3, 1.0};
  for (unsigned devices = 0; devices <= DEVICES; devices++)
    for (unsigned schedule = HX__SCHEDULE_ADAPTIVE; schedule <= HX__SCHEDULE_GUIDED; schedule++)
      for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        const hx__config config = {
            .device_words = HX__DEV_ALL, .schedule = (hx__schedule)schedule, .min_offload = UINT64_MAX};
        const hx__plan_snapshot s = snapshot_of(&config, &product, shares[i], shares[i] == 0.0 ? 0 : devices);
        const hx__plan plan = plan_of(&s);
        CHECK(plan.cpu_works || plan.devices, "nothing works");
        check_keys(&plan);
        if (!plan.policy) check_parts(&plan, product.slices);
        for (size_t d = 1; d < plan.devices; d++)
          CHECK(plan.device[d].entry > plan.device[d - 1].entry, "devices are not in the table's order");
      }
  return checks_end("plan_test");
}
