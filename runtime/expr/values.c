/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/expr/values.h"

#include <string.h>

#include "runtime/expr/compile.h"

static unsigned add(hx__expr *e, hx__expr_value v) {
  for (unsigned i = 0; i < e->count; i++)
    if (!memcmp(&e->value[i], &v, sizeof v)) return i;
  if (e->count == HX__EXPR_VALUES) return HX__EXPR_VALUES;
  e->value[e->count] = v;
  return e->count++;
}

unsigned hx__expr_constant(hx__expr *e, hx_type type, uint32_t bits) {
  return add(e, (hx__expr_value){.op = HX__EXPR_CONSTANT, .type = (uint8_t)type, .bits = bits});
}

unsigned hx__expr_leaf(hx__expr *e, hx__expr_op op, hx_type type, unsigned index) {
  return add(e, (hx__expr_value){.op = (uint8_t)op, .type = (uint8_t)type, .arg = {(uint16_t)index}});
}

unsigned hx__expr_apply(hx__expr *e, hx__expr_op op, hx_type type, unsigned a, unsigned b, unsigned c) {
  const unsigned operands = hx__expr_operands(op), arg[3] = {a, b, c};
  hx__expr_value v = {.op = (uint8_t)op, .type = (uint8_t)type};
  uint32_t bits[3] = {0};
  bool constant = true;
  for (unsigned i = 0; i < 3 && i < operands; i++) {
    const hx__expr_value *const operand = &e->value[arg[i]];
    v.arg[i] = (uint16_t)arg[i];
    bits[i] = operand->bits;
    constant = constant && operand->op == HX__EXPR_CONSTANT;
  }
  if (constant) return hx__expr_constant(e, type, hx__expr_fold(op, bits[0], bits[1], bits[2]));
  if (op == HX__EXPR_SELECT && e->value[a].op == HX__EXPR_CONSTANT) return bits[0] ? b : c;
  return add(e, v);
}

void hx__expr_note_call(hx__expr *e, hx__expr_op op, const unsigned *arg, unsigned result) {
  hx__expr_call c = {.op = (uint8_t)op, .result = (uint16_t)result};
  bool before = true;
  for (unsigned i = 0; i < hx__expr_operands(op); i++) {
    c.arg[i] = (uint16_t)arg[i];
    before = before && arg[i] < result;
  }
  for (unsigned i = 0; i < e->calls; i++)
    if (e->call[i].result == c.result && !memcmp(e->call[i].arg, c.arg, sizeof c.arg)) return;
  if (before && e->value[result].op >= HX__EXPR_NEGATE_F && e->calls < HX__EXPR_CALLS) e->call[e->calls++] = c;
}

/* Those of values that are left. */
static void renumber_calls(hx__expr *e, const bool *used, const uint16_t *number) {
  const unsigned noted = e->calls;
  e->calls = 0;
  for (unsigned i = 0; i < noted; i++) {
    hx__expr_call c = e->call[i];
    bool left = used[c.result];
    for (unsigned k = 0; k < hx__expr_operands((hx__expr_op)c.op); k++) {
      left = left && used[c.arg[k]];
      c.arg[k] = number[c.arg[k]];
    }
    c.result = number[c.result];
    if (left) e->call[e->calls++] = c;
  }
}

void hx__expr_remove_unused(hx__expr *e) {
  bool used[HX__EXPR_VALUES] = {false};
  uint16_t number[HX__EXPR_VALUES] = {0};
  unsigned count = 0;
  for (unsigned o = 0; o < e->outputs; o++) used[e->result[o]] = true;
  for (unsigned i = e->count; i-- > 0;)
    for (unsigned k = 0; used[i] && k < hx__expr_operands((hx__expr_op)e->value[i].op); k++)
      used[e->value[i].arg[k]] = true;
  for (unsigned i = 0; i < e->count; i++) {
    if (!used[i]) continue;
    hx__expr_value v = e->value[i];
    for (unsigned k = 0; k < hx__expr_operands((hx__expr_op)v.op); k++) v.arg[k] = number[v.arg[k]];
    number[i] = (uint16_t)count;
    e->value[count++] = v;
  }
  renumber_calls(e, used, number);
  for (unsigned o = 0; o < e->outputs; o++) e->result[o] = number[e->result[o]];
  memset(&e->value[count], 0, (e->count - count) * sizeof e->value[0]); /* equal expressions have equal bytes */
  e->count = count;
  e->by_row = e->by_index = false;
  for (unsigned i = 0; i < count; i++) {
    e->by_row = e->by_row || e->value[i].op == HX__EXPR_ROW_NUMBER;
    e->by_index = e->by_index || e->value[i].op == HX__EXPR_INDEX;
  }
}

void hx__expr_with_functions(hx__expr *e) {
  for (unsigned i = 0; i < e->calls; i++) {
    const hx__expr_call *const c = &e->call[i];
    hx__expr_value *const v = &e->value[c->result];
    *v = (hx__expr_value){.op = c->op, .type = v->type};
    memcpy(v->arg, c->arg, sizeof v->arg);
  }
  e->calls = 0;
  hx__expr_remove_unused(e);
}
