/* SPDX-License-Identifier: Apache-2.0
 * Live buffers over the caller's memory. */
#include <stdlib.h>

#include "runtime/backend/opencl/cl.h"

hx__cl_hostptr *hx__cl_hostptr_get(hx__cl_device *d, const void *p, size_t bytes) {
  const uintptr_t first = (uintptr_t)p & ~(uintptr_t)(HX__CL_PAGE - 1);
  const uintptr_t end = ((uintptr_t)p + bytes + HX__CL_PAGE - 1) & ~(uintptr_t)(HX__CL_PAGE - 1);
  if (end - first > d->max_alloc) return NULL;
  hx__cl_hostptr *found = NULL;
  bool overlaps = false;
  pthread_mutex_lock(&d->lock);
  for (hx__cl_hostptr *h = d->hostptrs; h; h = h->next) {
    /* A copy that the driver made may be older than what a neighbour in the same page has become since. */
    if (h->first <= first && end <= h->end && !h->late && !h->pins && (d->base.zero_copy & 1u << HX__MEMORY_HOSTPTR))
      found = h;
    overlaps = overlaps || (h->first < end && first < h->end);
  }
  if (!found && !overlaps && (found = calloc(1, sizeof *found)) != NULL) {
    cl_int code;
    found->mem = clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, end - first, (void *)first, &code);
    hx__log(HX__LOG_TRACE, "clCreateBuffer: %zu bytes of host memory in place: %d", (size_t)(end - first), code);
    if (!found->mem) {
      hx__log(HX__LOG_INFO, "%s: no buffer over host memory: %s (%d)", d->base.name, hx__cl_code_name(code), code);
      free(found);
      found = NULL;
    } else {
      found->first = first;
      found->end = end;
      found->next = d->hostptrs;
      d->hostptrs = found;
    }
  }
  if (found) found->users++;
  pthread_mutex_unlock(&d->lock);
  return found;
}

void hx__cl_hostptr_share(hx__cl_device *d, hx__cl_hostptr *h) {
  pthread_mutex_lock(&d->lock);
  h->users++;
  pthread_mutex_unlock(&d->lock);
}

void hx__cl_hostptr_late(hx__cl_device *d, hx__cl_hostptr *h) {
  pthread_mutex_lock(&d->lock);
  h->late = true;
  pthread_mutex_unlock(&d->lock);
}

void hx__cl_hostptr_put(hx__cl_device *d, hx__cl_hostptr *h) {
  pthread_mutex_lock(&d->lock);
  if (--h->users == 0) {
    for (hx__cl_hostptr **at = &d->hostptrs; *at; at = &(*at)->next)
      if (*at == h) {
        *at = h->next;
        break;
      }
    if (h->mem) clReleaseMemObject(h->mem);
    free(h);
  }
  pthread_mutex_unlock(&d->lock);
}
