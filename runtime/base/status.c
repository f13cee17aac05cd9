/* SPDX-License-Identifier: Apache-2.0
 * Status words, the sentence behind a thread's last failure, the version. */
#include "runtime/base/status.h"

#include <stdio.h>
#include <string.h>

#define CHECK_VALUE(name, value) _Static_assert((int)(name) == (value), #name " of HX__STATUS_MAP is not that of hx.h");
#define COUNT_ROW(name, value) +1
HX__STATUS_MAP(CHECK_VALUE)
_Static_assert(HX_INTERNAL + 1 == 0 HX__STATUS_MAP(COUNT_ROW), "HX__STATUS_MAP has a row for each status of hx.h");

#define STATUS_CASE(name, value) \
  case name:                     \
    return #name;

const char *hx_status_string(hx_status s) {
  switch (s) { /* no default: the compiler names a status that has no row */
    HX__STATUS_MAP(STATUS_CASE)
  }
  return "unknown hx_status";
}

#define MAJOR 0
#define MINOR 1
#define PATCH 0
#define TEXT_OF(x) #x
#define DOTTED(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)
_Static_assert(MAJOR * 10000 + MINOR * 100 + PATCH == HX_VERSION_NUMBER, "the version is not that of hx.h");

const char *hx_version(void) { return DOTTED(MAJOR, MINOR, PATCH); }

/* Fixed, for a failure for want of memory has a sentence as well. */
static _Thread_local char detail[HX__DETAIL_BYTES];

const char *hx_error_detail(void) { return detail; }

static const char cut_mark[] = "...";

hx_status hx__fail(hx_status s, const char *format, ...) {
  char sentence[HX__DETAIL_BYTES]; /* the arguments may point into detail */
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  if (length < 0) sentence[0] = '\0';
  if (length >= (int)sizeof sentence) memcpy(sentence + sizeof sentence - sizeof cut_mark, cut_mark, sizeof cut_mark);
  memcpy(detail, sentence, sizeof detail);
  return s;
}

void hx__set_detail(const char *text) {
  const size_t length = strnlen(text, sizeof detail);
  if (length < sizeof detail) {
    memmove(detail, text, length + 1); /* text may be detail itself */
    return;
  }
  memmove(detail, text, sizeof detail - sizeof cut_mark);
  memcpy(detail + sizeof detail - sizeof cut_mark, cut_mark, sizeof cut_mark);
}
