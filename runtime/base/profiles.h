/* SPDX-License-Identifier: Apache-2.0
 * Laptops as data, for simulated devices (HX_SIM=profile=NAME) and the simulator (hx-bench sim). Peaks are published
 * ones; what software reaches of them, and how CPU and GPU get in one another's way, is assumed, here and nowhere else.
 */
#ifndef HX_BASE_PROFILES_H
#define HX_BASE_PROFILES_H

#include <stddef.h>

typedef struct hx__profile {
  const char *name, *cpu, *gpu;
  unsigned cores;
  double cpu_gflops, gpu_gflops; /* f32, peak */
  double dram_gbs;               /* peak, of both together */
  double launch_us, idle_us;     /* of a launch; more of it where the GPU has slept */
  const char *source;
} hx__profile;

/* Parts of the peaks that kernels reach; of DRAM, what one of the two draws, and what both draw. */
#define HX__PROFILE_CPU_PART 0.85
#define HX__PROFILE_GPU_PART 0.50
#define HX__PROFILE_DRAM_ONE 0.75
#define HX__PROFILE_DRAM_BOTH 0.85
/* Rates of products that remain while both draw on the package's power. */
#define HX__PROFILE_CPU_CORUN 0.80
#define HX__PROFILE_GPU_CORUN 0.90

extern const hx__profile hx__profiles[];
extern const size_t hx__profile_count;

/* By name; NULL: there is none. */
const hx__profile *hx__profile_named(const char *name, size_t length);

#endif
