/* SPDX-License-Identifier: Apache-2.0
 * The names of status codes, the sentence on a thread's last failure, and the version. */
#include "runtime/base/status.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/thread.h"

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

static const char no_room[] = "no memory is left for the sentence that says what failed";
static const char cut_mark[] = "...";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t details; /* for each thread: a block of HX__DETAIL_BYTES, or no_room; NULL before the first
                               * failure */
static bool has_details;

static void free_detail(void *detail) {
  if (detail != no_room) free(detail);
}
static void create_key(void) { has_details = pthread_key_create(&details, free_detail) == 0; }

const char *hx_error_detail(void) {
  hx__keep_library_mapped();
  pthread_once(&once, create_key);
  const char *const detail = has_details ? pthread_getspecific(details) : no_room;
  return detail ? detail : "";
}

/* This thread's block, allocated at its first failure. 1 KB of static thread-local storage would be more than the
 * loader may have left if the library is loaded late. NULL: the allocation failed, and the thread's detail says so. */
static char *detail_of_thread(void) {
  hx__keep_library_mapped();
  pthread_once(&once, create_key);
  if (!has_details) return NULL;
  void *const had = pthread_getspecific(details);
  if (had && had != no_room) return had;
  char *const fresh = calloc(1, HX__DETAIL_BYTES);
  if (pthread_setspecific(details, fresh ? fresh : no_room) == 0) return fresh;
  free(fresh);
  return NULL;
}

hx_status hx__fail(hx_status s, const char *format, ...) {
  char sentence[HX__DETAIL_BYTES]; /* the arguments may point into the detail */
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  if (length < 0) sentence[0] = '\0';
  if (length >= (int)sizeof sentence) memcpy(sentence + sizeof sentence - sizeof cut_mark, cut_mark, sizeof cut_mark);
  char *const detail = detail_of_thread();
  if (detail) memcpy(detail, sentence, sizeof sentence);
  return s;
}

void hx__set_detail(const char *text) {
  char *const detail = detail_of_thread();
  if (!detail) return;
  const size_t length = strnlen(text, HX__DETAIL_BYTES);
  if (length < HX__DETAIL_BYTES) {
    memmove(detail, text, length + 1); /* text may be the detail itself */
    return;
  }
  memmove(detail, text, HX__DETAIL_BYTES - sizeof cut_mark);
  memcpy(detail + HX__DETAIL_BYTES - sizeof cut_mark, cut_mark, sizeof cut_mark);
}
