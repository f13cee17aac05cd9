/* SPDX-License-Identifier: Apache-2.0
 * `hx-bench reduce`: reductions on the CPU alone, devices alone and both. */
#include "bench/compare.h"

int bench_cmd_reduce(const bench_options *options) {
  static const bench_size sizes[] = {{.n = 1u << 10}, {.n = 1u << 12}, {.n = 1u << 14},
                                     {.n = 1u << 16}, {.n = 1u << 18}, {.n = 1u << 20},
                                     {.n = 1u << 22}, {.n = 1u << 24}, {.n = 1u << 26}};
  static const bench_plan plan = {
      .reduce_sizes = sizes, .reduce_count = sizeof sizes / sizeof sizes[0], .reduce_seconds = 1.5};
  if (options->ops & 1u << BENCH_OP_MATMUL) {
    fputs("hx-bench: reduce does not do --op matmul (there is a subcommand matmul)\n", stderr);
    return BENCH_USAGE;
  }
  return bench_compare(options, &plan);
}
