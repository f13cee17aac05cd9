/* SPDX-License-Identifier: Apache-2.0
 * The parser: recursive descent, with C's precedences as a table. It adds values to the expression as it reads. */
#include "runtime/expr/compile.h"

#include <string.h>

#include "runtime/base/status.h"
#include "runtime/expr/parser.h"
#include "runtime/expr/values.h"

_Static_assert(HX_MAX_INPUTS == HX__EXPR_INPUTS && HX_MAX_PARAMETERS == HX__EXPR_PARAMETERS &&
                   HX_MAX_OUTPUTS == HX__EXPR_OUTPUTS,
               "hx_map.h has them, too");

/* What a deep text calls once must not take stack in each of its levels. */
#define NEVER_INLINED __attribute__((noinline))

static unsigned parse_expression(parser *p);

/* "(x, y)" after the name of a function. Fails unless there are as many as wanted. */
static void parse_arguments(parser *p, const char *name, unsigned wanted, const token *where, unsigned arg[3]) {
  unsigned count = 0;
  hx__source_advance(&p->s);
  hx__source_expect(&p->s, '(');
  bool more = !hx__source_is_sign(&p->s, ')');
  while (p->s.status == HX_OK && more && count < 3) {
    arg[count++] = parse_expression(p);
    more = hx__source_accept(&p->s, ',');
  }
  if (p->s.status != HX_OK) return;
  if (count != wanted || more)
    hx__source_fail(&p->s, where, "%s takes %u argument%s", name, wanted, wanted == 1 ? "" : "s");
  hx__source_expect(&p->s, ')');
}

/* The type at the current token; 0: it is not a type. Advances over it. */
static hx_type accept_type(parser *p) {
  hx_type type = (hx_type)0;
  for (int t = HX_F32; t < TYPES; t++)
    if (hx__source_is_word(&p->s, hx__type_words[t])) type = (hx_type)t;
  if (hx__source_is_word(&p->s, "int32_t")) type = HX_I32;
  if (hx__source_is_word(&p->s, "uint32_t")) type = HX_U32;
  if (!type) return type;
  const bool is_unsigned = hx__source_is_word(&p->s, "unsigned");
  hx__source_advance(&p->s);
  if (is_unsigned && hx__source_is_word(&p->s, "int")) hx__source_advance(&p->s);
  return type;
}

static const name *find_name(const parser *p, const token *t) {
  for (unsigned i = p->scope; i < p->name_count; i++)
    if (p->names[i].length == t->length && !memcmp(p->names[i].text, p->s.text + t->at, t->length)) return &p->names[i];
  return NULL;
}

/* Declares the name at `where` of a text. */
static void declare(parser *p, unsigned value, const token *where, const char *text) {
  if (p->name_count == HX__EXPR_NAMES) {
    hx__source_fail(&p->s, where, "more than %u names", HX__EXPR_NAMES);
    return;
  }
  p->names[p->name_count++] = (name){text + where->at, where->length, value};
}

static unsigned parse_body(parser *p);

/* exp, log and others: their text, with the arguments as x and y. */
static NEVER_INLINED unsigned expand_elementary(parser *p, const elementary *f, const token *where,
                                                const unsigned arg[3]) {
  if (p->s.status != HX_OK) return 0;
  const source outer = p->s;
  const unsigned names = p->name_count, scope = p->scope, depth = p->depth, waiting = p->waiting;
  const bool inside = p->elementary;
  p->scope = names;
  p->depth = p->waiting = 0;
  p->elementary = true;
  hx__source_begin(&p->s, f->name, f->text);
  for (unsigned i = 0; i < f->arguments; i++) declare(p, arg[i], &(token){.at = i, .length = 1}, "xy");
  const unsigned v = parse_body(p);
  const bool failed = p->s.status != HX_OK;
  p->s = outer;
  p->name_count = names, p->scope = scope, p->depth = depth, p->waiting = waiting;
  p->elementary = inside;
  if (failed) hx__source_fail(&p->s, where, "%s needs more values or names than are left", f->name);
  if (!failed && f->call != HX__EXPR_CONSTANT) hx__expr_note_call(p->e, f->call, arg, v);
  return failed ? 0 : v;
}

static NEVER_INLINED void fail_on_assignment(parser *p) {
  hx__source_fail(&p->s, &p->s.token,
                  "= changes a variable in C, and nothing can be changed here: write == to compare");
}

