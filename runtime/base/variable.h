/* SPDX-License-Identifier: Apache-2.0
 * Variables that are not hx's own. */
#ifndef HX_BASE_VARIABLE_H
#define HX_BASE_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>

/* A copy of the value; false, and "", if it is not set, is empty or too long, and in a secure process. */
bool hx__variable(const char *name, char *out, size_t bytes);

#endif
