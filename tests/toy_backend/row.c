/* SPDX-License-Identifier: Apache-2.0
 * The row of the toy backend: the list of backends.c, with one more at its end (-Wl,--wrap=hx__backend_rows). */
#include "runtime/backend/backend.h"

extern const hx__backend toy_backend;

const hx__backend *const *__real_hx__backend_rows(size_t *count);
const hx__backend *const *__wrap_hx__backend_rows(size_t *count);

enum { MOST_BACKENDS = 8 };

const hx__backend *const *__wrap_hx__backend_rows(size_t *count) {
  static const hx__backend *rows[MOST_BACKENDS];
  const hx__backend *const *const given = __real_hx__backend_rows(count);
  for (size_t i = 0; i < *count; i++) rows[i] = given[i];
  rows[(*count)++] = &toy_backend;
  return rows;
}
