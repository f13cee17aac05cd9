/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `sim`: the library's scheduler on simulated machines (runtime/base/profiles.h says which of their
 * figures are published and which are assumed). Time is virtual: nothing is computed, and this machine is not measured.
 */
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
  double gain;                 /* the speed of the tenth call, as a multiple of the better device alone */
  char split[8 * SIM_DEVICES]; /* the share of each card, as HX_SPLIT takes it; empty: the machine has one GPU */
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
    OUTCOME(split, .name = "split", .head = "HX_SPLIT", .kind = BENCH_CHARS, .flags = BENCH_SPARE, .width = -9),
};
static const bench_table table = BENCH_TABLE(columns);

/* A product as slices: rows, or columns if there are more of them, as hx cuts it. A nanosecond and a gigaflop: one
 * operation; a nanosecond and a gigabyte: one byte. */
static void set_product(const hx__profile *p, const bench_size *size, sim_machine *m, size_t *slices) {
  const bool by_columns = size->n > size->m;
  const double k = (double)size->k, other = (double)(by_columns ? size->m : size->n);
  const double operations = 2.0 * other * k;
  *slices = by_columns ? size->n : size->m;
  m->cpu.rate = p->cpu_gflops * p->cpu_part / operations;
  for (unsigned d = 0; d < m->devices; d++) {
    sim_unit *const gpu = &m->device[d];
    gpu->rate = p->gpu_gflops * p->gpu_part / operations;
    if (!p->cards) continue;
    /* The slices of one operand go in while those of the result come out; every card needs all of the other operand. */
    gpu->rate = fmin(gpu->rate, p->link_gbs / (sizeof(float) * fmax(k, other)));
    gpu->once_ns = sizeof(float) * k * other / p->link_gbs;
  }
  if (p->cards) return;
  m->cpu.corun = HX__PROFILE_CPU_CORUN;
  m->device[0].corun = HX__PROFILE_GPU_CORUN;
}

static void set_reduction(const hx__profile *p, const bench_size *size, sim_machine *m, size_t *slices) {
  *slices = (size->n + (size_t)LEAF - 1) / (size_t)LEAF;
  m->cpu.bytes = LEAF * sizeof(float);
  m->cpu.rate = p->dram_gbs * HX__PROFILE_DRAM_ONE / m->cpu.bytes;
  m->dram = p->dram_gbs * HX__PROFILE_DRAM_BOTH;
  for (unsigned d = 0; d < m->devices; d++) {
    m->device[d].bytes = m->cpu.bytes;
    m->device[d].rate = hx__profile_read_gbs(p) / m->cpu.bytes;
  }
}

static sim_machine machine_of(const hx__profile *p, const bench_size *size, size_t *slices) {
  sim_machine m = {.devices = p->cards ? p->cards : 1, .linked = p->cards != 0};
  m.cpu.threads = p->cores;
  m.cpu.noise = NOISE;
  for (unsigned d = 0; d < m.devices; d++)
    m.device[d] =
        (sim_unit){.latency_ns = p->launch_us * 1e3, .idle_ns = p->idle_us * 1e3, .noise = NOISE, .grain = 16};
  (size->m ? set_product : set_reduction)(p, size, &m, slices);
  return m;
}

/* The shares of cards as HX_SPLIT takes them. */
static void write_split(const double *share, unsigned devices, char *text, size_t bytes) {
  size_t at = 0;
  for (unsigned d = 0; d < devices; d++) {
    const int written = snprintf(text + at, bytes - at, "%s%.2g", d ? ":" : "", round(100 * share[d]) / 100);
    at += (size_t)fmax(written, 0);
  }
}

static double sum_of(const double *share, unsigned devices) {
  double sum = 0.0;
  for (unsigned d = 0; d < devices; d++) sum += share[d];
  return sum;
}

/* Medians over some seeds. Returns false if there is no memory. */
static bool simulate_calls(const sim_machine *m, size_t slices, outcome *o) {
  double best[SIM_DEVICES], first[SEEDS], tenth[SEEDS], of_seed[SIM_DEVICES][SEEDS], share[SIM_DEVICES] = {0};
  hx__model *const model = malloc(sizeof *model);
  if (!model) return false;
  o->cpu_ms = (double)slices / m->cpu.rate * 1e-6;
  o->best_ms = fmin(sim_oracle(m, slices, best) * 1e-6, o->cpu_ms); /* a slice is one thread's in the simulator */
  o->best_share = sum_of(best, m->devices);
  o->calls_before = (uint64_t)ceil(o->build_ms / o->cpu_ms);
  o->gpu_ms = (m->device[0].latency_ns + m->device[0].once_ns + (double)slices / m->device[0].rate) * 1e-6;
  const bool uses_devices = o->cpu_ms * 1e6 >= hx__break_even_ns(m->device[0].latency_ns);
  if (!uses_devices) {
    o->first_ms = o->tenth_ms = o->cpu_ms;
    o->share = o->launches = 0;
  }
  for (unsigned s = 0; s < SEEDS && uses_devices; s++) {
    memset(model, 0, sizeof *model);
    pthread_mutex_init(&model->lock, NULL);
    sim_hx hx = {.model = model, .now_s = 1, .idle = ~0u};
    uint64_t random = s + 1;
    const sim_guess guess = sim_guess_of(m, 1.0);
    for (unsigned c = 0; c < CALLS; c++) {
      const double ms = sim_hx_call(&hx, m, slices, &guess, &random, NULL) * 1e-6;
      if (c == 0) first[s] = ms;
      tenth[s] = ms;
      hx.idle = 0;
    }
    for (unsigned d = 0; d < m->devices; d++) of_seed[d][s] = (double)hx.result.device_slices[d] / (double)slices;
    o->launches = hx.result.launches;
    pthread_mutex_destroy(&model->lock);
  }
  free(model);
  for (unsigned d = 0; d < m->devices && uses_devices; d++) share[d] = bench_median(of_seed[d], SEEDS);
  if (m->devices > 1) write_split(share, m->devices, o->split, sizeof o->split);
  if (!uses_devices) return true;
  o->first_ms = bench_median(first, SEEDS);
  o->tenth_ms = bench_median(tenth, SEEDS);
  o->share = sum_of(share, m->devices);
  return true;
}

static void print_profile(const hx__profile *p) {
  bench_say("\n");
  bench_note(0, "%s: %s; %s", p->name, p->cpu, p->gpu);
  bench_note(2, "peaks: CPU %.0f GFLOP/s, %s %.0f GFLOP/s, DRAM %.1f GB/s. Products reach %.0f %% and %.0f %% of them.",
             p->cpu_gflops, p->cards ? "each GPU" : "GPU", p->gpu_gflops, p->dram_gbs, 100 * p->cpu_part,
             100 * p->gpu_part);
  if (p->cards)
    bench_note(2, "A link has %.1f GB/s in each direction; the operands are in the CPU's memory, and pinned.",
               p->link_gbs);
  else
    bench_note(
        2, "While both work, products have %.0f %% and %.0f %% of that. One draws %.0f %% of the DRAM's, both %.0f %%.",
        100 * HX__PROFILE_CPU_CORUN, 100 * HX__PROFILE_GPU_CORUN, 100 * HX__PROFILE_DRAM_ONE,
        100 * HX__PROFILE_DRAM_BOTH);
  bench_note(2,
             "A launch takes %.1f us, %.1f us more after a pause; compiling takes %.0f ms for a sum and %.0f for a "
             "product. docs/measurements/laptops.tsv has the sources.",
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

/* All tasks on one machine, and their table. */
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
