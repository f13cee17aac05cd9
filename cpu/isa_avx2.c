/* SPDX-License-Identifier: Apache-2.0
 * The CPU kernels for AVX2 and FMA. */
#if defined(__x86_64__)

#define HX__V_BYTES 32
#define HX__V_REGS 16
#define HX__HAVE_FMA 1
#include "cpu/isa_table.h"

const hx__leaf_table hx__leaves_avx2 = REDUCE_KERNELS;
static const hx__one_leaf_table one_leaf = REDUCE_ONE_LEAF;
static const hx__lines_table lines = LINES_KERNELS;
const hx__cpu_kernels hx__cpu_avx2 = HX__KERNELS(HX__ISA_AVX2, hx__leaves_avx2, one_leaf, lines);
const hx__cpu_kernels hx__cpu_avx2_vnni =
    HX__KERNELS(HX__ISA_AVX2, hx__leaves_avx2_vnni, hx__one_leaf_avx2_vnni, lines);

#endif
