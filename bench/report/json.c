/* SPDX-License-Identifier: Apache-2.0
 * A recursive reader. Texts are shorter decoded than written, so all of them fit into one block that is as long as the
 * document. */
#include "bench/report/json.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/text.h"

#define VALUES_PER_BLOCK 256

struct json_block {
  struct json_block *next;
  size_t used;
  json_value values[VALUES_PER_BLOCK];
};

typedef struct reader {
  json_document *document;
  const char *begin, *at, *end;
  char *texts; /* where the next text goes */
  const char *fault;
  unsigned depth;
} reader;

/* The first fault counts. Returns false. */
static bool fail(reader *r, const char *fault) {
  if (!r->fault) r->fault = fault;
  return false;
}

static json_value *new_value(reader *r) {
  struct json_block *block = r->document->blocks;
  if (!block || block->used == VALUES_PER_BLOCK) {
    block = malloc(sizeof *block);
    if (!block) return fail(r, "there is no memory"), NULL;
    block->next = r->document->blocks;
    block->used = 0;
    r->document->blocks = block;
  }
  json_value *const value = &block->values[block->used++];
  *value = (json_value){.number = NAN, .text = ""};
  return value;
}

/* The next character; at the end, as at a NUL, which begins nothing, 0. */
static char peek(const reader *r) {
  if (r->at == r->end) return '\0';
  return *r->at;
}

static bool is_at(const reader *r, char c) { return r->at < r->end && *r->at == c; }

static bool skip(reader *r, char c) {
  if (!is_at(r, c)) return false;
  r->at++;
  return true;
}

