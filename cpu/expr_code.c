/* SPDX-License-Identifier: Apache-2.0
 * From a list of values to steps. The operands of an operation are computed just before it: the one that needs more
 * temporaries first, so that few values wait, and the one that it takes from the accumulator last. A value stays in the
 * accumulator if its only use is the next operation; otherwise it is also saved to a temporary, which is free again
 * after its last use. */
#include "cpu/expr_coder.h"

#include <string.h>

#include "cpu/cpu.h"

#define TEXT_OF(x) #x
#define AS_TEXT(x) TEXT_OF(x)

static const hx__expr_operand no_operand = {.place = HX__PLACE_NONE},
                              first_index = {.place = HX__PLACE_ROW, .index = HX__EXPR_FIRST_INDEX};

static hx__expr_operand output_operand(unsigned o) {
  return (hx__expr_operand){.place = HX__PLACE_OUTPUT, .index = (uint8_t)o};
}

static hx__expr_operand operand_of(const coder *c, unsigned v) {
  const hx__expr_value *const value = &c->e->value[v];
  static const uint8_t place[] = {[HX__EXPR_CONSTANT] = HX__PLACE_VALUE,
                                  [HX__EXPR_INPUT] = HX__PLACE_INPUT,
                                  [HX__EXPR_ROW] = HX__PLACE_ROW,
                                  [HX__EXPR_ROW_NUMBER] = HX__PLACE_ROW,
                                  [HX__EXPR_PARAMETER] = HX__PLACE_PARAMETER};
  if (hx__expr_is_leaf(c, v) && !c->copied[v])
    return (hx__expr_operand){.place = place[value->op], .index = (uint8_t)value->arg[0], .bits = value->bits};
  return (hx__expr_operand){.place = HX__PLACE_TEMPORARY, .index = c->temporary[v]};
}

/* Whether it is one value for all elements, or at least for those of a row. */
static bool is_single(hx__expr_operand o) { return o.place >= HX__PLACE_ROW; }

static void exceed(coder *c, const char *limit) {
  if (!c->exceeded) c->exceeded = limit;
}

/* Steps above the limit are counted. */
static void emit(coder *c, unsigned op, unsigned form, hx__expr_operand p, hx__expr_operand q) {
  const unsigned i = c->code->steps++;
  if (i < HX__EXPR_STEPS)
    c->code->step[i] = (hx__expr_step){.op = (uint8_t)op, .form = (uint8_t)form, .p = p, .q = q};
  else
    exceed(c, AS_TEXT(HX__EXPR_STEPS) " steps");
}

/* Brings a value into the accumulator. */
static void load(coder *c, unsigned v) {
  const hx__expr_operand p = operand_of(c, v);
  if (c->accumulator != v) emit(c, HX__STEP_LOAD, is_single(p) ? HX__FORM_K : HX__FORM_M, p, no_operand);
  c->accumulator = v;
}

static bool is_commutative(unsigned op) {
  static const bool commutes[HX__STEP_OPS] = {
      [HX__EXPR_ADD_F] = true,   [HX__EXPR_MUL_F] = true,    [HX__EXPR_MIN_F] = true, [HX__EXPR_MAX_F] = true,
      [HX__EXPR_EQUAL_F] = true, [HX__EXPR_DIFFER_F] = true, [HX__EXPR_ADD_I] = true, [HX__EXPR_MUL_I] = true,
      [HX__EXPR_AND_I] = true,   [HX__EXPR_OR_I] = true,     [HX__EXPR_XOR_I] = true, [HX__EXPR_MIN_I] = true,
      [HX__EXPR_MIN_U] = true,   [HX__EXPR_MAX_I] = true,    [HX__EXPR_MAX_U] = true, [HX__EXPR_EQUAL_I] = true,
      [HX__EXPR_DIFFER_I] = true};
  return commutes[op];
}

static void swap(unsigned *a, unsigned *b) {
  const unsigned t = *a;
  *a = *b;
  *b = t;
}

static void code_two(coder *c, unsigned op, unsigned a, unsigned b) {
  const bool commutes = is_commutative(op);
  if (commutes && (c->accumulator == b || (is_single(operand_of(c, a)) && c->accumulator != a))) swap(&a, &b);
  const hx__expr_operand x = operand_of(c, a), y = operand_of(c, b);
  if (c->accumulator != a && c->accumulator != b && is_single(x) && is_single(y)) load(c, a);
  if (op == HX__EXPR_MUL_F && a == b && c->accumulator == a)
    emit(c, HX__STEP_SQUARE, HX__FORM_A, no_operand, no_operand);
  else if (c->accumulator == a)
    emit(c, op, is_single(y) ? HX__FORM_AK : HX__FORM_AM, y, no_operand);
  else if (c->accumulator == b)
    emit(c, op, is_single(x) ? HX__FORM_KA : HX__FORM_MA, x, no_operand);
  else
    emit(c, op, is_single(x) ? HX__FORM_KM : is_single(y) ? HX__FORM_MK : HX__FORM_MM, x, y);
}

