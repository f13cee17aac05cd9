/* SPDX-License-Identifier: Apache-2.0
 * The host kernels for AVX-512 F, DQ, VL and BW. */
#if defined(__x86_64__)

#define HX__V_BYTES 64
#define HX__V_REGS 32
#define HX__HAVE_FMA 1
#include "cpu/isa_table.h"

const hx__cpu_kernels hx__cpu_avx512 = HX__KERNELS(HX__ISA_AVX512);

#endif
