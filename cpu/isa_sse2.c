/* SPDX-License-Identifier: Apache-2.0
 * The CPU kernels for SSE2, which every x86-64 has. */
#if defined(__x86_64__)

#define HX__V_BYTES 16
#define HX__V_REGS 16
#define HX__HAVE_FMA 0
#include "cpu/isa_table.h"

const hx__leaf_table hx__leaves_sse2 = REDUCE_KERNELS;
static const hx__one_leaf_table one_leaf = REDUCE_ONE_LEAF;
static const hx__lines_table lines = LINES_KERNELS;
const hx__cpu_kernels hx__cpu_sse2 = HX__KERNELS(HX__ISA_SSE2, hx__leaves_sse2, one_leaf, lines);

#endif
