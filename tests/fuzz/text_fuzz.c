/* SPDX-License-Identifier: Apache-2.0
 * Names of devices and drivers in the files of hx-bench: whatever they contain, the JSON string is valid for a strict
 * reader, the CSV field is one field, and a terminal gets no control sequence. */
#include "bench/text.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) { return (void)argc, (void)argv, 0; }

/* What a function prints; the caller frees it. */
static char *printed(void (*print)(FILE *, const char *), const char *s, size_t *length) {
  char *out = NULL;
  FILE *const f = open_memstream(&out, length);
  if (!f) abort();
  print(f, s);
  if (fclose(f) != 0) abort();
  return out;
}

/* How many bytes the character at p has by RFC 3629; 0: it is not valid. */
static size_t character(const unsigned char *p) {
  if (p[0] < 0x80) return 1;
  const size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  uint32_t code = p[0] & (0xffu >> (n + 1));
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (p[i] & 0x3f);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return p[0] < 0xc0 || code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

/* Whether all of it is a JSON string by RFC 8259. */
static bool is_json_string(const char *s, size_t length) {
  const unsigned char *p = (const unsigned char *)s, *const end = p + length;
  if (length < 2 || *p++ != '"' || end[-1] != '"') return false;
  while (p < end - 1) {
    if (*p < 0x20 || *p == '"') return false;
    if (*p == '\\') {
      const size_t hex = p[1] == 'u' ? strspn((const char *)p + 2, "0123456789abcdefABCDEF") : 0;
      if (p[1] != 'u' && !strchr("\"\\/bfnrt", p[1])) return false;
      if (p[1] == 'u' && hex < 4) return false;
      p += p[1] == 'u' ? 6 : 2;
    } else {
      const size_t n = character(p);
      if (n == 0) return false;
      p += n;
    }
  }
  return p == end - 1;
}

static void check_csv(const char *field) {
  if (*field != '"') {
    FUZZ_CHECK(!strpbrk(field, ",\"\r\n"), "a bare field: %s", field);
    FUZZ_CHECK(!*field || !strchr("=+-@", *field), "a formula: %s", field);
    return;
  }
  const char *p = field + 1;
  while (*p && (*p != '"' || p[1] == '"')) p += *p == '"' ? 2 : 1;
  FUZZ_CHECK(p[0] == '"' && p[1] == '\0', "a quoted field ends early: %s", field);
}

static void check_plain(const char *s, size_t room) {
  char *const out = malloc(room);
  if (!out) abort();
  bench_plain(s, out, room);
  FUZZ_CHECK(strlen(out) < room, "%zu bytes in %zu", strlen(out), room);
  for (const unsigned char *p = (const unsigned char *)out; *p;) {
    const size_t n = character(p);
    FUZZ_CHECK(n && *p >= 0x20 && *p != 0x7f && !(p[0] == 0xc2 && p[1] < 0xa0), "byte %02x on a terminal", *p);
    p += n;
  }
  free(out);
}

static void wrap_text(FILE *f, const char *s) { bench_wrap(f, s, 0, 4, 40); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *const text = fuzz_text(data, size);
  size_t length;
  char *json = printed(bench_json_string, text, &length);
  FUZZ_CHECK(is_json_string(json, length), "no JSON string: %s", json);
  free(json);
  char *csv = printed(bench_csv_string, text, &length);
  check_csv(csv);
  free(csv);
  free(printed(wrap_text, text, &length));
  check_plain(text, 1 + size % 64);
  free(text);
  return 0;
}
