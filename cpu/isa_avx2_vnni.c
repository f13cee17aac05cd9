/* SPDX-License-Identifier: Apache-2.0
 * The reductions of Intel's cores with AVX2 and VNNI. */
#if defined(__x86_64__)

#define HX__V_BYTES 32
#define HX__V_REGS 16
#define HX__HAVE_FMA 1
#include "cpu/isa.h"
#include "cpu/reduce_kernels.h"

const hx__leaf_table hx__leaves_avx2_vnni = REDUCE_KERNELS;
const hx__one_leaf_table hx__one_leaf_avx2_vnni = REDUCE_ONE_LEAF;

#endif
