/* SPDX-License-Identifier: Apache-2.0
 * Reductions of lines of a few elements that lie side by side, as the columns of a few long rows do. A user kernel
 * computes them from the rows: a map stores results of 4 bytes, and hx_reduce_strided a hx_value for each line, which
 * takes longer than the reduction itself. */
#include <stdio.h>
#include <string.h>

#include "native.h"

/* By operation, type and number of elements. Made by the first call that needs them, with the GIL, and never freed. */
static hx_kernel *kernels[HX_PROD + 1][HX_U32 + 1][HX_MAX_INPUTS + 1];

struct source {
  hx_op op;
  hx_type type;
  int n;
  char text[600], inputs[128]; /* the inputs are a, b, ... */
};

/* What enters the tree for element i. */
static void append_element(struct source *s, int i) {
  const char *format = s->op == HX_SUM_ABS ? "fabsf(%c)" : s->op == HX_SUM_SQUARES ? "(%c * %c)" : "%c";
  char element[24];
  snprintf(element, sizeof element, format, 'a' + i, 'a' + i);
  strcat(s->text, element);
}

/* The text before, between and after two values that are combined. */
static const char *const *combination(hx_op op, hx_type type) {
  static const char *const sum[] = {"(", " + ", ")"}, *const product[] = {"(", " * ", ")"};
  static const char *const choices[2][2][3] = {{{"min(", ", ", ")"}, {"max(", ", ", ")"}},
                                               {{"fminf(", ", ", ")"}, {"fmaxf(", ", ", ")"}}};
  return op == HX_PROD ? product : op != HX_MIN && op != HX_MAX ? sum : choices[type == HX_F32][op == HX_MAX];
}

/* Lane i of docs/ARITHMETIC.md once it is joined with those at distances down to `distance`. Each lane has one element
 * or none, and one that is joined with a lane without an element stays as it is. */
static void append_lane(struct source *s, int i, int distance) {
  if (distance >= s->n) {
    append_element(s, i);
    return;
  }
  const bool joined = i + distance < s->n;
  const char *const *parts = combination(s->op, s->type);
  if (joined) strcat(s->text, parts[0]);
  append_lane(s, i, 2 * distance);
  if (!joined) return;
  strcat(s->text, parts[1]);
  append_lane(s, i + distance, 2 * distance);
  strcat(s->text, parts[2]);
}

/* fminf and fmaxf lose NaNs. */
static void append_test_for_nan(struct source *s) {
  for (int i = 0; i < s->n; i++) {
    char test[24];
    snprintf(test, sizeof test, "%s(%c == %c)", i ? " & " : "", 'a' + i, 'a' + i);
    strcat(s->text, test);
  }
  strcat(s->text, " ? ");
}

static void write_source(struct source *s) {
  static const char *const types[] = {[HX_F32] = "float", [HX_I32] = "int", [HX_U32] = "unsigned"};
  const bool may_be_nan = s->type == HX_F32 && (s->op == HX_MIN || s->op == HX_MAX);
  s->text[0] = s->inputs[0] = 0;
  if (may_be_nan) append_test_for_nan(s);
  append_lane(s, 0, 1);
  if (may_be_nan) strcat(s->text, " : NAN");
  for (int i = 0; i < s->n; i++) {
    char input[24];
    snprintf(input, sizeof input, "%s%s %c", i ? ", " : "", types[s->type], 'a' + i);
    strcat(s->inputs, input);
  }
}

static void compile(hxpy_context *c, hx_op op, hx_type type, int n, hx_kernel **kernel) {
  struct source s = {.op = op, .type = type, .n = n};
  write_source(&s);
  const hx_kernel_source source = {.text = s.text, .inputs = s.inputs};
  const hx_status status = hx_compile(c->hx, &source, kernel);
  if (status != HX_OK) hxpy_fail(status);
}

const hx_kernel *hxpy_columns_kernel(hxpy_context *c, hx_op op, hx_type type, int n) {
  hx_kernel **const kernel = &kernels[op][type][n];
  if (!*kernel) compile(c, op, type, n, kernel);
  return *kernel;
}
