/* SPDX-License-Identifier: Apache-2.0
 * Reads environment variables that are not hx's own. */
#ifndef HX_BASE_VARIABLE_H
#define HX_BASE_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the value. Returns false, and "" in out, if the variable is not set, empty or too long, or in a secure
 * process. */
bool hx__variable(const char *name, char *out, size_t bytes);

#endif