/* The first operand is in the accumulator. */
static void code_three(coder *c, unsigned op, unsigned b, unsigned d) {
  const hx__expr_operand y = operand_of(c, b), z = operand_of(c, d);
  const unsigned form =
      is_single(y) ? (is_single(z) ? HX__FORM_AKK : HX__FORM_AKM) : (is_single(z) ? HX__FORM_AMK : HX__FORM_AMM);
  emit(c, op, form, y, z);
}

/* The product a * b, and a value that is added to it. */
static void code_product_and_sum(coder *c, unsigned a, unsigned b, unsigned addend) {
  if (c->accumulator == addend && addend != a && addend != b) {
    code_three(c, HX__STEP_ADD_MUL, a, b);
    return;
  }
  if (c->accumulator == b || (c->accumulator != a && is_single(operand_of(c, a)))) swap(&a, &b);
  load(c, a);
  const hx__expr_operand z = operand_of(c, addend);
  if (a == b)
    emit(c, HX__STEP_SQUARE_ADD, is_single(z) ? HX__FORM_AK : HX__FORM_AM, z, no_operand);
  else
    code_three(c, HX__STEP_MUL_ADD, b, addend);
}

/* Counts a use of a value. */
static void use(coder *c, unsigned v) {
  if (--c->uses[v] == 0 && !hx__expr_is_leaf(c, v) && c->temporary[v] < HX__EXPR_GROUPS)
    c->taken[c->temporary[v]] = false;
}

static void save(coder *c, unsigned v) {
  const unsigned most = HX__EXPR_TEMPORARIES + c->code->row_values;
  uint8_t t = 0;
  while (t < most && c->taken[t]) t++;
  if (t == most)
    exceed(c, AS_TEXT(HX__EXPR_TEMPORARIES) " intermediate results at the same time");
  else
    c->taken[t] = true;
  if (t < most && c->code->groups <= t) c->code->groups = t + 1u;
  c->temporary[v] = t;
  emit(c, HX__STEP_SAVE, HX__FORM_M, operand_of(c, v), no_operand);
}

/* The operation after v that is not computed together with another one; the number of values: there is none. */
static unsigned next_operation(const coder *c, unsigned v) {
  unsigned place = c->place[v] + 1u;
  while (place < c->operations && c->joined[c->order[place]]) place++;
  return place < c->operations ? c->order[place] : c->e->count;
}

/* The product that an addition computes, too; NONE: there is none. */
static unsigned joined_operand(const coder *c, unsigned v) {
  const hx__expr_value *const value = &c->e->value[v];
  if (value->op != HX__EXPR_ADD_F) return NONE;
  return c->joined[value->arg[1]] ? value->arg[1] : c->joined[value->arg[0]] ? value->arg[0] : NONE;
}

/* The step for a condition and the choice between what it compares; NONE: it is another choice. x < y ? x : y is the
 * lesser of x and y, x < y ? y : x the greater of y and x. */
static unsigned extremum_of(const coder *c, unsigned choice) {
  static const struct {
    uint8_t comparison;
    uint16_t least, most;
  } rows[] = {{HX__EXPR_LESS_F, HX__STEP_LESSER, HX__STEP_GREATER},
              {HX__EXPR_LESS_I, HX__EXPR_MIN_I, HX__EXPR_MAX_I},
              {HX__EXPR_LESS_U, HX__EXPR_MIN_U, HX__EXPR_MAX_U}};
  const hx__expr_value *const v = &c->e->value[choice];
  if (v->op != HX__EXPR_SELECT) return NONE;
  const hx__expr_value *const condition = &c->e->value[v->arg[0]];
  const bool least = condition->arg[0] == v->arg[1] && condition->arg[1] == v->arg[2];
  const bool most = condition->arg[0] == v->arg[2] && condition->arg[1] == v->arg[1];
  for (size_t i = 0; (least || most) && i < sizeof rows / sizeof *rows; i++)
    if (condition->op == rows[i].comparison) return least ? rows[i].least : rows[i].most;
  return NONE;
}

/* Comparisons whose only use is such a choice. */
static void join_comparisons(coder *c) {
  for (unsigned v = 0; v < c->e->count; v++)
    if (extremum_of(c, v) != NONE && c->uses[c->e->value[v].arg[0]] == 1) c->joined[c->e->value[v].arg[0]] = true;
}

