/* SPDX-License-Identifier: Apache-2.0
 * The table of laptops: docs/measurements/laptops.tsv says where each figure is from. */
#include "runtime/base/profiles.h"

#include <string.h>
#include <strings.h>

const hx__profile hx__profiles[] = {
    {.name = "gen9",
     .cpu = "Core i7-8650U, 4 x 1.9 GHz",
     .gpu = "UHD Graphics 620, 24 EU x 8 lanes at 1.15 GHz",
     .cores = 4,
     .cpu_gflops = 243,
     .gpu_gflops = 442,
     .dram_gbs = 37.5,
     .launch_us = 34.6,
     .idle_us = 120,
     .sum_build_ms = 29,
     .product_build_ms = 81},
    {.name = "xe",
     .cpu = "Core i7-1165G7, 4 x 2.8 GHz",
     .gpu = "Iris Xe, 96 EU x 8 lanes at 1.3 GHz",
     .cores = 4,
     .cpu_gflops = 358,
     .gpu_gflops = 1997,
     .dram_gbs = 68.3,
     .launch_us = 42.5,
     .idle_us = 120,
     .sum_build_ms = 163,
     .product_build_ms = 110},
    {.name = "vega",
     .cpu = "Ryzen 7 5800U, 8 x 1.9 GHz",
     .gpu = "Radeon (Vega), 8 CU x 64 lanes at 2.0 GHz",
     .cores = 8,
     .cpu_gflops = 486,
     .gpu_gflops = 2048,
     .dram_gbs = 51.2,
     .launch_us = 21,
     .idle_us = 60,
     .sum_build_ms = 24,
     .product_build_ms = 73},
    {.name = "rdna3",
     .cpu = "Ryzen 7 7840U, 8 x 3.3 GHz",
     .gpu = "Radeon 780M, 12 CU x 64 lanes at 2.7 GHz",
     .cores = 8,
     .cpu_gflops = 845,
     .gpu_gflops = 4147,
     .dram_gbs = 89.6,
     .launch_us = 21,
     .idle_us = 60,
     .sum_build_ms = 41,
     .product_build_ms = 180},
};
const size_t hx__profile_count = sizeof hx__profiles / sizeof hx__profiles[0];

const hx__profile *hx__profile_named(const char *name, size_t length) {
  for (size_t i = 0; i < hx__profile_count; i++)
    if (strlen(hx__profiles[i].name) == length && strncasecmp(hx__profiles[i].name, name, length) == 0)
      return &hx__profiles[i];
  return NULL;
}
