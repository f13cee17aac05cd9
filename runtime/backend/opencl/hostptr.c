/* SPDX-License-Identifier: Apache-2.0
 * Live buffers over the caller's memory, which devices access in place if they can. */
#include <stdlib.h>

#include "runtime/backend/opencl/cl.h"

/* Returns an entry that contains [first, end), or a new one whose buffer the caller must create (*fresh). NULL: another
 * entry overlaps the range, or there is no memory. Under the lock. */
static hx__cl_hostptr *entry_for(hx__cl_device *d, uintptr_t first, uintptr_t end, bool *fresh) {
  hx__cl_hostptr *found = NULL;
  bool overlaps = false;
  for (hx__cl_hostptr *h = d->hostptrs; h; h = h->next) {
    /* Shared only if the buffer is in place: a driver's copy of the pages may be older than what has been written
     * since. */
    if (h->first <= first && end <= h->end && !h->in_use_after_timeout && !h->pins && atomic_load(&h->mem) &&
        (d->base.zero_copy & 1u << HX__MEMORY_HOSTPTR))
      found = h;
    overlaps = overlaps || (h->first < end && first < h->end);
  }
  *fresh = !found && !overlaps && (found = calloc(1, sizeof *found)) != NULL;
  if (*fresh) {
    found->first = first;
    found->end = end;
    found->next = d->hostptrs;
    d->hostptrs = found;
  }
  if (found) found->users++;
  return found;
}

hx__cl_hostptr *hx__cl_hostptr_get(hx__cl_device *d, const void *p, size_t bytes) {
  const uintptr_t first = (uintptr_t)p & ~(uintptr_t)(HX__CL_PAGE - 1);
  const uintptr_t end = ((uintptr_t)p + bytes + HX__CL_PAGE - 1) & ~(uintptr_t)(HX__CL_PAGE - 1);
  bool fresh;
  if (end - first > d->base.max_alloc) return NULL;
  pthread_mutex_lock(&d->lock);
  hx__cl_hostptr *const found = entry_for(d, first, end, &fresh);
  pthread_mutex_unlock(&d->lock);
  if (!found || !fresh) return found;
  cl_int code;
  cl_mem mem = clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, end - first, (void *)first, &code);
  hx__log(HX__LOG_TRACE, "clCreateBuffer: %zu bytes of host memory in place: %d", (size_t)(end - first), code);
  atomic_store(&found->mem, mem);
  if (mem) return found;
  hx__log(HX__LOG_INFO, "%s: no buffer over host memory: %s (%d)", d->base.name, hx__cl_code_name(code), code);
  hx__cl_hostptr_put(d, found);
  return NULL;
}

void hx__cl_hostptr_share(hx__cl_device *d, hx__cl_hostptr *h) {
  pthread_mutex_lock(&d->lock);
  h->users++;
  pthread_mutex_unlock(&d->lock);
}

void hx__cl_hostptr_timed_out(hx__cl_device *d, hx__cl_hostptr *h) {
  pthread_mutex_lock(&d->lock);
  h->in_use_after_timeout = true;
  pthread_mutex_unlock(&d->lock);
}

/* Releases the buffer before the entry is removed from the list: until then no other buffer may be created there. An
 * entry without a buffer gets no new users, so its last user alone releases it. The decision is made in the same
 * locked section as the count, or two users at once would each leave the buffer to the other. */
void hx__cl_hostptr_put(hx__cl_device *d, hx__cl_hostptr *h) {
  pthread_mutex_lock(&d->lock);
  const bool last = --h->users == 0;
  cl_mem mem = last ? atomic_exchange(&h->mem, NULL) : NULL;
  pthread_mutex_unlock(&d->lock);
  if (mem) clReleaseMemObject(mem);
  if (!last) return;
  pthread_mutex_lock(&d->lock);
  hx__cl_hostptr **at = &d->hostptrs;
  while (*at != h) at = &(*at)->next;
  *at = h->next;
  pthread_mutex_unlock(&d->lock);
  free(h);
}
