/* SPDX-License-Identifier: Apache-2.0
 * Profiles of laptops, for simulated devices (HX_SIM=profile=NAME) and the simulator (hx-bench sim). The peaks are
 * published figures; launches, the reading of memory and the times of the compiler were measured, the other parts are
 * assumptions. docs/measurements/laptops.tsv has each figure with its source, and a test compares the two. */
#ifndef HX_BASE_PROFILES_H
#define HX_BASE_PROFILES_H

#include <stddef.h>

typedef struct hx__profile {
  const char *name, *cpu, *gpu;
  unsigned cores;
  double cpu_gflops, gpu_gflops;         /* f32, peak */
  double dram_gbs;                       /* peak, of both together */
  double launch_us, idle_us;             /* time of a launch; additional time if the GPU was idle */
  double sum_build_ms, product_build_ms; /* time that Mesa's compiler takes for a kernel, on a core */
} hx__profile;

/* The parts of the peaks that kernels reach; for DRAM, with one of CPU and GPU at work, and with both. */
#define HX__PROFILE_CPU_PART 0.85
#define HX__PROFILE_GPU_PART 0.50
#define HX__PROFILE_DRAM_ONE 0.75
#define HX__PROFILE_DRAM_BOTH 0.85
/* Rates of products that remain while both draw on the package's power. */
#define HX__PROFILE_CPU_CORUN 0.80
#define HX__PROFILE_GPU_CORUN 0.90

extern const hx__profile hx__profiles[];
extern const size_t hx__profile_count;

/* The profile of this name, or NULL. */
const hx__profile *hx__profile_named(const char *name, size_t length);

#endif
