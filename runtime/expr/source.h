/* SPDX-License-Identifier: Apache-2.0
 * The words of a user kernel's text, and messages that say where in it they are; private to this folder. */
#ifndef HX_EXPR_SOURCE_H
#define HX_EXPR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/hx.h"

typedef enum token_kind {
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_I32,
  TOKEN_U32,
  TOKEN_F32,
  TOKEN_SIGN /* an operator or a bracket */
} token_kind;

typedef struct token {
  token_kind kind;
  size_t at, length;
  uint32_t bits; /* of a number; of a sign: its one or two characters, the second one shifted by 8 */
} token;

/* A text that is read from its beginning. After the first failure nothing is left of it. */
typedef struct source {
  const char *name, *text; /* name: "text", "inputs", "parameters" */
  size_t next;             /* where the token after `token` is looked for */
  token token;
  hx_status status;
} source;

#define SIGN_OF(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)

/* Begins with the first token. */
void hx__source_begin(source *s, const char *name, const char *text);
void hx__source_advance(source *s);

/* Fails with a sentence that begins with the place of the token, unless the source has failed before. */
void hx__source_fail(source *s, const token *where, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Whether the current token is this sign or word; accept also advances. */
bool hx__source_is_sign(const source *s, uint32_t sign);
bool hx__source_accept(source *s, uint32_t sign);
bool hx__source_is_word(const source *s, const char *word);

/* Advances over a sign, or fails: "... is expected". */
void hx__source_expect(source *s, uint32_t sign);

/* The current token as messages quote it: at most 40 characters, or "the end". */
typedef struct quoted {
  char text[48];
} quoted;
quoted hx__source_quote(const source *s, const token *t);

#endif