/* The first use declares the word, so that no variable is called so later. */
static NEVER_INLINED unsigned use_counter(parser *p, const token *where, const counter *number) {
  const unsigned v = hx__checked(p, where, hx__expr_leaf(p->e, number->op, HX_U32, number->row_value));
  declare(p, v, where, p->s.text);
  return v;
}

static NEVER_INLINED unsigned parse_name(parser *p) {
  const token where = p->s.token;
  const function *const f = hx__function_at(p);
  const elementary *const e = f ? NULL : hx__elementary_at(&p->s);
  const word_constant *const c = hx__word_constant_at(&p->s);
  if (f || e) {
    unsigned arg[3] = {0};
    parse_arguments(p, f ? f->name : e->name, f ? hx__operands_of(f) : e->arguments, &where, arg);
    if (f) return hx__apply_function(p, &where, f, arg);
    hx__convert_arguments(p, &where, e, arg);
    return expand_elementary(p, e, &where, arg);
  }
  if (c) {
    hx__source_advance(&p->s);
    return hx__constant(p, &where, c->type, c->bits);
  }
  const name *const n = find_name(p, &where);
  const counter *const number = n ? NULL : hx__counter_at(&p->s);
  if (!n && !number) return hx__fail_on_unknown_name(p, where);
  hx__source_advance(&p->s);
  return n ? n->value : use_counter(p, &where, number);
}

static NEVER_INLINED unsigned fail_without_expression(parser *p, const token *where) {
  hx__source_fail(&p->s, where, "an expression is expected before %s", hx__source_quote(&p->s, where).text);
  return 0;
}

static unsigned parse_primary(parser *p) {
  const token where = p->s.token;
  static const hx_type type_of_number[] = {[TOKEN_I32] = HX_I32, [TOKEN_U32] = HX_U32, [TOKEN_F32] = HX_F32};
  switch (where.kind) {
    case TOKEN_NAME:
      return parse_name(p);
    case TOKEN_I32:
    case TOKEN_U32:
    case TOKEN_F32:
      hx__source_advance(&p->s);
      return hx__constant(p, &where, type_of_number[where.kind], where.bits);
    case TOKEN_SIGN:
      if (hx__source_accept(&p->s, '(')) {
        const unsigned v = parse_expression(p);
        hx__source_expect(&p->s, ')');
        return v;
      }
      break;
    case TOKEN_END:
      break;
  }
  return fail_without_expression(p, &where);
}

static unsigned parse_unary(parser *p);

/* After '(' and a type. */
static unsigned parse_cast(parser *p, const token *where, hx_type type) {
  if (hx__is_type_word(&p->s)) hx__fail_on_type(p, &p->s.token);
  hx__source_expect(&p->s, ')');
  return hx__converted(p, where, parse_unary(p), type);
}

static unsigned parse_unary_inside(parser *p) {
  const token where = p->s.token;
  if (where.kind != TOKEN_SIGN) return parse_primary(p);
  if (where.bits == '-' || where.bits == '+' || where.bits == '!' || where.bits == '~') {
    hx__source_advance(&p->s);
    return hx__apply_unary(p, &where, where.bits, parse_unary(p));
  }
  if (where.bits != '(') return parse_primary(p);
  const size_t next = p->s.next; /* a cast, or an expression in brackets? */
  hx__source_advance(&p->s);
  const hx_type type = accept_type(p);
  if (type) return parse_cast(p, &where, type);
  if (p->s.status == HX_OK) p->s.token = where, p->s.next = next;
  return parse_primary(p);
}

/* The operand in the innermost brackets is a level, too. */
static void go_deeper(parser *p, const token *where) {
  if (p->depth++ > HX__EXPR_DEPTH)
    hx__source_fail(&p->s, where, "more than %u brackets, operators and conditions inside one another", HX__EXPR_DEPTH);
}

static unsigned parse_unary(parser *p) {
  go_deeper(p, &p->s.token);
  const unsigned v = p->s.status == HX_OK ? parse_unary_inside(p) : 0;
  p->depth--;
  return v;
}

