/* SPDX-License-Identifier: Apache-2.0
 * The CPU kernels for AVX-512 F, DQ, VL and BW. */
#if defined(__x86_64__)

#define HX__V_BYTES 64
#define HX__V_REGS 32
#define HX__HAVE_FMA 1
#include "cpu/isa_table.h"

const hx__leaf_table hx__leaves_avx512 = REDUCE_KERNELS;
const hx__one_leaf_table hx__one_leaf_avx512 = REDUCE_ONE_LEAF;
static const hx__lines_table lines = LINES_KERNELS;
const hx__cpu_kernels hx__cpu_avx512 = HX__KERNELS(HX__ISA_AVX512, hx__leaves_avx512, hx__one_leaf_avx512, lines);
const hx__cpu_kernels hx__cpu_avx512_vnni =
    HX__KERNELS(HX__ISA_AVX512, hx__leaves_avx512_vnni, hx__one_leaf_avx512_vnni, lines);

/* Whether AVX2 vectors are faster on cores that split 512-bit operations: transposing in registers takes twice as long
 * there, and a last vector that is at most half full wastes work. */
static bool avx2_is_faster(const hx__gemm *g) {
  const size_t width = direct_takes(g) ? 0 : thin_width(g);
  return rows_takes(g) || (width && (width - 1) % GEMM_VL < GEMM_VL / 2);
}
static void gemm_halves(const hx__gemm *g, hx__gemm_blocking blocking, const hx__gemm_packed *packed_a,
                        const hx__gemm_packed *packed_b, void *scratch) {
  (!packed_a && !packed_b && avx2_is_faster(g) ? hx__cpu_avx2.gemm : gemm)(g, blocking, packed_a, packed_b, scratch);
}
static bool gemm_in_place_halves(const hx__gemm *g) {
  return (rows_beat_direct(g) ? hx__cpu_avx2.gemm_direct : gemm_in_place)(g);
}
#undef HX__GEMM
#define HX__GEMM gemm_halves
#undef HX__GEMM_IN_PLACE
#define HX__GEMM_IN_PLACE gemm_in_place_halves
const hx__cpu_kernels hx__cpu_avx512_halves =
    HX__KERNELS(HX__ISA_AVX512, hx__leaves_halves, hx__one_leaf_halves, hx__lines_halves);

#endif
