/* SPDX-License-Identifier: Apache-2.0
 * The words of the language that are not operations: types, constants, those that C reserves, and what to write instead
 * of words that C knows and user kernels do not. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/status.h"
#include "runtime/expr/parser.h"

static bool is_one_of(const source *s, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (hx__source_is_word(s, words[i])) return true;
  return false;
}
#define IS_ONE_OF(s, words) is_one_of(s, words, sizeof words / sizeof words[0])

bool hx__is_type_word(const source *s) {
  static const char *const others[] = {"int32_t", "uint32_t", "double", "long", "short", "char",
                                       "signed",  "bool",     "_Bool",  "void", "const", "return"};
  for (int t = HX_F32; t < TYPES; t++)
    if (hx__source_is_word(s, hx__type_words[t])) return true;
  return IS_ONE_OF(s, others);
}

/* Words of C that no variable has as its name. */
static bool is_keyword(const source *s) {
  static const char *const words[] = {
      "auto",   "break",  "case",   "char",   "continue", "default", "do",       "double",   "else",  "enum",
      "extern", "for",    "goto",   "if",     "inline",   "long",    "register", "restrict", "short", "signed",
      "sizeof", "static", "struct", "switch", "typedef",  "union",   "void",     "volatile", "while"};
  return IS_ONE_OF(s, words);
}

/* Those macros of <math.h>, <float.h>, <limits.h> and <stdint.h> whose type is one of the language. */
static const word_constant constants[] = {
    {"INFINITY", HX_F32, 0x7f800000u},  {"NAN", HX_F32, 0x7fc00000u},        {"FLT_MAX", HX_F32, 0x7f7fffffu},
    {"FLT_MIN", HX_F32, 0x00800000u},   {"FLT_EPSILON", HX_F32, 0x34000000}, {"INT_MAX", HX_I32, 0x7fffffffu},
    {"INT_MIN", HX_I32, 0x80000000u},   {"UINT_MAX", HX_U32, 0xffffffffu},   {"INT32_MAX", HX_I32, 0x7fffffffu},
    {"INT32_MIN", HX_I32, 0x80000000u}, {"UINT32_MAX", HX_U32, 0xffffffffu},
};

const word_constant *hx__word_constant_at(const source *s) {
  for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
    if (hx__source_is_word(s, constants[i].word)) return &constants[i];
  return NULL;
}

static const counter counters[] = {
    {"index", "the number of the element", HX__EXPR_INDEX, HX__EXPR_FIRST_INDEX},
    {"row", "the number of the row", HX__EXPR_ROW_NUMBER, HX__EXPR_NUMBER_OF_ROW},
};

const counter *hx__counter_named(const char *text, size_t length) {
  for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
    if (strlen(counters[i].word) == length && !memcmp(counters[i].word, text, length)) return &counters[i];
  return NULL;
}
const counter *hx__counter_at(const source *s) { return hx__counter_named(s->text + s->token.at, s->token.length); }

/* Macros that are doubles in C, and the float next to each. */
static const struct {
  const char *word, *instead;
} doubles[] = {{"M_PI", "3.14159265f"},       {"M_PI_2", "1.57079633f"},     {"M_PI_4", "0.785398163f"},
               {"M_1_PI", "0.318309886f"},    {"M_2_PI", "0.636619772f"},    {"M_2_SQRTPI", "1.12837917f"},
               {"M_E", "2.71828183f"},        {"M_LN2", "0.693147181f"},     {"M_LN10", "2.30258509f"},
               {"M_LOG2E", "1.44269504f"},    {"M_LOG10E", "0.434294482f"},  {"M_SQRT2", "1.41421356f"},
               {"M_SQRT1_2", "0.707106781f"}, {"HUGE_VAL", "INFINITY"},      {"DBL_MAX", "FLT_MAX"},
               {"DBL_MIN", "FLT_MIN"},        {"DBL_EPSILON", "FLT_EPSILON"}};

static const char *instead_of_double(const source *s) {
  for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
    if (hx__source_is_word(s, doubles[i].word)) return doubles[i].instead;
  return NULL;
}

static bool is_function(const parser *p) { return hx__function_at(p) || hx__elementary_at(&p->s); }

/* The current word with an f at its end is a function: sqrt for sqrtf. */
static bool is_function_of_doubles(parser *p) {
  const source outer = p->s;
  char of_floats[16];
  if (outer.token.length > sizeof of_floats - 2) return false;
  snprintf(of_floats, sizeof of_floats, "%.*sf", (int)outer.token.length, outer.text + outer.token.at);
  p->s.text = of_floats;
  p->s.token.at = 0;
  p->s.token.length++;
  const bool is = is_function(p);
  p->s = outer;
  return is;
}

bool hx__is_reserved(const parser *p) {
  return hx__is_type_word(&p->s) || is_function(p) || hx__word_constant_at(&p->s) || is_keyword(&p->s);
}

void hx__fail_on_type(parser *p, const token *where) {
  hx__source_fail(&p->s, where, "%s is not part of an expression; a cast is (float), (int) or (unsigned)",
                  hx__source_quote(&p->s, where).text);
}

unsigned hx__fail_on_unknown_name(parser *p, token where) {
  static const char *const other_types[] = {"int8_t",  "uint8_t",  "int16_t", "uint16_t",
                                            "int64_t", "uint64_t", "size_t"};
  static const char *const choices[] = {"if", "else", "switch"}, *const loops[] = {"for", "while", "do"};
  const quoted q = hx__source_quote(&p->s, &where);
  const bool is_type = hx__is_type_word(&p->s) || IS_ONE_OF(&p->s, other_types), of_doubles = is_function_of_doubles(p);
  const bool chooses = IS_ONE_OF(&p->s, choices), repeats = IS_ONE_OF(&p->s, loops);
  const char *const instead = instead_of_double(&p->s);
  hx__source_advance(&p->s);
  if (is_type)
    hx__fail_on_type(p, &where);
  else if (chooses)
    hx__source_fail(&p->s, &where, "%s is a statement, and a text is one expression: write condition ? a : b", q.text);
  else if (repeats)
    hx__source_fail(&p->s, &where, "%s is a loop, and a text is one expression, which hx computes for every element",
                    q.text);
  else if (of_doubles && hx__source_is_sign(&p->s, '('))
    hx__source_fail(&p->s, &where, "%s is a function of doubles in C, and there is no double here: write %.*sf", q.text,
                    (int)where.length, p->s.text + where.at);
  else if (hx__source_is_sign(&p->s, '('))
    hx__source_fail(&p->s, &where, "%s is not a function; docs/USER_KERNELS.md lists them", q.text);
  else if (instead)
    hx__source_fail(&p->s, &where, "%s is a double in C, and there is no double here: write %s", q.text, instead);
  else
    hx__source_fail(&p->s, &where, "%s is not an input, a parameter or a variable", q.text);
  return 0;
}
