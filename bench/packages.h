/* SPDX-License-Identifier: Apache-2.0
 * The command that installs a driver, by distribution. */
#ifndef HX_BENCH_PACKAGES_H
#define HX_BENCH_PACKAGES_H

#include "bench/machine.h"

typedef enum bench_need {
  BENCH_NEED_INTEL,        /* Intel's OpenCL driver */
  BENCH_NEED_INTEL_LEGACY, /* the one for Gen8 to Gen11 */
  BENCH_NEED_RUSTICL,      /* Mesa's */
  BENCH_NEED_ROCM,         /* AMD's */
  BENCH_NEED_NVIDIA,       /* NVIDIA's kernel driver with its OpenCL library */
  BENCH_NEED_NVIDIA_ICD,   /* the OpenCL library of an NVIDIA driver that is loaded */
  BENCH_NEED_LOADER,       /* libOpenCL.so.1 */
  BENCH_NEED_POCL,         /* a driver that computes on the CPU */
  BENCH_NEEDS
} bench_need;

/* Writes the command, or what to look for if the distribution has no such package or is not known. Returns out. */
char *bench_package_line(const bench_machine *machine, bench_need need, char *out, size_t bytes);

#endif
