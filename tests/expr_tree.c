/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/expr_nodes.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"

static const row unary[] = {{"-", 14, 1, false}, {"+", 14, 1, false}, {"!", 14, 1, false}, {"~", 14, 1, true}};
static const row binary[] = {
    {"*", 13, 2, false},  {"/", 13, 2, false}, {"%", 13, 2, true},  {"+", 12, 2, false}, {"-", 12, 2, false},
    {"<<", 11, 2, true},  {">>", 11, 2, true}, {"<", 10, 2, false}, {">", 10, 2, false}, {"<=", 10, 2, false},
    {">=", 10, 2, false}, {"==", 9, 2, false}, {"!=", 9, 2, false}, {"&", 8, 2, true},   {"^", 7, 2, true},
    {"|", 6, 2, true},    {"&&", 5, 2, false}, {"||", 4, 2, false},
};
static const row calls[] = {{"fabsf", 15, 1, false},  {"sqrtf", 15, 1, false},     {"floorf", 15, 1, false},
                            {"ceilf", 15, 1, false},  {"truncf", 15, 1, false},    {"rintf", 15, 1, false},
                            {"fminf", 15, 2, false},  {"fmaxf", 15, 2, false},     {"fmaf", 15, 3, false},
                            {"abs", 15, 1, true},     {"min", 15, 2, true},        {"max", 15, 2, true},
                            {"roundf", 15, 1, false}, {"copysignf", 15, 2, false}, {"isnan", 15, 1, false},
                            {"isinf", 15, 1, false},  {"isfinite", 15, 1, false},  {"signbit", 15, 1, false},
                            {"as_int", 15, 1, false}, {"as_uint", 15, 1, false},   {"as_float", 15, 1, true}};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static unsigned draw(tree *t, size_t below) { return (unsigned)(data_u64(t->seed, t->drawn++) % below); }

static const hx_type types[] = {HX_F32, HX_F32, HX_F32, HX_I32, HX_U32};
static hx_type draw_type(tree *t) { return types[draw(t, COUNT(types))]; }

static node *new_node(tree *t, kind k, hx_type type) {
  if (t->nodes == TREE_NODES) abort();
  node *const n = &t->node[t->nodes++];
  *n = (node){.kind = k, .type = type};
  return n;
}

static node *cast(tree *t, node *n, hx_type type) {
  node *const c = new_node(t, CAST, type);
  c->kid[0] = n;
  return c;
}
static node *integer(tree *t, node *n) { return n->type == HX_F32 ? cast(t, n, draw(t, 2) ? HX_I32 : HX_U32) : n; }

/* Constants that have a word. */
static const struct {
  hx_type type;
  uint32_t bits;
  const char *word;
} words[] = {{HX_F32, 0x7f800000u, "INFINITY"}, {HX_F32, 0x7fc00000u, "NAN"},         {HX_F32, 0x7f7fffffu, "FLT_MAX"},
             {HX_F32, 0x00800000u, "FLT_MIN"},  {HX_F32, 0x34000000u, "FLT_EPSILON"}, {HX_I32, INT32_MAX, "INT_MAX"},
             {HX_I32, 0x80000000u, "INT_MIN"},  {HX_U32, UINT32_MAX, "UINT_MAX"}};

static node *draw_literal(tree *t) {
  static const uint32_t integers[] = {0, 1, 2, 3, 5, 7, 31, 32, 33, 255, 65535, 1u << 24, INT32_MAX};
  node *const n = new_node(t, LITERAL, draw_type(t));
  if (draw(t, 8) == 0) {
    const unsigned w = draw(t, COUNT(words));
    n->type = words[w].type, n->bits = words[w].bits;
    return n;
  }
  if (n->type != HX_F32) {
    n->bits = draw(t, 3) ? integers[draw(t, COUNT(integers))] : (uint32_t)data_u(t->seed, t->drawn++);
    if (n->type == HX_I32) n->bits &= INT32_MAX;
    return n;
  }
  float f = fabsf(data_f32(draw(t, 2) ? DATA_POSITIVE : DATA_EXPONENTS, t->seed, t->drawn++));
  if (draw(t, 3) == 0) f = (float)draw(t, 9);
  memcpy(&n->bits, &f, sizeof f);
  return n;
}

static node *draw_node(tree *t, unsigned depth);