static unsigned parse_binary(parser *p, unsigned least) {
  unsigned a = parse_unary(p);
  for (const binary_operator *o; (o = hx__operator_at(p, least)) != NULL;) {
    const token where = p->s.token;
    hx__source_advance(&p->s);
    if (p->waiting++ == HX__EXPR_WAITING)
      hx__source_fail(&p->s, &where, "more than %u operators wait for their second operand", HX__EXPR_WAITING);
    const unsigned b = parse_binary(p, o->precedence + 1);
    p->waiting--;
    a = hx__apply_binary(p, &where, o, a, b);
  }
  if (hx__source_is_sign(&p->s, '=')) fail_on_assignment(p);
  return a;
}

static unsigned parse_expression(parser *p) {
  const unsigned condition = parse_binary(p, 1);
  const token where = p->s.token;
  if (!hx__source_accept(&p->s, '?')) return condition;
  go_deeper(p, &where);
  unsigned a = parse_expression(p);
  hx__source_expect(&p->s, ':');
  unsigned b = parse_expression(p);
  p->depth--;
  return hx__apply_condition(p, &where, condition, a, b);
}

static void check_new_name(parser *p, const token *where) {
  const name *const n = find_name(p, where);
  if (!n) return;
  const quoted q = hx__source_quote(&p->s, where);
  const counter *const number = hx__counter_named(n->text, n->length);
  if (number && p->e->value[n->value].op == number->op)
    hx__source_fail(&p->s, where, "%s is already used as %s: declare another name", q.text, number->meaning);
  else
    hx__source_fail(&p->s, where, "%s is declared twice", q.text);
}

/* Reads a new name. */
static token parse_new_name(parser *p) {
  const token where = p->s.token;
  const quoted q = hx__source_quote(&p->s, &where);
  if (where.kind != TOKEN_NAME)
    hx__source_fail(&p->s, &where, "a name is expected before %s", q.text);
  else if (hx__is_reserved(p))
    hx__source_fail(&p->s, &where, "%s cannot be a name", q.text);
  else
    check_new_name(p, &where);
  hx__source_advance(&p->s);
  return where;
}

static hx_type parse_type(parser *p) {
  const token where = p->s.token;
  if (hx__source_is_word(&p->s, "const")) hx__source_advance(&p->s);
  const hx_type type = accept_type(p);
  if (!type)
    hx__source_fail(&p->s, &where, "a type is expected before %s: float, int or unsigned",
                    hx__source_quote(&p->s, &where).text);
  return type;
}

/* Advances over the word `row` before the type of an input. */
static bool accept_row(parser *p, hx__expr_op op) {
  const bool is = op == HX__EXPR_INPUT && hx__source_is_word(&p->s, "row");
  if (is) hx__source_advance(&p->s);
  return is;
}

/* "float x, int y": the inputs or the parameters. */
static unsigned parse_list(parser *p, const char *list, const char *text, hx__expr_op op, uint8_t *types,
                           unsigned most) {
  unsigned count = 0;
  hx__source_begin(&p->s, list, text);
  if (p->s.token.kind == TOKEN_END) return 0;
  do {
    const bool per_row = accept_row(p, op);
    const hx_type type = parse_type(p);
    const token where = parse_new_name(p);
    if (count == most) hx__source_fail(&p->s, &where, "more than %u %s", most, list);
    if (p->s.status != HX_OK) return 0;
    types[count] = (uint8_t)type;
    if (per_row) p->e->per_row[count] = true, p->e->row_inputs++;
    const unsigned v = hx__expr_leaf(p->e, per_row ? HX__EXPR_ROW : op, type, count);
    declare(p, hx__checked(p, &where, v), &where, text);
    count++;
  } while (hx__source_accept(&p->s, ','));
  if (p->s.token.kind != TOKEN_END)
    hx__source_fail(&p->s, &p->s.token, "',' is expected before %s", hx__source_quote(&p->s, &p->s.token).text);
  return count;
}

/* float t = x * x; */
static void parse_variable(parser *p) {
  const hx_type type = parse_type(p);
  if (hx__source_is_sign(&p->s, '('))
    hx__source_fail(&p->s, &p->s.token, "a cast has its type in brackets: (float), (int) or (unsigned)");
  const token where = parse_new_name(p);
  hx__source_expect(&p->s, '=');
  const unsigned names = p->name_count;
  const unsigned v = hx__converted(p, &where, parse_expression(p), type);
  if (hx__source_is_sign(&p->s, ','))
    hx__source_fail(&p->s, &p->s.token, "each variable has a declaration of its own: write ; and the type again");
  hx__source_expect(&p->s, ';');
  if (p->name_count != names) check_new_name(p, &where); /* the expression has used a counter */
  if (p->s.status == HX_OK) declare(p, v, &where, p->s.text);
}

