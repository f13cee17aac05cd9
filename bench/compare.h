/* SPDX-License-Identifier: Apache-2.0
 * Comparing CPU alone, devices alone and both over a list of operations and sizes: what `reduce`, `matmul` and the
 * default job do, with different lists. */
#ifndef HX_BENCH_COMPARE_H
#define HX_BENCH_COMPARE_H

#include "bench/subject.h"

typedef struct bench_plan bench_plan;

/* One operation of a list, with its sizes. op BENCH_OP_MATMUL: shapes. */
typedef struct bench_item {
  hx_op op;
  hx_type type;
  bench_size sizes[BENCH_MAX_SIZES];
  size_t count;
} bench_item;

#define BENCH_MAX_ITEMS 32 /* all operations on all types are 28 */

/* Does one subject. False when memory ran out. */
typedef bool bench_each(bench_session *session, bench_subject *subject, const bench_plan *plan, bench_results *results);

/* What a subcommand does; its sizes if the options name none. A count of 0 leaves that half out. */
struct bench_plan {
  const bench_size *reduce_sizes, *matmul_sizes;
  size_t reduce_count, matmul_count;
  double reduce_seconds, matmul_seconds; /* for one operation and size, all modes together */
  double limit_seconds;                  /* after which only what is indispensable is measured; 0: none */
  bool needs_device;                     /* pointless with the CPU alone */
  bench_each *each;                      /* NULL: compare the modes */
};

/* Every item beside the libraries of --vs, by processes of their own; an exit status. */
int bench_versus_run(const bench_options *options, const bench_plan *plan, const bench_item *items, size_t count);

/* The table of --vs: what takes part, a line for each library, means at the end. */
void bench_versus_head(FILE *f, const bench_row *row, const char *file);
void bench_versus_lines(FILE *f, const bench_session *session, const bench_results *results, size_t row);
void bench_versus_means(const bench_session *session, bench_results *results);

/* Runs the plan and reports. An exit status. */
int bench_compare(const bench_options *options, const bench_plan *plan);

#endif