static node *draw_leaf(tree *t) {
  const unsigned what = draw(t, 8);
  if (what == 1 && draw(t, 2)) {
    node *const n = new_node(t, POSITION, HX_U32);
    n->which = draw(t, 4) == 0;
    return n;
  }
  if (what == 0 && t->parameters) {
    const unsigned p = draw(t, t->parameters);
    node *const n = new_node(t, PARAMETER, t->parameter_type[p]);
    n->which = p;
    return n;
  }
  if (what <= 2 || !t->inputs) return draw_literal(t);
  const unsigned i = draw(t, t->inputs);
  node *const n = new_node(t, INPUT, t->input_type[i]);
  n->which = i, n->bits = !t->per_row[i];
  return n;
}

/* The type that a function gives which converts no argument; 0: it is another one. */
static hx_type strict_result(const char *f) {
  if (is(f, "as_float")) return HX_F32;
  if (is(f, "as_uint")) return HX_U32;
  return !strncmp(f, "is", 2) || is(f, "signbit") || is(f, "as_int") ? HX_I32 : (hx_type)0;
}

static node *draw_operator(tree *t, kind k, const row *rows, unsigned which, unsigned depth) {
  const row *const r = &rows[which];
  node *kid[3] = {NULL};
  for (int i = 0; i < r->operands; i++) {
    kid[i] = draw_node(t, depth);
    if (r->integers) kid[i] = integer(t, kid[i]);
  }
  if (!kid[0]) abort();
  const hx_type strict = k == CALL ? strict_result(r->text) : (hx_type)0;
  if (strict && !r->integers && kid[0]->type != HX_F32) kid[0] = cast(t, kid[0], HX_F32);
  if (is(r->text, "abs") && kid[0]->type != HX_I32) kid[0] = cast(t, kid[0], HX_I32);
  hx_type type = kid[1] ? common(kid[0], kid[1]) : kid[0]->type;
  if (k == CALL && !r->integers) type = HX_F32;
  if (strict) type = strict;
  if (k == UNARY && *r->text == '!') type = HX_I32;
  if (k == BINARY && ((r->precedence <= 10 && r->precedence >= 9) || r->precedence <= 5)) type = HX_I32;
  if (k == BINARY && r->precedence == 11) type = kid[0]->type;
  node *const n = new_node(t, k, type);
  n->op = r;
  memcpy(n->kid, kid, sizeof kid);
  return n;
}

static node *draw_node(tree *t, unsigned depth) {
  if (depth == 0 || draw(t, 6) == 0) return draw_leaf(t);
  const unsigned what = draw(t, 16);
  if (what == 0) return draw_operator(t, UNARY, unary, draw(t, COUNT(unary)), depth - 1);
  if (what == 1) return cast(t, draw_node(t, depth - 1), draw_type(t));
  if (what <= 5) return draw_operator(t, CALL, calls, draw(t, COUNT(calls)), depth - 1);
  if (what <= 7) {
    node *const c = draw_node(t, depth - 1), *const a = draw_node(t, depth - 1), *const b = draw_node(t, depth - 1);
    node *const n = new_node(t, CONDITION, common(a, b));
    n->kid[0] = c, n->kid[1] = a, n->kid[2] = b;
    return n;
  }
  return draw_operator(t, BINARY, binary, draw(t, what < 12 ? 5 : COUNT(binary)), depth - 1);
}

/* ---- text */

static void put(tree *t, const char *text) {
  const size_t n = strlen(text);
  if (t->length + n >= sizeof t->text) abort();
  memcpy(t->text + t->length, text, n + 1);
  t->length += n;
}

static const char *const type_text[] = {[HX_F32] = "float", [HX_I32] = "int", [HX_U32] = "unsigned"};

static void put_literal(tree *t, const node *n) {
  char text[64];
  float f;
  memcpy(&f, &n->bits, sizeof f);
  for (size_t i = 0; i < COUNT(words); i++)
    if (n->type == words[i].type && n->bits == words[i].bits) {
      put(t, words[i].word);
      return;
    }
  if (n->type == HX_F32) {
    snprintf(text, sizeof text, "%.9g", (double)f);
    if (!strpbrk(text, ".e")) strcat(text, ".0");
    strcat(text, "f");
  } else if (n->type == HX_U32) {
    snprintf(text, sizeof text, n->bits & 1 ? "%uu" : "0x%xU", n->bits);
  } else {
    snprintf(text, sizeof text, n->bits % 3 ? "%d" : "0x%x", (int)n->bits);
  }
  put(t, text);
}

