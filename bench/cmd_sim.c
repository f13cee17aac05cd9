/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `sim`: the library's scheduler on simulated laptops (runtime/base/profiles.h says which of their
 * figures are published and which are assumed). Time is virtual: nothing is computed, and this machine is not measured.
 * */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/emit.h"
#include "bench/measure.h"
#include "bench/progress.h"
#include "runtime/base/profiles.h"
#include "runtime/plan/expected.h"
#include "sim/sim.h"

#define LEAF 4096.0
#define CALLS 10u /* enough for the model to have learned */
#define SEEDS 9u
#define NOISE 0.03
#define ROW_SECONDS 0.05 /* for the progress bar */

typedef struct outcome {
  const char *profile, *op;
  char size[72];
  double cpu_ms, gpu_ms, best_ms, best_share, first_ms, tenth_ms, share, eta;
  double gain; /* the speed of the tenth call, as a multiple of the better device alone */
  unsigned launches;
  double build_ms;       /* what the compiler takes for the kernel */
  uint64_t calls_before; /* calls that the CPU computes in that time */
} outcome;

#define OUTCOME(member, ...) BENCH_COLUMN(outcome, member, __VA_ARGS__)
static const bench_column columns[] = {
    OUTCOME(profile, .name = "profile"),
    OUTCOME(op, .name = "op", .head = "op", .width = -6),
    OUTCOME(size, .name = "size", .head = "size", .kind = BENCH_CHARS, .width = -14),
    OUTCOME(cpu_ms, .name = "cpu_ms", .head = "CPU ms", .kind = BENCH_NUMBER, .width = 7, .digits = 3),
    OUTCOME(gpu_ms, .name = "gpu_ms", .head = "GPU ms", .kind = BENCH_NUMBER, .width = 7, .digits = 3),
    OUTCOME(best_ms, .name = "best_ms", .head = "best ms", .kind = BENCH_NUMBER, .width = 7, .digits = 3, .rank = 1),
    OUTCOME(best_share, .name = "best_share", .head = "best on GPU", .kind = BENCH_PERCENT, .rank = 3),
    OUTCOME(build_ms, .name = "build_ms", .kind = BENCH_NUMBER),
    OUTCOME(calls_before, .name = "calls_before", .head = "calls", .kind = BENCH_SIZE, .width = 5, .rank = 4),
    OUTCOME(first_ms, .name = "first_ms", .head = "hx 1st", .kind = BENCH_NUMBER, .width = 7, .digits = 3, .rank = 2),
    OUTCOME(tenth_ms, .name = "tenth_ms", .head = "hx 10th", .kind = BENCH_NUMBER, .width = 7, .digits = 3),
    OUTCOME(gain, .head = "x better", .kind = BENCH_NUMBER, .width = 8, .digits = 2),
    OUTCOME(share, .name = "share", .head = "on GPU", .kind = BENCH_PERCENT, .width = 6, .rank = 1),
    OUTCOME(launches, .name = "launches", .head = "launches", .kind = BENCH_UINT, .width = 8, .rank = 5),
    OUTCOME(eta, .name = "eta", .head = "eta", .kind = BENCH_NUMBER, .width = 5, .digits = 3, .rank = 1),
    OUTCOME(gain, .name = "gain", .kind = BENCH_NUMBER), /* new columns of CSV come last */
};
static const bench_table table = BENCH_TABLE(columns);

static sim_machine machine_of(const hx__profile *p, const bench_size *size, size_t *slices) {
  sim_machine m = {.devices = 1};
  sim_unit *const gpu = &m.device[0];
  m.cpu.threads = p->cores;
  gpu->latency_ns = p->launch_us * 1e3;
  gpu->idle_ns = p->idle_us * 1e3;
  m.cpu.noise = gpu->noise = NOISE;
  if (size->m) { /* rows; a nanosecond and a gigaflop: one operation */
    const double row = 2.0 * (double)size->n * (double)size->k;
    *slices = size->m;
    m.cpu.rate = p->cpu_gflops * HX__PROFILE_CPU_PART / row;
    gpu->rate = p->gpu_gflops * HX__PROFILE_GPU_PART / row;
    m.cpu.corun = HX__PROFILE_CPU_CORUN;
    gpu->corun = HX__PROFILE_GPU_CORUN;
    gpu->grain = 16;
  } else {
    *slices = (size->n + (size_t)LEAF - 1) / (size_t)LEAF;
    m.cpu.bytes = gpu->bytes = LEAF * sizeof(float);
    m.cpu.rate = gpu->rate = p->dram_gbs * HX__PROFILE_DRAM_ONE / m.cpu.bytes;
    m.dram = p->dram_gbs * HX__PROFILE_DRAM_BOTH;
    gpu->grain = 16;
  }
  return m;
}

