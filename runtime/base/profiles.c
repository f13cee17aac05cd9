/* SPDX-License-Identifier: Apache-2.0
 * The table of laptops. Peak of a CPU: cores x base clock x 32 (two FMA units of eight floats). Peak of a GPU: lanes x
 * 2 x its highest clock. A launch: 42.5 us warm and 156 us at idle clocks were measured on Intel's GPUs of the 12th
 * generation (compute-runtime issues 600 and 735); the others are assumed to be like it, AMD's at half. */
#include "runtime/base/profiles.h"

#include <string.h>
#include <strings.h>

const hx__profile hx__profiles[] = {
    {"gen9", "Core i7-8650U, 4 x 1.9 GHz", "UHD Graphics 620, 24 EU x 8 lanes at 1.15 GHz", 4, 243, 442, 37.5, 42.5,
     113,
     "ark.intel.com, i7-8650U: 1.9 GHz, 1.15 GHz, DDR4-2400 in 2 channels; The Compute Architecture of Intel Processor "
     "Graphics Gen9: 16 f32 operations a clock and EU"},
    {"xe", "Core i7-1165G7, 4 x 2.8 GHz", "Iris Xe, 96 EU x 8 lanes at 1.3 GHz", 4, 358, 1997, 68.3, 42.5, 113,
     "ark.intel.com, i7-1165G7: 2.8 GHz, 96 EU, 1.3 GHz, LPDDR4x-4267 in 2 x 64 bits"},
    {"vega", "Ryzen 7 5800U, 8 x 1.9 GHz", "Radeon (Vega), 8 CU x 64 lanes at 2.0 GHz", 8, 486, 2048, 51.2, 21, 60,
     "amd.com, Ryzen 7 5800U: 1.9 GHz, 8 cores, 8 CU, 2000 MHz, DDR4-3200 in 2 channels"},
    {"rdna3", "Ryzen 7 7840U, 8 x 3.3 GHz", "Radeon 780M, 12 CU x 64 lanes at 2.7 GHz", 8, 845, 4147, 89.6, 21, 60,
     "amd.com, Ryzen 7 7840U: 3.3 GHz, 8 cores, 12 CU, 2700 MHz, DDR5-5600 in 2 channels; one instruction a clock, not "
     "two"},
};
const size_t hx__profile_count = sizeof hx__profiles / sizeof hx__profiles[0];

const hx__profile *hx__profile_named(const char *name, size_t length) {
  for (size_t i = 0; i < hx__profile_count; i++)
    if (strlen(hx__profiles[i].name) == length && strncasecmp(hx__profiles[i].name, name, length) == 0)
      return &hx__profiles[i];
  return NULL;
}
