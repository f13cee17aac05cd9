/* SPDX-License-Identifier: Apache-2.0
 * The text that explains a device's state is never cut within a word: items that do not fit are counted. It can be read
 * while it is being written. */
#include <pthread.h>
#include <string.h>

#include "runtime/backend/backend.h"
#include "tests/check.h"

enum { ITEMS = 27, READS = 20000 };

static hx__device device;

static bool ends_whole(const char *text) {
  const size_t length = strlen(text);
  return length == 0 || text[length - 1] == ')' || (length > 5 && strcmp(text + length - 5, " more") == 0);
}

static void *note_refusals(void *unused) {
  (void)unused;
  for (int i = 0; i < ITEMS; i++)
    hx__device_note_refusal(&device, "sum_squares f32", "its bits differ on a small case");
  return NULL;
}

int main(void) {
  pthread_t writer;
  char text[HX__WHY_TEXT];
  bool all = true;
  CHECK(pthread_create(&writer, NULL, note_refusals, NULL) == 0, "a thread");
  for (int i = 0; i < READS; i++) {
    hx__device_why(&device, text);
    all = all && ends_whole(text);
  }
  pthread_join(writer, NULL);
  CHECK(all, "each sentence that was read is whole");
  hx__device_why(&device, text);
  CHECK(ends_whole(text) && strstr(text, "refuses sum_squares f32 (its bits"), "the last one: %s", text);
  CHECK(strstr(text, "), and 23 more"), "what had no room is counted: %s", text);
  char words[600] = "";
  for (int i = 0; i < 50; i++) strcat(words, "syllables ");
  hx__device other = {0};
  hx__device_lost(&other, "%s", words);
  hx__device_why(&other, text);
  CHECK(strlen(text) > 240 && strcmp(text + strlen(text) - 12, "syllables...") == 0, "a long sentence: %s", text);
  return checks_end("device_why_test");
}
