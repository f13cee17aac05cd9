/* SPDX-License-Identifier: Apache-2.0
 * Words in a text that say whose machine it is: host name, user name, home folder. */
#ifndef HX_BENCH_NAMES_H
#define HX_BENCH_NAMES_H

#include <stddef.h>

/* Warns on stderr of each such word in a text that is about to be sent. */
void bench_names_warn(const char *text);

/* Copies a text with each such word replaced: "(host)", "(user)", and "~" for the home folder. Returns out. */
char *bench_names_hide(const char *text, char *out, size_t bytes);

#endif
