/* SPDX-License-Identifier: Apache-2.0
 * What operators and functions do with their operands: C's conversions, then an operation by their type. */
#include "runtime/expr/parser.h"
#include "runtime/expr/values.h"

const char *const hx__type_words[TYPES] = {[HX_F32] = "float", [HX_I32] = "int", [HX_U32] = "unsigned"};

static hx_type type_of(const parser *p, unsigned v) { return (hx_type)p->e->value[v].type; }

unsigned hx__checked(parser *p, const token *where, unsigned v) {
  if (v == HX__EXPR_VALUES)
    hx__source_fail(&p->s, where, "more than %u values (inputs, parameters, constants and operations)",
                    HX__EXPR_VALUES);
  return v == HX__EXPR_VALUES ? 0 : v;
}
unsigned hx__constant(parser *p, const token *where, hx_type type, uint32_t bits) {
  return p->s.status != HX_OK ? 0 : hx__checked(p, where, hx__expr_constant(p->e, type, bits));
}
static unsigned apply(parser *p, const token *where, hx__expr_op op, hx_type type, unsigned a, unsigned b, unsigned c) {
  return p->s.status != HX_OK ? 0 : hx__checked(p, where, hx__expr_apply(p->e, op, type, a, b, c));
}

#define FOR_TYPES(f, i, u)                                                        \
  {                                                                               \
    { [HX_F32] = HX__EXPR_##f, [HX_I32] = HX__EXPR_##i, [HX_U32] = HX__EXPR_##u } \
  }
#define FOR_INTEGERS(i, u) FOR_TYPES(CONSTANT, i, u)
#define FOR_FLOATS(f) FOR_TYPES(f, CONSTANT, CONSTANT)

static const by_type differ = FOR_TYPES(DIFFER_F, DIFFER_I, DIFFER_I), equal = FOR_TYPES(EQUAL_F, EQUAL_I, EQUAL_I);

unsigned hx__converted(parser *p, const token *where, unsigned v, hx_type type) {
  const hx_type from = type_of(p, v);
  static const hx__expr_op operation[TYPES][TYPES] = {
      [HX_F32] = {[HX_I32] = HX__EXPR_TO_I32, [HX_U32] = HX__EXPR_TO_U32},
      [HX_I32] = {[HX_F32] = HX__EXPR_FROM_I32},
      [HX_U32] = {[HX_F32] = HX__EXPR_FROM_U32}};
  if (p->s.status != HX_OK || from == type) return v;
  const hx__expr_op op = operation[from][type];
  if (op != HX__EXPR_CONSTANT) return apply(p, where, op, type, v, 0, 0);
  if (p->e->value[v].op == HX__EXPR_CONSTANT) return hx__constant(p, where, type, p->e->value[v].bits);
  return apply(p, where, HX__EXPR_OR_I, type, v, hx__constant(p, where, from, 0),
               0); /* the same bits with another type */
}

/* C's usual arithmetic conversions. */
static hx_type common_type(const parser *p, unsigned a, unsigned b) {
  const hx_type x = type_of(p, a), y = type_of(p, b);
  return x == HX_F32 || y == HX_F32 ? HX_F32 : x == HX_U32 || y == HX_U32 ? HX_U32 : HX_I32;
}

/* 1 if v is not 0, else 0 (`is`), or the other way round. */
static unsigned compare_with_zero(parser *p, const token *where, unsigned v, const by_type *is) {
  const hx_type type = type_of(p, v);
  if (p->s.status != HX_OK || (is == &differ && hx__expr_is_comparison((hx__expr_op)p->e->value[v].op))) return v;
  return apply(p, where, is->of[type], HX_I32, v, hx__constant(p, where, type, 0), 0);
}

static const binary_operator binary_operators[] = {
    {SIGN_OF('|', '|'), 1, LOGICAL, false, FOR_INTEGERS(OR_I, OR_I)},
    {SIGN_OF('&', '&'), 2, LOGICAL, false, FOR_INTEGERS(AND_I, AND_I)},
    {SIGN_OF('|', 0), 3, USUAL, false, FOR_INTEGERS(OR_I, OR_I)},
    {SIGN_OF('^', 0), 4, USUAL, false, FOR_INTEGERS(XOR_I, XOR_I)},
    {SIGN_OF('&', 0), 5, USUAL, false, FOR_INTEGERS(AND_I, AND_I)},
    {SIGN_OF('=', '='), 6, COMPARED, false, FOR_TYPES(EQUAL_F, EQUAL_I, EQUAL_I)},
    {SIGN_OF('!', '='), 6, COMPARED, false, FOR_TYPES(DIFFER_F, DIFFER_I, DIFFER_I)},
    {SIGN_OF('<', 0), 7, COMPARED, false, FOR_TYPES(LESS_F, LESS_I, LESS_U)},
    {SIGN_OF('>', 0), 7, COMPARED, true, FOR_TYPES(LESS_F, LESS_I, LESS_U)},
    {SIGN_OF('<', '='), 7, COMPARED, false, FOR_TYPES(AT_MOST_F, AT_MOST_I, AT_MOST_U)},
    {SIGN_OF('>', '='), 7, COMPARED, true, FOR_TYPES(AT_MOST_F, AT_MOST_I, AT_MOST_U)},
    {SIGN_OF('<', '<'), 8, SHIFTED, false, FOR_INTEGERS(SHIFT_LEFT, SHIFT_LEFT)},
    {SIGN_OF('>', '>'), 8, SHIFTED, false, FOR_INTEGERS(SHIFT_RIGHT_I, SHIFT_RIGHT_U)},
    {SIGN_OF('+', 0), 9, USUAL, false, FOR_TYPES(ADD_F, ADD_I, ADD_I)},
    {SIGN_OF('-', 0), 9, USUAL, false, FOR_TYPES(SUB_F, SUB_I, SUB_I)},
    {SIGN_OF('*', 0), 10, USUAL, false, FOR_TYPES(MUL_F, MUL_I, MUL_I)},
    {SIGN_OF('/', 0), 10, USUAL, false, FOR_TYPES(DIV_F, DIV_I, DIV_U)},
    {SIGN_OF('%', 0), 10, USUAL, false, FOR_INTEGERS(MOD_I, MOD_U)},
};

unsigned hx__apply_binary(parser *p, const token *where, const binary_operator *o, unsigned a, unsigned b) {
  if (p->s.status != HX_OK) return 0;
  if (o->conversion == LOGICAL) {
    a = compare_with_zero(p, where, a, &differ);
    b = compare_with_zero(p, where, b, &differ);
  }
  const bool shifts = o->conversion == SHIFTED;
  const hx_type type = shifts && type_of(p, b) != HX_F32 ? type_of(p, a) : common_type(p, a, b);
  const hx__expr_op op = o->operations.of[type];
  if (op == HX__EXPR_CONSTANT) {
    hx__source_fail(&p->s, where, "%s has integer operands in C, and one is a float",
                    hx__source_quote(&p->s, where).text);
    return 0;
  }
  if (!shifts) {
    a = hx__converted(p, where, a, type);
    b = hx__converted(p, where, b, type);
  }
  const hx_type result = o->conversion == COMPARED ? HX_I32 : type;
  return o->swapped ? apply(p, where, op, result, b, a, 0) : apply(p, where, op, result, a, b, 0);
}

const binary_operator *hx__operator_at(const parser *p, unsigned least) {
  if (p->s.token.kind != TOKEN_SIGN) return NULL;
  for (size_t i = 0; i < sizeof binary_operators / sizeof binary_operators[0]; i++)
    if (binary_operators[i].sign == p->s.token.bits && binary_operators[i].precedence >= least)
      return &binary_operators[i];
  return NULL;
}

static const function functions[] = {
    {"fabsf", FOR_FLOATS(ABS_F), false, NULL},
    {"sqrtf", FOR_FLOATS(SQRT_F), false, NULL},
    {"floorf", FOR_FLOATS(FLOOR_F), false, NULL},
    {"ceilf", FOR_FLOATS(CEIL_F), false, NULL},
    {"truncf", FOR_FLOATS(TRUNC_F), false, NULL},
    {"rintf", FOR_FLOATS(RINT_F), false, NULL},
    {"fminf", FOR_FLOATS(MIN_F), false, NULL},
    {"fmaxf", FOR_FLOATS(MAX_F), false, NULL},
    {"fmaf", FOR_FLOATS(FMA_F), false, NULL},
    {"abs", FOR_INTEGERS(ABS_I, CONSTANT), false, "fabsf"},
    {"min", FOR_INTEGERS(MIN_I, MIN_U), false, "fminf"},
    {"max", FOR_INTEGERS(MAX_I, MAX_U), false, "fmaxf"},
    {"as_int", FOR_FLOATS(AS_I32), true, NULL},
    {"as_float", FOR_INTEGERS(AS_F32, AS_F32), false, NULL},
};

const function *hx__function_at(const parser *p) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
    if (hx__source_is_word(&p->s, functions[i].name) && (p->elementary || !functions[i].elementary))
      return &functions[i];
  return NULL;
}

