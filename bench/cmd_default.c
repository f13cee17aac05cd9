/* SPDX-License-Identifier: Apache-2.0
 * What runs without a subcommand: what this machine gains, in under three minutes. */
#include "bench/compare.h"

int bench_cmd_default(const bench_options *options) {
  static const bench_size lengths[] = {{.n = 1u << 10}, {.n = 1u << 12}, {.n = 1u << 14},
                                       {.n = 1u << 16}, {.n = 1u << 18}, {.n = 1u << 20},
                                       {.n = 1u << 22}, {.n = 1u << 24}, {.n = 1u << 26}};
  /* The first is the size of a published study of integrated GPUs. */
  static const bench_size shapes[] = {{.m = 2048, .n = 4096, .k = 2048}, {.m = 1024, .n = 1024, .k = 1024}};
  static const bench_plan plan = {.reduce_sizes = lengths,
                                  .reduce_count = sizeof lengths / sizeof lengths[0],
                                  .reduce_seconds = 1.5,
                                  .matmul_sizes = shapes,
                                  .matmul_count = sizeof shapes / sizeof shapes[0],
                                  .matmul_seconds = 8,
                                  .limit_seconds = 120};
  return bench_compare(options, &plan);
}
