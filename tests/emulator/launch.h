/* SPDX-License-Identifier: Apache-2.0
 * One launch of a kernel on the emulated GPU. */
#ifndef HX_TESTS_EMULATOR_LAUNCH_H
#define HX_TESTS_EMULATOR_LAUNCH_H

#include "tests/emulator/memory.h"
#include "tests/emulator/program.h"

/* A launch. Arguments are in the kernel's order, without those that the compiler adds: an address, an integer or the
 * bits of a float. */
typedef struct launch {
  const char *kernel;
  uint32_t groups[2], local[2];
  uint64_t arguments[24];
  unsigned argument_count;
} launch;

/* Runs the groups, and the waves of a group, one after another in an order that depends on the seed. On failure returns
 * false and describes the fault in why. */
bool launch_run(const program *program, memory *memory, const launch *launch, unsigned seed, char *why,
                size_t why_bytes);

#endif
