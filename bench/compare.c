/* SPDX-License-Identifier: Apache-2.0
 * Compares the CPU alone, devices alone and both over a list of tasks: `reduce`, `matmul` and the default job. `sweep`
 * passes a function of its own for each task. */
#include "bench/compare.h"

#include "bench/emit.h"
#include "bench/engine.h"
#include "bench/measure.h"
#include "bench/system.h"

static bool compare_modes(bench_session *session, bench_subject *subject, const bench_plan *plan,
                          bench_results *results) {
  bench_run run = {.seconds = subject->row.m ? plan->matmul_seconds : plan->reduce_seconds, .least = 5};
  bench_mode modes[3];
  const size_t count = bench_compare_modes(session, modes);
  return bench_engine_run(session, subject, modes, count, &run, results);
}

typedef struct comparison {
  bench_tasks tasks;
  bench_each *each; /* NULL: compares the modes */
} comparison;

static int compare_tasks(bench_session *session, const void *what) {
  const comparison *const p = what;
  const bool pointless = p->each && !(session->has_cpu && session->has_device);
  if (pointless || (!session->has_cpu && !session->has_device)) {
    fprintf(stderr, "hx-bench: %s (hx-bench info says why, and what is missing)\n",
            pointless ? "a sweep needs the CPU and a device" : "none of the named devices can be used");
    return BENCH_FAILED;
  }
  bench_results results = {0};
  if (p->tasks.plan->limit_seconds > 0) session->deadline = bench_now() + p->tasks.plan->limit_seconds;
  bench_print_system(session);
  bench_print_devices(session);
  bench_show_output();
  if (!bench_tasks_each(session, &p->tasks, p->each ? p->each : compare_modes, &results)) results.failed = true;
  bench_session_refresh(session);
  bench_verdict(session, &results);
  bench_results_write(session, &results, false);
  const int status = results.failed ? BENCH_FAILED : BENCH_OK;
  bench_results_free(&results);
  return status;
}

int bench_compare(const bench_options *options, bench_each *each) {
  comparison what = {.each = each};
  if (!bench_tasks_of_command(options, &what.tasks)) return BENCH_USAGE;
  if (!options->vs_count) return bench_session_run(options, NULL, true, compare_tasks, &what);
  if (!each && !options->devices) return bench_versus_run(options, &what.tasks);
  fputs("hx-bench: --vs compares the CPU's side of reduce and matmul: without --devices, and not in a sweep\n", stderr);
  return BENCH_USAGE;
}

int bench_cmd_compare(const bench_options *options) { return bench_compare(options, NULL); }
