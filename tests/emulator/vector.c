/* SPDX-License-Identifier: Apache-2.0
 * The table of vector instructions that compute 32 bits for each lane from the same lane of up to three operands. */
#include <math.h>
#include <string.h>

#include "tests/emulator/operation.h"

static float to_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t to_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t least_signed(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b ? a : b; }
static uint32_t most_signed(uint32_t a, uint32_t b) { return (int32_t)a > (int32_t)b ? a : b; }

static uint32_t signed24(uint32_t a) { return (uint32_t)((int32_t)(a << 8) >> 8); }

static uint32_t reverse(uint32_t x) {
  uint32_t r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
  return r;
}

static uint32_t field(uint32_t x, uint32_t first, uint32_t width) {
  first &= 31, width &= 31;
  return x >> first & (uint32_t)((UINT64_C(1) << width) - 1);
}

/* NAME(expression): the result of lane i from a[i], b[i] and c[i]. */
#define LANE_OPERATIONS(X)                                          \
  X(mov_b32, a)                                                     \
  X(not_b32, ~a)                                                    \
  X(bfrev_b32, reverse(a))                                          \
  X(and_b32, a &b)                                                  \
  X(or_b32, a | b)                                                  \
  X(xor_b32, a ^ b)                                                 \
  X(xnor_b32, ~(a ^ b))                                             \
  X(lshlrev_b32, b << (a & 31))                                     \
  X(lshrrev_b32, b >> (a & 31))                                     \
  X(ashrrev_i32, (uint32_t)((int32_t)b >> (a & 31)))                \
  X(add_u32, a + b)                                                 \
  X(sub_u32, a - b)                                                 \
  X(subrev_u32, b - a)                                              \
  X(min_u32, least(a, b))                                           \
  X(max_u32, most(a, b))                                            \
  X(min_i32, least_signed(a, b))                                    \
  X(max_i32, most_signed(a, b))                                     \
  X(mul_lo_u32, a *b)                                               \
  X(mul_hi_u32, (uint32_t)((uint64_t)a * b >> 32))                  \
  X(mul_hi_i32, (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32)) \
  X(mul_u32_u24, (a & 0xffffffu) * (b & 0xffffffu))                 \
  X(mul_i32_i24, signed24(a) * signed24(b))                         \
  X(mad_u32_u24, (a & 0xffffffu) * (b & 0xffffffu) + c)             \
  X(add3_u32, a + b + c)                                            \
  X(or3_b32, a | b | c)                                             \
  X(xor3_b32, a ^ b ^ c)                                            \
  X(and_or_b32, (a & b) | c)                                        \
  X(xad_u32, (a ^ b) + c)                                           \
  X(lshl_add_u32, (a << (b & 31)) + c)                              \
  X(add_lshl_u32, (a + b) << (c & 31))                              \
  X(lshl_or_b32, (a << (b & 31)) | c)                               \
  X(bfe_u32, field(a, b, c))                                        \
  X(bfi_b32, (a & b) | (~a & c))                                    \
  X(alignbit_b32, (uint32_t)(((uint64_t)a << 32 | b) >> (c & 31)))  \
  X(min3_u32, least(least(a, b), c))                                \
  X(max3_u32, most(most(a, b), c))                                  \
  X(min3_i32, least_signed(least_signed(a, b), c))                  \
  X(max3_i32, most_signed(most_signed(a, b), c))                    \
  X(add_f32, to_bits(to_float(a) + to_float(b)))                    \
  X(sub_f32, to_bits(to_float(a) - to_float(b)))                    \
  X(subrev_f32, to_bits(to_float(b) - to_float(a)))                 \
  X(mul_f32, to_bits(to_float(a) * to_float(b)))                    \
  X(fma_f32, to_bits(fmaf(to_float(a), to_float(b), to_float(c))))

#define DEFINE(name, value)                                                                                   \
  static void name(uint32_t *d, const uint32_t *as, const uint32_t *bs, const uint32_t *cs, unsigned lanes) { \
    for (unsigned i = 0; i < lanes; i++) {                                                                    \
      const uint32_t a = as[i], b = bs[i], c = cs[i];                                                         \
      (void)a, (void)b, (void)c;                                                                              \
      d[i] = (value);                                                                                         \
    }                                                                                                         \
  }
LANE_OPERATIONS(DEFINE)

static void run(wave *wave, const instruction *at) {
  static const uint32_t none[LANES];
  const unsigned how = at->operation->how;
  uint32_t buffers[3][LANES], d[LANES];
  const uint32_t *from[3] = {none, none, none};
  uint64_t defined = ~UINT64_C(0);
  for (unsigned i = 1; i < at->count && i < 4; i++) from[i - 1] = read_lanes(wave, i, 0, buffers[i - 1], &defined);
  if (how & HOW_ACCUMULATES) from[2] = read_lanes(wave, 0, 0, buffers[2], &defined);
  if (!(how & HOW_COPIES)) need_defined(wave, defined);
  at->operation->lanes(d, from[0], from[1], from[2], wave->lanes);
  write_lanes(wave, 0, 0, d, defined);
}

#define ROW(verb, value) {.name = "v_" #verb, .run = run, .lanes = verb},
const operation vector_operations[] = {{.name = "v_mov_b32", .run = run, .how = HOW_COPIES, .lanes = mov_b32},
                                       {.name = "v_add_nc_u32", .run = run, .lanes = add_u32},
                                       {.name = "v_sub_nc_u32", .run = run, .lanes = sub_u32},
                                       {.name = "v_subrev_nc_u32", .run = run, .lanes = subrev_u32},
                                       {.name = "v_fmac_f32", .run = run, .how = HOW_ACCUMULATES, .lanes = fma_f32},
                                       {.name = "v_fmaak_f32", .run = run, .lanes = fma_f32},
                                       {.name = "v_fmamk_f32", .run = run, .lanes = fma_f32},
                                       LANE_OPERATIONS(ROW){.name = NULL}};
