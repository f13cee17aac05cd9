/* SPDX-License-Identifier: Apache-2.0
 * Reads a JSON document (RFC 8259) into a tree. hx-bench reads only what hx-bench has written, but the file may come
 * from another machine, so nothing in it is relied on: a function that asks for a member that is missing, or has
 * another type, gets a neutral answer. */
#ifndef HX_BENCH_REPORT_JSON_H
#define HX_BENCH_REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>

typedef enum json_kind { JSON_NULL, JSON_FLAG, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT } json_kind;

typedef struct json_value json_value;
struct json_value {
  json_kind kind;
  bool flag;
  const char *name; /* of a member of an object; otherwise NULL */
  const char *text;
  double number;
  json_value *first, *next; /* the first element or member, and the next one of the same list or object */
  size_t count;             /* of elements or members */
};

typedef struct json_document {
  json_value *root;
  struct json_block *blocks; /* where the values are */
  char *texts;               /* names and texts */
} json_document;

#define JSON_WHY 128 /* bytes of a reason */

/* Reads `bytes` bytes of text. Returns false, with the reason, line and column in `why`, if they are not one JSON value
 * in UTF-8, or if there is no memory. Then there is nothing to free. Values may be nested JSON_DEEPEST deep. An escaped
 * NUL, and half of a surrogate pair, become U+FFFD; of members of the same name the first counts. */
#define JSON_DEEPEST 64
bool json_read(const char *text, size_t bytes, json_document *document, char why[JSON_WHY]);
void json_free(json_document *document);

/* Each accepts NULL, and a value of any kind. */
const json_value *json_get(const json_value *object, const char *name);  /* NULL: there is no such member */
const json_value *json_list(const json_value *object, const char *name); /* the first element of a list; NULL: none */
const char *json_text(const json_value *object, const char *name);       /* "": it is no text */
double json_number(const json_value *object, const char *name);          /* NaN: it is no number */
size_t json_count(const json_value *object, const char *name);           /* a whole number; 0: it is none */
bool json_flag(const json_value *object, const char *name);              /* false: it is neither true nor false */

#endif