static int precedence(const node *n) {
  switch (n->kind) {
    case UNARY:
    case CAST:
      return 14;
    case BINARY:
      return n->op->precedence;
    case CONDITION:
      return 3;
    default:
      return 15;
  }
}

/* In brackets if C needs them, and sometimes if it does not. */
static void put_node(tree *t, const node *n, int least) {
  const bool brackets = precedence(n) < least || draw(t, 12) == 0;
  char text[64];
  if (brackets) put(t, "(");
  switch (n->kind) {
    case INPUT:
    case PARAMETER:
      snprintf(text, sizeof text, "%c%u", n->kind == INPUT ? 'x' : 'p', n->which);
      put(t, text);
      break;
    case POSITION:
      put(t, n->which ? "row" : "index");
      break;
    case LITERAL:
      put_literal(t, n);
      break;
    case UNARY:
      put(t, n->op->text);
      put(t, " "); /* - -x is not --x */
      put_node(t, n->kid[0], 14);
      break;
    case CAST:
      snprintf(text, sizeof text, "(%s)", type_text[n->type]);
      put(t, text);
      put_node(t, n->kid[0], 14);
      break;
    case BINARY:
      put_node(t, n->kid[0], precedence(n));
      /* x - -y is not x--y, and 0xe + 1 is not 0xe+1 */
      snprintf(text, sizeof text, draw(t, 2) || precedence(n) == 12 ? " %s " : "%s", n->op->text);
      put(t, text);
      if (draw(t, 10) == 0) put(t, " /* a\ncomment */ ");
      put_node(t, n->kid[1], precedence(n) + 1);
      break;
    case CONDITION:
      put_node(t, n->kid[0], 4);
      put(t, " ? ");
      put_node(t, n->kid[1], 3);
      put(t, " : ");
      put_node(t, n->kid[2], 3);
      break;
    case CALL:
      put(t, n->op->text);
      for (int i = 0; i < n->op->operands; i++) {
        put(t, i ? ", " : "(");
        put_node(t, n->kid[i], 0);
      }
      put(t, ")");
      break;
  }
  if (brackets) put(t, ")");
}

static void put_list(char *text, size_t bytes, char letter, const hx_type *list, const bool *rows, unsigned count) {
  size_t n = 0;
  text[0] = '\0';
  for (unsigned i = 0; i < count; i++)
    n += (size_t)snprintf(text + n, bytes - n, "%s%s%s %c%u", i ? ", " : "", rows && rows[i] ? "row " : "",
                          type_text[list[i]], letter, i);
}

tree *tree_new(uint64_t seed, unsigned depth) {
  tree *const t = calloc(1, sizeof *t);
  if (!t) abort();
  t->seed = seed;
  t->inputs = draw(t, 10) ? 1 + draw(t, 3) : draw(t, TREE_INPUTS + 1);
  t->parameters = draw(t, 10) ? draw(t, 3) : draw(t, TREE_PARAMETERS + 1);
  for (unsigned i = 0; i < t->inputs; i++) t->input_type[i] = draw_type(t), t->per_row[i] = draw(t, 5) == 0;
  for (unsigned i = 0; i < t->parameters; i++) t->parameter_type[i] = draw_type(t);
  t->root = draw_node(t, depth);
  put_list(t->input_text, sizeof t->input_text, 'x', t->input_type, t->per_row, t->inputs);
  put_list(t->parameter_text, sizeof t->parameter_text, 'p', t->parameter_type, NULL, t->parameters);
  put_node(t, t->root, 0);
  return t;
}

tree *tree_beside(const tree *beside, uint64_t seed, unsigned depth) {
  tree *const t = malloc(sizeof *t);
  if (!t) abort();
  *t = *beside;
  t->seed = seed;
  t->drawn = 0;
  t->nodes = 0;
  t->length = 0;
  t->text[0] = '\0';
  t->root = draw_node(t, depth);
  put_node(t, t->root, 0);
  return t;
}

void tree_free(tree *t) { free(t); }
const char *tree_text(const tree *t) { return t->text; }
const char *tree_inputs(const tree *t) { return t->input_text; }
const char *tree_parameters(const tree *t) { return t->parameter_text; }
unsigned tree_input_count(const tree *t) { return t->inputs; }
unsigned tree_parameter_count(const tree *t) { return t->parameters; }
hx_type tree_input_type(const tree *t, unsigned i) { return t->input_type[i]; }
bool tree_input_is_per_row(const tree *t, unsigned i) { return t->per_row[i]; }
hx_type tree_type(const tree *t) { return t->root->type; }
