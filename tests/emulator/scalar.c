/* SPDX-License-Identifier: Apache-2.0
 * Scalar instructions: a table of those that compute, and those that change exec. */
#include <string.h>

#include "tests/emulator/operation.h"

#define SCALAR(name, ...)                                   \
  static uint64_t name(uint64_t a, uint64_t b, bool *scc) { \
    (void)a, (void)b, (void)scc;                            \
    __VA_ARGS__                                             \
  }
#define NONZERO32(value)                \
  const uint32_t r = (uint32_t)(value); \
  *scc = r != 0;                        \
  return r;
#define NONZERO64(value)      \
  const uint64_t r = (value); \
  *scc = r != 0;              \
  return r;

SCALAR(move, return a;)
SCALAR(move_short, return (uint64_t)(int16_t)a;)
SCALAR(add_short, const int64_t r = (int64_t)(int32_t)a + (int16_t)b; *scc = r != (int32_t)r; return (uint64_t)r;)
SCALAR(add, *scc = (a + b) >> 32 & 1; return a + b;)
SCALAR(add_carry, const uint64_t r = a + b + *scc; *scc = r >> 32 & 1; return r;)
SCALAR(subtract, *scc = b > a; return a - b;)
SCALAR(subtract_borrow, const uint64_t r = a - b - *scc; *scc = r >> 32 & 1; return r;)
SCALAR(add_signed, const int64_t r = (int64_t)(int32_t)a + (int32_t)b; *scc = r != (int32_t)r; return (uint64_t)r;)
SCALAR(subtract_signed, const int64_t r = (int64_t)(int32_t)a - (int32_t)b; *scc = r != (int32_t)r; return (uint64_t)r;)
SCALAR(multiply, return (uint32_t)a * (uint32_t)b;)
SCALAR(multiply_high, return a * b >> 32;)
SCALAR(reverse, uint32_t r = 0; for (int i = 0; i < 32; i++) r |= (uint32_t)(a >> i & 1) << (31 - i); return r;)
SCALAR(choose, return *scc ? a : b;)
SCALAR(least, *scc = a < b; return *scc ? a : b;)
SCALAR(most, *scc = a > b; return *scc ? a : b;)
SCALAR(and32, NONZERO32(a &b))
SCALAR(or32, NONZERO32(a | b))
SCALAR(xor32, NONZERO32(a ^ b))
SCALAR(and_not32, NONZERO32(a & ~b))
SCALAR(or_not32, NONZERO32(a | ~b))
SCALAR(not32, NONZERO32(~a))
SCALAR(left32, NONZERO32((uint32_t)a << (b & 31)))
SCALAR(right32, NONZERO32((uint32_t)a >> (b & 31)))
SCALAR(right_signed32, NONZERO32((int32_t)a >> (b & 31)))
SCALAR(and64, NONZERO64(a &b))
SCALAR(or64, NONZERO64(a | b))
SCALAR(xor64, NONZERO64(a ^ b))
SCALAR(and_not64, NONZERO64(a & ~b))
SCALAR(or_not64, NONZERO64(a | ~b))
SCALAR(not64, NONZERO64(~a))
SCALAR(left64, NONZERO64(a << (b & 63)))
SCALAR(right64, NONZERO64(a >> (b & 63)))
SCALAR(bit_is_0, *scc = !(a >> (b & 31) & 1); return 0;)
SCALAR(bit_is_1, *scc = a >> (b & 31) & 1; return 0;)
SCALAR(field, const unsigned first = b & 31, width = b >> 16 & 127;
       NONZERO32(width >= 32 ? a >> first : a >> first & ((UINT64_C(1) << width) - 1)))

static uint64_t source(wave *wave, const instruction *at, unsigned number, bool wide) {
  if (number >= at->count) return 0;
  const operand *const o = &at->operands[number];
  if (wide && o->kind == OPERAND_VALUE && o->extended) return o->value;
  return wide && !(o->kind == OPERAND_SCALAR && o->count == 1) ? read_scalar64(wave, number)
                                                               : read_scalar(wave, number, 0);
}

static void run(wave *wave, const instruction *at) {
  const operation *const o = at->operation;
  const bool wide = o->how & HOW_WIDE;
  const unsigned first = o->how & (HOW_NO_RESULT | HOW_ADDS_TO) ? 0 : 1;
  if ((o->how & HOW_READS_SCC) && !wave->scc_defined) fault(wave, "scc was never written");
  bool scc = wave->scc;
  const uint64_t r = o->scalar(source(wave, at, first, wide), source(wave, at, first + 1, wide), &scc);
  if (o->how & HOW_SETS_SCC) wave->scc = scc, wave->scc_defined = true;
  if (o->how & HOW_NO_RESULT) return;
  write_scalar(wave, 0, 0, (uint32_t)r);
  if (wide) write_scalar(wave, 0, 1, (uint32_t)(r >> 32));
}

