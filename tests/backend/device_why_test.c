/* SPDX-License-Identifier: Apache-2.0
 * The text that explains a device's state names the kernels that it refuses if there is room, and otherwise counts them
 * by reason; it is never cut within a word. It can be read while it is being written. */
#include <pthread.h>
#include <string.h>

#include "runtime/backend/backend.h"
#include "tests/check.h"

enum { READS = 20000 };

static const char bits[] = "its bits differ on a small case",
                  rounding[] = "its float add or multiply rounds differently";

static void *note_refusals(void *device) {
  for (unsigned i = 0; i < HX__NEEDS; i++) hx__device_note_refusal(device, i, bits);
  return NULL;
}

static bool ends_whole(const char *text) {
  const size_t length = strlen(text);
  return length == 0 || text[length - 1] == ')';
}

static void expect(const hx__device *device, const char *want) {
  char text[HX__WHY_TEXT];
  hx__device_why(device, text);
  CHECK(strcmp(text, want) == 0, "%s; expected: %s", text, want);
}

static void test_detail(void) {
  hx__device device = {.tile = {{0}, {64, 32, 8}}};
  char full[HX__WHY_IN_FULL];
  expect(&device, "");
  hx__device_note_refusal(&device, 0, rounding);
  expect(&device, "refuses sum f32 (its float add or multiply rounds differently)");
  hx__device_note_refusal(&device, HX__REDUCTIONS, rounding);
  hx__device_note_refusal(&device, HX__REDUCTIONS + 1, bits);
  expect(
      &device,
      "refuses sum f32, matmul (its float add or multiply rounds differently); refuses matmul 64x32x8 (its bits differ "
      "on a small case)");
  hx__device_replace_why(&device, "it is slow");
  hx__device_note_refusal(&device, HX__REDUCTIONS + 1, rounding);
  expect(&device, "it is slow; refuses sum f32, matmul, matmul 64x32x8 (its float add or multiply rounds differently)");
  for (unsigned i = 1; i < HX__REDUCTIONS; i++) hx__device_note_refusal(&device, i, bits);
  expect(&device,
         "it is slow; refuses 3 kernels (its float add or multiply rounds differently); refuses 26 kernels (its bits "
         "differ on a small case)");
  hx__device_why_in_full(&device, full);
  CHECK(strstr(full, "argmin u32, ") && strstr(full, "prod u32 (its bits differ on a small case)"), "%s", full);
  CHECK(strstr(full, "matmul 64x32x8 (its float"), "%s", full);
  static char reasons[HX__REDUCTIONS][64];
  for (unsigned i = 0; i < HX__REDUCTIONS; i++) {
    snprintf(reasons[i], sizeof reasons[i], "a reason of its own, which is number %u of them all", i);
    hx__device_note_refusal(&device, i, reasons[i]);
  }
  expect(&device, "it is slow; refuses 29 kernels");
  hx__device_why_in_full(&device, full);
  CHECK(strstr(full, reasons[HX__REDUCTIONS - 1]), "%s", full);
}

static void test_threads(void) {
  static hx__device device;
  pthread_t writer;
  char text[HX__WHY_TEXT];
  bool all = true;
  CHECK(pthread_create(&writer, NULL, note_refusals, &device) == 0, "no thread");
  for (int i = 0; i < READS; i++) {
    hx__device_why(&device, text);
    all = all && ends_whole(text);
  }
  pthread_join(writer, NULL);
  CHECK(all, "a text was read that was cut");
  hx__device_why(&device, text);
  char want[HX__WHY_TEXT];
  snprintf(want, sizeof want, "refuses %u kernels (its bits differ on a small case)", HX__NEEDS);
  CHECK(strcmp(text, want) == 0, "%s", text);
}

static void test_long_sentence(void) {
  char words[600] = "", text[HX__WHY_TEXT];
  for (int i = 0; i < 50; i++) strcat(words, "syllables ");
  hx__device other = {0};
  hx__device_lost(&other, "%s", words);
  hx__device_why(&other, text);
  CHECK(strlen(text) > 240 && strcmp(text + strlen(text) - 12, "syllables...") == 0, "a long sentence became: %s",
        text);
}

int main(void) {
  test_detail();
  test_threads();
  test_long_sentence();
  return checks_end("device_why_test");
}
