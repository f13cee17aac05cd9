/* SPDX-License-Identifier: Apache-2.0
 * `hx-bench matmul`: products on the CPU alone, devices alone and both. */
#include "bench/compare.h"

int bench_cmd_matmul(const bench_options *options) {
  static const bench_size sizes[] = {{.m = 256, .n = 256, .k = 256},
                                     {.m = 512, .n = 512, .k = 512},
                                     {.m = 1024, .n = 1024, .k = 1024},
                                     {.m = 2048, .n = 2048, .k = 2048}};
  static const bench_plan plan = {
      .matmul_sizes = sizes, .matmul_count = sizeof sizes / sizeof sizes[0], .matmul_seconds = 4};
  if (options->ops & ~(1u << BENCH_OP_MATMUL)) {
    fputs("hx-bench: matmul does only --op matmul (there is a subcommand reduce)\n", stderr);
    return BENCH_USAGE;
  }
  return bench_compare(options, &plan);
}