unsigned hx__operands_of(const function *f) {
  const hx__expr_op of_f32 = f->operations.of[HX_F32];
  return hx__expr_operands(of_f32 != HX__EXPR_CONSTANT ? of_f32 : f->operations.of[HX_I32]);
}

unsigned hx__apply_unary(parser *p, const token *where, uint32_t sign, unsigned v) {
  static const by_type negate = FOR_TYPES(NEGATE_F, NEGATE_I, NEGATE_I);
  if (p->s.status != HX_OK) return 0;
  const hx_type type = type_of(p, v);
  if (sign == '!') return compare_with_zero(p, where, v, &equal);
  if (sign == '-') return apply(p, where, negate.of[type], type, v, 0, 0);
  if (sign == '+') return v;
  if (type == HX_F32) hx__source_fail(&p->s, where, "'~' has an integer operand in C, and this one is a float");
  return apply(p, where, HX__EXPR_NOT_I, type, v, 0, 0);
}

static void fail_on_argument(parser *p, const token *where, const function *f, hx_type type) {
  if (type != HX_F32)
    hx__source_fail(&p->s, where, "%s of %s: it takes integers of type int", f->name, hx__type_words[type]);
  else if (f->of_floats)
    hx__source_fail(&p->s, where, "%s of float: it takes integers; of floats it is %s", f->name, f->of_floats);
  else
    hx__source_fail(&p->s, where, "%s of float: it takes an integer", f->name);
}

