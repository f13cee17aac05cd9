/* SPDX-License-Identifier: Apache-2.0
 * The limits of hx_compile: what just fits compiles, and what does not is refused with a sentence that names the limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hx_map.h"
#include "tests/check.h"

static hx_context *hx;

static char *repeated(const char *first, const char *each, size_t count, const char *last) {
  const size_t bytes = strlen(first) + strlen(each) * count + strlen(last) + 1;
  char *const text = malloc(bytes);
  if (!text) abort();
  strcpy(text, first);
  for (size_t i = 0; i < count; i++) memcpy(text + strlen(first) + i * strlen(each), each, strlen(each) + 1);
  strcpy(text + bytes - 1 - strlen(last), last);
  return text;
}

static void check_limit(char *text, const char *words) {
  const hx_kernel_source source = {.text = text, .inputs = "int x"};
  hx_kernel *k;
  if (words)
    CHECK_REFUSED(hx_compile(hx, &source, &k), HX_INVALID_ARGUMENT, words);
  else
    CHECK_OK(hx_compile(hx, &source, &k));
  hx_kernel_free(k);
  free(text);
}

/* Their sum times their exclusive or: all wait for their second use. */
static char *quotients_used_twice(int count) {
  char text[2000] = "";
  for (int i = 0; i < count; i++) sprintf(text + strlen(text), "int q%d = x / %d;", i, i + 2);
  strcat(text, "(0");
  for (int i = 0; i < count; i++) sprintf(text + strlen(text), "+q%d", i);
  strcat(text, ") * (0");
  for (int i = 0; i < count; i++) sprintf(text + strlen(text), "^q%d", i);
  strcat(text, ")");
  return strdup(text);
}

/* One that fits into the intermediate results only as operations: with cosf as one step they have another order. */
static const char waits[] =
    "float v0 = cosf(x); float v1 = cosf(v0); float v2 = v1 + v0; float v3 = v2 * v0; float v4 = v3 - x; "
    "float v5 = v1 / v4; float v6 = v5 - v0; float v7 = y * v0; float v8 = y + v2; float v9 = v5 * v8; "
    "float v10 = v6 - v0; float v11 = v9 * v7; float v12 = v9 / v8; float v14 = v10 * v11; "
    "float v15 = y * v2; float v16 = v14 + x; float v17 = v12 / v3; float v18 = v9 * v16; "
    "float v19 = v14 * v14; float v20 = v15 - v19; float v21 = x * v12; float v23 = v17 * v9; "
    "v0 - v1 * v3 + v4 * v5 + v6 * v7 * v8 * v10 - v11 - x * v16 * v17 * v18 + v20 * v21 + v23";

static void check_waits(void) {
  const hx_kernel_source source = {.text = waits, .inputs = "float x, float y"};
  hx_kernel *k;
  CHECK_OK(hx_compile(hx, &source, &k));
  hx_kernel_free(k);
}

static void check_limits(void) {
  check_limit(repeated("x", "                ", 1000, ""), NULL);
  check_limit(repeated("x", "                ", 1024, ""), "text 1:1: 16385 bytes, and 16384 is the limit");
  check_limit(repeated("", "!", 64, "x"), NULL);
  check_limit(repeated("", "!", 65, "x"),
              "text 1:66: more than 64 brackets, operators and conditions inside one another");
  check_limit(repeated("", "(", 100000 / 8, "x"), "more than 64");
  check_limit(repeated("", "x?1:", 64, "2"), NULL);
  check_limit(repeated("", "x?1:", 200, "2"), "text 1:259: more than 64");
  check_limit(repeated("", "x|x&(", 63, "x|x"), "')' is expected before the end");
  check_limit(repeated("", "x|x&(", 64, "x|x"), "text 1:322: more than 128 operators wait for their second operand");
  check_limit(repeated("x*3", "+x*3", 509, ""), NULL); /* x, 3, x * 3 and 509 sums; 512 steps */
  check_limit(repeated("x*3", "+x*3", 510, ""), "text 1:2040: more than 512 values");
  char functions[400] = "0";
  for (int i = 1; i < 17; i++) sprintf(functions + strlen(functions), "+expf(x+%d)", i);
  check_limit(strdup(functions), "needs more values or names than are left");
  check_limit(repeated("", "expf(", 100, "x"), "more than 64");
  check_limit(repeated("1", "+1", 254, ""), NULL); /* x, 1 and the sums that constants give */
  /* Each sum needs four steps: a comparison, that makes it a number, the sum, and that saves it. */
  char comparisons[4000] = "(x<0)";
  for (int i = 1; i < 128; i++) sprintf(comparisons + strlen(comparisons), "+(x<%d)", i);
  check_limit(strdup(comparisons), NULL);
  strcat(comparisons, "+(x<128)");
  check_limit(strdup(comparisons),
              "text 1:1: the whole text needs 515 steps, and 512 is the limit: cut it into two maps");
  check_limit(strdup("sinf(x) + sinf(x + 1)"), NULL);
  check_limit(strdup("sinf(x) * cosf(x + 1) + cosf(x) * sinf(x + 1)"), NULL);
  /* Each is one step; as operations they would be some 600. */
  check_limit(strdup("powf(x, x + 1) + powf(x + 1, x) * powf(x + 2, x)"), NULL);
  check_limit(strdup("expf(x) * powf(x, 2.2f) + sinf(x)"), NULL);
  /* The same call many times counts once among those that are one step. */
  check_limit(repeated("powf(x + 1, x) * powf(x + 2, x)", " + powf(x, x + 1)", 1, ""), NULL);
  check_limit(repeated("", "powf(x, x + 1) + ", 16, "powf(x + 1, x) * powf(x + 2, x)"), NULL);
  check_limit(quotients_used_twice(15), NULL);
  check_limit(quotients_used_twice(16),
              "needs more than 16 intermediate results at the same time: cut it into two maps");
  char names[3000] = "";
  for (int i = 0; i < 127; i++) sprintf(names + strlen(names), "int v%d = x;", i);
  check_limit(repeated(names, "", 0, "v126"), NULL);
  check_limit(repeated(names, "", 0, "int w = x; w"), "more than 128 names");
}

int main(void) {
  hx = open_or_exit(NULL);
  check_limits();
  check_waits();
  hx_close(hx);
  return checks_end("compile_limits_test");
}
