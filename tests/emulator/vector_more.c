/* SPDX-License-Identifier: Apache-2.0
 * Vector instructions with a carry, a condition, 64 bits, two values per lane, or a scalar result. */
#include <math.h>
#include <string.h>

#include "tests/emulator/operation.h"

/* Compares two values: returns LESS, EQUAL, GREATER or UNORDERED. */
static unsigned compared(const char *type, uint64_t a, uint64_t b) {
  if (strcmp(type, "f32") == 0) {
    float x, y;
    const uint32_t low_a = (uint32_t)a, low_b = (uint32_t)b;
    memcpy(&x, &low_a, sizeof x);
    memcpy(&y, &low_b, sizeof y);
    return x < y ? LESS : x > y ? GREATER : x == y ? EQUAL : UNORDERED;
  }
  if (type[0] == 'i') {
    const int64_t x = type[1] == '3' ? (int32_t)a : (int64_t)a, y = type[1] == '3' ? (int32_t)b : (int64_t)b;
    return x < y ? LESS : x > y ? GREATER : EQUAL;
  }
  return a < b ? LESS : a > b ? GREATER : EQUAL;
}

static bool is_wide(const char *type) { return type[1] == '6'; }

/* From GFX10 on, the only result of v_cmpx is exec. */
void run_compare(wave *wave, const instruction *at) {
  const operation *const o = at->operation;
  const unsigned first = o->changes_exec && wave->group->program->generation >= 10 ? 0 : 1;
  uint32_t buffers[4][LANES];
  const uint32_t *a[2] = {0}, *b[2] = {0};
  for (unsigned part = 0; part < (is_wide(o->type) ? 2 : 1); part++) {
    a[part] = need_lanes(wave, first, part, buffers[part]);
    b[part] = need_lanes(wave, first + 1, part, buffers[2 + part]);
  }
  const uint64_t lanes = active(wave);
  uint64_t mask = 0;
  for (unsigned i = 0; i < wave->lanes; i++) {
    if (!(lanes >> i & 1)) continue;
    const uint64_t x = a[0][i] | (a[1] ? (uint64_t)a[1][i] << 32 : 0);
    const uint64_t y = b[0][i] | (b[1] ? (uint64_t)b[1][i] << 32 : 0);
    if (compared(o->type, x, y) & o->true_if) mask |= UINT64_C(1) << i;
  }
  if (first == 1) write_mask(wave, 0, mask);
  if (!o->changes_exec) return;
  write_register_mask(wave, REGISTER_EXEC, mask);
  wave->exec_issued = wave->issued;
}

void run_scalar_compare(wave *wave, const instruction *at) {
  const bool wide = is_wide(at->operation->type);
  const uint64_t a = wide ? read_scalar64(wave, 0) : read_scalar(wave, 0, 0);
  const uint64_t b = wide ? read_scalar64(wave, 1) : read_scalar(wave, 1, 0);
  wave->scc = (compared(at->operation->type, a, b) & at->operation->true_if) != 0;
  wave->scc_defined = true;
}

/* d, carry = a + b, a - b or b - a, with the carry of the last operand. */
static void run_carry(wave *wave, const instruction *at) {
  const unsigned how = at->operation->how;
  uint32_t buffers[2][LANES], d[LANES];
  const uint32_t *a = need_lanes(wave, 2, 0, buffers[0]), *b = need_lanes(wave, 3, 0, buffers[1]);
  const uint64_t carry = how & HOW_CARRY_IN ? read_mask(wave, 4) : 0, lanes = active(wave);
  uint64_t out = 0;
  if (how & HOW_REVERSED) {
    const uint32_t *const other = a;
    a = b, b = other;
  }
  for (unsigned i = 0; i < wave->lanes; i++) {
    const uint64_t with = carry >> i & 1;
    const uint64_t r = how & HOW_SUBTRACTS ? (uint64_t)a[i] - b[i] - with : (uint64_t)a[i] + b[i] + with;
    d[i] = (uint32_t)r;
    out |= (r >> 32 & 1) << i;
  }
  write_lanes(wave, 0, 0, d, ~UINT64_C(0));
  write_mask(wave, 1, out & lanes);
}

