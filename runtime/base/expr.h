/* SPDX-License-Identifier: Apache-2.0
 * The expression of a user kernel: a list of typed values, each made by one operation from earlier ones. The compiler
 * (expr/) writes it, and the CPU's evaluator and the OpenCL text are made from it. docs/USER_KERNELS.md says what each
 * operation means. */
#ifndef HX_BASE_EXPR_H
#define HX_BASE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/hx.h"

/* X(name, operands, type of the operands, type of the result). Types are those of hx_type without HX_; ANY is any, and
 * the same for operands and result. I32 stands for U32, too, if the bits of the result are the same. The condition of
 * SELECT, its first operand, is an integer. POW_F and what follows it are whole functions: the compiler makes values of
 * the other operations, and hx__expr_with_functions puts these in their places, for the CPU's steps alone. */
#define HX__EXPR_OPERATIONS(X)  \
  X(NEGATE_F, 1, F32, F32)      \
  X(ABS_F, 1, F32, F32)         \
  X(SQRT_F, 1, F32, F32)        \
  X(FLOOR_F, 1, F32, F32)       \
  X(CEIL_F, 1, F32, F32)        \
  X(TRUNC_F, 1, F32, F32)       \
  X(RINT_F, 1, F32, F32)        \
  X(ADD_F, 2, F32, F32)         \
  X(SUB_F, 2, F32, F32)         \
  X(MUL_F, 2, F32, F32)         \
  X(DIV_F, 2, F32, F32)         \
  X(MIN_F, 2, F32, F32)         \
  X(MAX_F, 2, F32, F32)         \
  X(LESS_F, 2, F32, I32)        \
  X(AT_MOST_F, 2, F32, I32)     \
  X(EQUAL_F, 2, F32, I32)       \
  X(DIFFER_F, 2, F32, I32)      \
  X(FMA_F, 3, F32, F32)         \
  X(TO_I32, 1, F32, I32)        \
  X(TO_U32, 1, F32, U32)        \
  X(FROM_I32, 1, I32, F32)      \
  X(FROM_U32, 1, U32, F32)      \
  X(AS_I32, 1, F32, I32)        \
  X(AS_F32, 1, I32, F32)        \
  X(NEGATE_I, 1, I32, I32)      \
  X(NOT_I, 1, I32, I32)         \
  X(ABS_I, 1, I32, I32)         \
  X(ADD_I, 2, I32, I32)         \
  X(SUB_I, 2, I32, I32)         \
  X(MUL_I, 2, I32, I32)         \
  X(AND_I, 2, I32, I32)         \
  X(OR_I, 2, I32, I32)          \
  X(XOR_I, 2, I32, I32)         \
  X(SHIFT_LEFT, 2, I32, I32)    \
  X(SHIFT_RIGHT_I, 2, I32, I32) \
  X(SHIFT_RIGHT_U, 2, U32, U32) \
  X(DIV_I, 2, I32, I32)         \
  X(DIV_U, 2, U32, U32)         \
  X(MOD_I, 2, I32, I32)         \
  X(MOD_U, 2, U32, U32)         \
  X(MIN_I, 2, I32, I32)         \
  X(MIN_U, 2, U32, U32)         \
  X(MAX_I, 2, I32, I32)         \
  X(MAX_U, 2, U32, U32)         \
  X(LESS_I, 2, I32, I32)        \
  X(LESS_U, 2, U32, I32)        \
  X(AT_MOST_I, 2, I32, I32)     \
  X(AT_MOST_U, 2, U32, I32)     \
  X(EQUAL_I, 2, I32, I32)       \
  X(DIFFER_I, 2, I32, I32)      \
  X(SELECT, 3, ANY, ANY)        \
  X(POW_F, 2, F32, F32)         \
  X(SIN_F, 1, F32, F32)         \
  X(COS_F, 1, F32, F32)         \
  X(TAN_F, 1, F32, F32)

#define HX__EXPR_ENUMERATOR(name, operands, from, to) HX__EXPR_##name,
typedef enum hx__expr_op {
  HX__EXPR_CONSTANT, /* bits */
  HX__EXPR_INPUT,    /* arg[0]: which one */
  HX__EXPR_ROW,      /* an input that has one value per row */
  HX__EXPR_PARAMETER,
  HX__EXPR_ROW_NUMBER, /* which row the element is in, counted from 0, modulo 2^32 */
  HX__EXPR_INDEX,      /* which element of its row it is, counted in the same way */
  HX__EXPR_OPERATIONS(HX__EXPR_ENUMERATOR) HX__EXPR_OP_COUNT
} hx__expr_op;

