/* SPDX-License-Identifier: Apache-2.0
 * Buffers over the caller's memory that threads share: each is released once, by its last user, and no two of them ever
 * overlap (overlapping buffers over host memory are undefined in OpenCL). No driver is used: creating and releasing a
 * buffer only checks this. First two threads stop after the first locked section in which each gives the buffer back,
 * until both are there; then four threads use buffers at about the same time. */
#include <pthread.h>
#include <stdint.h>

#include "runtime/backend/opencl/cl.h"
#include "tests/check.h"

enum { THREADS = 4, ROUNDS = 3000, PAGES = 16 };

static unsigned char memory[(PAGES + 1) * HX__CL_PAGE];
static hx__cl_device device;
static pthread_barrier_t start;

/* A buffer is the pages that it covers. */
typedef struct buffer {
  size_t first, end;
} buffer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool covered[PAGES + 1];
static unsigned created, released;

cl_mem __wrap_hx__clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code);
cl_mem __wrap_hx__clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code) {
  (void)context;
  CHECK((flags & CL_MEM_USE_HOST_PTR) != 0, "a buffer of another kind");
  buffer *const b = malloc(sizeof *b);
  if (!b) abort();
  b->first = (size_t)((unsigned char *)host - memory + HX__CL_PAGE - 1) / HX__CL_PAGE;
  b->end = b->first + size / HX__CL_PAGE;
  unsigned overlaps = 0;
  pthread_mutex_lock(&lock);
  for (size_t i = b->first; i < b->end; i++) {
    overlaps += covered[i];
    covered[i] = true;
  }
  created++;
  pthread_mutex_unlock(&lock);
  CHECK(overlaps == 0, "%u pages belong to a live buffer", overlaps);
  *code = CL_SUCCESS;
  return (cl_mem)b;
}

cl_int __wrap_hx__clReleaseMemObject(cl_mem mem);
cl_int __wrap_hx__clReleaseMemObject(cl_mem mem) {
  buffer *const b = (buffer *)mem;
  pthread_mutex_lock(&lock);
  for (size_t i = b->first; i < b->end; i++) covered[i] = false;
  released++;
  pthread_mutex_unlock(&lock);
  free(b);
  return CL_SUCCESS;
}

static pthread_barrier_t both;
static _Thread_local bool stops; /* after the next locked section */

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  const int status = __real_pthread_mutex_unlock(mutex);
  if (mutex == &device.lock && stops) {
    stops = false;
    pthread_barrier_wait(&both);
  }
  return status;
}

static uintptr_t first_page(void) { return ((uintptr_t)memory + HX__CL_PAGE - 1) & ~(uintptr_t)(HX__CL_PAGE - 1); }

static void *give_back(void *hostptr) {
  stops = true;
  hx__cl_hostptr_put(&device, hostptr);
  return NULL;
}

static void give_back_at_once(void) {
  pthread_t thread[2];
  hx__cl_hostptr *const h = hx__cl_hostptr_get(&device, (void *)first_page(), HX__CL_PAGE);
  if (!h) exit(1);
  hx__cl_hostptr_share(&device, h);
  pthread_barrier_init(&both, NULL, 2);
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&thread[i], NULL, give_back, h) == 0, "no thread");
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  CHECK(created == 1 && released == 1, "%u buffers were created and %u released", created, released);
}

static void *use_buffers(void *unused) {
  (void)unused;
  for (unsigned round = 0; round < ROUNDS; round++) {
    /* All pages, then a part of them: if the first buffer is left over, the second one overlaps it. */
    const size_t bytes = (round & 1 ? PAGES / 4 : PAGES) * HX__CL_PAGE;
    pthread_barrier_wait(&start);
    hx__cl_hostptr *const h =
        hx__cl_hostptr_get(&device, (void *)first_page(), bytes); /* NULL: one is just being released */
    pthread_barrier_wait(&start);
    if (!h) continue;
    if (round & 2) {
      hx__cl_hostptr_share(&device, h);
      hx__cl_hostptr_put(&device, h);
    }
    hx__cl_hostptr_put(&device, h);
  }
  return NULL;
}

int main(void) {
  pthread_t thread[THREADS];
  device.base.max_alloc = sizeof memory;
  device.base.zero_copy = 1u << HX__MEMORY_HOSTPTR;
  pthread_mutex_init(&device.lock, NULL);
  pthread_barrier_init(&start, NULL, THREADS);
  give_back_at_once();
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&thread[i], NULL, use_buffers, NULL) == 0, "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  CHECK(device.hostptrs == NULL, "an entry is left");
  CHECK(created >= ROUNDS / 2, "only %u buffers were created", created);
  CHECK(released == created, "%u buffers were created and %u released", created, released);
  return checks_end("hostptr_test");
}