/* In a dual-issue pair the condition is always vcc, so there is no fourth operand. */
static void run_select(wave *wave, const instruction *at) {
  uint32_t buffers[2][LANES], d[LANES];
  uint64_t a_defined = ~UINT64_C(0), b_defined = a_defined;
  const uint32_t *const a = read_lanes(wave, 1, 0, buffers[0], &a_defined);
  const uint32_t *const b = read_lanes(wave, 2, 0, buffers[1], &b_defined);
  const uint64_t mask = at->count > 3 ? read_mask(wave, 3) : read_register_mask(wave, REGISTER_VCC);
  for (unsigned i = 0; i < wave->lanes; i++) d[i] = mask >> i & 1 ? b[i] : a[i];
  write_lanes(wave, 0, 0, d, (mask & b_defined) | (~mask & a_defined));
}

/* GFX11 may write words of the result before it reads those of the addend. */
static void need_apart(wave *wave, const instruction *at) {
  const operand *const to = &at->operands[0];
  for (unsigned i = 2; i < at->count && wave->group->program->generation == 11; i++) {
    const operand *const from = &at->operands[i];
    if (from->kind == OPERAND_VECTOR && from->first < to->first + to->count && to->first < from->first + from->count)
      fault(wave, "the destination overlaps a source, which GFX11 forbids");
  }
}

/* The high word of the addend may be unwritten, if the compiler needs only the low word of the result. */
static void run_multiply_add64(wave *wave, const instruction *at) {
  uint32_t buffers[4][LANES], low[LANES], high[LANES];
  uint64_t high_defined = ~UINT64_C(0), out = 0;
  need_apart(wave, at);
  const uint32_t *const a = need_lanes(wave, 2, 0, buffers[0]), *const b = need_lanes(wave, 3, 0, buffers[1]);
  const uint32_t *const c = need_lanes(wave, 4, 0, buffers[2]);
  const uint32_t *const c_high = read_lanes(wave, 4, 1, buffers[3], &high_defined);
  const bool is_signed = at->operation->how & HOW_SIGNED;
  for (unsigned i = 0; i < wave->lanes; i++) {
    const uint64_t product = is_signed ? (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]) : (uint64_t)a[i] * b[i];
    const uint64_t sum = product + (c[i] | (uint64_t)c_high[i] << 32);
    out |= (uint64_t)(sum < product) << i;
    low[i] = (uint32_t)sum, high[i] = (uint32_t)(sum >> 32);
  }
  write_lanes(wave, 0, 0, low, ~UINT64_C(0));
  write_lanes(wave, 0, 1, high, high_defined);
  write_mask(wave, 1, out & active(wave));
}

static void run_shift64(wave *wave, const instruction *at) {
  uint32_t buffers[3][LANES], low[LANES], high[LANES];
  const uint32_t *const by = need_lanes(wave, 1, 0, buffers[0]);
  const uint32_t *const from = need_lanes(wave, 2, 0, buffers[1]);
  const uint32_t *const from_high = need_lanes(wave, 2, 1, buffers[2]);
  for (unsigned i = 0; i < wave->lanes; i++) {
    const uint64_t x = from[i] | (uint64_t)from_high[i] << 32;
    const uint64_t r = at->operation->how & HOW_REVERSED ? x >> (by[i] & 63) : x << (by[i] & 63);
    low[i] = (uint32_t)r, high[i] = (uint32_t)(r >> 32);
  }
  write_lanes(wave, 0, 0, low, ~UINT64_C(0));
  write_lanes(wave, 0, 1, high, ~UINT64_C(0));
}

enum { PACKED_FMA, PACKED_ADD, PACKED_MUL };

/* Two floats per lane. A bit of op_sel or op_sel_hi selects which half of an operand is used for the low or the high
 * result. */
