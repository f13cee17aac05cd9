/* SPDX-License-Identifier: Apache-2.0
 * Memory that is pinned for devices that copy: registered ranges, and blocks of hx_alloc that another device or malloc
 * provided. Pinning takes a discrete GPU about 35 ms per GiB, so it is done in calls that wait anyway, or on a thread.
 * A run uses the pins that exist when it begins. */
#include "runtime/memory/pins.h"

#include <stdlib.h>

#include "runtime/base/thread.h"
#include "runtime/memory/known.h"

struct hx__pin {
  hx__pin *next;
  hx__device *device;
  void *block; /* NULL: the device has refused, or the pin is not made yet */
  bool made;   /* set once */
};

static const hx__pin *pin_for(const hx__range *r, const hx__device *d) {
  const hx__pin *p = r->pins;
  while (p && p->device != d) p = p->next;
  return p;
}

void *hx__pin_of(const hx__range *r, const hx__device *d) {
  const hx__pin *const p = pin_for(r, d);
  return p ? p->block : NULL;
}

bool hx__range_is_pinned(const hx__range *r) {
  for (const hx__pin *p = r->pins; p; p = p->next)
    if (p->block) return true;
  return false;
}

bool hx__pins_busy(const hx__range *r) {
  bool busy = r->pin_users != 0;
  for (const hx__pin *p = r->pins; p && !busy; p = p->next) busy = !p->made;
  return busy;
}

void hx__pins_free(const hx__memory *m, hx__range *r) {
  for (hx__pin *p = r->pins, *next; p && !hx__in_forked_child(); p = next) {
    next = p->next;
    if (p->block && !r->leaked) p->device->backend->memory->free(p->device, m->limit_ns, p->block);
    free(p);
  }
  r->pins = NULL;
}

/* The devices that can pin memory now, as bits by their indices. */
static uint32_t pinning_devices(hx__device *const *devices, size_t count) {
  uint32_t bits = 0;
  for (size_t i = 0; i < count; i++) {
    const hx__device *const d = devices[i];
    const bool can = d->backend->memory && d->backend->memory->pin;
    if (can && !atomic_load(&d->lost) && (atomic_load(&d->ready) & HX__NEED_OPEN)) bits |= 1u << i;
  }
  return bits;
}

static bool is_to_pin(const hx__memory *m, const hx__range *r, const hx__device *d) {
  return !(r->block && r->device == d) && !pin_for(r, d) && hx__mode_of(m, d, r) == HX__MEMORY_COPY;
}

/* The next range that a device should pin, and the device; NULL: there is none. Requires the lock. devices: always the
 * same ones of a context. Every call with devices comes here, so the result "nothing is left to pin" is remembered. */
static hx__range *next_to_pin(hx__memory *m, hx__device *const *devices, size_t count, hx__device **device) {
  const uint32_t bits = pinning_devices(devices, count);
  if (!bits || (m->pinned.added == m->added && !(bits & ~m->pinned.devices))) return NULL;
  for (size_t i = 0; i < m->known_count; i++)
    for (uint32_t left = bits; left; left &= left - 1) {
      *device = devices[__builtin_ctz(left)];
      if (is_to_pin(m, m->known[i], *device)) return m->known[i];
    }
  m->pinned = (hx__pinned){m->added, bits};
  return NULL;
}

/* A new entry in the list of the range's pins, which is not made yet; NULL: no memory. */
static hx__pin *add_pin(hx__range *r, hx__device *d) {
  hx__pin *const p = calloc(1, sizeof *p);
  if (!p) return NULL;
  *p = (hx__pin){.next = r->pins, .device = d};
  r->pins = p;
  return p;
}

static void pin_all(hx__memory *m, hx__device *const *devices, size_t count) {
  hx__range *r;
  hx__device *d;
  hx__lock(&m->lock);
  for (hx__pin *p; (r = next_to_pin(m, devices, count, &d)) != NULL && (p = add_pin(r, d)) != NULL;) {
    hx__unlock(&m->lock); /* the range is not freed while it is busy */
    void *const block = d->backend->memory->pin(d, r->p, r->bytes, m->limit_ns);
    hx__lock(&m->lock);
    p->block = block;
    p->made = true;
    pthread_cond_broadcast(&m->changed);
  }
  hx__unlock(&m->lock);
}

void hx__memory_pin(hx__memory *m, hx__device *const *devices, size_t count) {
  if (hx__in_forked_child()) return;
  pin_all(m, devices, count);
  hx__lock(&m->lock); /* wait for what another thread has begun */
  while (m->pinning) pthread_cond_wait(&m->changed, &m->lock);
  hx__unlock(&m->lock);
}

typedef struct pin_job {
  hx__memory *memory;
  size_t count;
  hx__device *devices[HX_MAX_DEVICES];
} pin_job;

static void *pin_thread(void *p) {
  pin_job *const e = p;
  hx__memory *const m = e->memory;
  if (hx__driver_enter()) {
    pin_all(m, e->devices, e->count);
    hx__driver_leave();
  }
  free(e);
  hx__lock(&m->lock);
  m->pinning = false;
  pthread_cond_broadcast(&m->changed);
  hx__unlock(&m->lock);
  return NULL;
}

void hx__memory_pin_async(hx__memory *m, hx__device *const *devices, size_t count) {
  if (hx__in_forked_child()) return;
  hx__device *d;
  pin_job *e = NULL;
  hx__lock(&m->lock);
  if (!m->pinning && next_to_pin(m, devices, count, &d)) e = malloc(sizeof *e);
  m->pinning = m->pinning || e;
  hx__unlock(&m->lock);
  if (!e) return;
  *e = (pin_job){.memory = m, .count = count};
  for (size_t i = 0; i < count; i++) e->devices[i] = devices[i];
  pthread_t thread;
  if (hx__thread_start(&thread, pin_thread, e) == 0)
    pthread_detach(thread);
  else
    pin_thread(e);
}
