/* SPDX-License-Identifier: Apache-2.0
 * Memory that is pinned on the device's memory thread, and a driver call there that takes longer than hx_register
 * waits for. The program may end hx_register then and free the memory, so the thread touches it no more once the call
 * has returned. Memory that is unpinned while the thread hangs is unpinned once it goes on. No driver is used: the
 * calls show which memory they get. */
#include <semaphore.h>
#include <stdint.h>

#include "runtime/backend/gate.h"
#include "runtime/backend/opencl/cl.h"
#include "runtime/base/clock.h"
#include "tests/check.h"

enum { PIECES = 3, PIECE = 2 << 20, BYTES = PIECES * PIECE };

static char object; /* every object of the driver */
static unsigned char memory[BYTES + HX__CL_PAGE];
static const char *hangs;               /* the entry that takes long; NULL: none */
static unsigned calls;                  /* of that entry with the memory, until it takes long */
static _Atomic bool gone;               /* The program has its memory back. */
static _Atomic unsigned touched;        /* calls with the memory after that */
static _Atomic unsigned created, freed; /* buffers over it */
static sem_t goes_on;

static bool is_memory(const void *p) {
  return (const unsigned char *)p >= memory && (const unsigned char *)p < memory + sizeof memory;
}

/* A driver call with this memory of the host. */
static void call_driver(const char *entry, const void *p) {
  if (!is_memory(p)) return;
  touched += atomic_load(&gone);
  if (!hangs || strcmp(entry, hangs) != 0 || calls-- != 1) return;
  CHECK(hx__gate_enter(entry), "the gate is closed");
  sem_wait(&goes_on);
  hx__gate_leave(NULL, NULL);
}

cl_command_queue __wrap_hx__clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties p,
                                                 cl_int *err);
cl_command_queue __wrap_hx__clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties p,
                                                 cl_int *err) {
  (void)c, (void)d, (void)p;
  *err = CL_SUCCESS;
  return (cl_command_queue)(void *)&object;
}

/* A buffer over the memory is where it begins, so that it is known again. */
cl_mem __wrap_hx__clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *err);
cl_mem __wrap_hx__clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *err) {
  (void)context, (void)flags, (void)size;
  call_driver("clCreateBuffer", host);
  created += is_memory(host);
  *err = CL_SUCCESS;
  return (cl_mem)(host ? host : &object);
}

void *__wrap_hx__clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s,
                                    HX__CL_WAITS, cl_int *err);
void *__wrap_hx__clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s,
                                    HX__CL_WAITS, cl_int *err) {
  static unsigned char pinned[PIECE];
  (void)q, (void)m, (void)b, (void)f, (void)o, (void)s, (void)n, (void)w, (void)e;
  *err = CL_SUCCESS;
  return pinned;
}

cl_int __wrap_hx__clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p,
                                       HX__CL_WAITS);
cl_int __wrap_hx__clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p,
                                       HX__CL_WAITS) {
  (void)q, (void)m, (void)b, (void)o, (void)s, (void)n, (void)w, (void)e;
  call_driver("clEnqueueWriteBuffer", p);
  if (!is_memory(p))
    hx__sleep_ns(1000000); /* of pinned memory, so that writes from the memory are not slow beside it */
  return CL_SUCCESS;
}

cl_int __wrap_hx__clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *p, HX__CL_WAITS);
cl_int __wrap_hx__clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *p, HX__CL_WAITS) {
  (void)q, (void)m, (void)p, (void)n, (void)w, (void)e;
  return CL_SUCCESS;
}

cl_int __wrap_hx__clReleaseMemObject(cl_mem mem);
cl_int __wrap_hx__clReleaseMemObject(cl_mem mem) {
  freed += is_memory(mem);
  return CL_SUCCESS;
}

