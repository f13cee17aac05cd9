/* SPDX-License-Identifier: Apache-2.0
 * Copies of lines that hx cannot read in place. */
#include "native.h"

#include <stdint.h>
#include <string.h>

typedef uint32_t element __attribute__((may_alias));

/* Joins neighbouring axes where their strides allow it, so that what is copied at once is long. */
void hxpy_pack_set(hxpy_pack *p, const Py_buffer *v, const int *axes, int count) {
  p->count = 0;
  for (int i = 0; i < count; i++) {
    const Py_ssize_t extent = v->shape[axes[i]], stride = v->strides[axes[i]];
    hxpy_steps *const outer = p->count ? &p->run[p->count - 1] : NULL;
    if (extent == 1) continue;
    if (outer && outer->stride == stride * extent)
      *outer = (hxpy_steps){outer->extent * extent, stride};
    else
      p->run[p->count++] = (hxpy_steps){extent, stride};
  }
  if (p->count == 0) p->run[p->count++] = (hxpy_steps){1, 4};
}

/* Loops of their own for the steps of which compilers make vectors. */
static void copy_run(element *to, const char *from, Py_ssize_t stride, Py_ssize_t count) {
  const element *const x = (const element *)(const void *)from;
  const Py_ssize_t step = stride / 4;
  if (step == 1) {
    memcpy(to, x, (size_t)count * sizeof *to);
  } else if (step == -1) {
#pragma GCC unroll 4 /* a short loop takes half as long again if it happens to lie across two lines of the cache */
    for (Py_ssize_t i = 0; i < count; i++) to[i] = x[-i];
  } else if (step == 0) {
    for (Py_ssize_t i = 0; i < count; i++) to[i] = *x;
  } else {
    for (Py_ssize_t i = 0; i < count; i++) to[i] = x[i * step];
  }
}

void hxpy_pack_lines(const hxpy_pack *p, const char *first, hxpy_steps lines, size_t n, bool side_by_side,
                     void *packed) {
  const int inner = p->count - 1;
  const hxpy_steps run = p->run[inner];
  const Py_ssize_t length = (Py_ssize_t)n;
  Py_ssize_t at[PyBUF_MAX_NDIM] = {0};
  element *to = packed;
  for (Py_ssize_t done = 0; done < length; done += run.extent) {
    if (side_by_side) {
      for (Py_ssize_t i = 0; i < run.extent; i++, to += lines.extent)
        copy_run(to, first + i * run.stride, lines.stride, lines.extent);
    } else {
      for (Py_ssize_t l = 0; l < lines.extent; l++)
        copy_run(to + l * length, first + l * lines.stride, run.stride, run.extent);
      to += run.extent;
    }
    for (int r = inner; r-- > 0;) {
      first += p->run[r].stride;
      if (++at[r] < p->run[r].extent) break;
      first -= p->run[r].extent * p->run[r].stride;
      at[r] = 0;
    }
  }
}

void hxpy_pack_next(hxpy_pack_cursor *c, size_t n, void *packed) {
  const int inner = c->pack->count - 1;
  const hxpy_steps run = c->pack->run[inner];
  element *to = packed;
  while (n > 0) {
    const Py_ssize_t left = run.extent - c->index[inner], count = (size_t)left < n ? left : (Py_ssize_t)n;
    copy_run(to, c->at, run.stride, count);
    to += count, n -= (size_t)count;
    c->at += count * run.stride;
    c->index[inner] += count;
    for (int r = inner; r >= 0 && c->index[r] == c->pack->run[r].extent; r--) {
      c->index[r] = 0;
      c->at -= c->pack->run[r].extent * c->pack->run[r].stride;
      if (r > 0) c->index[r - 1]++, c->at += c->pack->run[r - 1].stride;
    }
  }
}
