/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHORTEST 3u /* shorter names are also parts of sentences */
enum { HOST, HOME, USER, LOGNAME, NAMES };

static const char *const what[NAMES] = {"host's name", "home folder", "user's name", "user's name"};
static const char *const instead[NAMES] = {"(host)", "~", "(user)", "(user)"};

/* "root" is a user's name everywhere, and says nothing of a machine. */
static void find_names(const char *names[NAMES], char host[256]) {
  static const char *const variables[NAMES] = {NULL, "HOME", "USER", "LOGNAME"};
  host[0] = '\0';
  if (gethostname(host, 255) != 0) host[0] = '\0';
  host[255] = '\0';
  host[strcspn(host, ".")] = '\0';
  for (size_t i = 0; i < NAMES; i++) {
    names[i] = variables[i] ? getenv(variables[i]) : host;
    if (names[i] && (strlen(names[i]) < SHORTEST || strcmp(names[i], "root") == 0)) names[i] = NULL;
  }
}

/* Whether the text begins with this word, which no letter or digit may precede or follow. */
static bool is_word_at(const char *text, const char *at, const char *word) {
  const size_t length = strlen(word);
  return strncmp(at, word, length) == 0 && (at == text || !isalnum((unsigned char)at[-1])) &&
         !isalnum((unsigned char)at[length]);
}

static bool has_word(const char *text, const char *word) {
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
    if (is_word_at(text, at, word)) return true;
  return false;
}

void bench_names_warn(const char *text) {
  const char *names[NAMES];
  char host[256];
  find_names(names, host);
  for (size_t i = 0; i < NAMES; i++)
    if (names[i] && has_word(text, names[i]))
      fprintf(stderr, "hx-bench: the file contains the word %s, which is also the %s here: look before you send it\n",
              names[i], what[i]);
}

char *bench_names_hide(const char *text, char *out, size_t bytes) {
  const char *names[NAMES];
  char host[256];
  size_t used = 0;
  find_names(names, host);
  for (const char *at = text; *at && used + 8 < bytes;) {
    size_t i = 0;
    while (i < NAMES && !(names[i] && is_word_at(text, at, names[i]))) i++;
    used += (size_t)snprintf(out + used, bytes - used, "%.*s", i < NAMES ? 8 : 1, i < NAMES ? instead[i] : at);
    at += i < NAMES ? strlen(names[i]) : 1;
  }
  out[used] = '\0';
  return out;
}
