/* SPDX-License-Identifier: Apache-2.0
 * Shared by the hand-written tests: a check that counts, and prints what failed. */
#ifndef HX_TESTS_CHECK_H
#define HX_TESTS_CHECK_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/hx.h"

/* Whether this program is built with a sanitizer. */
#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

#define SKIPPED 77

static _Atomic unsigned checks_done, checks_failed; /* threads of a test may check, too */

/* CHECK(condition, "format", ...): the format says what was seen. */
#define CHECK(condition, ...)                                       \
  do {                                                              \
    checks_done++;                                                  \
    if (!(condition)) {                                             \
      checks_failed++;                                              \
      printf("FAILED %s:%d: %s: ", __FILE__, __LINE__, #condition); \
      printf(__VA_ARGS__);                                          \
      printf("\n");                                                 \
      fflush(stdout);                                               \
    }                                                               \
  } while (0)

/* Checks that a call succeeds. */
#define CHECK_OK(call)                                                                         \
  do {                                                                                         \
    hx_status check_status = (call);                                                           \
    CHECK(check_status == HX_OK, "%s: %s", hx_status_string(check_status), hx_error_detail()); \
  } while (0)

/* Whether a text contains these words as whole words: "a" is not found in "what". "" is always found. */
static inline bool has_words(const char *sentence, const char *words) {
  size_t length = strlen(words);
  for (const char *p = sentence; length && (p = strstr(p, words)) != NULL; p++)
    if ((p == sentence || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')) && !isalnum((unsigned char)p[length]) &&
        p[length] != '_')
      return true;
  return length == 0;
}

/* Checks that a call is refused with a status, and with a detail that contains these words. */
#define CHECK_REFUSED(call, status, words)                                                        \
  do {                                                                                            \
    hx_status check_status = (call);                                                              \
    CHECK(check_status == (status), "%s: %s", hx_status_string(check_status), hx_error_detail()); \
    if (check_status != HX_OK)                                                                    \
      CHECK(has_words(hx_error_detail(), words), "'%s' not in: %s", words, hx_error_detail());    \
  } while (0)

/* Opens a context; ends the test if that fails. */
static inline hx_context *open_or_exit(const hx_settings *settings) {
  hx_context *hx = NULL;
  if (hx_open(&hx, settings) != HX_OK) {
    printf("hx_open: %s\n", hx_error_detail());
    exit(1);
  }
  return hx;
}

static inline double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The last line and the exit status. */
static inline int checks_end(const char *name) {
  printf("%s: %u checks, %u failed\n", name, checks_done, checks_failed);
  return checks_failed > 0;
}

#endif
