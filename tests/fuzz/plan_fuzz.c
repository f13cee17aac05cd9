/* SPDX-License-Identifier: Apache-2.0
 * Every unit of work is handed out once: the two ends of a range, the parts of threads, the blocks of a product's tail,
 * the parts of a plan, and whole calls in virtual time whose devices fail, hang and have any rate. */
#include <math.h>

#include "runtime/api/gather.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/share.h"
#include "runtime/run/remainder.h"
#include "runtime/sched/thread_parts.h"
#include "runtime/sched/work_range.h"
#include "tests/fuzz/fuzz.h"
#include "sim/sim.h"

enum { MOST_SLICES = 300, MOST_SIDE = 600 };
static hx_context *hx;
static float place[4]; /* arrays point here and are never read */

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu,sim";
  settings.sim = "rate=1e9;rate=2e9;rate=4e9,latency_us=1";
  settings.cache_dir = "off";
  setenv("OCL_ICD_VENDORS", "/nonexistent", 1); /* no driver */
  if (hx_open(&hx, &settings) != HX_OK || hx_ready(hx) != HX_OK || hx_device_count(hx) < 4) abort();
  return 0;
}

/* Two bytes as a number between least and most, on a logarithmic scale. */
static double log_spread(fuzz_input *in, double least, double most) {
  return least * pow(most / least, (double)fuzz_number(in, 2) / 65535.0);
}

/* Parts for any number of threads, which come in any order. */
static void check_parts(fuzz_input *in) {
  static unsigned char seen[MOST_SLICES];
  const hx__chunk all = {fuzz_below(in, 1000), fuzz_below(in, MOST_SLICES + 1)};
  const hx__take_size size = {1 + fuzz_below(in, 9), 1 + fuzz_below(in, 20), 1 + fuzz_below(in, MOST_SLICES)};
  const unsigned threads = 1 + (unsigned)fuzz_below(in, 200);
  hx__thread_parts parts;
  hx__thread_parts_init(&parts, all, threads, size);
  memset(seen, 0, sizeof seen);
  for (size_t done = 0; done < all.count;) {
    const hx__chunk c = hx__thread_parts_take(&parts, (unsigned)fuzz_below(in, threads));
    FUZZ_CHECK(c.count && c.first >= all.first && c.first + c.count <= all.first + all.count, "%zu+%zu of %zu+%zu",
               c.first, c.count, all.first, all.count);
    for (size_t i = c.first - all.first; i < c.first - all.first + c.count; i++)
      FUZZ_CHECK(!seen[i]++, "slice %zu was handed out twice", i);
    done += c.count;
  }
  FUZZ_CHECK(hx__thread_parts_take(&parts, 0).count == 0, "slices are left of %zu", all.count);
}

/* A range from which chunks of any size are taken at both ends. */
static void check_ends(fuzz_input *in) {
  hx__work_range ends;
  const hx__chunk all = {fuzz_below(in, 1000), (size_t)(fuzz_number(in, 8) >> (1 + fuzz_below(in, 63)))};
  hx__work_range_init(&ends, all);
  size_t front = all.first, back = all.first + all.count;
  for (unsigned i = 0; i < 64 && front < back; i++) {
    const size_t want = (size_t)(fuzz_number(in, 8) >> fuzz_below(in, 64));
    const bool from_front = fuzz_below(in, 2);
    const hx__chunk c = from_front ? hx__work_range_take_front(&ends, want) : hx__work_range_take_back(&ends, want);
    FUZZ_CHECK(c.count > 0 && c.count <= back - front, "%zu of %zu slices", c.count, back - front);
    FUZZ_CHECK(c.count + (ends.unit - 1) >= want || c.count == back - front, "%zu of %zu slices wanted", c.count, want);
    if (from_front) FUZZ_CHECK(c.first == front, "from %zu, not %zu", c.first, front);
    if (!from_front) FUZZ_CHECK(c.first + c.count == back, "to %zu, not %zu", c.first + c.count, back);
    front += from_front ? c.count : 0;
    back -= from_front ? 0 : c.count;
    FUZZ_CHECK(hx__work_range_left(&ends) == back - front, "%zu left, not %zu", hx__work_range_left(&ends),
               back - front);
  }
  check_parts(in);
}

