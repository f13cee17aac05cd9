/* SPDX-License-Identifier: Apache-2.0
 * Lists of subjects, and the comparison of modes over them. */
#include "bench/compare.h"

#include <string.h>

#include "bench/engine.h"
#include "bench/measure.h"
#include "bench/system.h"
#include "bench/text.h"

/* The sizes of the options that fit; a length N is the shape NxNxN for a product if no reduction is in the plan. */
static void choose_sizes(const bench_options *options, const bench_plan *plan, bench_item *item) {
  bool product = item->op == (hx_op)BENCH_OP_MATMUL;
  if (!options->size_count) {
    item->count = product ? plan->matmul_count : plan->reduce_count;
    const bench_size *sizes = product ? plan->matmul_sizes : plan->reduce_sizes;
    memcpy(item->sizes, sizes, item->count * sizeof *sizes);
    return;
  }
  item->count = 0;
  bool cubes = product && (!plan->reduce_count || options->ops == 1u << BENCH_OP_MATMUL);
  for (size_t i = 0; i < options->size_count; i++) {
    bench_size size = options->sizes[i];
    if (size.m == 0 && cubes) size.m = size.k = size.n;
    if ((size.m != 0) == product) item->sizes[item->count++] = size;
  }
}

/* The operations of the options, or of the plan if they name none, with the sizes that fit each. */
static size_t list_items(const bench_options *options, const bench_plan *plan, bench_item items[BENCH_MAX_ITEMS]) {
  size_t count = 0;
  uint32_t standard = (plan->reduce_count ? 1u << HX_SUM : 0) | (plan->matmul_count ? 1u << BENCH_OP_MATMUL : 0);
  uint32_t ops = options->ops ? options->ops : standard, types = options->types ? options->types : 1u << HX_F32;
  for (hx_type type = HX_F32; type <= HX_U32; type++)
    for (hx_op op = HX_SUM; op <= HX_PROD; op++) {
      if (!(ops & 1u << op) || !(types & 1u << type)) continue;
      items[count] = (bench_item){.op = op, .type = type};
      choose_sizes(options, plan, &items[count]);
      if (items[count].count) count++;
    }
  if (ops & 1u << BENCH_OP_MATMUL && types & 1u << HX_F32) {
    items[count] = (bench_item){.op = (hx_op)BENCH_OP_MATMUL, .type = HX_F32};
    choose_sizes(options, plan, &items[count]);
    if (items[count].count) count++;
  }
  return count;
}

static bool run_product(bench_session *session, const bench_size *size, const bench_plan *plan, bench_each *each,
                        bench_results *results) {
  bench_arrays arrays;
  bench_subject subject;
  if (!bench_matmul_arrays(session, size, &arrays)) {
    results->missing++;
    return false;
  }
  bool fine = bench_matmul_subject(&arrays, size, &subject);
  if (fine) {
    fine = each(session, &subject, plan, results);
    bench_subject_free(&subject);
  } else {
    results->missing++;
  }
  bench_arrays_free(session, &arrays);
  return fine;
}

/* The greatest length up to `limit`; 0: none. */
static size_t longest(const bench_item *item, size_t limit) {
  size_t most = 0;
  for (size_t i = 0; i < item->count; i++)
    if (item->sizes[i].n > most && item->sizes[i].n <= limit) most = item->sizes[i].n;
  return most;
}

/* Sizes for which there is no memory are left out, those below are not. */
static bool run_reduction(bench_session *session, const bench_item *item, const bench_plan *plan, bench_each *each,
                          bench_results *results) {
  size_t most = longest(item, SIZE_MAX);
  bench_arrays arrays;
  while (most && !bench_reduce_arrays(session, item->op, item->type, most, &arrays)) most = longest(item, most - 1);
  bool fine = true;
  for (size_t i = 0; i < item->count && !bench_stopped(); i++) {
    if (item->sizes[i].n > most) {
      fine = false;
      results->missing++;
      continue;
    }
    bench_subject subject;
    bench_reduce_subject(&arrays, item->op, item->type, item->sizes[i].n, &subject);
    fine &= each(session, &subject, plan, results);
    bench_subject_free(&subject);
  }
  if (most) bench_arrays_free(session, &arrays);
  return fine;
}

/* False when something could not be made, or measured. */
static bool run_items(bench_session *session, const bench_item *items, size_t count, const bench_plan *plan,
                      bench_each *each, bench_results *results) {
  bool fine = true;
  for (size_t i = 0; i < count && !bench_stopped(); i++) {
    if (items[i].op != (hx_op)BENCH_OP_MATMUL) {
      fine &= run_reduction(session, &items[i], plan, each, results);
      continue;
    }
    for (size_t s = 0; s < items[i].count && !bench_stopped(); s++)
      fine &= run_product(session, &items[i].sizes[s], plan, each, results);
  }
  return fine;
}

static bool compare_one(bench_session *session, bench_subject *subject, const bench_plan *plan,
                        bench_results *results) {
  const bench_options *options = session->options;
  double seconds = subject->row.m ? plan->matmul_seconds : plan->reduce_seconds;
  bench_run run = {.seconds = options->seconds > 0 ? options->seconds : seconds, .reps = options->reps, .least = 5};
  run.print = true;
  bench_mode modes[3];
  size_t count = bench_compare_modes(session, modes);
  return bench_engine_run(session, subject, modes, count, &run, results);
}

int bench_compare(const bench_options *options, const bench_plan *plan) {
  static bench_item items[BENCH_MAX_ITEMS];
  size_t count = list_items(options, plan, items);
  if (!count) return bench_nothing_fits();
  if (options->vs_count) return bench_versus_run(options, plan, items, count);
  if (!bench_files_open(options)) return BENCH_USAGE;
  bench_session session;
  int status = bench_session_open(&session, options, true);
  if (status != BENCH_OK) {
    bench_files_close();
    return status;
  }
  bool pointless = plan->needs_device && !(session.has_cpu && session.has_device);
  if (pointless || (!session.has_cpu && !session.has_device)) {
    fprintf(stderr, "hx-bench: %s (hx-bench info says why, and what is missing)\n",
            pointless ? "a sweep needs the CPU and a device" : "none of the named devices can be used");
    bench_session_close(&session);
    bench_files_close();
    return BENCH_FAILED;
  }
  bench_results results = {0};
  if (plan->limit_seconds > 0) session.deadline = bench_now() + plan->limit_seconds;
  if (session.human) {
    bench_system_print(session.human, &session);
    bench_print_devices(&session, session.human);
    fflush(session.human);
  }
  if (!run_items(&session, items, count, plan, plan->each ? plan->each : compare_one, &results)) results.failed = true;
  bench_session_refresh(&session);
  bench_verdict(&session, &results);
  if (!bench_files_write(&session, &results)) results.failed = true;
  bench_session_close(&session);
  status = results.failed ? BENCH_FAILED : BENCH_OK;
  bench_results_free(&results);
  return status;
}
