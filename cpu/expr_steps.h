/* SPDX-License-Identifier: Apache-2.0
 * The steps of expressions (base/expr_code.h) for one ISA. A step is a function whose arguments are the registers of
 * the machine: eight vectors of the accumulator, which calling conventions pass in vector registers. It ends with a
 * call of the next step, which compilers make a jump, so that nothing but temporaries is stored from the first step to
 * the last. A product and a sum must not be contracted: -ffp-contract=off sees to it. */
#ifndef HX_CPU_EXPR_STEPS_H
#define HX_CPU_EXPR_STEPS_H

#include "cpu/expr_functions.h"

#define STEP_VECTORS 8u
#define STEP_BYTES (STEP_VECTORS * HX__V_BYTES) /* of a group */
#define STEP_ELEMENTS (STEP_BYTES / 4u)

typedef struct step step;
#define STEP_ARGS \
  const step *s, ptrdiff_t at, v_u32 a0, v_u32 a1, v_u32 a2, v_u32 a3, v_u32 a4, v_u32 a5, v_u32 a6, v_u32 a7
typedef void step_fn(STEP_ARGS);

/* Where an operand begins, or its value. */
typedef union step_operand {
  char *begin;
  uint32_t bits;
} step_operand;
struct step {
  step_fn *run;
  step_operand p, q;
  int32_t p_moves, q_moves; /* -1: an array, whose group is `at` bytes after its beginning; 0: a temporary */
};

/* Vector i of an operand. */
#define STEP_A(i) a##i
#define STEP_PM(i) v_load(p + (i)*HX__V_BYTES)
#define STEP_QM(i) v_load(q + (i)*HX__V_BYTES)
#define STEP_PK(i) p
#define STEP_QK(i) q
#define STEP_BEGIN_A (void)0
#define STEP_BEGIN_PM const char *const p = s->p.begin + (at & s->p_moves)
#define STEP_BEGIN_QM const char *const q = s->q.begin + (at & s->q_moves)
#define STEP_BEGIN_PK const v_u32 p = v_broadcast(s->p.bits)
#define STEP_BEGIN_QK const v_u32 q = v_broadcast(s->q.bits)

#define STEP_EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define STEP_FIND_NEXT      \
  step_fn *next = s[1].run; \
  __asm__ volatile("" : "+r"(next)) /* early, so that the jump does not wait for it */
#define STEP_NEXT return next(s + 1, at, a0, a1, a2, a3, a4, a5, a6, a7)

/* What is loaded is loaded in the order in which it lies in memory: a compiler that begins with the last vector,
 * because that is the last argument of the next step, makes hardware prefetch less. */
#define STEP_ORDER_A(v)
#define STEP_ORDER_PK(v)
#define STEP_ORDER_QK(v)
#define STEP_ORDER_PM(v) IN_ORDER(v)
#define STEP_ORDER_QM(v) IN_ORDER(v)
#define STEP_1_AT(i, name, X)      \
  a##i = expr_##name(STEP_##X(i)); \
  STEP_ORDER_##X(a##i)
#define STEP_2_AT(i, name, X, Y)                \
  a##i = expr_##name(STEP_##X(i), STEP_##Y(i)); \
  STEP_ORDER_##X(a##i);                         \
  STEP_ORDER_##Y(a##i)
#define STEP_3_AT(i, name, Y, Z)                      \
  a##i = expr_##name(a##i, STEP_##Y(i), STEP_##Z(i)); \
  STEP_ORDER_##Y(a##i);                               \
  STEP_ORDER_##Z(a##i)
#define STEP_EACH_AT(AT, ...) \
  AT(0, __VA_ARGS__);         \
  AT(1, __VA_ARGS__);         \
  AT(2, __VA_ARGS__);         \
  AT(3, __VA_ARGS__);         \
  AT(4, __VA_ARGS__);         \
  AT(5, __VA_ARGS__);         \
  AT(6, __VA_ARGS__);         \
  AT(7, __VA_ARGS__)

/* A step with one, two or three operands. */
#define STEP_1(name, form, X)                   \
  static void step_##name##_##form(STEP_ARGS) { \
    STEP_FIND_NEXT;                             \
    STEP_BEGIN_##X;                             \
    STEP_EACH_AT(STEP_1_AT, name, X);           \
    STEP_NEXT;                                  \
  }
#define STEP_2(name, form, X, Y)                \
  static void step_##name##_##form(STEP_ARGS) { \
    STEP_FIND_NEXT;                             \
    STEP_BEGIN_##X;                             \
    STEP_BEGIN_##Y;                             \
    STEP_EACH_AT(STEP_2_AT, name, X, Y);        \
    STEP_NEXT;                                  \
  }
