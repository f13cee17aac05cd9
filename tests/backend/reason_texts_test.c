/* SPDX-License-Identifier: Apache-2.0
 * reason_texts_test FILE.c...: every reason that these sources can give for not using a device or a kernel fits whole
 * into hx_device_info.why, with the longest names and numbers, and reads as one sentence. The reasons are taken from
 * the sources, so that a new one cannot be forgotten: literals passed to hx__device_lost and hx__device_replace_why,
 * and in files whose functions return reasons, all literals of several words outside of calls that log or print. */
#include <ctype.h>
#include <stdarg.h>

#include "runtime/backend/backend.h"
#include "tests/check.h"

/* What a conversion can become: the longest entry point of OpenCL, which is longer than any error code that hx knows.
 */
#define LONGEST_NAME "clGetExtensionFunctionAddressForPlatform"

enum { TEXT = 2048 };
static unsigned reasons;

static void expand(const char *format, char out[TEXT]) {
  size_t used = 0;
  for (const char *p = format; *p && used < TEXT - 64; p++) {
    if (*p != '%') {
      out[used++] = *p;
      continue;
    }
    while (*++p == 'l' || *p == 'z') continue;
    const char *const with = *p == 's' ? LONGEST_NAME : *p == 'd' ? "-2147483648" : "18446744073709551615";
    used += (size_t)snprintf(out + used, TEXT - used, "%s", with);
  }
  out[used] = '\0';
}

static void set(hx__device *device, const char *format, ...) {
  va_list args;
  va_start(args, format);
  hx__device_set_why(device, format, args);
  va_end(args);
}

static void check_reason(const char *file, const char *format, bool of_kernel) {
  char text[TEXT], shown[HX__WHY_TEXT];
  hx__device device = {0};
  expand(format, text);
  const size_t length = strlen(text);
  reasons++;
  CHECK(strchr(text, ' '), "%s: several words: %s", file, text);
  CHECK(islower((unsigned char)text[0]), "%s: it goes on after the device's name: %s", file, text);
  CHECK(isalnum((unsigned char)text[length - 1]) || text[length - 1] == ')', "%s: no stop at its end: %s", file, text);
  CHECK(!strstr(text, "  ") && !strchr(text, '\n'), "%s: one line: %s", file, text);
  set(&device, "%s", text);
  hx__device_why(&device, shown);
  CHECK(strcmp(shown, text) == 0, "%s: cut: %s", file, shown);
  for (unsigned i = 0; i < HX__NEEDS && of_kernel; i++) hx__device_note_refusal(&device, i, text);
  hx__device_replace_why(&device, of_kernel ? "" : text);
  hx__device_why(&device, shown);
  CHECK(!of_kernel || strstr(shown, text), "%s: of every kernel: %s", file, shown);
}

/* Copies the literal at *p, with its continuations, and moves *p past it. */
static void read_literal(const char **p, char out[TEXT]) {
  size_t used = 0;
  while (**p == '"') {
    for (++*p; **p && **p != '"' && used < TEXT - 1; ++*p) out[used++] = **p;
    if (**p) ++*p;
    const char *next = *p + strspn(*p, " \n");
    if (*next == '"') *p = next;
  }
  out[used] = '\0';
}

static bool begins(const char *from, const char *to, const char *word) {
  const char *const at = strstr(from, word);
  return at && at < to;
}

static void read_source(const char *file, const char *text, bool returns_reasons) {
  const char *statement = text;
  for (const char *p = text; *p;) {
    if (strchr(";{}", *p)) statement = p + 1;
    if (strncmp(p, "/*", 2) == 0 && strstr(p, "*/")) {
      p = statement = strstr(p, "*/") + 2;
      continue;
    }
    if (*p == '#') {
      p = statement = p + strcspn(p, "\n");
      continue;
    }
    if (*p != '"' || p[-1] == '\'') {
      p++;
      continue;
    }
    const char *const at = p;
    char literal[TEXT];
    read_literal(&p, literal);
    const bool of_device =
        begins(statement, at, "hx__device_lost(") || begins(statement, at, "hx__device_replace_why(");
    const bool printed = begins(statement, at, "hx__log(") || begins(statement, at, "printf(");
    if (of_device)
      check_reason(file, literal, false);
    else if (returns_reasons && !printed && strchr(literal, ' '))
      check_reason(file, literal, true);
  }
}

static bool has_suffix(const char *path, const char *name) {
  const size_t all = strlen(path), length = strlen(name);
  return all >= length && strcmp(path + all - length, name) == 0;
}

int main(int argc, char **argv) {
  static char text[1 << 18];
  for (int i = 1; i < argc; i++) {
    FILE *const f = fopen(argv[i], "r");
    CHECK(f, "%s", argv[i]);
    if (!f) continue;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    read_source(
        argv[i], text,
        has_suffix(argv[i], "/prepare.c") || has_suffix(argv[i], "/selftest.c") || has_suffix(argv[i], "/tune.c"));
  }
  CHECK(reasons >= 25, "%u reasons found: those of the sources are not read", reasons);
  printf("%u reasons\n", reasons);
  return checks_end("reason_texts_test");
}
