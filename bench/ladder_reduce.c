/* SPDX-License-Identifier: Apache-2.0
 * `ladder reduce`: the sum of u32 by the steps of ladder_sum.c, by hx, and by other libraries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/ladder_sum.h"
#include "reference/ref.h"

#define SECONDS 2.0

/* hx's kernels compared with other libraries, as far as these have run. */
static void print_ratios(const ladder_case *c) {
  static const struct {
    const char *rung, *what;
    bool wall;
  } others[] = {{"OpenCV, CPU", "OpenCV on the CPU", true},
                {"OpenCV, OpenCL", "its OpenCL", true},
                {"CUB", "CUB", true},
                {"CUB", "CUB on the device", false}};
  char text[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    const double ratio = ladder_ratio(c, "hx, kernels", others[i].rung, others[i].wall);
    if (!isfinite(ratio)) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.2fx", used ? ", " : "", others[i].what, ratio);
  }
  if (used) bench_note(0, "here, until the host has the sum: hx's kernels over %s", text);
}

static bool run_size(bench_session *session, ladder_sum *f, size_t n) {
  static ladder_case c;
  hx_value unused;
  const hx_task task = hx_reduce(HX_SUM, HX_U32, f->x, n, &unused);
  const uint64_t sum = ref_reduce(HX_SUM, HX_U32, f->x, NULL, n).u64;
  c = (ladder_case){.ladder = "reduce",
                    .unit = "GB/s",
                    .base = "naive",
                    .device = f->device->info,
                    .label = f->device->label,
                    .n = n,
                    .sum = &sum,
                    .sums = 1};
  c.work = 1e-9 * sizeof(uint32_t) * (double)n;
  ladder_sum_rungs(&c, f);
  ladder_hx_rungs(f->device, &c, &task);
  ladder_opencv_rungs(&c, f->device, f->x, n, session->threads);
  ladder_cub_rung(&c, f->device, f->x, f->most);
  const bool fine = ladder_run(session, &c, SECONDS);
  print_ratios(&c);
  return fine;
}

/* Of the default sizes, those whose array fits into the device's memory. */
static bool is_size_of_device(const bench_options *options, const ladder_device *device, size_t n) {
  return options->size_count || n * sizeof(cl_uint) <= device->max_alloc;
}

/* The length of the longest sum. If it is too long, prints one sentence to stderr and returns SIZE_MAX. */
static size_t longest_sum(const bench_options *options, const bench_tasks *tasks, const ladder_device *device) {
  size_t most = 0;
  for (size_t i = 0; i < tasks->count; i++) {
    const size_t n = tasks->task[i].size.n;
    if (n > most && is_size_of_device(options, device, n)) most = n;
  }
  if (most <= INT32_MAX) return most;
  fprintf(stderr, "hx-bench: ladder reduce takes sums of less than 2^31 elements, not %zu\n", most);
  return SIZE_MAX;
}

bool ladder_reduce(bench_session *session, size_t index, const void *what) {
  const bench_tasks *const tasks = what;
  ladder_device device;
  if (!ladder_device_open(&device, session, index)) return false;
  const size_t most = longest_sum(session->options, tasks, &device);
  bool fine = most != SIZE_MAX;
  if (fine) {
    ladder_sum f;
    fine = ladder_sum_open(&f, &device, most);
    if (!fine) fprintf(stderr, "hx-bench: device %zu has no room for %zu elements\n", index, most);
    if (fine) hx_register(device.hx, f.x, most * sizeof *f.x);
    for (size_t i = 0; fine && i < tasks->count && !bench_stopped(); i++) {
      const size_t n = tasks->task[i].size.n;
      if (is_size_of_device(session->options, &device, n)) fine = run_size(session, &f, n);
    }
    ladder_cub_close();
    if (f.x) hx_unregister(device.hx, f.x);
    ladder_sum_close(&f);
  }
  ladder_device_close(&device);
  return fine;
}