static void parse_variables(parser *p) {
  while (p->s.status == HX_OK && hx__is_type_word(&p->s) && !hx__source_is_word(&p->s, "return")) parse_variable(p);
}

/* Variables, the expression, and nothing else. */
static unsigned parse_body(parser *p) {
  parse_variables(p);
  if (hx__source_is_word(&p->s, "return")) hx__source_advance(&p->s);
  const unsigned v = parse_expression(p);
  hx__source_accept(&p->s, ';');
  if (p->s.token.kind != TOKEN_END)
    hx__source_fail(&p->s, &p->s.token, "an operator is expected before %s", hx__source_quote(&p->s, &p->s.token).text);
  return v;
}

/* A name among the outputs: what it stands for. */
static uint16_t parse_output(parser *p) {
  const token where = p->s.token;
  const quoted q = hx__source_quote(&p->s, &where);
  const name *const n = where.kind == TOKEN_NAME ? find_name(p, &where) : NULL;
  if (where.kind == TOKEN_NAME && !n)
    hx__source_fail(&p->s, &where, "%s is not a variable of the text", q.text);
  else if (!n)
    hx__source_fail(&p->s, &where, "the name of a variable is expected before %s", q.text);
  hx__source_advance(&p->s);
  return n ? (uint16_t)n->value : 0;
}

/* "u, v": variables of the text, which then consists of these alone. */
static void parse_outputs(parser *p, const char *outputs) {
  parse_variables(p);
  if (p->s.token.kind != TOKEN_END)
    hx__source_fail(&p->s, &p->s.token,
                    "%s follows the variables, of which the source names some as outputs: the text "
                    "ends with a declaration",
                    hx__source_quote(&p->s, &p->s.token).text);
  if (p->s.status != HX_OK) return;
  hx__source_begin(&p->s, "outputs", outputs);
  do {
    const token where = p->s.token;
    const uint16_t v = parse_output(p);
    if (p->e->outputs == HX__EXPR_OUTPUTS) hx__source_fail(&p->s, &where, "more than %u outputs", HX__EXPR_OUTPUTS);
    if (p->s.status != HX_OK) return;
    p->e->result[p->e->outputs++] = v;
  } while (hx__source_accept(&p->s, ','));
  if (p->s.token.kind != TOKEN_END)
    hx__source_fail(&p->s, &p->s.token, "',' is expected before %s", hx__source_quote(&p->s, &p->s.token).text);
}

static hx_status check_text(const char *name, const char *text) {
  const size_t bytes = text ? strlen(text) : 0;
  if (bytes > HX__EXPR_BYTES)
    return hx__fail(HX_INVALID_ARGUMENT, "%s 1:1: %zu bytes, and %u is the limit", name, bytes, HX__EXPR_BYTES);
  return HX_OK;
}

hx_status hx__expr_compile(const hx_kernel_source *source, hx__expr *out) {
  const char *const inputs = source->inputs ? source->inputs : "";
  const char *const parameters = source->parameters ? source->parameters : "";
  const char *const outputs = source->outputs ? source->outputs : "";
  hx_status s;
  if ((s = check_text("inputs", inputs)) != HX_OK || (s = check_text("parameters", parameters)) != HX_OK ||
      (s = check_text("outputs", outputs)) != HX_OK || (s = check_text("text", source->text)) != HX_OK)
    return s;
  parser p = {.e = out};
  memset(out, 0, sizeof *out);
  out->inputs = parse_list(&p, "inputs", inputs, HX__EXPR_INPUT, out->input_type, HX__EXPR_INPUTS);
  if (p.s.status != HX_OK) return p.s.status;
  out->parameters =
      parse_list(&p, "parameters", parameters, HX__EXPR_PARAMETER, out->parameter_type, HX__EXPR_PARAMETERS);
  if (p.s.status != HX_OK) return p.s.status;
  hx__source_begin(&p.s, "text", source->text);
  if (*outputs) {
    parse_outputs(&p, outputs);
  } else {
    out->result[0] = (uint16_t)parse_body(&p);
    out->outputs = 1;
  }
  if (p.s.status == HX_OK) hx__expr_remove_unused(out);
  return p.s.status;
}
