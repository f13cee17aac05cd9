/* SPDX-License-Identifier: Apache-2.0
 * Comparing CPU alone, devices alone and both over a list of operations and sizes: what `reduce`, `matmul` and the
 * default job do, with different lists. */
#ifndef HX_BENCH_COMPARE_H
#define HX_BENCH_COMPARE_H

#include "bench/subject.h"

typedef struct bench_plan bench_plan;

/* Does one subject. False when memory ran out. */
typedef bool bench_each(bench_session *session, bench_subject *subject, const bench_plan *plan, bench_results *results);

/* What a subcommand does; its sizes where the options name none. A count of 0 leaves that half out. */
struct bench_plan {
  const bench_size *reduce_sizes, *matmul_sizes;
  size_t reduce_count, matmul_count;
  double reduce_seconds, matmul_seconds; /* for one operation and size, all modes together */
  double limit_seconds;                  /* after which only what is indispensable is measured; 0: none */
  bool needs_device;                     /* pointless with the CPU alone */
  bench_each *each;                      /* NULL: compare the modes */
};

/* Runs the plan and reports. An exit status. */
int bench_compare(const bench_options *options, const bench_plan *plan);

#endif
