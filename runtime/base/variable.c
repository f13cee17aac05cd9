/* SPDX-License-Identifier: Apache-2.0
 * Reads environment variables that are not hx's own. */
#include "runtime/base/variable.h"

#include <stdlib.h>
#include <string.h>

bool hx__variable(const char *name, char *out, size_t bytes) {
  const char *const value = secure_getenv(name);
  out[0] = '\0';
  if (!value || !*value || strlen(value) >= bytes) return false;
  memcpy(out, value, strlen(value) + 1);
  return true;
}