#define HX__EXPR_INPUTS 8u
/* What every row has one value of: inputs, if they are so declared, its number, and the index of its first element. */
#define HX__EXPR_NUMBER_OF_ROW HX__EXPR_INPUTS
#define HX__EXPR_FIRST_INDEX (HX__EXPR_INPUTS + 1u)
#define HX__EXPR_ROW_VALUES (HX__EXPR_INPUTS + 2u)
#define HX__EXPR_PARAMETERS 8u
#define HX__EXPR_OUTPUTS 8u
#define HX__EXPR_VALUES 512u /* inputs, parameters and constants included */

typedef struct hx__expr_value {
  uint8_t op, type; /* hx__expr_op, hx_type */
  uint16_t arg[3];  /* earlier values; of an input or parameter: which one */
  uint32_t bits;    /* of a constant */
} hx__expr_value;

/* A value that is a function of earlier ones, and the operation that computes it at once. */
#define HX__EXPR_CALLS 16u /* more of them are computed by their other operations */
typedef struct hx__expr_call {
  uint8_t op;
  uint16_t arg[3], result;
} hx__expr_call;

/* Every value is used by a later one, or is a result. No two values are the same. */
typedef struct hx__expr {
  hx__expr_value value[HX__EXPR_VALUES];
  hx__expr_call call[HX__EXPR_CALLS];
  unsigned calls;
  unsigned count, outputs; /* from here on, and the values, expressions are compared */
  uint16_t result[HX__EXPR_OUTPUTS];
  unsigned inputs, row_inputs, parameters; /* row_inputs: how many of the inputs have one value per row */
  uint8_t input_type[HX__EXPR_INPUTS], parameter_type[HX__EXPR_PARAMETERS];
  bool per_row[HX__EXPR_INPUTS];
  bool by_row, by_index; /* whether a value is HX__EXPR_ROW_NUMBER, and whether one is HX__EXPR_INDEX */
} hx__expr;

/* A short name for the operations of an expression, by which measurements and programs of devices are found. */
static inline uint64_t hx__expr_hash(const hx__expr *e) {
  const uint64_t hash = hx__hash(HX__HASH_START, e->value, e->count * sizeof e->value[0]);
  return e->outputs > 1 ? hx__hash(hash, e->result, e->outputs * sizeof e->result[0]) : hash;
}

static inline bool hx__expr_equal(const hx__expr *a, const hx__expr *b) {
  return !memcmp(&a->count, &b->count, sizeof *a - offsetof(hx__expr, count)) &&
         !memcmp(a->value, b->value, a->count * sizeof a->value[0]);
}

/* The number of operands of an operation. */
static inline unsigned hx__expr_operands(hx__expr_op op) {
#define HX__EXPR_OPERANDS(name, operands, from, to) [HX__EXPR_##name] = (operands),
  static const uint8_t count[HX__EXPR_OP_COUNT] = {HX__EXPR_OPERATIONS(HX__EXPR_OPERANDS)};
#undef HX__EXPR_OPERANDS
  return count[op];
}

/* Whether its result is 0 or 1. */
static inline bool hx__expr_is_comparison(hx__expr_op op) {
  switch (op) {
    case HX__EXPR_LESS_F:
    case HX__EXPR_AT_MOST_F:
    case HX__EXPR_EQUAL_F:
    case HX__EXPR_DIFFER_F:
    case HX__EXPR_LESS_I:
    case HX__EXPR_LESS_U:
    case HX__EXPR_AT_MOST_I:
    case HX__EXPR_AT_MOST_U:
    case HX__EXPR_EQUAL_I:
    case HX__EXPR_DIFFER_I:
      return true;
    default:
      return false;
  }
}

/* The inputs that have an element for each element of the result. */
static inline unsigned hx__expr_element_inputs(const hx__expr *e) { return e->inputs - e->row_inputs; }

static inline hx_type hx__expr_output_type(const hx__expr *e, unsigned output) {
  return (hx_type)e->value[e->result[output]].type;
}
/* The type of the only output, or of the first one. */
static inline hx_type hx__expr_type(const hx__expr *e) { return hx__expr_output_type(e, 0); }

#endif
