/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/markup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/text.h"

/* Whether XML has no such character (control characters but tab and newline, U+FFFE, U+FFFF), or it would change the
 * direction of the text after it (U+202A to U+202E, U+2066 to U+2069). */
static bool is_refused(const char *s, size_t length) {
  static const struct { unsigned first, last; } refused[] = {{0x202a, 0x202e}, {0x2066, 0x2069}, {0xfffe, 0xffff}};
  const unsigned char *const p = (const unsigned char *)s;
  if (length == 1) return (*p < 0x20 && *p != '\t' && *p != '\n') || *p == 0x7f;
  const unsigned code = length == 3 ? (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu) : 0;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    if (code >= refused[i].first && code <= refused[i].last) return true;
  return false;
}

static const char *entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return NULL;
  }
}

void markup_text(FILE *f, const char *text) {
  for (size_t length; *text; text += length ? length : 1) {
    length = bench_utf8_length(text, 4);
    const char *const escaped = entity(*text);
    if (escaped)
      fputs(escaped, f);
    else if (!length || is_refused(text, length))
      fputs("\xef\xbf\xbd", f);
    else
      fwrite(text, 1, length, f);
  }
}

void markup_format_list(FILE *f, const char *format, va_list list) {
  char *text = NULL;
  if (vasprintf(&text, format, list) < 0) return;
  markup_text(f, text);
  free(text);
}

void markup_format(FILE *f, const char *format, ...) {
  va_list list;
  va_start(list, format);
  markup_format_list(f, format, list);
  va_end(list);
}
