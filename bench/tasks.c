/* SPDX-License-Identifier: Apache-2.0
 * The default tasks of all subcommands, and the loop over a list of tasks. */
#include <string.h>

#include "bench/compare.h"
#include "bench/progress.h"

#define USUAL_SECONDS 0.5                 /* of a task of a subcommand that has no time of its own */
#define MOST_TASKS (28 * BENCH_MAX_SIZES) /* all operations on all types are 28 tasks per size */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const bench_size lengths[] = {{.n = 1u << 10}, {.n = 1u << 12}, {.n = 1u << 14},
                                     {.n = 1u << 16}, {.n = 1u << 18}, {.n = 1u << 20},
                                     {.n = 1u << 22}, {.n = 1u << 24}, {.n = 1u << 26}};
static const bench_size sim_lengths[] = {{.n = 1u << 20}, {.n = 1u << 22}, {.n = 1u << 24}, {.n = 1u << 26}};
static const bench_size call_lengths[] = {{.n = 0}, {.n = 1}, {.n = 16}, {.n = 64}, {.n = 256}, {.n = 1000}};
static const bench_size one_length[] = {{.n = 1u << 24}};
/* The first shape is that of a published study of integrated GPUs. */
static const bench_size default_shapes[] = {{.m = 2048, .n = 4096, .k = 2048}, {.m = 1024, .n = 1024, .k = 1024}};
static const bench_size shapes[] = {{.m = 256, .n = 256, .k = 256},
                                    {.m = 512, .n = 512, .k = 512},
                                    {.m = 1024, .n = 1024, .k = 1024},
                                    {.m = 2048, .n = 2048, .k = 2048}};
static const bench_size one_shape[] = {{.m = 1024, .n = 1024, .k = 1024}};

#define LENGTHS(list) .lengths = (list), .length_count = COUNT(list)
#define SHAPES(list) .shapes = (list), .shape_count = COUNT(list)
static const bench_plan plans[] = {
    {"", LENGTHS(lengths), SHAPES(default_shapes), .reduce_seconds = 1.5, .matmul_seconds = 8, .limit_seconds = 120},
    {"reduce", LENGTHS(lengths), .reduce_seconds = 1.5},
    {"matmul", SHAPES(shapes), .matmul_seconds = 4},
    {"sweep", LENGTHS(one_length), SHAPES(one_shape), .reduce_seconds = 5, .matmul_seconds = 5},
    {"explain", LENGTHS(one_length), SHAPES(one_shape)},
    {"sim", LENGTHS(sim_lengths), SHAPES(shapes)},
    {"call", LENGTHS(call_lengths), .may_be_empty = true},
};

static bench_task list[MOST_TASKS];

/* Adds the sizes for one operation. cubes: a length N means the shape NxNxN. */
static size_t add_sizes(const bench_options *options, const bench_plan *plan, bench_task task, bool cubes,
                        size_t count) {
  const bool product = task.op == (hx_op)BENCH_OP_MATMUL;
  const bench_size *const own = product ? plan->shapes : plan->lengths;
  const size_t own_count = product ? plan->shape_count : plan->length_count;
  for (size_t i = 0; i < (options->size_count ? options->size_count : own_count); i++) {
    task.size = options->size_count ? options->sizes[i] : own[i];
    if (product && cubes && task.size.m == 0) task.size.m = task.size.k = task.size.n;
    if ((task.size.m != 0) == product) list[count++] = task;
  }
  return count;
}

bool bench_tasks_list(const bench_options *options, const bench_plan *plan, bench_tasks *tasks) {
  const uint32_t product = 1u << BENCH_OP_MATMUL;
  const uint32_t standard = (plan->length_count ? 1u << HX_SUM : 0) | (plan->shape_count ? product : 0);
  const uint32_t ops = options->ops ? options->ops : standard, types = options->types ? options->types : 1u << HX_F32;
  const bool cubes = ops == product;
  size_t count = 0;
  if ((!plan->shape_count && (ops & product)) || (!plan->length_count && (ops & ~product))) {
    fprintf(stderr, "hx-bench: %s %s --op matmul (there is a subcommand %s)\n", plan->command,
            plan->shape_count ? "does only" : "does not do", plan->shape_count ? "reduce" : "matmul");
    return false;
  }
  for (size_t i = 0; i < options->size_count; i++)
    if (!options->sizes[i].m && !bench_size_is_task(options->sizes[i].n, cubes, plan->may_be_empty)) return false;
  for (hx_type type = HX_F32; type <= HX_U32; type++)
    for (hx_op op = HX_SUM; op <= HX_PROD; op++)
      if ((ops & 1u << op) && (types & 1u << type))
        count = add_sizes(options, plan, (bench_task){.op = op, .type = type}, cubes, count);
  if ((ops & product) && (types & 1u << HX_F32))
    count = add_sizes(options, plan, (bench_task){.op = (hx_op)BENCH_OP_MATMUL, .type = HX_F32}, cubes, count);
  if (!count) fputs("hx-bench: no operation fits the sizes and types given (a product takes MxNxK and f32)\n", stderr);
  *tasks = (bench_tasks){plan, list, count};
  return count != 0;
}

bool bench_tasks_of_command(const bench_options *options, bench_tasks *tasks) {
  size_t p = 0;
  while (strcmp(plans[p].command, options->command) != 0) p++; /* every subcommand that calls this has a plan */
  return bench_tasks_list(options, &plans[p], tasks);
}

static double seconds_of(const bench_session *session, const bench_plan *plan, const bench_task *task) {
  const double own = task->size.m ? plan->matmul_seconds : plan->reduce_seconds;
  return session->options->seconds > 0 ? session->options->seconds : own > 0 ? own : USUAL_SECONDS;
}

static void begin_progress(const bench_session *session, const bench_tasks *tasks) {
  double seconds = 0;
  for (size_t i = 0; i < tasks->count; i++) seconds += seconds_of(session, tasks->plan, &tasks->task[i]);
  bench_progress_begin(tasks->count, seconds);
}

bool bench_tasks_each(bench_session *session, const bench_tasks *tasks, bench_each *each, bench_results *results) {
  bool fine = true;
  begin_progress(session, tasks);
  for (size_t i = 0; i < tasks->count && !bench_stopped(); i++) {
    const bench_row row = bench_row_of_task(&tasks->task[i]);
    bench_subject subject;
    char name[128];
    bench_task_text(&row, name, sizeof name);
    bench_progress_row(name, seconds_of(session, tasks->plan, &tasks->task[i]));
    bench_progress_stage("making the arrays");
    if (!bench_subject_make(session, &tasks->task[i], &subject)) {
      results->missing++;
      fine = false;
      continue;
    }
    fine &= each(session, &subject, tasks->plan, results);
    bench_subject_free(session, &subject);
  }
  bench_progress_erase();
  return fine;
}
