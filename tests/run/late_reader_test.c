/* SPDX-License-Identifier: Apache-2.0
 * A device's chunk times out, and the thread that would see its end is given up inside the driver. Nothing then
 * shows when the chunk stops reading memory of hx_alloc, so that memory stays allocated although the program has freed
 * it, even after a later chunk of the device, on a new stream, has timed out and ended. No driver is used. */
#include <semaphore.h>
#include <unistd.h>

#include "runtime/backend/gate.h"
#include "runtime/base/thread.h"
#include "runtime/run/device_table.h"
#include "runtime/task/check.h"
#include "tests/check.h"

enum { N = 4096 };

static const uint64_t long_ns = 60000000000;
static hx__stream streams[2]; /* of the thread that is given up, and of the one after it */
static sem_t asks, answers;   /* the first thread asks the driver for the state of its chunk; the driver answers */
static unsigned opened, freed;

static hx__stream *stream_open(hx__device *device, const hx__config *config) {
  (void)config;
  if (opened == 2) return NULL;
  streams[opened].device = device;
  return &streams[opened++];
}

static void stream_close(hx__stream *stream) { (void)stream; }

static bool recovered(hx__stream *stream) {
  if (stream == &streams[0] && hx__gate_enter("clGetEventInfo")) {
    sem_post(&asks);
    sem_wait(&answers);
    hx__gate_leave(NULL, NULL);
  }
  stream->timed_out = false;
  return true;
}

static void *block_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, uint64_t limit_ns, void **block) {
  (void)device, (void)mode, (void)limit_ns;
  return *block = aligned_alloc(4096, bytes);
}

static void block_free(hx__device *device, uint64_t limit_ns, void *block) {
  (void)device, (void)limit_ns;
  free(block);
  freed++;
}

static const hx__backend_recovery recovery = {.recovered = recovered};
static const hx__backend_memory block_memory = {.alloc = block_alloc, .free = block_free};
static const hx__backend backend = {
    .name = "late", .open = stream_open, .close = stream_close, .recovery = &recovery, .memory = &block_memory};
static hx__device device = {
    .backend = &backend, .name = "late", .modes = 1u << HX__MEMORY_COPY, .ready = HX__NEED_OPEN};

static const hx__config config = {.timeout_ms = HX__TIMEOUT_AUTO};
static hx__memory memory;
static hx__device_table table = {.config = &config, .memory = &memory, .entries = 1};

static float *block_of_floats(void) {
  hx__device *const devices[] = {&device};
  float *const p = hx__memory_alloc(&memory, devices, 1, N * sizeof *p);
  if (!p) exit(1);
  return p;
}

/* A run whose only chunk times out while it reads the array. */
static void time_out(hx__device_entry *entry, void *array) {
  hx__array arrays[2];
  hx__work work;
  hx_value sum;
  const hx_task t = hx_reduce(HX_SUM, HX_F32, array, N, &sum);
  hx__stream *const stream = hx__device_entry_stream(entry, &table, false);
  CHECK_OK(hx__task_check(&t, &work));
  CHECK(stream, "no stream");
  hx__memory_resolve(&memory, &device, &work, arrays);
  if (stream) stream->timed_out = true;
  hx__memory_release(&memory, &device, &work, arrays, true);
}

static void do_nothing(hx__device_entry *entry, void *unused) { (void)entry, (void)unused; }

static bool run(void (*job)(hx__device_entry *entry, void *arg), void *arg, uint64_t limit_ns) {
  hx__device_entry *const entry = &table.entry[0];
  hx__device_entry_acquire(entry, true);
  const bool started = hx__device_entry_start_job(entry, &table, job, arg, false);
  CHECK(started, "no thread");
  const bool ended = started && hx__device_entry_wait_job(entry, limit_ns);
  hx__device_entry_release(entry);
  return ended;
}

int main(void) {
  alarm(60);
  sem_init(&asks, 0, 0);
  sem_init(&answers, 0, 0);
  hx__memory_init(&memory, &config);
  table.entry[0].device = &device;
  pthread_mutex_init(&table.entry[0].lock, NULL);
  hx__cond_init(&table.entry[0].changed);
  float *const first = block_of_floats(), *const second = block_of_floats();
  CHECK(run(time_out, first, long_ns), "the first thread was given up too early");
  sem_wait(&asks);
  CHECK(hx__memory_free(&memory, first), "not a block");
  CHECK(freed == 0, "a block is freed while a chunk that has timed out reads it");
  CHECK(!run(do_nothing, NULL, 1000000), "the first thread was not given up");
  sem_post(&answers); /* the call has returned: the device may have another thread */
  while (atomic_load(&device.stuck_threads)) sched_yield();
  CHECK(run(time_out, second, long_ns), "the second thread was given up");
  CHECK(run(do_nothing, NULL, long_ns), "the second thread was given up");
  CHECK(hx__memory_free(&memory, second), "not a block");
  hx__device_entry_close(&table.entry[0], long_ns); /* sees the end of the second chunk at the latest */
  CHECK(opened == 2 && !streams[1].timed_out, "the second chunk has not ended");
  CHECK(freed == 1, "%u blocks were freed; nothing has shown that the first chunk has ended", freed);
  hx__memory_destroy(&memory);
  if (freed == 1) free(first); /* for the search for leaks */
  return checks_end("late_reader_test");
}
