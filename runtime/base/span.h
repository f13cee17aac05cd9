/* SPDX-License-Identifier: Apache-2.0
 * Pieces of a setting's text: lists, words, numbers. Nothing here looks at the program's locale. */
#ifndef HX_BASE_SPAN_H
#define HX_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hx__span {
  const char *s; /* NULL: the list has ended */
  size_t n;
} hx__span;

hx__span hx__span_of(const char *text);

/* Takes the next item off a list; false when it has ended. "" is a list of one empty item, as "a," ends in one.
 * separator: lower case; its capital separates as well. */
bool hx__span_next(hx__span *list, char separator, hx__span *item);

/* Equal but for the case of ASCII letters. */
bool hx__span_is(hx__span a, const char *word);

/* Index of the word, or -1. */
int hx__span_word(hx__span a, const char *const words[], size_t count);

/* The whole span is digits, and from least to most. */
bool hx__span_integer(hx__span a, uint64_t least, uint64_t most, uint64_t *out);

/* Likewise, or 2^k. */
bool hx__span_count(hx__span a, uint64_t least, uint64_t most, uint64_t *out);

/* The whole span is a decimal number without sign ("2", "0.5", ".5", "2e9"), and from least to most. */
bool hx__span_number(hx__span a, double least, double most, double *out);

#endif
