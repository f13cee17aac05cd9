/* SPDX-License-Identifier: Apache-2.0
 * The sentence on a device in hx_device_info. It is written while kernels are prepared and read at any time. Items that
 * do not fit in its 255 bytes are only counted. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/backend/backend.h"
#include "runtime/base/thread.h"

#define TAIL_BYTES 16u /* ", and N more" */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hx__device_why(const hx__device *device, char out[HX__WHY_TEXT]) {
  hx__lock(&lock);
  memcpy(out, device->why, HX__WHY_TEXT);
  hx__unlock(&lock);
}

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
  device->why_length = length;
  device->unlisted_refusals = 0;
  hx__unlock(&lock);
}

void hx__device_replace_why(hx__device *device, const char *sentence) {
  hx__lock(&lock);
  device->why_length = (size_t)snprintf(device->why, HX__WHY_TEXT, "%s", sentence);
  hx__unlock(&lock);
}

void hx__device_note_refusal(hx__device *device, const char *name, const char *why) {
  char item[HX__WHY_TEXT];
  hx__lock(&lock);
  const size_t used = device->why_length;
  const char *const lead = strstr(device->why, "refuses ") ? ", " : used ? "; refuses " : "refuses ";
  const size_t length = (size_t)snprintf(item, sizeof item, "%s%s (%s)", lead, name, why);
  if (!device->unlisted_refusals && used + length + TAIL_BYTES < HX__WHY_TEXT) {
    memcpy(device->why + used, item, length + 1);
    device->why_length = used + length;
  } else {
    snprintf(device->why + used, HX__WHY_TEXT - used, ", and %u more", ++device->unlisted_refusals);
  }
  hx__unlock(&lock);
}