static bool is_extremum(const coder *c, unsigned v) {
  return c->e->value[v].op == HX__EXPR_SELECT && c->joined[c->e->value[v].arg[0]];
}

/* How often operation v can take this operand from the accumulator: both factors of a square, what is compared and
 * chosen, otherwise once or never. */
static unsigned takes_from_accumulator(const coder *c, unsigned v, unsigned operand) {
  const hx__expr_value *const value = &c->e->value[v];
  if (is_extremum(c, v)) return operand == value->arg[1] || operand == value->arg[2] ? 2 : 0;
  const unsigned product = joined_operand(c, v);
  if (product != NONE) {
    const uint16_t *const factor = c->e->value[product].arg;
    if (operand == factor[0] || operand == factor[1]) return factor[0] == factor[1] ? 2 : 1;
    return operand == value->arg[0] || operand == value->arg[1];
  }
  if (value->op == HX__EXPR_MUL_F && value->arg[0] == value->arg[1]) return operand == value->arg[0] ? 2 : 0;
  const unsigned count = hx__expr_operands((hx__expr_op)value->op);
  const unsigned places = count < 3 ? count : value->op == HX__EXPR_FMA_F ? 2 : 1;
  for (unsigned i = 0; i < places; i++)
    if (value->arg[i] == operand) return 1;
  return 0;
}

/* Products whose only use is the addition that follows them. */
static void join_products(coder *c) {
  const hx__expr *const e = c->e;
  for (unsigned i = 0; i < c->operations; i++) {
    const unsigned v = c->order[i];
    if (e->value[v].op != HX__EXPR_MUL_F || c->uses[v] != 1) continue;
    const unsigned next = next_operation(c, v);
    if (next == e->count || e->value[next].op != HX__EXPR_ADD_F) continue;
    const uint16_t *const arg = e->value[next].arg;
    c->joined[v] = (arg[0] == v || arg[1] == v) && !c->joined[arg[0]] && !c->joined[arg[1]];
  }
}

/* Whether u can do with a mask as its operand i. */
static bool takes_mask(const coder *c, unsigned u, unsigned i) {
  const hx__expr_value *const value = &c->e->value[u];
  switch ((hx__expr_op)value->op) {
    case HX__EXPR_SELECT:
      return i == 0;
    case HX__EXPR_AND_I:
    case HX__EXPR_OR_I:
      return c->is_mask[u];
    case HX__EXPR_EQUAL_I:
    case HX__EXPR_DIFFER_I: { /* a comparison with 0: ! and what && compares */
      const hx__expr_value *const other = &c->e->value[value->arg[1 - i]];
      return other->op == HX__EXPR_CONSTANT && other->bits == 0;
    }
    default:
      return false;
  }
}

/* Masks are comparisons, and && and || of two masks that nothing else uses, if all that use them can do with a mask. */
static void set_masks(coder *c) {
  const hx__expr *const e = c->e;
  for (unsigned v = 0; v < e->count; v++) {
    const hx__expr_value *const value = &e->value[v];
    const unsigned a = value->arg[0], b = value->arg[1];
    c->is_mask[v] = hx__expr_is_comparison((hx__expr_op)value->op);
    if (value->op == HX__EXPR_AND_I || value->op == HX__EXPR_OR_I)
      c->is_mask[v] = c->is_mask[a] && c->is_mask[b] && c->uses[a] == 1 && c->uses[b] == 1;
  }
  for (unsigned o = 0; o < e->outputs; o++) c->is_mask[e->result[o]] = false;
  for (unsigned u = e->count; u-- > 0;)
    for (unsigned i = 0; i < hx__expr_operands((hx__expr_op)e->value[u].op); i++)
      if (!takes_mask(c, u, i)) c->is_mask[e->value[u].arg[i]] = false;
}

