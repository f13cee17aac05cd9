/* SPDX-License-Identifier: Apache-2.0
 * Ids: include/pci_ids of Mesa (iris, crocus). Support: LEGACY_PLATFORMS.md of Intel's compute-runtime, by which the
 * regular packages serve Gen12 and later from 24.35.30872.22 on. */
#include "bench/intel_chip.h"

#include <stddef.h>

#define LEGACY BENCH_INTEL_LEGACY
#define NONE BENCH_INTEL_NONE

static const bench_intel_chip chips[] = {
    {0x0102, 0x0126, "Sandy Bridge, Gen6", NONE},    {0x0152, 0x016a, "Ivy Bridge, Gen7", NONE},
    {0x0402, 0x042e, "Haswell, Gen7.5", NONE},       {0x0a02, 0x0a2e, "Haswell, Gen7.5", NONE},
    {0x0a84, 0x0a84, "Apollo Lake, Gen9", LEGACY},   {0x0c02, 0x0c2e, "Haswell, Gen7.5", NONE},
    {0x0d02, 0x0d2e, "Haswell, Gen7.5", NONE},       {0x0f30, 0x0f33, "Bay Trail, Gen7", NONE},
    {0x1602, 0x163e, "Broadwell, Gen8", LEGACY},     {0x1902, 0x193d, "Skylake, Gen9", LEGACY},
    {0x1a84, 0x1a85, "Apollo Lake, Gen9", LEGACY},   {0x22b0, 0x22b3, "Braswell, Gen8", NONE},
    {0x3184, 0x3185, "Gemini Lake, Gen9", LEGACY},   {0x3e90, 0x3ea9, "Coffee Lake, Gen9", LEGACY},
    {0x4541, 0x4571, "Elkhart Lake, Gen11", LEGACY}, {0x4e51, 0x4e71, "Jasper Lake, Gen11", LEGACY},
    {0x5902, 0x593b, "Kaby Lake, Gen9", LEGACY},     {0x5a84, 0x5a85, "Apollo Lake, Gen9", LEGACY},
    {0x87c0, 0x87c0, "Amber Lake, Gen9", LEGACY},    {0x87ca, 0x87ca, "Amber Lake, Gen9", LEGACY},
    {0x8a50, 0x8a71, "Ice Lake, Gen11", LEGACY},     {0x9b21, 0x9bf6, "Comet Lake, Gen9", LEGACY},
};

const bench_intel_chip *bench_intel_chip_of(unsigned device) {
  for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++)
    if (device >= chips[i].first && device <= chips[i].last) return &chips[i];
  return NULL;
}
