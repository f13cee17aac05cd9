/* SPDX-License-Identifier: Apache-2.0
 * The steps of expressions (base/expr_code.h) for one ISA. A step is a function whose arguments are the registers of
 * the machine: eight vectors of the accumulator, which calling conventions pass in vector registers. It ends with a
 * call of the next step, which compilers make a jump, so that nothing but temporaries is stored from the first step to
 * the last. A product and a sum must not be contracted: -ffp-contract=off sees to it. */
#ifndef HX_CPU_EXPR_STEPS_H
#define HX_CPU_EXPR_STEPS_H

#include "cpu/expr_ops.h"

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

#define STEP_STORE(i) *(v_u32_unaligned *)(p + (i)*HX__V_BYTES) = a##i;
static void step_SAVE_M(STEP_ARGS) {
  STEP_FIND_NEXT;
  char *const p = s->p.begin + (at & s->p_moves);
  STEP_EACH(STEP_STORE)
  STEP_NEXT;
}

/* The last step stores the group and returns to the loop: past the caches if out is aligned to a vector there. */
#define STEP_STORE_PAST(i) PAST_CACHES(p + (i)*HX__V_BYTES, (v_f32)a##i);
#define STEP_END_I(form, STORE)                     \
  static void step_END_I_##form(STEP_ARGS) {        \
    char *const p = s->p.begin + (at & s->p_moves); \
    STEP_EACH(STORE)                                \
  }
STEP_END_I(A, STEP_STORE)
STEP_END_I(past_caches, STEP_STORE_PAST)

#define STEP_ONE_NAN(i) a##i = v_chosen(F_MASK(a##i, ==, a##i), a##i, v_broadcast(F_QUIET_NAN));
static __attribute__((noinline, cold)) void step_END_F_with_nans(STEP_ARGS) {
  STEP_EACH(STEP_ONE_NAN)
  step_END_I_A(s, at, a0, a1, a2, a3, a4, a5, a6, a7);
}
/* A sum of a NaN is a NaN; it may also come from infinities, and then nothing is replaced. */
#define STEP_END_F(form, STORE)                                                                                    \
  static void step_END_F_##form(STEP_ARGS) {                                                                       \
    const v_f32 sum =                                                                                              \
        (((v_f32)a0 + (v_f32)a1) + ((v_f32)a2 + (v_f32)a3)) + (((v_f32)a4 + (v_f32)a5) + ((v_f32)a6 + (v_f32)a7)); \
    char *const p = s->p.begin + (at & s->p_moves);                                                                \
    if (__builtin_expect(v_has_nan(sum), 0)) {                                                                     \
      step_END_F_with_nans(s, at, a0, a1, a2, a3, a4, a5, a6, a7);                                                 \
      return;                                                                                                      \
    }                                                                                                              \
    STEP_EACH(STORE)                                                                                               \
  }
STEP_END_F(A, STEP_STORE)
STEP_END_F(past_caches, STEP_STORE_PAST)

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
    [HX__STEP_MUL_ADD] = {STEP_ROW_3(MUL_ADD)},
    [HX__STEP_ADD_MUL] = {STEP_ROW_3(ADD_MUL)},
    [HX__STEP_SQUARE] = {STEP_ROW_1(SQUARE)},
    [HX__STEP_SQUARE_ADD] = {[HX__FORM_AM] = step_SQUARE_ADD_AM, [HX__FORM_AK] = step_SQUARE_ADD_AK},
    [HX__STEP_CHOOSE] = {STEP_ROW_3(CHOOSE)},
    [HX__STEP_LESSER] = {STEP_ROW_2(LESSER)},
    [HX__STEP_GREATER] = {STEP_ROW_2(GREATER)},
    [HX__STEP_TO_ONE] = {STEP_ROW_1(TO_ONE)},
    [HX__STEP_END_F] = {[HX__FORM_A] = step_END_F_A},
    [HX__STEP_END_I] = {[HX__FORM_A] = step_END_I_A},
};

/* What the steps of one call need. A load may have to wait for an earlier store to an address that differs from its own
 * by a multiple of 4096 bytes. So temporaries are counted from the end: those in use and the steps in use are then next
 * to each other, and while both together are shorter than 4096 bytes, no two addresses differ so. */
typedef struct step_frame {
  char temporaries[HX__EXPR_TEMPORARIES * STEP_BYTES];
  step steps[HX__EXPR_STEPS];
} step_frame;

/* The arrays of one call, and what the steps refer to. */
typedef struct step_arrays {
  const element *input[HX__EXPR_INPUTS];
  const uint32_t *parameters;
  char *temporaries_end;
  element *out;
} step_arrays;