/* Fills *work with a checked task of any shape. It is not returned by value, because a member may point into it. */
static void any_work(fuzz_input *in, size_t most, hx__work *work) {
  hx_task task = hx_matmul(1 + fuzz_below(in, most), 1 + fuzz_below(in, most), 1 + fuzz_below(in, 2000), place,
                           place + 1, place + 2);
  static hx_value value;
  if (fuzz_below(in, 3) == 0)
    task = hx_reduce(HX_SUM, HX_F32, (const float *)(UINTPTR_MAX / 2 + 1), (size_t)log_spread(in, 1, 1e15), &value);
  task.matmul.alpha = task.kind == HX_MATMUL ? 0 : task.matmul.alpha; /* arrays that overlap are not read */
  if (hx__task_check(&task, work) != HX_OK) abort();
  work->needs = work->matmul ? HX__NEED_MATMUL : work->needs;
}

static void check_tail(fuzz_input *in) {
  static unsigned char seen[MOST_SIDE * MOST_SIDE];
  hx__work w;
  any_work(in, MOST_SIDE, &w);
  if (!w.matmul) return;
  const size_t lines = hx__work_cross_extent(&w);
  hx__remainder tail;
  hx__remainder_plan(&tail, hx->table.cpu, &w, 1 + (unsigned)fuzz_below(in, 64));
  if (tail.blocks == 0) return;
  memset(seen, 0, sizeof seen);
  hx__chunk slices, across;
  size_t cells = 0;
  while (hx__remainder_next(&tail, &w, &slices, &across)) {
    FUZZ_CHECK(slices.first >= tail.slices.first && slices.first + slices.count <= w.slices &&
                   across.first + across.count <= lines,
               "a block of slices %zu + %zu, lines %zu + %zu", slices.first, slices.count, across.first, across.count);
    for (size_t i = 0; i < slices.count; i++)
      for (size_t j = 0; j < across.count; j++)
        FUZZ_CHECK(seen[(slices.first + i) * lines + across.first + j]++ == 0, "a cell twice");
    cells += slices.count * across.count;
  }
  FUZZ_CHECK(tail.slices.first + tail.slices.count == w.slices && cells == tail.slices.count * lines,
             "%zu cells of %zu slices", cells, tail.slices.count);
}

/* A plan under any settings: fixed parts follow each other up to the last slice, and all others have a policy. */
static void check_plan(fuzz_input *in) {
  static const hx__config plain;
  hx__config *const c = &hx->config;
  const double asked = (double)fuzz_below(in, 256) / 255.0;
  c->splits = (uint32_t)fuzz_below(in, 5);
  double left = 1;
  for (uint32_t i = 0; i < c->splits; i++, left -= (double)c->split[i - 1])
    c->split[i] = (float)(left * (double)fuzz_below(in, 256) / 256.0);
  c->schedule = (hx__schedule)fuzz_below(in, 4);
  c->offload = (hx__offload_mode)fuzz_below(in, 3);
  c->chunk = plain.chunk + (fuzz_below(in, 2) ? fuzz_number(in, 2) : 0);
  c->min_offload = fuzz_below(in, 2) ? UINT64_MAX : fuzz_number(in, 4);
  hx__work w;
  any_work(in, 60000, &w);
  w.gpu_share = fuzz_below(in, 2) ? -1.0f : (float)asked;
  static hx__plan_snapshot snapshot;
  static hx__plan plan;
  static hx__decision decision;
  hx__gather_cpu(hx, &w, hx__share_of(c, &w), 1 + (unsigned)fuzz_below(in, 8), true, &snapshot);
  hx__gather_devices(hx, &snapshot);
  hx__plan_make(&snapshot, &plan, &decision);
  FUZZ_CHECK(plan.cpu_works || plan.devices, "there is no participant");
  if (plan.policy) {
    for (size_t i = 0; i < plan.devices; i++)
      FUZZ_CHECK(plan.device[i].share >= 0 && plan.device[i].share <= 1, "a share of %g", plan.device[i].share);
    return;
  }
  size_t next = plan.cpu_fixed.count;
  FUZZ_CHECK(plan.cpu_fixed.first == 0, "the CPU's part begins at %zu", plan.cpu_fixed.first);
  for (size_t i = 0; i < plan.devices; i++) {
    FUZZ_CHECK(plan.device[i].fixed.first == next && plan.device[i].fixed.count, "device %zu at %zu, not %zu", i,
               plan.device[i].fixed.first, next);
    next += plan.device[i].fixed.count;
  }
  FUZZ_CHECK(next == w.slices, "%zu of %zu slices", next, w.slices);
}

