/* SPDX-License-Identifier: Apache-2.0
 * Pins the caller's own memory in place: while a buffer over it exists, a discrete GPU copies from it at the full speed
 * of its link. No kernel uses the buffer. Each piece of the range has a buffer of its own, because one driver blocks
 * all other callers while it pins (an H200's: 145 ms for 4 GiB). A write that crosses the end of a buffer is as slow as
 * if nothing were pinned. Such a driver also accepts memory that it cannot pin (mappings of files, read-only memory)
 * and reports no error. So each piece is timed against memory that is certainly pinned. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/backend/opencl/cl.h"
#include "runtime/base/clock.h"

#define LEAST_BYTES ((size_t)1 << 20) /* copying less through the staging ring takes less time than pinning it */
#define PIECE_BYTES ((size_t)64 << 20)
#define TIMED_BYTES LEAST_BYTES
#define TRIES 5
#define SLOWER 2.5 /* times as slow as pinned memory: not pinned, a driver's thread copies (4 times as slow) */
#define POLL_NS 50000u

/* The objects with which pieces are timed. */
typedef struct pin_timer {
  hx__awaited_job *job; /* for which memory is pinned; NULL: none */
  cl_command_queue queue;
  cl_mem to, host;
  void *pinned;
  uint64_t least_ns; /* of a write from `pinned` so far */
} pin_timer;

static uint64_t time_write(const pin_timer *t, const void *from) {
  const uint64_t begin = hx__now_ns();
  return clEnqueueWriteBuffer(t->queue, t->to, CL_TRUE, 0, TIMED_BYTES, from, 0, NULL, NULL) == CL_SUCCESS
             ? hx__now_ns() - begin
             : UINT64_MAX;
}

static void pin_timer_close(pin_timer *t) {
  if (t->pinned) {
    clEnqueueUnmapMemObject(t->queue, t->host, t->pinned, 0, NULL, NULL);
    clFinish(t->queue);
  }
  if (t->host) clReleaseMemObject(t->host);
  if (t->to) clReleaseMemObject(t->to);
  if (t->queue) clReleaseCommandQueue(t->queue);
}

static bool pin_timer_open(hx__cl_device *d, hx__awaited_job *job, pin_timer *t) {
  cl_int code;
  *t = (pin_timer){.job = job, .queue = clCreateCommandQueue(d->context, d->id, 0, &code)};
  if (t->queue) t->to = clCreateBuffer(d->context, CL_MEM_READ_ONLY, TIMED_BYTES, NULL, &code);
  if (t->to) t->host = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, TIMED_BYTES, NULL, &code);
  if (t->host)
    t->pinned = clEnqueueMapBuffer(t->queue, t->host, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, TIMED_BYTES, 0, NULL,
                                   NULL, &code);
  if (!t->pinned) pin_timer_close(t);
  for (int i = 0; i < TRIES && t->pinned; i++) {
    const uint64_t ns = time_write(t, t->pinned);
    if (i == 0 || ns < t->least_ns) t->least_ns = ns;
  }
  return t->pinned;
}

/* Whether the caller's memory may be used until the next driver call has returned. */
static bool is_wanted(const pin_timer *t) { return !t->job || hx__memory_jobs_wanted(t->job); }

ssize_t hx__cl_read_host(void *into, void *from, size_t bytes) {
  const struct iovec target = {into, bytes}, source = {from, bytes};
  return process_vm_readv(getpid(), &target, 1, &source, 1, 0);
}

/* Whether the process can read the memory. If not, a driver's thread that copies from memory it could not pin would
 * crash the process. */
static bool is_readable(const pin_timer *t, void *p) {
  const ssize_t bytes = hx__cl_read_host(t->pinned, p, TIMED_BYTES);
  return bytes == (ssize_t)TIMED_BYTES ||
         (bytes < 0 && errno != EFAULT); /* the call is not allowed, so this is unknown: assumed readable */
}

/* Whether the device copies from there as fast as from pinned memory. One slow write proves little, because other work
 * may use the link or this thread's core. So each write is compared with one from pinned memory just after it. */
static bool is_pinned(pin_timer *t, void *p) {
  if (!is_wanted(t) || !is_readable(t, p)) return false;
  uint64_t here = UINT64_MAX, there = t->least_ns;
  for (int i = 0; i < TRIES && is_wanted(t); i++) {
    const uint64_t ns = time_write(t, p);
    if (ns < here) here = ns;
    if (here != UINT64_MAX && (double)here < SLOWER * (double)there) return true;
    const uint64_t known = time_write(t, t->pinned);
    if (i == 0 || known < there) there = known;
    if (known < t->least_ns) t->least_ns = known;
  }
  return here != UINT64_MAX && (double)here < SLOWER * (double)there;
}

/* Whether a live buffer overlaps the range. Under the lock. */
static bool is_covered(const hx__cl_device *d, uintptr_t first, uintptr_t end) {
  for (const hx__cl_hostptr *h = d->hostptrs; h; h = h->next)
    if (h->first < end && first < h->end) return true;
  return false;
}

/* A buffer over the range that another context has created, or NULL. Under the lock. */
static hx__cl_hostptr *existing_pin(const hx__cl_device *d, uintptr_t first, uintptr_t end) {
  for (hx__cl_hostptr *h = d->hostptrs; h; h = h->next)
    if (h->pins && !h->in_use_after_timeout && atomic_load(&h->mem) && h->first <= first && end <= h->end) {
      h->users++;
      return h;
    }
  return NULL;
}

/* Adds an entry for a buffer over [first, end), without the first or last page if a neighbour's buffer contains it.
 * NULL: too little is left, other buffers overlap it, or there is no memory. Under the lock. */