#define STEP_3(name, form, Y, Z)                \
  static void step_##name##_##form(STEP_ARGS) { \
    STEP_FIND_NEXT;                             \
    STEP_BEGIN_##Y;                             \
    STEP_BEGIN_##Z;                             \
    STEP_EACH_AT(STEP_3_AT, name, Y, Z);        \
    STEP_NEXT;                                  \
  }

/* All forms of an operation. */
#define STEP_FORMS_1(name) STEP_1(name, A, A)
#define STEP_FORMS_2(name) \
  STEP_2(name, AM, A, PM)  \
  STEP_2(name, AK, A, PK)  \
  STEP_2(name, MA, PM, A)  \
  STEP_2(name, KA, PK, A)  \
  STEP_2(name, MM, PM, QM) \
  STEP_2(name, MK, PM, QK) \
  STEP_2(name, KM, PK, QM)
#define STEP_FORMS_3(name)  \
  STEP_3(name, AMM, PM, QM) \
  STEP_3(name, AMK, PM, QK) \
  STEP_3(name, AKM, PK, QM) \
  STEP_3(name, AKK, PK, QK)
#define STEP_FORMS(name, operands, from, to) STEP_FORMS_##operands(name)
HX__EXPR_OPERATIONS(STEP_FORMS)
STEP_FORMS_3(MUL_ADD)
STEP_FORMS_3(ADD_MUL)
STEP_FORMS_3(CHOOSE)
STEP_FORMS_2(LESSER)
STEP_FORMS_2(GREATER)
STEP_FORMS_1(TO_ONE)
STEP_FORMS_1(SQUARE)
STEP_2(SQUARE_ADD, AM, A, PM)
STEP_2(SQUARE_ADD, AK, A, PK)

#define expr_LOAD(x) (x)
STEP_1(LOAD, M, PM)
STEP_1(LOAD, K, PK)

/* The indices of the elements, of which p is that of the element at the beginning of the arrays. */
static const uint32_t step_lanes[]
    __attribute__((aligned(64))) = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#define STEP_INDEX_AT(i) a##i = first + (uint32_t)((i)*HX__V_BYTES / 4u);
static void step_INDEX_K(STEP_ARGS) {
  STEP_FIND_NEXT;
  const v_u32 first = v_load((const char *)step_lanes) + (s->p.bits + (uint32_t)((size_t)at / 4u));
  STEP_EACH(STEP_INDEX_AT)
  STEP_NEXT;
}

#define STEP_STORE(i) *(v_u32_unaligned *)(p + (i)*HX__V_BYTES) = a##i;
static void step_SAVE_M(STEP_ARGS) {
  STEP_FIND_NEXT;
  char *const p = s->p.begin + (at & s->p_moves);
  STEP_EACH(STEP_STORE)
  STEP_NEXT;
}

/* An output's group is stored past the caches if it is aligned to a vector there. The last step does not call a next
 * one, but returns to the loop. */
#define STEP_STORE_PAST(i) PAST_CACHES(p + (i)*HX__V_BYTES, (v_f32)a##i);
#define STEP_OUT_I(name, form, STORE, FIND_NEXT, NEXT) \
  static void step_##name##_I_##form(STEP_ARGS) {      \
    FIND_NEXT;                                         \
    char *const p = s->p.begin + (at & s->p_moves);    \
    STEP_EACH(STORE)                                   \
    NEXT;                                              \
  }
STEP_OUT_I(STORE, A, STEP_STORE, STEP_FIND_NEXT, STEP_NEXT)
STEP_OUT_I(STORE, past_caches, STEP_STORE_PAST, STEP_FIND_NEXT, STEP_NEXT)
STEP_OUT_I(END, A, STEP_STORE, (void)0, (void)0)
STEP_OUT_I(END, past_caches, STEP_STORE_PAST, (void)0, (void)0)

