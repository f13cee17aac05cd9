/* SPDX-License-Identifier: Apache-2.0
 * The parser's state, and what it does with operands; private to this folder. */
#ifndef HX_EXPR_PARSER_H
#define HX_EXPR_PARSER_H

#include "runtime/expr/compile.h"
#include "runtime/expr/source.h"

typedef struct name {
  const char *text;
  size_t length;
  unsigned value;
} name;

typedef struct parser {
  source s;
  hx__expr *e;
  name names[HX__EXPR_NAMES];
  unsigned name_count, depth;
  unsigned waiting; /* operators whose second operand is being read */
  unsigned scope;   /* the first name that is visible */
  bool elementary;  /* the text is one of elementary.c */
} parser;

enum { TYPES = HX_U32 + 1 };
extern const char *const hx__type_words[TYPES];

/* The operation for operands of a type. HX__EXPR_CONSTANT: there is none. */
typedef struct by_type {
  hx__expr_op of[TYPES];
} by_type;

/* What the operands of a binary operator are converted to, and the type of its result. */
typedef enum conversion {
  USUAL,    /* both to the common type, which is the result's */
  COMPARED, /* both to the common type; the result is an int */
  SHIFTED,  /* none: the type of the first */
  LOGICAL   /* both are compared with 0 */
} conversion;

typedef struct binary_operator {
  uint32_t sign;
  unsigned precedence;
  conversion conversion;
  bool swapped; /* a > b is b < a */
  by_type operations;
} binary_operator;

/* A function: its operations by the common type of its arguments. */
typedef struct function {
  const char *name;
  by_type operations;
  bool elementary;       /* only the texts of elementary functions have it */
  const char *of_floats; /* of a function of integers: the one to write for floats; NULL: there is none */
} function;

/* A function that is a text in the language, of the floats x and y. */
typedef struct elementary {
  const char *name, *text;
  unsigned arguments;
  bool floats_only; /* integers are refused; otherwise they are converted, as C's prototypes do */
  hx__expr_op call; /* the operation of CPUs that computes it at once; HX__EXPR_CONSTANT: there is none */
} elementary;

/* A word that is a constant. */
typedef struct word_constant {
  const char *word;
  hx_type type;
  uint32_t bits;
} word_constant;

/* A word for which element is computed: it has this meaning where it is not a name that the source declares. */
typedef struct counter {
  const char *word, *meaning;
  hx__expr_op op;
  unsigned row_value; /* expr.h numbers them */
} counter;

/* Values are numbers of the expression's list, or 0 once the parser has failed. `where` is what an error is about. */
unsigned hx__checked(parser *p, const token *where, unsigned v); /* fails if v is HX__EXPR_VALUES */
unsigned hx__constant(parser *p, const token *where, hx_type type, uint32_t bits);
unsigned hx__converted(parser *p, const token *where, unsigned v, hx_type type);
unsigned hx__apply_binary(parser *p, const token *where, const binary_operator *o, unsigned a, unsigned b);
unsigned hx__apply_unary(parser *p, const token *where, uint32_t sign, unsigned v);
unsigned hx__apply_condition(parser *p, const token *where, unsigned condition, unsigned a, unsigned b);
unsigned hx__apply_function(parser *p, const token *where, const function *f, unsigned arg[3]);

/* The operator at the current token whose precedence is at least this, or NULL; the function, or NULL; its operands. */
const binary_operator *hx__operator_at(const parser *p, unsigned least);
const function *hx__function_at(const parser *p);
unsigned hx__operands_of(const function *f);

/* The elementary function at the current token, or NULL; converts its arguments. */
const elementary *hx__elementary_at(const source *s);
void hx__convert_arguments(parser *p, const token *where, const elementary *f, unsigned arg[3]);

/* The constant at the current token, or NULL. */
const word_constant *hx__word_constant_at(const source *s);

/* The counter at the current token, or of a name; NULL: it is none. */
const counter *hx__counter_at(const source *s);
const counter *hx__counter_named(const char *text, size_t length);

/* Whether the current token is a word of C's types, or one that cannot be declared. */
bool hx__is_type_word(const source *s);
bool hx__is_reserved(const parser *p);

/* Fail, and say what to write. */
void hx__fail_on_type(parser *p, const token *where);
unsigned hx__fail_on_unknown_name(parser *p, token where);

#endif
