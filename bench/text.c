/* SPDX-License-Identifier: Apache-2.0
 * Escapes and wraps text. */
#include "bench/text.h"

#include <stdbool.h>
#include <string.h>

void bench_read_line(const char *path, char *text, size_t bytes) {
  text[0] = '\0';
  FILE *f = fopen(path, "r");
  if (!f) return;
  if (!fgets(text, (int)bytes, f)) text[0] = '\0';
  text[strcspn(text, "\n")] = '\0';
  fclose(f);
}

size_t bench_utf8_length(const char *text, size_t bytes) {
  const unsigned char *const s = (const unsigned char *)text;
  static const struct {
    unsigned char low, high, second_low, second_high, length;
  } rows[] = {{0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
              {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
              {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  for (size_t r = 0; bytes && r < sizeof rows / sizeof rows[0]; r++) {
    if (s[0] < rows[r].low || s[0] > rows[r].high) continue;
    if (rows[r].length > bytes) return 0;
    if (rows[r].length == 1) return 1;
    if (s[1] < rows[r].second_low || s[1] > rows[r].second_high) return 0;
    for (size_t i = 2; i < rows[r].length; i++)
      if (s[i] < 0x80 || s[i] > 0xbf) return 0;
    return rows[r].length;
  }
  return 0;
}

/* The same within a text that a NUL ends, because no sequence contains a NUL. */
static size_t utf8_length(const unsigned char *s) { return bench_utf8_length((const char *)s, 4); }

char *bench_plain(const char *s, char *out, size_t bytes) {
  const unsigned char *p = (const unsigned char *)s;
  size_t used = 0;
  while (*p) {
    size_t length = utf8_length(p);
    /* C0, DEL and C1 control characters, which terminals may interpret. */
    bool control = p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
    size_t need = length && !control ? length : 1;
    if (used + need >= bytes) break;
    if (need == length && !control) {
      memcpy(out + used, p, length);
    } else {
      out[used] = '?';
    }
    used += need;
    p += length ? length : 1;
  }
  out[used] = '\0';
  return out;
}

size_t bench_text_width(const char *s) {
  size_t width = 0;
  for (; *s; s++) width += ((unsigned char)*s & 0xc0) != 0x80; /* not a later byte of a character */
  return width;
}

size_t bench_text_cut(const char *s, size_t columns) {
  size_t bytes = 0;
  for (; s[bytes]; bytes++)
    if (((unsigned char)s[bytes] & 0xc0) != 0x80 && columns-- == 0) break;
  return bytes;
}

void bench_markdown(FILE *f, const char *s) {
  for (; *s; s++) {
    if (strchr("\\|*<`~[", *s)) fputc('\\', f);
    fputc(*s, f);
  }
}

void bench_json_string(FILE *f, const char *s) {
  if (!s) {
    fputs("null", f);
    return;
  }
  fputc('"', f);
  for (const unsigned char *p = (const unsigned char *)s; *p;) {
    size_t length = utf8_length(p);
    if (length == 0) {
      fputs("\\ufffd", f);
      p++;
    } else if (length > 1) {
      fwrite(p, 1, length, f);
      p += length;
    } else {
      if (*p == '"' || *p == '\\') {
        fprintf(f, "\\%c", *p);
      } else if (*p < 0x20 || *p == 0x7f || *p == '<' || *p == '>' || *p == '&') {
        fprintf(f, "\\u%04x", *p); /* < > & are escaped, too, because the document may be embedded in a web page */
      } else {
        fputc(*p, f);
      }
      p++;
    }
  }
  fputc('"', f);
}

void bench_csv_string(FILE *f, const char *s) {
  bool formula = *s && strchr("=+-@\t\r", *s);
  if (!formula && !strpbrk(s, ",\"\r\n;")) {
    fputs(s, f);
    return;
  }
  fputc('"', f);
  if (formula) fputc('\'', f);
  for (; *s; s++) {
    if (*s == '"') fputc('"', f);
    fputc(*s, f);
  }
  fputc('"', f);
}

void bench_wrap(FILE *f, const char *s, size_t at, size_t indent, size_t columns) {
  size_t column = at;
  bool fresh = true; /* only the indent is on this line */
  while (*s == ' ') s++;
  while (*s) {
    size_t length = strcspn(s, " "), width = 0;
    for (size_t i = 0; i < length; i++) width += ((unsigned char)s[i] & 0xc0) != 0x80;
    if (column > indent && column + !fresh + width > columns) {
      fprintf(f, "\n%*s", (int)indent, "");
      column = indent;
      fresh = true;
    }
    if (!fresh) column += (size_t)fprintf(f, " ");
    while (column + width > columns && columns > indent && column < columns) { /* a word that is longer than a line */
      const size_t piece = bench_text_cut(s, columns - column);
      fprintf(f, "%.*s\n%*s", (int)piece, s, (int)indent, "");
      width -= columns - column;
      length -= piece;
      s += piece;
      column = indent;
    }
    fprintf(f, "%.*s", (int)length, s);
    column += width;
    fresh = false;
    s += length;
    while (*s == ' ') s++;
  }
  fputc('\n', f);
}