static step_operand step_bind_operand(hx__expr_operand o, const step_arrays *arrays, int32_t *moves) {
  *moves = o.place == HX__PLACE_INPUT ? -1 : 0;
  switch ((hx__expr_place)o.place) {
    case HX__PLACE_INPUT:
      return (step_operand){.begin = (char *)(uintptr_t)arrays->input[o.index]};
    case HX__PLACE_TEMPORARY:
      return (step_operand){.begin = arrays->temporaries_end - (o.index + 1u) * STEP_BYTES};
    case HX__PLACE_PARAMETER:
      return (step_operand){.bits = arrays->parameters[o.index]};
    case HX__PLACE_VALUE:
    case HX__PLACE_NONE:
      break;
  }
  return (step_operand){.bits = o.bits};
}

static void step_bind(const hx__expr_code *code, const step_arrays *arrays, step *steps) {
  for (unsigned i = 0; i < code->steps; i++) {
    const hx__expr_step *const from = &code->step[i];
    step *const to = &steps[i];
    to->run = step_functions[from->op][from->form];
    to->p = step_bind_operand(from->p, arrays, &to->p_moves);
    to->q = step_bind_operand(from->q, arrays, &to->q_moves);
  }
  steps[code->steps - 1].p.begin = (char *)arrays->out;
  steps[code->steps - 1].p_moves = -1;
}

INLINED void step_run(const step *steps, size_t at) {
  const v_u32 z = {0};
  steps->run(steps, (ptrdiff_t)at, z, z, z, z, z, z, z, z);
}

/* Copies `rows` rows of n elements, short ones without a call for each. */
static void step_copy_rows(element *to, size_t to_ld, const element *from, size_t from_ld, size_t n, size_t rows) {
  if (n < 4) {
    for (; rows; rows--, to += to_ld, from += from_ld) {
      if (n & 2) memcpy(to, from, 2 * sizeof *to);
      if (n & 1) to[n - 1] = from[n - 1];
    }
  } else if (n < 32) {
    for (; rows; rows--, to += to_ld, from += from_ld) {
      for (size_t i = 0; i + 4 < n; i += 4) memcpy(to + i, from + i, 4 * sizeof *to);
      memcpy(to + n - 4, from + n - 4, 4 * sizeof *to);
    }
  } else {
    for (; rows; rows--, to += to_ld, from += from_ld) memcpy(to, from, n * sizeof *to);
  }
}

/* Rows shorter than a group: in copies, so that as many whole rows as fit are computed at once, and nothing is read or
 * written between the rows or beyond the arrays. A row that all rows share is copied once. */
static __attribute__((noinline)) void step_run_narrow(const hx__expr_code *code, const step_arrays *arrays, step *steps,
                                                      const hx__expr_rows *rows) {
  element copy[HX__EXPR_INPUTS + 1][STEP_ELEMENTS] __attribute__((aligned(HX__V_BYTES)));
  step_arrays copies = {
      .parameters = arrays->parameters, .temporaries_end = arrays->temporaries_end, .out = copy[HX__EXPR_INPUTS]};
  const size_t n = rows->n, fitting = STEP_ELEMENTS / n, most = fitting < rows->rows ? fitting : rows->rows;
  for (unsigned i = 0; i < code->inputs; i++) {
    copies.input[i] = copy[i];
    memset(copy[i] + most * n, 0, (STEP_ELEMENTS - most * n) * sizeof(element));
  }
  step_bind(code, &copies, steps);
  for (size_t first = 0; first < rows->rows; first += most) {
    const size_t left = rows->rows - first, count = left < most ? left : most;
    for (unsigned i = 0; i < code->inputs; i++) {
      const size_t ld = rows->rows == 1 ? 0 : rows->ld[i];
      if (ld || !first) step_copy_rows(copy[i], n, arrays->input[i] + first * ld, ld, n, count);
    }
    step_run(steps, 0);
    step_copy_rows(arrays->out + first * rows->ld_out, rows->ld_out, copies.out, n, n, count);
  }
}

/* Compilers take the vectors for arguments of the steps, and would leave the caller with their upper halves in use. */
INLINED void step_leave_vectors(void) {
#ifdef __AVX__
  __builtin_ia32_vzeroupper();
#endif
}

/* Whether elements may be computed again after their results have been stored. */
static bool step_may_repeat(const hx__expr_code *code, const step_arrays *arrays) {
  for (unsigned i = 0; i < code->inputs; i++)
    if (arrays->input[i] == arrays->out) return false;
  return true;
}