unsigned hx__apply_function(parser *p, const token *where, const function *f, unsigned arg[3]) {
  if (p->s.status != HX_OK) return 0;
  const unsigned count = hx__operands_of(f);
  hx_type type = f->operations.of[HX_F32] != HX__EXPR_CONSTANT ? HX_F32 : type_of(p, arg[0]);
  if (type != HX_F32 && count == 2) type = common_type(p, arg[0], arg[1]);
  const hx__expr_op op = f->operations.of[type];
  if (op == HX__EXPR_CONSTANT) {
    fail_on_argument(p, where, f, type);
    return 0;
  }
  for (unsigned i = 0; i < count; i++) arg[i] = hx__converted(p, where, arg[i], type);
  const hx_type result = op == HX__EXPR_AS_I32 ? HX_I32 : op == HX__EXPR_AS_F32 ? HX_F32 : type;
  return apply(p, where, op, result, arg[0], arg[1], arg[2]);
}

void hx__convert_arguments(parser *p, const token *where, const elementary *f, unsigned arg[3]) {
  for (unsigned i = 0; i < f->arguments && p->s.status == HX_OK; i++) {
    if (f->floats_only && type_of(p, arg[i]) != HX_F32)
      hx__source_fail(&p->s, where, "%s of %s: it takes a float", f->name, hx__type_words[type_of(p, arg[i])]);
    arg[i] = hx__converted(p, where, arg[i], HX_F32);
  }
}

unsigned hx__apply_condition(parser *p, const token *where, unsigned condition, unsigned a, unsigned b) {
  if (p->s.status != HX_OK) return 0;
  const hx_type type = common_type(p, a, b);
  a = hx__converted(p, where, a, type);
  b = hx__converted(p, where, b, type);
  const bool is_float = type_of(p, condition) == HX_F32;
  return apply(p, where, HX__EXPR_SELECT, type, is_float ? compare_with_zero(p, where, condition, &differ) : condition,
               a, b);
}
