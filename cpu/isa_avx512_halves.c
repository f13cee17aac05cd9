/* SPDX-License-Identifier: Apache-2.0
 * The reductions of cores that run 512 bits in two halves. Data in near caches: vectors of 64 bytes, half as many
 * instructions. Other data: vectors of 32 bytes, which read memory 3-8 % faster there, in the 32 registers of AVX-512
 * VL; a dot product needs 17. */
#if defined(__x86_64__)

#define HX__V_BYTES 32
#define HX__V_REGS 32
#define HX__HAVE_FMA 1
#include "cpu/isa.h"
#include "cpu/lines_kernels.h"

#define BY_DISTANCE(name, leaf, op, type)                                                                       \
  static void name##_by_distance(const void *x, const void *y, size_t n, hx__locality reach, uint64_t *slots) { \
    (reach != HX__IN_L2 ? name : hx__leaves_avx512[op][type])(x, y, n, reach, slots);                           \
  }
LEAF_ROWS(BY_DISTANCE)
#define EXTREMUM_BY_DISTANCE(name, op, type) BY_DISTANCE(name, , op, type)
EXTREMUM_ROWS(EXTREMUM_BY_DISTANCE)
#define BY_DISTANCE_ENTRY(name, leaf, op, type) [op][type] = name##_by_distance,
#define EXTREMUM_BY_DISTANCE_ENTRY(name, op, type) [op][type] = name##_by_distance,

const hx__leaf_table hx__leaves_halves = {LEAF_ROWS(BY_DISTANCE_ENTRY) EXTREMUM_ROWS(EXTREMUM_BY_DISTANCE_ENTRY)};

/* Reductions of one leaf use 64 bytes, except for dot products that fill most of L1. */
static __attribute__((noinline)) uint64_t long_dot(const void *x, const void *y, size_t n) {
  return float_leaf(HX_DOT, x, y, n, HX__IN_LLC);
}
#define BY_LENGTH(name, op, type)                                                         \
  static uint64_t name##_one(const void *x, const void *y, size_t n) {                    \
    if ((op) == HX_DOT && (type) == HX_F32 && n > HX__LEAF / 2) return long_dot(x, y, n); \
    return hx__one_leaf_avx512[op][type](x, y, n);                                        \
  }
#define LEAF_BY_LENGTH(name, leaf, op, type) BY_LENGTH(name, op, type)
LEAF_ROWS(LEAF_BY_LENGTH)
EXTREMUM_ROWS(BY_LENGTH)
#define ONE_ENTRY(name, op, type) [op][type] = name##_one,
#define LEAF_ONE_ENTRY(name, leaf, op, type) ONE_ENTRY(name, op, type)

const hx__one_leaf_table hx__one_leaf_halves = {LEAF_ROWS(LEAF_ONE_ENTRY) EXTREMUM_ROWS(ONE_ENTRY)};

/* Several lines are mostly read from memory, for which 32 bytes are faster. */
const hx__lines_table hx__lines_halves = LINES_KERNELS;

#endif
