/* SPDX-License-Identifier: Apache-2.0
 * Lists of tasks: what a subcommand does if the options do not say, and what they make of it. */
#ifndef HX_BENCH_COMPARE_H
#define HX_BENCH_COMPARE_H

#include "bench/subject.h"

/* What a subcommand does by itself. A count of 0: it does nothing of the kind. */
typedef struct bench_plan {
  const char *command;
  const bench_size *lengths, *shapes;
  size_t length_count, shape_count;
  double reduce_seconds, matmul_seconds; /* for one task, all modes together */
  bool may_be_empty;                     /* a length of 0 is a task: what a call of it costs */
  double limit_seconds;                  /* after which only what is indispensable is measured; 0: none */
} bench_plan;

/* The tasks of a subcommand, as one list. */
typedef struct bench_tasks {
  const bench_plan *plan;
  const bench_task *task;
  size_t count;
} bench_tasks;

/* Lists the plan's operations, types and sizes, or those of the options. False after one sentence to stderr. */
bool bench_tasks_list(const bench_options *options, const bench_plan *plan, bench_tasks *tasks);
/* Likewise, of the plan of the options' subcommand. */
bool bench_tasks_of_command(const bench_options *options, bench_tasks *tasks);

/* Does one task. False when memory ran out. */
typedef bool bench_each(bench_session *session, bench_subject *subject, const bench_plan *plan, bench_results *results);

/* Makes a subject of each task until the run is stopped, and does it. False: one was not done. A task that there is
 * no memory for is counted as missing. */
bool bench_tasks_each(bench_session *session, const bench_tasks *tasks, bench_each *each, bench_results *results);

/* Compares by `each`, and reports: a sweep. An exit status. */
int bench_compare(const bench_options *options, bench_each *each);

/* Every task beside the libraries of --vs, by processes of their own; an exit status. */
int bench_versus_run(const bench_options *options, const bench_tasks *tasks);

/* The table of --vs: what takes part, a line for each library, means at the end. */
void bench_versus_head(const bench_row *row, const char *file);
void bench_versus_lines(const bench_session *session, const bench_results *results, size_t row);
void bench_versus_means(const bench_session *session, bench_results *results);

#endif
