/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `call`: reductions of a few elements by hx_offload, and by the bare kernel of the CPU that does them:
 * the difference is what validation, dispatch and the result cost. A sample is a fixed number of calls, so that a run
 * of few --reps does a known number of them (tests/api/call_cost_test.sh counts their instructions). */
#include <stdlib.h>

#include "bench/compare.h"
#include "bench/emit.h"
#include "bench/measure.h"
#include "bench/system.h"
#include "cpu/cpu.h"
#include "runtime/base/config.h"
#include "runtime/base/fpenv.h"

#define CALLS 2000u /* of a sample */
#define LEAST_ROUNDS 101u
#define SECONDS 0.3
#define MOST_N ((size_t)1 << 20)

typedef struct kernel_call {
  hx__leaf_fn *leaf;
  const struct hx_reduce_args *args;
  uint64_t *slots;
} kernel_call;

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
    COST(difference_ns, .head = "difference", .kind = BENCH_NUMBER, .width = 12, .digits = 1),
    COST(rounds, .name = "rounds", .head = "", .kind = BENCH_SIZE, .width = 8),
};
static const bench_table table = BENCH_TABLE(columns);

typedef struct offload_call {
  hx_context *hx;
  const hx_task *task;
} offload_call;

static double sample_kernel(void *self, unsigned calls) {
  const kernel_call *b = self;
  double start = bench_now();
  for (unsigned i = 0; i < calls; i++) b->leaf(b->args->x, b->args->y, b->args->n, HX__IN_L2, b->slots);
  return (bench_now() - start) / calls;
}

static double sample_offload(void *self, unsigned calls) {
  const offload_call *w = self;
  hx_status status = HX_OK;
  double start = bench_now();
  for (unsigned i = 0; i < calls && status == HX_OK; i++) status = hx_offload(w->hx, w->task, NULL);
  double seconds = (bench_now() - start) / calls;
  if (status != HX_OK) fprintf(stderr, "hx-bench: %s: %s\n", hx_status_string(status), hx_error_detail());
  return status == HX_OK ? seconds : -1;
}

static bool call_one(bench_session *session, bench_subject *subject, bench_results *results) {
  hx__config config;
  hx__isa isa = hx__config_read(&config, NULL) == HX_OK ? config.isa : HX__ISA_AUTO;
  const hx__cpu_kernels *kernels = hx__cpu_kernels_for(isa);
  const struct hx_reduce_args *args = &subject->task.reduce;
  uint64_t *slots = calloc(args->n / HX__LEAF + 1, sizeof *slots);
  if (!slots) return false;
  kernel_call b = {kernels->leaf[args->op][args->type], args, slots};
  offload_call w = {session->hx, &subject->task};
  bench_contestant contestants[2] = {{.sample = sample_offload, .self = &w, .calls = CALLS},
                                     {.sample = sample_kernel, .self = &b, .calls = CALLS}};
  bench_limits limits = bench_session_limits(session, "call", LEAST_ROUNDS, SECONDS);
  limits.whole = true;
  limits.progress = false;
  subject->kind->poison(subject, true);
  bool right = hx_offload(session->hx, &subject->task, NULL) == HX_OK && subject->kind->check(subject, true);
  size_t rounds = right ? bench_measure(contestants, args->n ? 2 : 1, &limits) : 0;
  if (!right) fputs("hx-bench: the result is not what the definition says\n", stderr);
  if (rounds) {
    bench_measured();
    const double offload = 1e9 * bench_median(contestants[0].samples, rounds);
    const double kernel = args->n ? 1e9 * bench_median(contestants[1].samples, rounds) : 0;
    const cost c = {subject->row.op, subject->row.type, args->n, rounds, offload, kernel, offload - kernel};
    if (session->human) bench_print_row(session->human, &table, &c);
    if (session->human) fflush(session->human);
    bench_emit_row(&table, &c);
  }
  for (int i = 0; i < 2; i++) free(contestants[i].samples);
  free(slots);
  if (!rounds) results->failed = true;
  return true;
}

static bool call_op(bench_session *session, hx_op op, hx_type type, bench_results *results) {
  static const size_t standard[] = {0, 1, 16, 64, 256, 1000};
  const bench_options *options = session->options;
  size_t count = options->size_count ? options->size_count : sizeof standard / sizeof standard[0], most = 1;
  for (size_t i = 0; i < count; i++) {
    size_t n = options->size_count ? options->sizes[i].n : standard[i];
    if (n > most) most = n;
  }
  bench_arrays arrays;
  if (!bench_reduce_arrays(session, op, type, most, &arrays)) return false;
  bool fine = true;
  for (size_t i = 0; fine && i < count && !bench_stopped(); i++) {
    size_t n = options->size_count ? options->sizes[i].n : standard[i];
    if (n == 0 && op >= HX_MIN && op <= HX_ARGMAX) continue; /* they have no result */
    bench_subject subject;
    bench_reduce_subject(&arrays, op, type, n, &subject);
    fine = call_one(session, &subject, results);
  }
  bench_arrays_free(session, &arrays);
  return fine;
}

static int run(bench_session *session) {
  const bench_options *options = session->options;
  bench_results results = {0};
  uint32_t ops = options->ops ? options->ops : 1u << HX_SUM, types = options->types ? options->types : 1u << HX_F32;
  if (session->human) {
    bench_system_print(session->human, session);
    static const char *const titles[] = {"  rounds   (ns of a call, medians)"};
    fputc('\n', session->human);
    bench_print_head(session->human, &table, titles);
  }
  bench_json_begin("call");
  bench_system_json(session);
  bench_json_open("calls", '[');
  bool fine = true;
  hx__fpenv before = hx__fpenv_enter(); /* the bare kernels want it; hx_offload finds it there */
  for (hx_type type = HX_F32; type <= HX_U32; type++)
    for (hx_op op = HX_SUM; fine && op <= HX_PROD; op++) {
      if (bench_stopped() || !(ops & 1u << op) || !(types & 1u << type)) continue;
      fine = call_op(session, op, type, &results);
    }
  hx__fpenv_leave(before);
  bench_json_close(']');
  bench_json_end();
  return fine && !results.failed ? BENCH_OK : BENCH_FAILED;
}

int bench_cmd_call(const bench_options *options) {
  for (size_t i = 0; i < options->size_count; i++) {
    if (options->sizes[i].m == 0 && options->sizes[i].n <= MOST_N) continue;
    fputs("hx-bench: call takes numbers of elements up to 2^20\n", stderr);
    return BENCH_USAGE;
  }
  return bench_session_run(options, options->devices ? options->devices : "cpu", false, run);
}
