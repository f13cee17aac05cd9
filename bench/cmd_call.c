/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `call`: times reductions of a few elements by hx_offload and by the bare CPU kernel. The difference is
 * the cost of checking the task, dispatching it and storing the result. A sample is a fixed number of calls, so that a
 * run with few --reps makes a known number of them (tests/api/call_cost_test.sh counts their instructions). */
#include <stdlib.h>

#include "bench/compare.h"
#include "bench/emit.h"
#include "bench/measure.h"
#include "bench/system.h"
#include "cpu/cpu.h"
#include "runtime/base/config.h"
#include "runtime/base/fpenv.h"

#define CALLS 2000u /* per sample */
#define LEAST_ROUNDS 101u
#define SECONDS 0.3
#define MOST_N ((size_t)1 << 20)

typedef struct cost {
  const char *op, *type;
  size_t n, rounds;
  double offload_ns, kernel_ns, difference_ns;
} cost;

#define COST(member, ...) BENCH_COLUMN(cost, member, __VA_ARGS__)
static const bench_column columns[] = {
    COST(op, .name = "op"),
    COST(type, .name = "type", .head = "type", .width = -4),
    COST(op, .head = "op", .width = -12),
    COST(n, .name = "n", .head = "n", .kind = BENCH_SIZE, .width = 8),
    COST(offload_ns, .name = "offload_ns", .head = "hx_offload", .kind = BENCH_NUMBER, .width = 12, .digits = 1),
    COST(kernel_ns, .name = "kernel_ns", .head = "bare kernel", .kind = BENCH_NUMBER, .width = 12, .digits = 1),
    COST(difference_ns, .head = "difference", .kind = BENCH_NUMBER, .width = 12, .digits = 1, .rank = 1),
    COST(rounds, .name = "rounds", .head = "rounds", .kind = BENCH_SIZE, .width = 8, .rank = 2),
};
static const bench_table table = BENCH_TABLE(columns);
static bench_layout layout;

typedef struct timed_call {
  hx_context *hx;
  const hx_task *task;
  hx__leaf_fn *leaf;
  uint64_t *slots;
} timed_call;

static double sample_kernel(void *self, unsigned calls) {
  const timed_call *const p = self;
  const struct hx_reduce_args *const args = &p->task->reduce;
  const double start = bench_now();
  for (unsigned i = 0; i < calls; i++) p->leaf(args->x, args->y, args->n, HX__IN_L2, p->slots);
  return (bench_now() - start) / calls;
}

static double sample_offload(void *self, unsigned calls) {
  const timed_call *const p = self;
  hx_status status = HX_OK;
  const double start = bench_now();
  for (unsigned i = 0; i < calls && status == HX_OK; i++) status = hx_offload(p->hx, p->task, NULL);
  const double seconds = (bench_now() - start) / calls;
  if (status != HX_OK) fprintf(stderr, "hx-bench: %s: %s\n", hx_status_string(status), hx_error_detail());
  return status == HX_OK ? seconds : -1;
}

static bool time_call(bench_session *session, bench_subject *subject, const bench_plan *plan, bench_results *results) {
  (void)plan;
  if (subject->row.n == 0 && subject->task.reduce.op >= HX_MIN && subject->task.reduce.op <= HX_ARGMAX)
    return true; /* there is no result for no elements */
  hx__config config;
  hx__isa isa = hx__config_read(&config, NULL) == HX_OK ? config.isa : HX__ISA_AUTO;
  const hx__cpu_kernels *kernels = hx__cpu_kernels_for(isa);
  const struct hx_reduce_args *args = &subject->task.reduce;
  uint64_t *slots = calloc(args->n / HX__LEAF + 1, sizeof *slots);
  if (!slots) return false;
  timed_call timed = {session->hx, &subject->task, kernels->leaf[args->op][args->type], slots};
  bench_contestant contestants[2] = {{.sample = sample_offload, .self = &timed, .calls = CALLS},
                                     {.sample = sample_kernel, .self = &timed, .calls = CALLS}};
  bench_limits limits = bench_session_limits(session, LEAST_ROUNDS, SECONDS);
  limits.whole = true;
  subject->kind->poison(subject, true);
  bool right = hx_offload(session->hx, &subject->task, NULL) == HX_OK && subject->kind->check(subject, true);
  size_t rounds = right ? bench_measure(contestants, args->n ? 2 : 1, &limits) : 0;
  if (!right) fputs("hx-bench: the result differs from the scalar definition\n", stderr);
  if (rounds) {
    const double offload = 1e9 * bench_median(contestants[0].samples, rounds);
    const double kernel = args->n ? 1e9 * bench_median(contestants[1].samples, rounds) : 0;
    const cost c = {subject->row.op, subject->row.type, args->n, rounds, offload, kernel, offload - kernel};
    bench_print_row(&layout, &table, &c);
    bench_show_output();
    bench_store_row(&table, &c);
  }
  for (int i = 0; i < 2; i++) free(contestants[i].samples);
  free(slots);
  if (!rounds) results->failed = true;
  return true;
}

static int time_calls(bench_session *session, const void *tasks) {
  bench_results results = {0};
  bench_print_system(session);
  bench_say("\n");
  bench_note(0, "ns of a call, medians");
  bench_json_begin("call");
  bench_system_json(session);
  bench_json_open("calls", '[');
  const hx__fpenv before = hx__fpenv_enter(); /* the bare kernels need it; hx_offload then finds it already set */
  const bool fine = bench_tasks_each(session, tasks, time_call, &results);
  hx__fpenv_leave(before);
  bench_json_close(']');
  bench_json_end();
  return fine && !results.failed ? BENCH_OK : BENCH_FAILED;
}

int bench_cmd_call(const bench_options *options) {
  bench_tasks tasks;
  for (size_t i = 0; i < options->size_count; i++) {
    if (options->sizes[i].m == 0 && options->sizes[i].n <= MOST_N) continue;
    fputs("hx-bench: call takes numbers of elements up to 2^20\n", stderr);
    return BENCH_USAGE;
  }
  if (!bench_tasks_of_command(options, &tasks)) return BENCH_USAGE;
  return bench_session_run(options, options->devices ? options->devices : "cpu", false, time_calls, &tasks);
}
