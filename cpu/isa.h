/* SPDX-License-Identifier: Apache-2.0
 * The variants of the CPU kernels, with a row for each ISA of this architecture. A new variant needs a row here, an
 * isa_*.c and compiler options in BUILD. */
#ifndef HX_CPU_ISA_H
#define HX_CPU_ISA_H

#include "cpu/cpu.h"

/* XX(isa, table, whether this CPU and this operating system support it). The widest comes last. */
#if defined(__x86_64__)
#define HX__VARIANTS(XX)                                                                                              \
  XX(HX__ISA_SSE2, hx__cpu_sse2, true)                                                                                \
  XX(HX__ISA_AVX2, hx__cpu_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                     \
  XX(HX__ISA_AVX512, hx__cpu_avx512,                                                                                  \
     __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && \
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#elif defined(__aarch64__)
#define HX__VARIANTS(XX) XX(HX__ISA_NEON, hx__cpu_neon, true)
#endif

#define HX__DECLARE_VARIANT(isa, table, present) extern const hx__cpu_kernels table;
HX__VARIANTS(HX__DECLARE_VARIANT)

#if defined(__x86_64__)
/* For cores that split 512-bit operations into halves: products with AVX-512, reductions with vectors of both lengths.
 * */
extern const hx__cpu_kernels hx__cpu_avx512_halves;
/* For Intel's cores with VNNI: reductions for their ports. */
extern const hx__cpu_kernels hx__cpu_avx2_vnni, hx__cpu_avx512_vnni;
extern const hx__leaf_table hx__leaves_avx512, hx__leaves_halves, hx__leaves_avx2_vnni, hx__leaves_avx512_vnni;
extern const hx__one_leaf_table hx__one_leaf_avx512, hx__one_leaf_halves, hx__one_leaf_avx2_vnni,
    hx__one_leaf_avx512_vnni;
extern const hx__lines_table hx__lines_halves;
bool hx__cpu_has_vnni(hx__isa isa); /* in the vectors of AVX2 or AVX-512 */
#endif

#endif
