/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer that makes a CPU device look like a card with memory of its own, and counts which memory of the host
 * is pinned for it (by buffers over that memory), and how much is written to the device from pinned and from other
 * memory. pin_layer.h has the counters, and the settings that a test can change. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "tests/layers/card.h"
#include "tests/layers/pin_layer.h"

#define LEAST_BYTES ((size_t)1 << 20)
#define PINS 256
#define SLOW_NS 30000000

LAYER_EXPORT layer_pins_t layer_pins;

typedef struct pin {
  cl_mem mem;
  uintptr_t first, end;
} pin;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pin pins[PINS];

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *err) {
  const bool own_block = flags & CL_MEM_READ_WRITE; /* of hx: it is written, too */
  const bool pin_of_host = (flags & CL_MEM_USE_HOST_PTR) && !own_block && size >= LEAST_BYTES;
  if (pin_of_host && layer_pins.refuse) {
    if (err) *err = CL_INVALID_HOST_PTR;
    return NULL;
  }
  cl_mem mem = next.clCreateBuffer(context, flags, size, host, err);
  if (!mem || !pin_of_host) return mem;
  pthread_mutex_lock(&lock);
  pin *p = pins;
  while (p->mem) p++; /* a test that makes more buffers crashes here */
  *p = (pin){mem, (uintptr_t)host, (uintptr_t)host + size};
  layer_pins.made++;
  layer_pins.live++;
  layer_pins.live_bytes += size;
  pthread_mutex_unlock(&lock);
  return mem;
}

static cl_int CL_API_CALL release_mem(cl_mem mem) {
  pthread_mutex_lock(&lock);
  for (pin *p = pins; p < pins + PINS; p++)
    if (p->mem == mem) {
      p->mem = NULL;
      layer_pins.live--;
      layer_pins.live_bytes -= p->end - p->first;
    }
  pthread_mutex_unlock(&lock);
  return next.clReleaseMemObject(mem);
}

/* Counts a write; returns whether it reads pinned memory. */
static bool count_write(const void *from, size_t extent, size_t bytes, cl_bool blocking) {
  const uintptr_t first = (uintptr_t)from, end = first + extent;
  bool inside = false, meets = false;
  pthread_mutex_lock(&lock);
  for (const pin *p = pins; p < pins + PINS; p++) {
    inside = inside || (p->mem && p->first <= first && end <= p->end);
    meets = meets || (p->mem && p->first < end && first < p->end);
  }
  if (!blocking) *(inside ? &layer_pins.from_pinned : meets ? &layer_pins.across : &layer_pins.from_else) += bytes;
  pthread_mutex_unlock(&lock);
  return inside;
}

typedef struct gate {
  cl_event event;
  unsigned ms;
} gate;

static void *open_gate(void *p) {
  const gate g = *(gate *)p;
  free(p);
  nanosleep(&(struct timespec){(time_t)(g.ms / 1000), (long)(g.ms % 1000) * 1000000}, NULL);
  next.clSetUserEventStatus(g.event, CL_COMPLETE);
  next.clReleaseEvent(g.event);
  return NULL;
}

/* An event that completes after this time, or NULL. */
static cl_event delayed_event(cl_command_queue queue, unsigned ms) {
  cl_context context;
  pthread_t thread;
  cl_int err = next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  gate *const g = err == CL_SUCCESS ? malloc(sizeof *g) : NULL;
  if (!g) return NULL;
  *g = (gate){next.clCreateUserEvent(context, &err), ms};
  const cl_event event = g->event;
  if (err != CL_SUCCESS || pthread_create(&thread, NULL, open_gate, g) != 0) return NULL;
  pthread_detach(thread);
  return event;
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t size,
                                       const void *from, cl_uint waits, const cl_event *wait, cl_event *event) {
  const bool pinned = count_write(from, size, size, blocking);
  if (pinned && blocking && layer_pins.slow) nanosleep(&(struct timespec){0, SLOW_NS}, NULL);
  const unsigned drag = !pinned && !blocking && size >= LEAST_BYTES ? layer_pins.drag_ms : 0;
  if (drag) nanosleep(&(struct timespec){0, (long)drag * 1000000}, NULL);
  const unsigned ms = pinned && !blocking && waits == 0 ? atomic_exchange(&layer_pins.stall_ms, 0) : 0;
  const cl_event late = ms ? delayed_event(queue, ms) : NULL;
  return next.clEnqueueWriteBuffer(queue, mem, blocking, offset, size, from, late ? 1 : waits, late ? &late : wait,
                                   event);
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *to,
                                     const size_t *from, const size_t *region, size_t to_pitch, size_t to_slice,
                                     size_t pitch, size_t slice, const void *p, cl_uint waits, const cl_event *wait,
                                     cl_event *event) {
  count_write(p, (region[1] - 1) * pitch + region[0], region[0] * region[1], blocking);
  return next.clEnqueueWriteBufferRect(queue, mem, blocking, to, from, region, to_pitch, to_slice, pitch, slice, p,
                                       waits, wait, event);
}

static const char *layer_name(void) { return "hx pins"; }

static void layer_fill(void) {
  mine.clGetDeviceInfo = card_info;
  mine.clCreateBuffer = create_buffer;
  mine.clReleaseMemObject = release_mem;
  mine.clEnqueueWriteBuffer = write_buffer;
  mine.clEnqueueWriteBufferRect = write_rect;
}
