/* SPDX-License-Identifier: Apache-2.0
 * Lists of tasks: those that a subcommand does by default, changed by the options. */
#ifndef HX_BENCH_COMPARE_H
#define HX_BENCH_COMPARE_H

#include "bench/subject.h"

/* The tasks that a subcommand does by default. A count of 0: none of that kind. */
typedef struct bench_plan {
  const char *command;
  const bench_size *lengths, *shapes;
  size_t length_count, shape_count;
  double reduce_seconds, matmul_seconds; /* for all modes of one task together */
  bool may_be_empty;                     /* a length of 0 is allowed, to time such a call */
  double limit_seconds;                  /* after which only the least number of rounds is measured; 0: none */
} bench_plan;

/* All tasks of a subcommand. */
typedef struct bench_tasks {
  const bench_plan *plan;
  const bench_task *task;
  size_t count;
} bench_tasks;

/* Lists the tasks for the operations, types and sizes of the options, or else of the plan. Returns false after printing
 * one sentence to stderr. */
bool bench_tasks_list(const bench_options *options, const bench_plan *plan, bench_tasks *tasks);
/* The same with the plan of the subcommand that the options name. */
bool bench_tasks_of_command(const bench_options *options, bench_tasks *tasks);

/* Does one task. Returns false if there is no memory. */
typedef bool bench_each(bench_session *session, bench_subject *subject, const bench_plan *plan, bench_results *results);

/* Makes a subject of each task and calls `each` for it, until the run is stopped. Returns false if a task was not done.
 * A task for which there is no memory is counted as missing. */
bool bench_tasks_each(bench_session *session, const bench_tasks *tasks, bench_each *each, bench_results *results);

/* Calls `each` for every task and writes the report, as `sweep` does. Returns an exit status. */
int bench_compare(const bench_options *options, bench_each *each);

/* Compares every task with the libraries of --vs, each in a process of its own. Returns an exit status. */
int bench_versus_run(const bench_options *options, const bench_tasks *tasks);

/* The table of --vs: the libraries, a line for each of them and task, and means at the end. */
void bench_versus_head(const bench_row *row, const char *file);
void bench_versus_lines(const bench_session *session, const bench_results *results, size_t row);
void bench_versus_means(const bench_session *session, bench_results *results);

#endif