static void run_packed(wave *wave, const instruction *at) {
  uint32_t buffers[2][3][LANES], d[2][LANES];
  for (unsigned half = 0; half < 2; half++) {
    const unsigned select = half ? at->select_hi : at->select;
    const uint32_t *from[3] = {NULL, NULL, NULL};
    for (unsigned i = 1; i < at->count && i < 4; i++) {
      if (at->operands[i].count != 2) fault(wave, "a packed operand is not two registers");
      from[i - 1] = need_lanes(wave, i, select >> (i - 1) & 1, buffers[half][i - 1]);
    }
    for (unsigned i = 0; i < wave->lanes; i++) {
      float a, b, c = 0.0f, r;
      memcpy(&a, &from[0][i], sizeof a);
      memcpy(&b, &from[1][i], sizeof b);
      if (from[2]) memcpy(&c, &from[2][i], sizeof c);
      r = at->operation->how == PACKED_FMA ? fmaf(a, b, c) : at->operation->how == PACKED_ADD ? a + b : a * b;
      memcpy(&d[half][i], &r, sizeof r);
    }
  }
  write_lanes(wave, 0, 0, d[0], ~UINT64_C(0));
  write_lanes(wave, 0, 1, d[1], ~UINT64_C(0));
}

static void run_packed_move(wave *wave, const instruction *at) {
  uint32_t buffers[2][LANES], d[2][LANES];
  uint64_t defined[2] = {~UINT64_C(0), ~UINT64_C(0)};
  for (unsigned half = 0; half < 2; half++)
    memcpy(d[half], read_lanes(wave, 1 + half, at->select >> half & 1, buffers[half], &defined[half]), sizeof d[half]);
  write_lanes(wave, 0, 0, d[0], defined[0]);
  write_lanes(wave, 0, 1, d[1], defined[1]);
}

static void run_first_lane(wave *wave, const instruction *at) {
  (void)at;
  uint32_t buffer[LANES];
  uint64_t defined = ~UINT64_C(0);
  const uint32_t *const from = read_lanes(wave, 1, 0, buffer, &defined);
  const uint64_t lanes = active(wave);
  const unsigned first = lanes ? (unsigned)__builtin_ctzll(lanes) : 0;
  if (!(defined >> first & 1)) fault(wave, "the first lane was never written");
  write_scalar(wave, 0, 0, from[first]);
}

const operation vector_more_operations[] = {
    {.name = "v_add_co_u32", .run = run_carry},
    {.name = "v_addc_co_u32", .run = run_carry, .how = HOW_CARRY_IN},
    {.name = "v_add_co_ci_u32", .run = run_carry, .how = HOW_CARRY_IN},
    {.name = "v_sub_co_u32", .run = run_carry, .how = HOW_SUBTRACTS},
    {.name = "v_subb_co_u32", .run = run_carry, .how = HOW_SUBTRACTS | HOW_CARRY_IN},
    {.name = "v_sub_co_ci_u32", .run = run_carry, .how = HOW_SUBTRACTS | HOW_CARRY_IN},
    {.name = "v_subrev_co_u32", .run = run_carry, .how = HOW_SUBTRACTS | HOW_REVERSED},
    {.name = "v_subbrev_co_u32", .run = run_carry, .how = HOW_SUBTRACTS | HOW_REVERSED | HOW_CARRY_IN},
    {.name = "v_subrev_co_ci_u32", .run = run_carry, .how = HOW_SUBTRACTS | HOW_REVERSED | HOW_CARRY_IN},
    {.name = "v_cndmask_b32", .run = run_select},
    {.name = "v_mad_u64_u32", .run = run_multiply_add64},
    {.name = "v_mad_i64_i32", .run = run_multiply_add64, .how = HOW_SIGNED},
    {.name = "v_lshlrev_b64", .run = run_shift64},
    {.name = "v_lshrrev_b64", .run = run_shift64, .how = HOW_REVERSED},
    {.name = "v_pk_fma_f32", .run = run_packed, .how = PACKED_FMA},
    {.name = "v_pk_add_f32", .run = run_packed, .how = PACKED_ADD},
    {.name = "v_pk_mul_f32", .run = run_packed, .how = PACKED_MUL},
    {.name = "v_pk_mov_b32", .run = run_packed_move},
    {.name = "v_readfirstlane_b32", .run = run_first_lane},
    {.name = NULL}};