static hx__cl_hostptr *add_pin(hx__cl_device *d, uintptr_t first, uintptr_t end) {
  if (is_covered(d, first, first + HX__CL_PAGE)) first += HX__CL_PAGE;
  if (is_covered(d, end - HX__CL_PAGE, end)) end -= HX__CL_PAGE;
  if (first + TIMED_BYTES > end || is_covered(d, first, end)) return NULL;
  hx__cl_hostptr *const h = calloc(1, sizeof *h);
  if (!h) return NULL;
  *h = (hx__cl_hostptr){.first = first, .end = end, .users = 1, .pins = true, .next = d->hostptrs};
  return d->hostptrs = h;
}

static hx__cl_hostptr *pin_piece(hx__cl_device *d, pin_timer *t, uintptr_t first, uintptr_t end) {
  pthread_mutex_lock(&d->lock);
  hx__cl_hostptr *h = existing_pin(d, first, end);
  hx__cl_hostptr *const fresh = h ? NULL : add_pin(d, first, end);
  pthread_mutex_unlock(&d->lock);
  if (!fresh) return h;
  cl_int code;
  void *const p = (void *)fresh->first;
  cl_mem mem = clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, fresh->end - fresh->first, p, &code);
  atomic_store(&fresh->mem, mem);
  const bool pinned = mem && is_pinned(t, p);
  hx__log(HX__LOG_TRACE, "clCreateBuffer: %zu bytes of host memory to pin: %d%s", (size_t)(fresh->end - fresh->first),
          code, mem && !pinned ? ", but they are not pinned" : "");
  if (pinned) return fresh;
  hx__cl_hostptr_put(d, fresh);
  return NULL;
}

/* The size of all pieces but the last, which may be nearly twice as large. */
static size_t piece_bytes(const hx__cl_device *d) {
  const size_t half = (size_t)d->base.max_alloc / 2 & ~(size_t)(HX__CL_PAGE - 1);
  return half < PIECE_BYTES ? half : PIECE_BYTES;
}

static size_t pin_pieces(hx__cl_device *d, pin_timer *t, uintptr_t first, uintptr_t end, hx__cl_block *b) {
  size_t bytes = 0;
  const size_t piece = piece_bytes(d);
  for (uintptr_t at = first, next; at < end && is_wanted(t); at = next) {
    next = end - at < 2 * piece ? end : at + piece;
    hx__cl_hostptr *const h = atomic_load(&d->base.lost) ? NULL : pin_piece(d, t, at, next);
    if (h) b->piece[b->pieces++] = h;
    if (h) bytes += (h->end < next ? h->end : next) - (h->first > at ? h->first : at);
    if (next < end) hx__sleep_ns(POLL_NS); /* lets threads in that wait for the driver */
  }
  return bytes;
}

void *hx__cl_pin(hx__device *device, void *p, size_t bytes, hx__awaited_job *job) {
  hx__cl_device *const d = (hx__cl_device *)device;
  const uintptr_t first = (uintptr_t)p & ~(uintptr_t)(HX__CL_PAGE - 1);
  const uintptr_t end = ((uintptr_t)p + bytes + HX__CL_PAGE - 1) & ~(uintptr_t)(HX__CL_PAGE - 1);
  const uint64_t from = hx__now_ns();
  pin_timer t;
  if (device->kind != HX_GPU || bytes < LEAST_BYTES || piece_bytes(d) < TIMED_BYTES || end < first ||
      atomic_load(&device->lost))
    return NULL;
  hx__cl_block *const b = calloc(1, sizeof *b);
  if (b) b->piece = calloc((end - first) / piece_bytes(d) + 1, sizeof *b->piece);
  size_t pinned = 0;
  if (b && b->piece && pin_timer_open(d, job, &t)) {
    pinned = pin_pieces(d, &t, first, end, b);
    pin_timer_close(&t);
  }
  const bool all = pinned >= bytes;
  hx__log(all ? HX__LOG_DEBUG : HX__LOG_INFO, "%s: %zu bytes of %zu at %p pinned in %.1f ms%s", device->name, pinned,
          end - first, p, (double)(hx__now_ns() - from) * 1e-6, all ? "" : "; the rest goes through the ring");
  if (pinned) {
    b->p = p;
    b->bytes = bytes;
    b->mode = HX__MEMORY_COPY;
    return b;
  }
  if (b) free(b->piece);
  free(b);
  return NULL;
}

void hx__cl_unpin(hx__cl_device *d, hx__cl_block *b) {
  for (size_t i = 0; i < b->pieces && !atomic_load(&d->base.lost); i++) hx__cl_hostptr_put(d, b->piece[i]);
  free(b->piece);
}

void hx__cl_pin_timed_out(hx__cl_device *d, const hx__cl_block *b) {
  for (size_t i = 0; i < b->pieces; i++) hx__cl_hostptr_timed_out(d, b->piece[i]);
}

size_t hx__cl_direct_bytes(const hx__cl_block *b, const void *p, bool *direct) {
  const uintptr_t at = (uintptr_t)p;
  size_t low = 0, high = b->pieces;
  *direct = true;
  if (!b->piece) return SIZE_MAX;
  while (low < high) { /* finds the first piece that ends after p */
    const size_t middle = low + (high - low) / 2;
    if (b->piece[middle]->end > at)
      high = middle;
    else
      low = middle + 1;
  }
  *direct = low < b->pieces && b->piece[low]->first <= at;
  if (low == b->pieces) return SIZE_MAX;
  return (*direct ? b->piece[low]->end : b->piece[low]->first) - at;
}
