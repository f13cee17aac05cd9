/* SPDX-License-Identifier: Apache-2.0
 * Which OpenCL driver serves an Intel GPU, by its PCI id. */
#ifndef HX_BENCH_INTEL_CHIP_H
#define HX_BENCH_INTEL_CHIP_H

typedef enum bench_intel_support {
  BENCH_INTEL_CURRENT, /* Intel's driver of today */
  BENCH_INTEL_LEGACY,  /* Intel's driver before 24.35, or the legacy packages of that version */
  BENCH_INTEL_NONE     /* no driver that is still maintained */
} bench_intel_support;

typedef struct bench_intel_chip {
  unsigned short first, last; /* PCI ids */
  const char *name;           /* "Kaby Lake, Gen9" */
  bench_intel_support support;
} bench_intel_chip;

/* A chip that is not in the table is newer than all of it: NULL. */
const bench_intel_chip *bench_intel_chip_of(unsigned device);

#endif
