/* SPDX-License-Identifier: Apache-2.0
 * The sentence on a device in hx_device_info: its state, and the kernels that it refuses, by reason. It is written
 * while kernels are prepared and read at any time. A text that does not fit is written with less detail, never cut. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/backend/backend.h"
#include "runtime/base/operations.h"
#include "runtime/base/thread.h"

/* How much the text says about refused kernels. */
typedef enum detail { NAMES, COUNTS, TOTAL, NONE } detail;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hx__device_set_why(hx__device *device, const char *format, va_list args) {
  char text[1024];
  vsnprintf(text, sizeof text, format, args);
  size_t length = strlen(text);
  if (length >= HX__WHY_TEXT) { /* cut at the end of a word */
    for (length = HX__WHY_TEXT - 4; length && text[length] != ' ';) length--;
    memcpy(text + length, "...", 4);
    length += 3;
  }
  hx__lock(&lock);
  memcpy(device->why, text, length + 1);
  memset(device->refusal, 0, sizeof device->refusal);
  hx__unlock(&lock);
}

void hx__device_replace_why(hx__device *device, const char *sentence) {
  hx__lock(&lock);
  snprintf(device->why, HX__WHY_TEXT, "%s", sentence);
  hx__unlock(&lock);
}

void hx__device_note_refusal(hx__device *device, unsigned need, const char *reason) {
  hx__lock(&lock);
  device->refusal[need] = reason;
  hx__unlock(&lock);
}

__attribute__((format(printf, 2, 3))) static void append(char *text, const char *format, ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, HX__WHY_IN_FULL - used, format, args);
  va_end(args);
}

static void append_name(const hx__device *device, unsigned need, char *text) {
  const bool of_lines = need >= HX__FIRST_LINES, product = need >= HX__REDUCTIONS && !of_lines;
  const unsigned reduction = of_lines ? need - HX__FIRST_LINES : need;
  const uint32_t *const tile = product ? device->tile[need - HX__REDUCTIONS] : NULL;
  if (!tile)
    append(text, "%s%s %s", of_lines ? "lines " : "", hx__op_names[hx__reduction_op(reduction)],
           hx__type_names[hx__reduction_type(reduction)]);
  else if (!tile[0])
    append(text, "matmul");
  else
    append(text, "matmul %ux%ux%u", tile[0], tile[1], tile[2]);
}

static unsigned count_of(const hx__device *device, const char *reason) {
  unsigned count = 0;
  for (unsigned i = 0; i < HX__NEEDS; i++) count += reason ? device->refusal[i] == reason : device->refusal[i] != NULL;
  return count;
}

/* The kernels that are refused for one reason; first: the first of them. */
static void append_group(const hx__device *device, unsigned first, detail how, char *text) {
  const char *const reason = device->refusal[first], *between = " ";
  const unsigned count = count_of(device, reason);
  append(text, *text ? "; refuses" : "refuses");
  if (how == COUNTS) append(text, " %u kernel%s", count, count > 1 ? "s" : "");
  for (unsigned i = first; i < HX__NEEDS && how == NAMES; i++) {
    if (device->refusal[i] != reason) continue;
    append(text, "%s", between);
    append_name(device, i, text);
    between = ", ";
  }
  append(text, " (%s)", reason);
}

static bool is_first_of_group(const hx__device *device, unsigned need) {
  for (unsigned i = 0; i < need; i++)
    if (device->refusal[i] == device->refusal[need]) return false;
  return device->refusal[need] != NULL;
}

static size_t compose(const hx__device *device, detail how, char text[HX__WHY_IN_FULL]) {
  const unsigned total = count_of(device, NULL);
  snprintf(text, HX__WHY_IN_FULL, "%s", device->why);
  for (unsigned i = 0; i < HX__NEEDS && how <= COUNTS; i++)
    if (is_first_of_group(device, i)) append_group(device, i, how, text);
  if (how == TOTAL && total) append(text, "%srefuses %u kernel%s", *text ? "; " : "", total, total > 1 ? "s" : "");
  return strlen(text);
}

void hx__device_why(const hx__device *device, char out[HX__WHY_TEXT]) {
  char text[HX__WHY_IN_FULL];
  detail how = NAMES;
  hx__lock(&lock);
  while (compose(device, how, text) >= HX__WHY_TEXT && how < NONE) how++;
  hx__unlock(&lock);
  memcpy(out, text, HX__WHY_TEXT); /* the sentence alone always fits */
}

void hx__device_why_in_full(const hx__device *device, char out[HX__WHY_IN_FULL]) {
  hx__lock(&lock);
  compose(device, NAMES, out);
  hx__unlock(&lock);
}
