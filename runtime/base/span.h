/* SPDX-License-Identifier: Apache-2.0
 * Parses pieces of a setting's text: lists, words, numbers. The program's locale has no effect. */
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

/* Removes the next item from the front of a list. False if the list has ended. "" is a list of one empty item, and "a,"
 * ends with an empty item. separator: a lower-case letter or a sign; the capital letter separates as well. */
bool hx__span_next(hx__span *list, char separator, hx__span *item);

/* Whether the two are equal, ignoring the case of ASCII letters. */
bool hx__span_is(hx__span a, const char *word);

/* Index of the word, or -1. */
int hx__span_word(hx__span a, const char *const words[], size_t count);

/* Whether the whole span is digits and their value lies between least and most. */
bool hx__span_integer(hx__span a, uint64_t least, uint64_t most, uint64_t *out);

/* The same, but 2^k is accepted, too. */
bool hx__span_count(hx__span a, uint64_t least, uint64_t most, uint64_t *out);

/* Whether the whole span is a decimal number without a sign ("2", "0.5", ".5", "2e9") between least and most. */
bool hx__span_number(hx__span a, double least, double most, double *out);

#endif
