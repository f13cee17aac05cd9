/* SPDX-License-Identifier: Apache-2.0
 * Parses pieces of a setting's text. The functions of <ctype.h> and <strings.h>, and strtod, depend on the program's
 * locale (a comma as the decimal point, a Turkish i), so none of them is used. */
#define _GNU_SOURCE
#include "runtime/base/span.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static char to_lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

hx__span hx__span_of(const char *text) { return (hx__span){text, strlen(text)}; }

bool hx__span_next(hx__span *list, char separator, hx__span *item) {
  if (!list->s) return false;
  size_t n = 0;
  while (n < list->n && to_lower(list->s[n]) != separator) n++;
  *item = (hx__span){list->s, n};
  *list = n < list->n ? (hx__span){list->s + n + 1, list->n - n - 1} : (hx__span){NULL, 0};
  return true;
}

bool hx__span_is(hx__span a, const char *word) {
  size_t i = 0;
  while (i < a.n && word[i] && to_lower(a.s[i]) == to_lower(word[i])) i++;
  return i == a.n && !word[i];
}

int hx__span_word(hx__span a, const char *const words[], size_t count) {
  for (size_t i = 0; i < count; i++)
    if (hx__span_is(a, words[i])) return (int)i;
  return -1;
}

bool hx__span_integer(hx__span a, uint64_t least, uint64_t most, uint64_t *out) {
  uint64_t value = 0;
  for (size_t i = 0; i < a.n; i++) {
    if (!is_digit(a.s[i])) return false;
    if (__builtin_mul_overflow(value, 10u, &value)) return false;
    if (__builtin_add_overflow(value, (uint64_t)(a.s[i] - '0'), &value)) return false;
  }
  if (a.n == 0 || value < least || value > most) return false;
  *out = value;
  return true;
}

bool hx__span_count(hx__span a, uint64_t least, uint64_t most, uint64_t *out) {
  if (a.n < 3 || memcmp(a.s, "2^", 2) != 0) return hx__span_integer(a, least, most, out);
  uint64_t power;
  if (!hx__span_integer((hx__span){a.s + 2, a.n - 2}, 0, 63, &power)) return false;
  const uint64_t value = (uint64_t)1 << power;
  if (value < least || value > most) return false;
  *out = value;
  return true;
}

static size_t count_digits(hx__span a, size_t from) {
  size_t i = from;
  while (i < a.n && is_digit(a.s[i])) i++;
  return i - from;
}

/* Bytes of the decimal number at the beginning of a; 0 if there is none. */
static size_t number_length(hx__span a) {
  size_t whole = count_digits(a, 0), n = whole, fraction = 0;
  if (n < a.n && a.s[n] == '.') {
    fraction = count_digits(a, n + 1);
    n += 1 + fraction;
  }
  if (whole + fraction == 0) return 0;
  if (n < a.n && to_lower(a.s[n]) == 'e') {
    size_t sign = n + 1 < a.n && (a.s[n + 1] == '+' || a.s[n + 1] == '-');
    size_t exponent = count_digits(a, n + 1 + sign);
    if (exponent == 0) return 0;
    n += 1 + sign + exponent;
  }
  return n;
}

bool hx__span_number(hx__span a, double least, double most, double *out) {
  char text[128];
  if (a.n >= sizeof text || a.n == 0 || number_length(a) != a.n) return false;
  memcpy(text, a.s, a.n);
  text[a.n] = '\0';
  const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc: a constant, nothing is allocated */
  if (!c) return false;
  const double value = strtod_l(text, NULL, c);
  freelocale(c);
  if (!(value >= least && value <= most)) return false;
  *out = value;
  return true;
}