static sim_unit any_device(fuzz_input *in) {
  sim_unit u = {
      .rate = log_spread(in, 1e-7, 1e-1), .latency_ns = log_spread(in, 1, 1e6), .idle_ns = log_spread(in, 1, 1e6)};
  const unsigned flags = (unsigned)fuzz_number(in, 1);
  u.noise = (double)fuzz_below(in, 256) / 512.0;
  u.grain = 1 + fuzz_below(in, 20);
  if (flags & 1) u.elbow = log_spread(in, 1, 100);
  if (flags & 2) u.fail_at = 1 + (unsigned)fuzz_below(in, 4);
  if (flags & 4) u.hang_at = 1 + (unsigned)fuzz_below(in, 4);
  if (flags & 8) u.rate = 0;
  if (flags & 16)
    u.steps = 1, u.step[0] = (sim_step){log_spread(in, 1e3, 1e8), flags & 32 ? 0 : log_spread(in, 0.01, 10)};
  return u;
}

/* A whole call. The estimates before it may be any doubles, and what earlier inputs have taught the model is kept. */
static void check_call(fuzz_input *in) {
  static hx__model model = HX__MODEL_INIT;
  static unsigned char seen[MOST_SLICES];
  static sim_hx call = {.model = &model};
  sim_machine m = {.devices = 1 + (unsigned)fuzz_below(in, SIM_DEVICES)};
  const unsigned threads = 1 + (unsigned)fuzz_below(in, 4);
  m.cpu = (sim_unit){.rate = log_spread(in, 1e-6, 1e-2), .threads = threads, .slow = (unsigned)fuzz_below(in, threads)};
  for (unsigned d = 0; d < m.devices; d++) m.device[d] = any_device(in);
  sim_guess guess = sim_guess_of(&m, log_spread(in, 0.1, 10));
  const unsigned odd = (unsigned)fuzz_number(in, 1);
  for (unsigned d = 0; d < m.devices; d++)
    if (odd >> d & 1) guess.rate[d] = fuzz_double(in);
  if (odd & 64) guess.rate[SIM_DEVICES] = fuzz_double(in);
  call.now_s += fuzz_number(in, 2);
  call.idle = (unsigned)fuzz_below(in, 16);
  uint64_t random = fuzz_number(in, 4);
  const size_t slices = 1 + fuzz_below(in, MOST_SLICES);
  memset(seen, 0, sizeof seen);
  sim_hx_call(&call, &m, slices, &guess, &random, seen);
  FUZZ_CHECK(!call.result.stuck, "a call that never ends");
  for (size_t i = 0; i < slices; i++) FUZZ_CHECK(seen[i] == 1, "slice %zu of %zu: %u times", i, slices, seen[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const checks[])(fuzz_input *) = {check_ends, check_tail, check_plan, check_call};
  fuzz_input in = {data, size};
  checks[fuzz_below(&in, 4)](&in);
  return 0;
}