#define STEP_ONE_NAN(i) a##i = v_chosen(F_MASK(a##i, ==, a##i), a##i, v_broadcast(F_QUIET_NAN));
/* A sum of a NaN is a NaN; it may also come from infinities, and then nothing is replaced. */
#define STEP_OUT_F(name, form, STORE, FIND_NEXT, NEXT)                                                             \
  static void step_##name##_F_##form(STEP_ARGS) {                                                                  \
    FIND_NEXT;                                                                                                     \
    const v_f32 sum =                                                                                              \
        (((v_f32)a0 + (v_f32)a1) + ((v_f32)a2 + (v_f32)a3)) + (((v_f32)a4 + (v_f32)a5) + ((v_f32)a6 + (v_f32)a7)); \
    char *const p = s->p.begin + (at & s->p_moves);                                                                \
    if (__builtin_expect(v_has_nan(sum), 0)) {                                                                     \
      step_##name##_F_with_nans(s, at, a0, a1, a2, a3, a4, a5, a6, a7);                                            \
      return;                                                                                                      \
    }                                                                                                              \
    STEP_EACH(STORE)                                                                                               \
    NEXT;                                                                                                          \
  }
#define STEP_WITH_NANS(name)                                                         \
  static __attribute__((noinline, cold)) void step_##name##_F_with_nans(STEP_ARGS) { \
    STEP_EACH(STEP_ONE_NAN)                                                          \
    step_##name##_I_A(s, at, a0, a1, a2, a3, a4, a5, a6, a7);                        \
  }
STEP_WITH_NANS(STORE)
STEP_WITH_NANS(END)
STEP_OUT_F(STORE, A, STEP_STORE, STEP_FIND_NEXT, STEP_NEXT)
STEP_OUT_F(STORE, past_caches, STEP_STORE_PAST, STEP_FIND_NEXT, STEP_NEXT)
STEP_OUT_F(END, A, STEP_STORE, (void)0, (void)0)
STEP_OUT_F(END, past_caches, STEP_STORE_PAST, (void)0, (void)0)

#define STEP_ROW_1(name) [HX__FORM_A] = step_##name##_A
#define STEP_ROW_2(name)                                                                                \
  [HX__FORM_AM] = step_##name##_AM, [HX__FORM_AK] = step_##name##_AK, [HX__FORM_MA] = step_##name##_MA, \
  [HX__FORM_KA] = step_##name##_KA, [HX__FORM_MM] = step_##name##_MM, [HX__FORM_MK] = step_##name##_MK, \
  [HX__FORM_KM] = step_##name##_KM
#define STEP_ROW_3(name)                                                                                      \
  [HX__FORM_AMM] = step_##name##_AMM, [HX__FORM_AMK] = step_##name##_AMK, [HX__FORM_AKM] = step_##name##_AKM, \
  [HX__FORM_AKK] = step_##name##_AKK
#define STEP_ROW(name, operands, from, to) [HX__EXPR_##name] = {STEP_ROW_##operands(name)},
static step_fn *const step_functions[HX__STEP_OPS][HX__FORMS] = {
    HX__EXPR_OPERATIONS(STEP_ROW)[HX__STEP_LOAD] = {[HX__FORM_M] = step_LOAD_M, [HX__FORM_K] = step_LOAD_K},
    [HX__STEP_SAVE] = {[HX__FORM_M] = step_SAVE_M},
    [HX__EXPR_INDEX] = {[HX__FORM_M] = step_LOAD_M, [HX__FORM_K] = step_INDEX_K},
    [HX__STEP_MUL_ADD] = {STEP_ROW_3(MUL_ADD)},
    [HX__STEP_ADD_MUL] = {STEP_ROW_3(ADD_MUL)},
    [HX__STEP_SQUARE] = {STEP_ROW_1(SQUARE)},
    [HX__STEP_SQUARE_ADD] = {[HX__FORM_AM] = step_SQUARE_ADD_AM, [HX__FORM_AK] = step_SQUARE_ADD_AK},
    [HX__STEP_CHOOSE] = {STEP_ROW_3(CHOOSE)},
    [HX__STEP_LESSER] = {STEP_ROW_2(LESSER)},
    [HX__STEP_GREATER] = {STEP_ROW_2(GREATER)},
    [HX__STEP_TO_ONE] = {STEP_ROW_1(TO_ONE)},
    [HX__STEP_STORE_F] = {[HX__FORM_A] = step_STORE_F_A},
    [HX__STEP_STORE_I] = {[HX__FORM_A] = step_STORE_I_A},
    [HX__STEP_END_F] = {[HX__FORM_A] = step_END_F_A},
    [HX__STEP_END_I] = {[HX__FORM_A] = step_END_I_A},
};

/* A step that stores an output, and the same past the caches. */
static const struct {
  step_fn *plain, *past;
} step_stores[] = {{step_STORE_F_A, step_STORE_F_past_caches},
                   {step_STORE_I_A, step_STORE_I_past_caches},
                   {step_END_F_A, step_END_F_past_caches},
                   {step_END_I_A, step_END_I_past_caches}};

#endif
