/* SPDX-License-Identifier: Apache-2.0
 * The reductions of Intel's cores with AVX-512 and VNNI. */
#if defined(__x86_64__)

#define HX__V_BYTES 64
#define HX__V_REGS 32
#define HX__HAVE_FMA 1
#include "cpu/isa.h"
#include "cpu/reduce_kernels.h"

const hx__leaf_table hx__leaves_avx512_vnni = REDUCE_KERNELS;
const hx__one_leaf_table hx__one_leaf_avx512_vnni = REDUCE_ONE_LEAF;

#endif