static void skip_blanks(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static bool skip_word(reader *r, const char *word) {
  const size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return fail(r, "a value is expected");
  r->at += length;
  return true;
}

static void put_utf8(char **out, uint32_t c) {
  unsigned char *p = (unsigned char *)*out;
  if (c < 0x80) {
    *p++ = (unsigned char)c;
  } else if (c < 0x800) {
    *p++ = (unsigned char)(0xc0 | c >> 6);
    *p++ = (unsigned char)(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *p++ = (unsigned char)(0xe0 | c >> 12);
    *p++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
    *p++ = (unsigned char)(0x80 | (c & 0x3f));
  } else {
    *p++ = (unsigned char)(0xf0 | c >> 18);
    *p++ = (unsigned char)(0x80 | (c >> 12 & 0x3f));
    *p++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
    *p++ = (unsigned char)(0x80 | (c & 0x3f));
  }
  *out = (char *)p;
}

/* Reads the four digits after \u. */
static bool read_unit(reader *r, uint32_t *unit) {
  *unit = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    static const char digits[] = "0123456789abcdef";
    const char c = peek(r);
    const char *const digit = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
    if (!digit) return fail(r, "four hexadecimal digits are expected after \\u");
    *unit = *unit << 4 | (uint32_t)(digit - digits);
  }
  return true;
}

/* Reads an escaped character, from the character after \u on. */
static bool read_code_point(reader *r, char **out) {
  uint32_t c, low;
  if (!read_unit(r, &c)) return false;
  if (c >= 0xd800 && c < 0xdc00 && r->end - r->at >= 2 && r->at[0] == '\\' && r->at[1] == 'u') {
    const char *const from = r->at;
    r->at += 2;
    if (!read_unit(r, &low)) return false;
    if (low >= 0xdc00 && low < 0xe000)
      c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
    else
      r->at = from;
  }
  put_utf8(out, c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
  return true;
}

static bool read_escape(reader *r, char **out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char c = peek(r);
  const char *const place = c ? strchr(from, c) : NULL;
  if (c != 'u' && !place) return fail(r, "\\ is followed by no character that JSON escapes");
  r->at++;
  if (!place) return read_code_point(r, out);
  *(*out)++ = to[place - from];
  return true;
}

static const char *read_text(reader *r) {
  char *const text = r->texts;
  if (!skip(r, '"')) return fail(r, "a text in double quotes is expected"), NULL;
  while (!is_at(r, '"')) {
    if (r->at == r->end) return fail(r, "the text has no end"), NULL;
    if (skip(r, '\\')) {
      if (!read_escape(r, &r->texts)) return NULL;
      continue;
    }
    const size_t length = bench_utf8_length(r->at, (size_t)(r->end - r->at));
    if (length == 0) return fail(r, "this is not UTF-8"), NULL;
    if ((unsigned char)*r->at < 0x20) return fail(r, "a control character in a text must be escaped"), NULL;
    memcpy(r->texts, r->at, length);
    r->texts += length;
    r->at += length;
  }
  r->at++;
  *r->texts++ = '\0';
  return text;
}

static bool skip_digits(reader *r) {
  const char *const from = r->at;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
  return r->at > from || fail(r, "a digit is expected");
}

static bool read_number(reader *r, double *number) {
  const char *const from = r->at;
  char copy[64];
  skip(r, '-');
  if (!skip(r, '0') && !skip_digits(r)) return false;
  if (skip(r, '.') && !skip_digits(r)) return false;
  if (skip(r, 'e') || skip(r, 'E')) {
    if (!skip(r, '+')) skip(r, '-');
    if (!skip_digits(r)) return false;
  }
  const size_t length = (size_t)(r->at - from);
  if (length >= sizeof copy) return fail(r, "the number has too many digits");
  memcpy(copy, from, length);
  copy[length] = '\0';
  *number = strtod(copy, NULL);
  return isfinite(*number) || fail(r, "the number is too large");
}

static json_value *read_value(reader *r);

/* Reads elements, or members if the bracket is '}', up to the closing bracket. */
static bool read_items(reader *r, json_value *parent, char bracket) {
  json_value **place = &parent->first;
  if (++r->depth > JSON_DEEPEST) return fail(r, "values are nested too deep");
  r->at++;
  skip_blanks(r);
  while (!skip(r, bracket)) {
    const char *name = NULL;
    if (parent->count && !skip(r, ',')) return fail(r, "a comma or the closing bracket is expected");
    skip_blanks(r);
    if (bracket == '}') {
      name = read_text(r);
      if (!name) return false;
      skip_blanks(r);
      if (!skip(r, ':')) return fail(r, "a colon is expected");
    }
    json_value *const value = read_value(r);
    if (!value) return false;
    value->name = name;
    *place = value;
    place = &value->next;
    parent->count++;
    skip_blanks(r);
  }
  r->depth--;
  return true;
}

static json_value *read_value(reader *r) {
  json_value *const value = new_value(r);
  bool fine;
  if (!value) return NULL;
  skip_blanks(r);
  switch (peek(r)) {
    case '{':
      value->kind = JSON_OBJECT;
      fine = read_items(r, value, '}');
      break;
    case '[':
      value->kind = JSON_LIST;
      fine = read_items(r, value, ']');
      break;
    case '"':
      value->kind = JSON_TEXT;
      value->text = read_text(r);
      fine = value->text != NULL;
      break;
    case 't':
    case 'f':
      value->kind = JSON_FLAG;
      value->flag = *r->at == 't';
      fine = skip_word(r, value->flag ? "true" : "false");
      break;
    case 'n':
      fine = skip_word(r, "null");
      break;
    case '-':
    case '0' ... '9':
      value->kind = JSON_NUMBER;
      fine = read_number(r, &value->number);
      break;
    default:
      fine = fail(r, r->at < r->end ? "a value is expected" : "the document ends too early");
  }
  return fine ? value : NULL;
}

/* Columns count characters, not bytes. */
static void describe_fault(const reader *r, char why[JSON_WHY]) {
  size_t line = 1, column = 1;
  for (const char *p = r->begin; p < r->at; p++) {
    if (*p == '\n') line++, column = 0;
    column += ((unsigned char)*p & 0xc0) != 0x80;
  }
  snprintf(why, JSON_WHY, "line %zu, column %zu: %s", line, column, r->fault);
}

bool json_read(const char *text, size_t bytes, json_document *document, char why[JSON_WHY]) {
  *document = (json_document){.texts = malloc(bytes + 1)};
  reader r = {.document = document, .begin = text, .at = text, .end = text + bytes, .texts = document->texts};
  if (!r.texts) fail(&r, "there is no memory");
  if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) r.begin = r.at = text + 3; /* a byte order mark */
  document->root = r.fault ? NULL : read_value(&r);
  if (document->root) skip_blanks(&r);
  if (document->root && r.at < r.end) fail(&r, "there is text after the document");
  if (!r.fault) return true;
  describe_fault(&r, why);
  json_free(document);
  return false;
}

void json_free(json_document *document) {
  for (struct json_block *block = document->blocks, *next; block; block = next) {
    next = block->next;
    free(block);
  }
  free(document->texts);
  *document = (json_document){0};
}

const json_value *json_get(const json_value *object, const char *name) {
  if (!object || object->kind != JSON_OBJECT) return NULL;
  for (const json_value *value = object->first; value; value = value->next)
    if (strcmp(value->name, name) == 0) return value;
  return NULL;
}

const json_value *json_list(const json_value *object, const char *name) {
  const json_value *const value = json_get(object, name);
  return value && value->kind == JSON_LIST ? value->first : NULL;
}

const char *json_text(const json_value *object, const char *name) {
  const json_value *const value = json_get(object, name);
  return value ? value->text : "";
}

double json_number(const json_value *object, const char *name) {
  const json_value *const value = json_get(object, name);
  return value ? value->number : NAN;
}

size_t json_count(const json_value *object, const char *name) {
  const double number = json_number(object, name);
  return number >= 0 && number < 0x1p53 ? (size_t)number : 0;
}

bool json_flag(const json_value *object, const char *name) {
  const json_value *const value = json_get(object, name);
  return value && value->flag;
}