static void code_operation(coder *c, unsigned v) {
  const hx__expr_value *const value = &c->e->value[v];
  const unsigned product = joined_operand(c, v), operands = hx__expr_operands((hx__expr_op)value->op);
  unsigned a = value->arg[0], b = value->arg[1];
  if (product != NONE) {
    const uint16_t *const factor = c->e->value[product].arg;
    code_product_and_sum(c, factor[0], factor[1], product == a ? b : a);
    use(c, factor[0]);
    use(c, factor[1]);
  } else if (is_extremum(c, v)) {
    code_two(c, extremum_of(c, v), b, value->arg[2]);
    use(c, b);
    use(c, value->arg[2]);
  } else if (operands == 2) {
    code_two(c, value->op, a, b);
  } else if (operands == 0) {
    emit(c, value->op, HX__FORM_K, first_index, no_operand);
  } else {
    if (value->op == HX__EXPR_FMA_F && c->accumulator == b) swap(&a, &b);
    load(c, a);
    if (operands == 3)
      code_three(c, value->op == HX__EXPR_SELECT && c->is_mask[a] ? (unsigned)HX__STEP_CHOOSE : value->op, b,
                 value->arg[2]);
    else
      emit(c, value->op, HX__FORM_A, no_operand, no_operand);
  }
  c->accumulator = v;
  if (hx__expr_is_comparison((hx__expr_op)value->op) && !c->is_mask[v])
    emit(c, HX__STEP_TO_ONE, HX__FORM_A, no_operand, no_operand);
  for (unsigned i = 0; i < operands; i++) use(c, value->arg[i]);
}

/* Saves inputs that are outputs, too: another output may replace them. */
static void save_inputs(coder *c) {
  for (unsigned o = 0; o < c->e->outputs && c->e->outputs > 1; o++) {
    const unsigned v = c->e->result[o];
    if (c->e->value[v].op != HX__EXPR_INPUT || c->copied[v]) continue;
    load(c, v);
    c->copied[v] = true;
    save(c, v);
  }
}

/* The output that is stored next: one whose value is in the accumulator, if there is one. */
static unsigned next_output(const coder *c, const bool *stored) {
  unsigned first = c->e->outputs;
  for (unsigned o = c->e->outputs; o-- > 0;) {
    if (stored[o]) continue;
    if (c->e->result[o] == c->accumulator) return o;
    first = o;
  }
  return first;
}

/* Stores the outputs after everything has been computed, because an output may replace an input. */
static void code_stores(coder *c) {
  bool stored[HX__EXPR_OUTPUTS] = {false};
  for (unsigned left = c->e->outputs; left; left--) {
    const unsigned o = next_output(c, stored);
    const bool is_float = hx__expr_output_type(c->e, o) == HX_F32;
    const unsigned store = is_float ? HX__STEP_STORE_F : HX__STEP_STORE_I,
                   end = is_float ? HX__STEP_END_F : HX__STEP_END_I;
    load(c, c->e->result[o]);
    emit(c, left > 1 ? store : end, HX__FORM_A, output_operand(o), no_operand);
    stored[o] = true;
  }
}

static const char *code_of(const hx__expr *e, hx__expr_code *out, bool in_list_order) {
  coder c = {.e = e, .code = out, .accumulator = NONE};
  out->steps = 0;
  out->inputs = e->inputs;
  out->outputs = e->outputs;
  out->row_values = e->row_inputs + e->by_row + e->by_index;
  memcpy(out->per_row, e->per_row, sizeof e->per_row);
  out->per_row[HX__EXPR_NUMBER_OF_ROW] = e->by_row;
  out->per_row[HX__EXPR_FIRST_INDEX] = e->by_index;
  memcpy(c.taken, out->per_row, sizeof out->per_row); /* groups of their own: HX__EXPR_GROUPS */
  out->groups = HX__EXPR_ROW_VALUES;
  while (out->groups && !out->per_row[out->groups - 1]) out->groups--;
  memset(c.temporary, HX__EXPR_GROUPS, sizeof c.temporary);
  for (unsigned v = 0; v < e->count; v++)
    for (unsigned i = 0; i < hx__expr_operands((hx__expr_op)e->value[v].op); i++) c.uses[e->value[v].arg[i]]++;
  for (unsigned o = 0; o < e->outputs; o++) c.uses[e->result[o]]++; /* so that all wait until the end */
  set_masks(&c);
  hx__expr_set_order(&c, in_list_order);
  join_comparisons(&c);
  join_products(&c);
  save_inputs(&c);
  for (unsigned i = 0; i < c.operations; i++) {
    const unsigned v = c.order[i];
    if (c.joined[v]) continue;
    code_operation(&c, v);
    const unsigned next = next_operation(&c, v);
    const bool stays = next == e->count || (c.uses[v] && c.uses[v] == takes_from_accumulator(&c, next, v));
    if (!stays) save(&c, v);
  }
  code_stores(&c);
  if (out->groups + hx__expr_element_inputs(e) + e->outputs > HX__EXPR_ROOM)
    exceed(&c, AS_TEXT(HX__EXPR_ROOM) " intermediate results, inputs and outputs at the same time");
  return c.exceeded;
}

/* What exceeds a limit depth first is tried in the order of the list. */
const char *hx__expr_code_of(const hx__expr *e, hx__expr_code *out) {
  return code_of(e, out, false) ? code_of(e, out, true) : NULL;
}
