/* SPDX-License-Identifier: Apache-2.0
 * Cuts a text into tokens as C does. The program's locale has no effect, so <ctype.h> and strtof are not used. */
#define _GNU_SOURCE
#include "runtime/expr/source.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/status.h"

#define QUOTED 40
#define NUMBER_TEXT 128u /* bytes of a number at most */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void hx__source_fail(source *s, const token *where, const char *format, ...) {
  if (s->status != HX_OK) return;
  size_t line = 1, column = 1;
  for (size_t i = 0; i < where->at; i++)
    if (s->text[i] == '\n') {
      line++;
      column = 1;
    } else {
      column++;
    }
  char sentence[512];
  va_list args;
  va_start(args, format);
  vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  s->status = hx__fail(HX_INVALID_ARGUMENT, "%s %zu:%zu: %s", s->name, line, column, sentence);
  s->token = (token){.kind = TOKEN_END, .at = where->at};
}

quoted hx__source_quote(const source *s, const token *t) {
  quoted q;
  if (t->kind == TOKEN_END)
    snprintf(q.text, sizeof q.text, "the end");
  else
    snprintf(q.text, sizeof q.text, "'%.*s'%s", t->length < QUOTED ? (int)t->length : QUOTED, s->text + t->at,
             t->length > QUOTED ? "..." : "");
  return q;
}

/* The end of blanks and comments that begin at i; at a comment without an end, its beginning. */
static size_t skip_blanks(const char *text, size_t i) {
  for (;;) {
    while (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')) i++;
    if (text[i] != '/') return i;
    if (text[i + 1] == '/') {
      while (text[i] && (text[i] != '\n' || text[i - 1] == '\\')) i++; /* C joins a line with the next one */
    } else if (text[i + 1] == '*') {
      const char *const end = strstr(text + i + 2, "*/");
      if (!end) return i;
      i = (size_t)(end + 2 - text);
    } else {
      return i;
    }
  }
}

/* A number as C's preprocessor sees it: letters, digits, points, and signs after an exponent's letter. */
static size_t number_length(const char *p) {
  size_t n = 0;
  while (is_digit(p[n]) || is_letter(p[n]) || p[n] == '.' ||
         (n && (p[n] == '+' || p[n] == '-') && ((p[n - 1] | 32) == 'e' || (p[n - 1] | 32) == 'p')))
    n++;
  return n;
}

static bool is_hexadecimal(const char *digits) { return digits[0] == '0' && (digits[1] | 32) == 'x'; }

/* Rounded to nearest, whatever the program has set: glibc looks at the control word of the x87. */
static float nearest_float(const char *digits, char **end, locale_t c) {
  fenv_t caller;
  fegetenv(&caller);
  fesetround(FE_TONEAREST);
  const float value = strtof_l(digits, end, c);
  fesetenv(&caller);
  return value;
}

static void read_float(source *s, token *t, const char *digits) {
  char *end = NULL;
  const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc: a constant, nothing is allocated */
  const float value = c ? nearest_float(digits, &end, c) : 0.0f;
  if (c) freelocale(c);
  const bool whole = !strpbrk(digits, ".eEpP"); /* 1f, which C does not know */
  if (!end || end == digits || whole || (strcmp(end, "f") != 0 && strcmp(end, "F") != 0)) {
    if (is_hexadecimal(digits) && !strpbrk(digits, "pP"))
      hx__source_fail(s, t, "%s has a point and no exponent: a hexadecimal float has one in C, as 0x1.8p0f", digits);
    else if (whole && digits[strspn(digits, "0123456789")] && !digits[strspn(digits, "0123456789") + 1])
      hx__source_fail(s, t, "%s is an integer with the suffix of a float: write %.*s.0f", digits,
                      (int)strlen(digits) - 1, digits);
    else if (end && end != digits && !*end)
      hx__source_fail(s, t, "%s is a double in C, and there is no double here: write %sf", digits, digits);
    else
      hx__source_fail(s, t, "%s is not a number", digits);
    return;
  }
  if (isinf(value)) hx__source_fail(s, t, "%s is too large for a float", digits);
  t->kind = TOKEN_F32;
  memcpy(&t->bits, &value, sizeof t->bits);
}

static unsigned digit_value(char c) { return is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10u; }

/* A number that ends at `suffix`, which is not u. */
static void fail_on_suffix(source *s, const token *t, const char *digits, const char *suffix) {
  const int length = (int)(suffix - digits);
  const size_t letters = strspn(suffix, "uUlL");
  if (length && letters && !suffix[letters] && letters <= 3)
    hx__source_fail(s, t, "%s has more than 32 bits in C, and no number has here: write %.*s%s", digits, length, digits,
                    strpbrk(suffix, "uU") ? "u" : "");
  else if (is_letter(*suffix) && *suffix != '_' && *digits != '0')
    hx__source_fail(s, t, "%s is not a number; a product is written %.*s * %s", digits, length, digits, suffix);
  else
    hx__source_fail(s, t, "%s is not a number", digits);
}

/* Decimal, octal or hexadecimal, with u as the only suffix. */
static void read_integer(source *s, token *t, const char *digits) {
  const bool hexadecimal = is_hexadecimal(digits), octal = digits[0] == '0' && !hexadecimal;
  const unsigned base = hexadecimal ? 16u : octal ? 8u : 10u;
  size_t i = hexadecimal ? 2 : 0;
  const size_t first = i;
  uint64_t value = 0;
  for (; (is_digit(digits[i]) || is_letter(digits[i])) && digit_value(digits[i]) < base; i++)
    if (value <= UINT32_MAX) value = value * base + digit_value(digits[i]);
  const bool is_unsigned = (digits[i] | 32) == 'u' && !digits[i + 1];
  if (i == first || (digits[i] && !is_unsigned)) {
    fail_on_suffix(s, t, digits, i == first ? digits : digits + i);
    return;
  }
  if (value > UINT32_MAX || (value > INT32_MAX && !is_unsigned && base == 10)) {
    if (value > UINT32_MAX)
      hx__source_fail(s, t, "%s has more than 32 bits", digits);
    else
      hx__source_fail(s, t, "%s is too large for an int: write %su%s", digits, digits,
                      value == 0x80000000u ? ", or -2147483647 - 1 for the least int" : "");
    return;
  }
  t->kind = is_unsigned || value > INT32_MAX ? TOKEN_U32 : TOKEN_I32;
  t->bits = (uint32_t)value;
}

static void read_number(source *s, token *t) {
  char digits[NUMBER_TEXT] = "";
  t->length = number_length(s->text + t->at);
  if (t->length >= sizeof digits) {
    hx__source_fail(s, t, "a number of %zu characters is too long", t->length);
    return;
  }
  memcpy(digits, s->text + t->at, t->length);
  digits[t->length] = '\0';
  const bool is_float = strpbrk(digits, is_hexadecimal(digits) ? ".pP" : ".eEfF") != NULL;
  (is_float ? read_float : read_integer)(s, t, digits);
}

/* The signs of two characters. */
static bool is_pair(char a, char b) {
  static const char pairs[] = "<<>><=>===!=&&||";
  for (size_t i = 0; pairs[i]; i += 2)
    if (a == pairs[i] && b == pairs[i + 1]) return true;
  return false;
}

/* The bytes of the character of UTF-8 at p that is not one of ASCII, and its number; 0: it is none. */
static unsigned wide_character(const char *p, uint32_t *number) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char first = (unsigned char)p[0];
  const unsigned bytes = first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
  *number = first & (0x7fu >> bytes);
  for (unsigned i = 1; i < bytes; i++) {
    if (((unsigned char)p[i] & 0xc0) != 0x80) return 0;
    *number = *number << 6 | ((unsigned char)p[i] & 0x3f);
  }
  const bool surrogate = *number >= 0xd800 && *number < 0xe000;
  return *number < least[bytes] || surrogate || *number > 0x10ffff ? 0 : bytes;
}

