/* SPDX-License-Identifier: Apache-2.0
 * Reductions along lines, for hx_reduce of one line at a time. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* The line itself, or its elements side by side in `room`. */
static const void *contiguous(const char *line, Py_ssize_t stride, size_t n, uint32_t *room) {
  if (stride == 1 || n < 2) return line;
  for (size_t i = 0; i < n; i++) memcpy(&room[i], line + (Py_ssize_t)i * stride * 4, 4);
  return room;
}

bool hxpy_reduce_lines(hxpy_context *c, const hxpy_lines *l, float share) {
  uint32_t *room = malloc((l->n ? l->n : 1) * 8);
  if (!room) return PyErr_NoMemory();
  bool ok = true;
  for (size_t i = 0; ok && i < l->lines; i++) {
    const void *x = contiguous(l->x + (Py_ssize_t)i * l->line_stride * 4, l->stride, l->n, room);
    hx_task task = hx_reduce(l->op, l->type, x, l->n, &l->out[i]);
    if (l->y) task.reduce.y = contiguous(l->y + (Py_ssize_t)i * l->y_line_stride * 4, l->y_stride, l->n, room + l->n);
    task.gpu_share = share;
    ok = hxpy_run(c, &task);
  }
  free(room);
  return ok;
}
