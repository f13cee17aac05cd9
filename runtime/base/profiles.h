/* SPDX-License-Identifier: Apache-2.0
 * Profiles of machines, for simulated devices (HX_SIM=profile=NAME) and the simulator (hx-bench sim): laptops, and a
 * machine with two cards. The peaks are published figures; launches, the reading of memory, links and the times of the
 * compiler were measured, the other parts are assumptions or measured, too. docs/measurements/laptops.tsv has each
 * figure with its source, and a test compares the two. */
#ifndef HX_BASE_PROFILES_H
#define HX_BASE_PROFILES_H

#include <stddef.h>

typedef struct hx__profile {
  const char *name, *cpu, *gpu;
  unsigned cores, cards;                 /* cards: GPUs with memory of their own; 0: one GPU that shares the CPU's */
  double cpu_gflops, gpu_gflops;         /* f32, peak, of one GPU */
  double cpu_part, gpu_part;             /* the parts of these peaks that products reach */
  double dram_gbs;                       /* peak of the CPU's memory */
  double link_gbs;                       /* to each card, and at the same time from it; 0: no cards */
  double launch_us, idle_us;             /* time of a launch; additional time if the GPU was idle */
  double sum_build_ms, product_build_ms; /* time that the driver's compiler takes for a kernel, on a core */
} hx__profile;

/* The parts of the peak of DRAM that are read with one of CPU and GPU at work, and with both. */
#define HX__PROFILE_DRAM_ONE 0.75
#define HX__PROFILE_DRAM_BOTH 0.85
/* Rates of products that remain while CPU and integrated GPU draw on the package's power. */
#define HX__PROFILE_CPU_CORUN 0.80
#define HX__PROFILE_GPU_CORUN 0.90

extern const hx__profile hx__profiles[];
extern const size_t hx__profile_count;

/* Gigabytes per second at which a GPU reads the CPU's memory while the CPU does nothing. */
double hx__profile_read_gbs(const hx__profile *profile);

/* The profile of this name, or NULL. */
const hx__profile *hx__profile_named(const char *name, size_t length);

#endif