static void fail_on_character(source *s, const token *t) {
  const char *const p = s->text + t->at;
  uint32_t number = 0;
  const unsigned bytes = wide_character(p, &number);
  if (bytes)
    hx__source_fail(s, t, "the character '%.*s' (U+%04X) has no meaning here", (int)bytes, p, (unsigned)number);
  else
    hx__source_fail(s, t, "the character '%c' (0x%02x) has no meaning here", p[0] >= ' ' && p[0] < 127 ? p[0] : '?',
                    (unsigned char)p[0]);
}

/* An operator of this length with a = behind it: += and the like. */
static bool is_assignment(const char *p, size_t length) {
  if (p[length] != '=') return false;
  return length == 1 ? strchr("+-*/%&|^", p[0]) != NULL : p[0] == p[1] && (p[0] == '<' || p[0] == '>');
}

static void read_sign(source *s, token *t) {
  const char *const p = s->text + t->at;
  t->kind = TOKEN_SIGN;
  t->length = is_pair(p[0], p[1]) ? 2 : 1;
  t->bits = SIGN_OF((unsigned char)p[0], t->length == 2 ? (unsigned char)p[1] : 0);
  if (p[0] == '/' && p[1] == '*')
    hx__source_fail(s, t, "a comment begins here and does not end");
  else if (p[0] == p[1] && (p[0] == '+' || p[0] == '-'))
    hx__source_fail(s, t,
                    "%c%c changes a variable in C, and nothing can be changed here: write a blank between the signs",
                    p[0], p[0]);
  else if (is_assignment(p, t->length))
    hx__source_fail(s, t, "%.*s= changes a variable in C, and nothing can be changed here: declare another variable",
                    (int)t->length, p);
  else if (!strchr("+-*/%<>&|^~!=?:(),;", p[0]))
    fail_on_character(s, t);
}

void hx__source_advance(source *s) {
  if (s->status != HX_OK) return;
  const size_t at = skip_blanks(s->text, s->next);
  token t = {.kind = TOKEN_END, .at = at};
  const char *const p = s->text + at;
  if (is_letter(p[0])) {
    t.kind = TOKEN_NAME;
    while (is_letter(p[t.length]) || is_digit(p[t.length])) t.length++;
  } else if (is_digit(p[0]) || (p[0] == '.' && is_digit(p[1]))) {
    read_number(s, &t);
  } else if (p[0]) {
    read_sign(s, &t);
  }
  if (s->status != HX_OK) return;
  s->token = t;
  s->next = at + t.length;
}

void hx__source_begin(source *s, const char *name, const char *text) {
  *s = (source){.name = name, .text = text, .status = HX_OK};
  hx__source_advance(s);
}

bool hx__source_is_sign(const source *s, uint32_t sign) { return s->token.kind == TOKEN_SIGN && s->token.bits == sign; }

bool hx__source_accept(source *s, uint32_t sign) {
  const bool is = hx__source_is_sign(s, sign);
  if (is) hx__source_advance(s);
  return is;
}

/* Each name is compared with all words of the language, most of which begin with another letter. */
bool hx__source_is_word(const source *s, const char *word) {
  const char *const name = s->text + s->token.at;
  return s->token.kind == TOKEN_NAME && *name == *word && s->token.length == strlen(word) &&
         memcmp(name, word, s->token.length) == 0;
}

void hx__source_expect(source *s, uint32_t sign) {
  if (!hx__source_accept(s, sign))
    hx__source_fail(s, &s->token, "'%c' is expected before %s", (char)sign, hx__source_quote(s, &s->token).text);
}