cl_int __wrap_hx__clFinish(cl_command_queue q);
cl_int __wrap_hx__clFinish(cl_command_queue q) { return (void)q, CL_SUCCESS; }
cl_int __wrap_hx__clReleaseCommandQueue(cl_command_queue q);
cl_int __wrap_hx__clReleaseCommandQueue(cl_command_queue q) { return (void)q, CL_SUCCESS; }

static hx__cl_device device = {
    .base = {.backend = &hx__opencl_backend, .kind = HX_GPU, .max_alloc = 2 * PIECE, .memory_bytes = 1 << 30}};

static void *page(void) { return (void *)(((uintptr_t)memory + HX__CL_PAGE - 1) & ~(uintptr_t)(HX__CL_PAGE - 1)); }

/* The call number `nth` of this entry with the memory takes too long. */
static void give_up_at(const char *entry, unsigned nth) {
  const uint64_t limit_ns = 5000000, all_ns = 20000000000;
  hangs = entry;
  calls = nth;
  touched = created = freed = 0;
  void *const block = hx__cl_job_pin(&device.base, page(), BYTES, limit_ns);
  CHECK(!block, "%s %u: the memory is pinned", entry, nth);
  atomic_store(&gone, true); /* hx_unregister would return now, because the range is not pinned */
  sem_post(&goes_on);
  while (hx__gate_inside(&device.jobs.gate, NULL)) sched_yield();
  hx__cl_jobs_settle(&device.base, all_ns);
  CHECK(touched == 0, "%s %u: %u driver calls got memory that may have been freed", entry, nth, touched);
  CHECK(created && freed == created, "%s %u: %u buffers of %u were released", entry, nth, freed, created);
  CHECK(!device.hostptrs, "%s %u: an entry is left", entry, nth);
  atomic_store(&gone, false);
  hangs = NULL;
}

/* Memory that is pinned is given back while the thread hangs with other memory: when it goes on, the buffers over the
 * first one are released, so that memory which the program puts there later is pinned anew. */
static void unpin_while_it_hangs(void) {
  const uint64_t limit_ns = 5000000, all_ns = 20000000000;
  unsigned char *const second = (unsigned char *)page() + BYTES / 2;
  created = freed = 0;
  void *const block = hx__cl_job_pin(&device.base, page(), BYTES / 2, UINT64_MAX);
  const unsigned first = created;
  CHECK(block && first, "the first memory is not pinned");
  hangs = "clCreateBuffer";
  calls = 1;
  CHECK(!hx__cl_job_pin(&device.base, second, BYTES / 2, limit_ns), "the second memory is pinned");
  if (block) hx__cl_job_free(&device.base, limit_ns, block);
  CHECK(freed == 0, "a buffer is released by a thread that hangs");
  sem_post(&goes_on);
  while (hx__gate_inside(&device.jobs.gate, NULL)) sched_yield();
  hx__cl_jobs_settle(&device.base, all_ns);
  CHECK(freed == created, "%u buffers of %u were released", freed, created);
  CHECK(!device.hostptrs, "an entry is left");
  hangs = NULL;
  void *const again = hx__cl_job_pin(&device.base, page(), BYTES / 2, UINT64_MAX);
  CHECK(again && created == 2 * first + 1, "the old buffers count for the new memory");
  if (again) hx__cl_job_free(&device.base, UINT64_MAX, again);
}

int main(void) {
  sem_init(&goes_on, 0, 0);
  pthread_mutex_init(&device.lock, NULL);
  hx__memory_jobs_init(&device.jobs, &device.base);
  void *const block = hx__cl_job_pin(&device.base, page(), BYTES, UINT64_MAX);
  CHECK(block, "the memory is not pinned");
  if (block) hx__cl_job_free(&device.base, UINT64_MAX, block);
  CHECK(freed == PIECES, "%u buffers of %d were released", freed, PIECES);
  for (unsigned nth = 1; nth <= PIECES; nth++) {
    give_up_at("clCreateBuffer", nth);
    give_up_at("clEnqueueWriteBuffer", nth);
  }
  unpin_while_it_hangs();
  return checks_end("pin_given_up_test");
}
