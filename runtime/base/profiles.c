/* SPDX-License-Identifier: Apache-2.0
 * The table of machines: docs/measurements/laptops.tsv says where each figure is from. */
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
     .cpu_part = 0.85,
     .gpu_part = 0.5,
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
     .cpu_part = 0.85,
     .gpu_part = 0.5,
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
     .cpu_part = 0.85,
     .gpu_part = 0.5,
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
     .cpu_part = 0.85,
     .gpu_part = 0.5,
     .dram_gbs = 89.6,
     .launch_us = 21,
     .idle_us = 60,
     .sum_build_ms = 41,
     .product_build_ms = 180},
    {.name = "two-cards",
     .cpu = "Xeon (Sapphire Rapids), 32 x 2.0 GHz",
     .gpu = "two H100 with 132 SM x 128 lanes at 1.98 GHz, each on PCIe 5.0 x16",
     .cores = 32,
     .cards = 2,
     .cpu_gflops = 4096,
     .gpu_gflops = 66900,
     .cpu_part = 0.61,
     .gpu_part = 0.77,
     .dram_gbs = 307.2,
     .link_gbs = 51.4,
     .launch_us = 20,
     .idle_us = 0,
     .sum_build_ms = 33,
     .product_build_ms = 33},
};
const size_t hx__profile_count = sizeof hx__profiles / sizeof hx__profiles[0];

double hx__profile_read_gbs(const hx__profile *p) {
  return p->cards ? p->link_gbs : p->dram_gbs * HX__PROFILE_DRAM_ONE;
}

const hx__profile *hx__profile_named(const char *name, size_t length) {
  for (size_t i = 0; i < hx__profile_count; i++)
    if (strlen(hx__profiles[i].name) == length && strncasecmp(hx__profiles[i].name, name, length) == 0)
      return &hx__profiles[i];
  return NULL;
}