/* Medians over some seeds. Returns false if there is no memory. */
static bool simulate_calls(const sim_machine *m, size_t slices, outcome *o) {
  double share[SIM_DEVICES], first[SEEDS], tenth[SEEDS], shares[SEEDS];
  hx__model *const model = malloc(sizeof *model);
  if (!model) return false;
  o->best_ms = sim_oracle(m, slices, share) * 1e-6;
  o->best_share = share[0];
  o->cpu_ms = (double)slices / m->cpu.rate * 1e-6;
  o->calls_before = (uint64_t)ceil(o->build_ms / o->cpu_ms);
  o->gpu_ms = (m->device[0].latency_ns + (double)slices / m->device[0].rate) * 1e-6;
  const bool uses_devices = o->cpu_ms * 1e6 >= hx__break_even_ns(m->device[0].latency_ns);
  if (!uses_devices) {
    o->first_ms = o->tenth_ms = o->cpu_ms;
    o->share = o->launches = 0;
  }
  for (unsigned s = 0; s < SEEDS && uses_devices; s++) {
    memset(model, 0, sizeof *model);
    pthread_mutex_init(&model->lock, NULL);
    sim_hx hx = {.model = model, .now_s = 1, .idle = 1};
    uint64_t random = s + 1;
    const sim_guess guess = sim_guess_of(m, 1.0);
    for (unsigned c = 0; c < CALLS; c++) {
      const double ms = sim_hx_call(&hx, m, slices, &guess, &random, NULL) * 1e-6;
      if (c == 0) first[s] = ms;
      tenth[s] = ms;
      hx.idle = 0;
    }
    shares[s] = (double)hx.result.device_slices[0] / (double)slices;
    o->launches = hx.result.launches;
    pthread_mutex_destroy(&model->lock);
  }
  free(model);
  if (!uses_devices) return true;
  o->first_ms = bench_median(first, SEEDS);
  o->tenth_ms = bench_median(tenth, SEEDS);
  o->share = bench_median(shares, SEEDS);
  return true;
}

static void print_profile(const hx__profile *p) {
  bench_say("\n");
  bench_note(0, "%s: %s; %s", p->name, p->cpu, p->gpu);
  bench_note(
      2,
      "peaks: CPU %.0f GFLOP/s, GPU %.0f GFLOP/s, DRAM %.1f GB/s. Products at %.0f %% and %.0f %% of them, %.0f %% and "
      "%.0f %% of that while both work; one draws %.0f %% of the DRAM's, both %.0f %%; a launch takes %.1f us, %.1f us "
      "more after a pause; compiling takes %.0f ms for a sum and %.0f for a product. docs/measurements/laptops.tsv has "
      "the sources.",
      p->cpu_gflops, p->gpu_gflops, p->dram_gbs, 100 * HX__PROFILE_CPU_PART, 100 * HX__PROFILE_GPU_PART,
      100 * HX__PROFILE_CPU_CORUN, 100 * HX__PROFILE_GPU_CORUN, 100 * HX__PROFILE_DRAM_ONE, 100 * HX__PROFILE_DRAM_BOTH,
      p->launch_us, p->idle_us, p->sum_build_ms, p->product_build_ms);
}

static bool simulate_task(const hx__profile *p, const bench_task *task, outcome *out) {
  size_t slices;
  outcome o = {.profile = p->name,
               .op = bench_op_name(task->op),
               .build_ms = task->size.m ? p->product_build_ms : p->sum_build_ms};
  const sim_machine m = machine_of(p, &task->size, &slices);
  const bench_row row = bench_row_of_task(task);
  if (!simulate_calls(&m, slices, &o)) return false;
  bench_size_text(&row, o.size, sizeof o.size);
  o.eta = o.best_ms / o.tenth_ms;
  o.gain = fmin(o.cpu_ms, o.gpu_ms) / o.tenth_ms;
  bench_store_row(&table, &o);
  *out = o;
  return true;
}

/* All tasks on one laptop, and their table. */
static bool simulate_profile(const hx__profile *p, const bench_tasks *tasks) {
  outcome *const list = malloc(tasks->count * sizeof *list);
  bench_layout layout = {0};
  size_t count = 0;
  bool fine = list != NULL;
  for (; fine && count < tasks->count && !bench_stopped(); count += fine) {
    bench_progress_row(p->name, ROW_SECONDS);
    fine = simulate_task(p, &tasks->task[count], &list[count]);
  }
  print_profile(p);
  const bench_group group = {&table, list, count, sizeof *list, NULL, NULL};
  if (count) bench_print_group(&layout, &group);
  bench_show_output();
  free(list);
  return fine;
}

int bench_cmd_sim(const bench_options *options) {
  const uint32_t product = 1u << BENCH_OP_MATMUL;
  bench_options own = *options;
  bench_tasks tasks;
  own.types = 0; /* the scheduler treats all types, and all reductions, alike */
  if (own.ops & ~product) own.ops = (own.ops & product) | 1u << HX_SUM;
  if (!bench_tasks_of_command(&own, &tasks)) return BENCH_USAGE;
  if (!bench_files_open(options)) return BENCH_USAGE;
  bool fine = true;
  bench_note(0,
             "hx's scheduler in virtual time. best: the best fixed split. calls: those that the CPU computes while the "
             "GPU's kernel is compiled. hx 1st: the first call after that, without any measurement, the GPU asleep; "
             "hx 10th: after ten calls. x better: the speed of the tenth as a multiple of the better device alone. "
             "eta: best over the tenth. Medians of 9 runs with noise of 3 %%.");
  const size_t rows = tasks.count * (options->profile ? 1 : hx__profile_count);
  bench_progress_begin(rows, (double)rows * ROW_SECONDS);
  bench_json_begin("sim");
  bench_json_open("rows", '[');
  for (size_t i = 0; fine && i < hx__profile_count && !bench_stopped(); i++) {
    const hx__profile *const p = &hx__profiles[i];
    if (options->profile && hx__profile_named(options->profile, strlen(options->profile)) != p) continue;
    fine = simulate_profile(p, &tasks);
  }
  bench_json_close(']');
  bench_json_end();
  return bench_files_close() && fine ? BENCH_OK : BENCH_FAILED;
}
