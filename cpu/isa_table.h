/* SPDX-License-Identifier: Apache-2.0
 * The table of one ISA, from the templates. The including isa_*.c has defined, and its compiler options allow:
 *   HX__V_BYTES   bytes of a vector register: 16, 32 or 64
 *   HX__V_REGS    how many there are: 16 or 32
 *   HX__HAVE_FMA  whether there is a fused multiply-add: 0 or 1
 * The templates see these and the compiler's own macros, and all that they define is static. */
#ifndef HX_CPU_ISA_TABLE_H
#define HX_CPU_ISA_TABLE_H

#include "cpu/expr_rows.h"
#include "cpu/gemm_kernels.h"
#include "cpu/isa.h"
#include "cpu/lines_kernels.h"

#define HX__GEMM gemm
#define HX__GEMM_IN_PLACE gemm_in_place

/* The variant `which` with the reductions of `leaves`, `ones` and `many`. */
#define HX__KERNELS(which, leaves, ones, many)                                                                  \
  {                                                                                                             \
    .isa = (which), .leaf = (leaves), .one_leaf = (ones), .lines = &(many), .mr = GEMM_MR, .nr = GEMM_NR,       \
    .gemm_blocking = gemm_blocking, .gemm_scratch_bytes = gemm_scratch_bytes, .gemm_direct = HX__GEMM_IN_PLACE, \
    .gemm = HX__GEMM, .packed_bytes = packed_bytes, .pack_units = pack_units, .pack = pack, .store = store,     \
    .evaluate = evaluate                                                                                        \
  }

#endif