/* The elements after the last whole group, if no group that ends with them may be computed again. */
static void step_run_rest(const hx__expr_code *code, const step_arrays *arrays, step *steps, size_t at, size_t count) {
  step_arrays rest = *arrays;
  const hx__expr_rows row = {.n = count, .rows = 1};
  for (unsigned i = 0; i < code->inputs; i++) rest.input[i] += at;
  rest.out += at;
  step_run_narrow(code, &rest, steps, &row);
}

static bool step_rows_are_alike(const hx__expr_code *code, const hx__expr_rows *rows) {
  for (unsigned i = 0; i < code->inputs && rows->rows > 1; i++)
    if (rows->ld[i] != rows->ld_out) return false;
  return true;
}

/* Stores the row's whole groups that begin where out is aligned, and returns where they end. Groups before and after
 * them are computed in part twice, so that all stores past the caches fill whole lines. */
static size_t step_run_past_caches(const hx__expr_code *code, const element *out, step *steps, size_t begin,
                                   size_t end) {
  step *const last = &steps[code->steps - 1];
  step_fn *const plain = last->run;
  size_t at = begin + (0 - ((uintptr_t)out + begin)) % HX__V_BYTES;
  if (at != begin) step_run(steps, begin);
  last->run = plain == step_END_F_A ? step_END_F_past_caches : step_END_I_past_caches;
  for (; at + STEP_BYTES <= end; at += STEP_BYTES) step_run(steps, at);
  last->run = plain;
  return at;
}

#define STEP_LEAST_PAST_CACHES (16 * STEP_BYTES) /* the bytes of a row for which two more groups are not too many */

static __attribute__((noinline)) void step_next_row(const hx__expr_code *code, step_arrays *arrays, step *steps,
                                                    const hx__expr_rows *rows) {
  for (unsigned i = 0; i < code->inputs; i++) arrays->input[i] += rows->ld[i];
  arrays->out += rows->ld_out;
  step_bind(code, arrays, steps);
}

/* Rows of at least a group. If the rows of all arrays are equally far apart, the steps are bound once, and groups are
 * counted from the first row; otherwise the steps are bound to each row. */
INLINED void step_run_wide(const hx__expr_code *code, step_arrays *arrays, step *steps, const hx__expr_rows *rows,
                           bool past_caches) {
  const size_t bytes = rows->n * sizeof(element), whole = bytes - bytes % STEP_BYTES, count = rows->rows;
  const bool repeats = step_may_repeat(code, arrays), copies = bytes > whole && !repeats;
  const bool alike = step_rows_are_alike(code, rows), past = past_caches && repeats && bytes >= STEP_LEAST_PAST_CACHES;
  const size_t distance = alike ? rows->ld_out * sizeof(element) : 0;
  step_bind(code, arrays, steps);
  for (size_t row = 0, begin = 0; row < count; row++, begin += distance) {
    if (row && !alike) step_next_row(code, arrays, steps, rows);
    size_t at = begin;
    if (past) at = step_run_past_caches(code, arrays->out, steps, begin, begin + bytes);
    for (; at + STEP_BYTES <= begin + bytes; at += STEP_BYTES) step_run(steps, at);
    if (copies) {
      step_run_rest(code, arrays, steps, at / sizeof(element), (begin + bytes - at) / sizeof(element));
      if (alike) step_bind(code, arrays, steps);
    } else if (at < begin + bytes) {
      step_run(steps, begin + bytes - STEP_BYTES); /* Some elements are computed twice: faster than copies. */
    }
  }
  if (past) v_past_caches_end();
}

static void evaluate(const hx__expr_code *code, const void *const *inputs, const uint32_t *parameters,
                     hx__expr_rows rows, bool past_caches, void *out) {
  step_frame frame __attribute__((aligned(HX__V_BYTES)));
  step_arrays arrays = {
      .parameters = parameters, .temporaries_end = frame.temporaries + sizeof frame.temporaries, .out = out};
  for (unsigned i = 0; i < code->inputs; i++) arrays.input[i] = inputs[i];
  if (rows.n == rows.ld_out && step_rows_are_alike(code, &rows)) rows.n *= rows.rows, rows.rows = 1; /* no gaps */
  if (rows.n < STEP_ELEMENTS)
    step_run_narrow(code, &arrays, frame.steps, &rows);
  else
    step_run_wide(code, &arrays, frame.steps, &rows, past_caches);
  step_leave_vectors();
}

#endif
