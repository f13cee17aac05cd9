/* SPDX-License-Identifier: Apache-2.0
 * The CPU kernels for AArch64. They have never run on such a processor. */
#if defined(__aarch64__)

#define HX__V_BYTES 16
#define HX__V_REGS 32
#define HX__HAVE_FMA 1
#include "cpu/isa_table.h"

const hx__leaf_table hx__leaves_neon = REDUCE_KERNELS;
static const hx__one_leaf_table one_leaf = REDUCE_ONE_LEAF;
static const hx__lines_table lines = LINES_KERNELS;
const hx__cpu_kernels hx__cpu_neon = HX__KERNELS(HX__ISA_NEON, hx__leaves_neon, one_leaf, lines);

#endif