/* d = exec; exec = a OP exec */
static void run_save_exec(wave *wave, const instruction *at) {
  const uint64_t a = read_mask(wave, 1), before = active(wave);
  if ((at->operation->how & HOW_WIDE) != (wave->lanes == 64)) fault(wave, "exec is not as wide as a wave");
  bool scc = false;
  const uint64_t after = at->operation->scalar(a, before, &scc) & all_lanes(wave);
  write_mask(wave, 0, before);
  write_register_mask(wave, REGISTER_EXEC, after);
  wave->scc = after != 0, wave->scc_defined = true;
}

#define SCC HOW_SETS_SCC
#define BOTH(verb, f32, f64, bits)                                                  \
  {.name = "s_" verb "_b32", .run = run, .how = (bits), .scalar = (f32)}, {         \
    .name = "s_" verb "_b64", .run = run, .how = (bits) | HOW_WIDE, .scalar = (f64) \
  }
#define SAVE(verb, f64)                                                                       \
  {.name = "s_" verb "_saveexec_b32", .run = run_save_exec, .scalar = (f64)}, {               \
    .name = "s_" verb "_saveexec_b64", .run = run_save_exec, .how = HOW_WIDE, .scalar = (f64) \
  }
const operation scalar_operations[] = {
    BOTH("mov", move, move, 0),
    BOTH("cselect", choose, choose, HOW_READS_SCC),
    BOTH("and", and32, and64, SCC),
    BOTH("or", or32, or64, SCC),
    BOTH("xor", xor32, xor64, SCC),
    BOTH("andn2", and_not32, and_not64, SCC),
    BOTH("and_not1", and_not32, and_not64, SCC),
    BOTH("orn2", or_not32, or_not64, SCC),
    BOTH("or_not1", or_not32, or_not64, SCC),
    BOTH("not", not32, not64, SCC),
    BOTH("lshl", left32, left64, SCC),
    BOTH("lshr", right32, right64, SCC),
    SAVE("and", and64),
    SAVE("or", or64),
    SAVE("xor", xor64),
    SAVE("andn2", and_not64),
    SAVE("and_not1", and_not64),
    {.name = "s_movk_i32", .run = run, .scalar = move_short},
    {.name = "s_brev_b32", .run = run, .scalar = reverse},
    {.name = "s_add_u32", .run = run, .how = SCC, .scalar = add},
    {.name = "s_addc_u32", .run = run, .how = SCC | HOW_READS_SCC, .scalar = add_carry},
    {.name = "s_sub_u32", .run = run, .how = SCC, .scalar = subtract},
    {.name = "s_subb_u32", .run = run, .how = SCC | HOW_READS_SCC, .scalar = subtract_borrow},
    {.name = "s_add_i32", .run = run, .how = SCC, .scalar = add_signed},
    {.name = "s_sub_i32", .run = run, .how = SCC, .scalar = subtract_signed},
    {.name = "s_addk_i32", .run = run, .how = SCC | HOW_ADDS_TO, .scalar = add_short},
    {.name = "s_mul_i32", .run = run, .scalar = multiply},
    {.name = "s_mul_hi_u32", .run = run, .scalar = multiply_high},
    {.name = "s_min_u32", .run = run, .how = SCC, .scalar = least},
    {.name = "s_max_u32", .run = run, .how = SCC, .scalar = most},
    {.name = "s_ashr_i32", .run = run, .how = SCC, .scalar = right_signed32},
    {.name = "s_bfe_u32", .run = run, .how = SCC, .scalar = field},
    {.name = "s_bitcmp0_b32", .run = run, .how = SCC | HOW_NO_RESULT, .scalar = bit_is_0},
    {.name = "s_bitcmp1_b32", .run = run, .how = SCC | HOW_NO_RESULT, .scalar = bit_is_1},
    {.name = "s_cmpk_eq_i32", .run = run_scalar_compare, .true_if = EQUAL, .type = "i32"},
    {.name = "s_cmpk_lg_i32", .run = run_scalar_compare, .true_if = LESS | GREATER, .type = "i32"},
    {.name = "s_cmpk_eq_u32", .run = run_scalar_compare, .true_if = EQUAL, .type = "u32"},
    {.name = "s_cmpk_lg_u32", .run = run_scalar_compare, .true_if = LESS | GREATER, .type = "u32"},
    {.name = "s_cmpk_gt_u32", .run = run_scalar_compare, .true_if = GREATER, .type = "u32"},
    {.name = "s_cmpk_lt_u32", .run = run_scalar_compare, .true_if = LESS, .type = "u32"},
    {.name = NULL}};
