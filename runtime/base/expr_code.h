/* SPDX-License-Identifier: Apache-2.0
 * An expression as the CPU evaluates it: steps of a machine with one accumulator. A step works on a group of vectors:
 * the accumulator stays in registers from step to step, and the other operands come from memory or are one value for
 * all elements. The steps are the same for every instruction set. */
#ifndef HX_BASE_EXPR_CODE_H
#define HX_BASE_EXPR_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/expr.h"

#define HX__EXPR_STEPS 512
#define HX__EXPR_TEMPORARIES 16 /* groups that are kept in memory at the same time */
/* With those of values that rows have one of: group i has value i, once for each element. */
#define HX__EXPR_GROUPS (HX__EXPR_TEMPORARIES + HX__EXPR_ROW_VALUES)
/* With copies of the other inputs and of the outputs, in which narrow rows are computed. Only kernels with several
 * outputs can need more. With AVX-512, 30 are as many as fit into the stack that calls of hx need anyway. */
#define HX__EXPR_ROOM 30

/* What a step does: an operation of expressions, or one of these. A is the accumulator, p and q are operands. */
typedef enum hx__expr_step_op {
  HX__STEP_LOAD = HX__EXPR_OP_COUNT, /* A = p */
  HX__STEP_SAVE,                     /* p = A */
  HX__STEP_MUL_ADD,                  /* A = A * p + q, rounded twice */
  HX__STEP_ADD_MUL,                  /* A = A + p * q, rounded twice */
  HX__STEP_SQUARE,                   /* A = A * A */
  HX__STEP_SQUARE_ADD,               /* A = A * A + p, rounded twice; forms AM and AK */
  HX__STEP_TO_ONE,                   /* A = A & 1: a comparison as a number; its own result is a mask */
  HX__STEP_CHOOSE,                   /* A = A ? p : q, if A is a mask */
  HX__STEP_LESSER,                   /* A = A < p ? A : p, and as operations of two operands; floats */
  HX__STEP_GREATER,                  /* A = A > p ? A : p */
  HX__STEP_STORE_F,                  /* p = A, an output; NaN as 0x7fc00000 */
  HX__STEP_STORE_I,
  HX__STEP_END_F, /* the same, of the last output */
  HX__STEP_END_I,
  HX__STEP_OPS
} hx__expr_step_op;

/* Where operands come from: A the accumulator, M memory, K one value for all elements. Steps of one operand have A, or
 * M or K for LOAD; of two operands the first seven; of three, whose first operand is A, the last four. In forms of two
 * operands that are not A, bit 1 means that the first of them is K, and bit 0 that the second is; in forms of one, bit
 * 0 means that it is K. hx__expr_form_in_memory relies on that. */
typedef enum hx__expr_form {
  HX__FORM_AM,
  HX__FORM_AK,
  HX__FORM_MA,
  HX__FORM_KA,
  HX__FORM_MM,
  HX__FORM_MK,
  HX__FORM_KM,
  HX__FORMS,
  HX__FORM_A = 0,
  HX__FORM_M = 0,
  HX__FORM_K = 1,
  HX__FORM_AMM = 0,
  HX__FORM_AMK,
  HX__FORM_AKM,
  HX__FORM_AKK
} hx__expr_form;

typedef enum hx__expr_place {
  HX__PLACE_NONE,
  HX__PLACE_INPUT,
  HX__PLACE_OUTPUT,
  HX__PLACE_TEMPORARY,
  HX__PLACE_ROW, /* a value that rows have one of; from here on, elements have one value together */
  HX__PLACE_VALUE,
  HX__PLACE_PARAMETER
} hx__expr_place;

typedef struct hx__expr_operand {
  uint8_t place, index; /* of an input, an output, a temporary or a parameter */
  uint32_t bits;        /* HX__PLACE_VALUE */
} hx__expr_operand;

typedef struct hx__expr_step {
  uint8_t op, form;
  hx__expr_operand p, q;
} hx__expr_step;

typedef struct hx__expr_code {
  unsigned steps, inputs, outputs;
  unsigned groups;     /* those after the first `groups` hold neither temporaries nor values of rows */
  unsigned row_values; /* how many values rows have one of, and which: inputs, and those after them */
  bool per_row[HX__EXPR_ROW_VALUES];
  hx__expr_step step[HX__EXPR_STEPS];
} hx__expr_code;

/* The form of a step if values of HX__PLACE_ROW are in memory, once for each element of a group, because the elements
 * belong to several rows. Otherwise they are K. */
static inline unsigned hx__expr_form_in_memory(const hx__expr_step *s) {
  const unsigned first = s->q.place == HX__PLACE_NONE ? 1u : 2u;
  return s->form & ~(s->p.place == HX__PLACE_ROW ? first : 0u) & ~(s->q.place == HX__PLACE_ROW ? 1u : 0u);
}

/* A user kernel. It does not change after hx_compile. */
struct hx_kernel {
  hx__expr expr;
  hx__expr_code code;
  unsigned effort; /* the steps; of a whole function those that take its time */
  uint64_t hash;   /* hx__expr_hash */
};

#endif
