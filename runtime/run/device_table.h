/* SPDX-License-Identifier: Apache-2.0
 * The devices of a context, each with its stream and its worker. The worker is a thread that sleeps until it gets a job
 * and is the only one that uses the stream. If it hangs in a driver call, it is given up together with the stream. */
#ifndef HX_RUN_DEVICE_TABLE_H
#define HX_RUN_DEVICE_TABLE_H

#include <pthread.h>

#include "runtime/backend/backend.h"
#include "runtime/base/trace.h"
#include "runtime/memory/memory.h"

typedef struct hx__device_entry {
  hx__device *device;
  uint64_t identity;            /* a hash of its name and driver, the same in every process */
  _Atomic uint64_t used_ns;     /* when its last chunk ended */
  _Atomic uint64_t job_ends_ns; /* when the current job is expected to end; 0: not known yet */
  bool selected;                /* by HX_DEVICES and HX_OFFLOAD */
  bool owned;                   /* a simulated device, freed with the context */

  pthread_mutex_t lock; /* protects the next three */
  pthread_cond_t changed;
  bool in_use;
  uint64_t asked, served; /* Calls that wait for the entry are numbered and get it in that order. */

  struct hx__device_worker *worker; /* of the call that has the entry; NULL: not started yet, or given up */

  /* Used by the worker alone. */
  hx__stream *stream;            /* NULL until its first job */
  double store_ns;               /* to store one byte of results; 0: not measured yet */
  uint64_t stream_wait_until_ns; /* until when the next job waits for a chunk that timed out to end */
} hx__device_entry;

typedef struct hx__device_table {
  const hx__config *config;
  hx__memory *memory;
  hx__stream *cpu;
  const hx__cpu_kernels *kernels;
  hx__trace *trace;       /* NULL: none */
  _Atomic size_t entries; /* set once all are filled in; entry[0] is the CPU's */
  hx__device_entry entry[HX_MAX_DEVICES];
} hx__device_table;

/* Opens the CPU's stream. HX_OUT_OF_MEMORY. */
hx_status hx__device_table_init(hx__device_table *table, const hx__config *config, hx__memory *memory);
/* Stops the workers and closes the streams. Nothing may be in flight. The devices exist until hx__device_table_free. */
void hx__device_table_close(hx__device_table *table);
/* Waits until the devices have released their memory. */
void hx__device_table_settle(const hx__device_table *table);
void hx__device_table_free(hx__device_table *table);
/* Fills in the CPU, the process's devices and the context's simulated ones, as hx_device numbers them. Called once. */
void hx__device_table_fill(hx__device_table *table);

/* Reserves the entry for one run. With `wait`, waits for its turn; otherwise false if it is in use or a call waits for
 * it. */
bool hx__device_entry_acquire(hx__device_entry *entry, bool wait);
/* How long a driver call of the device may last before its thread is given up; UINT64_MAX: without limit. */
uint64_t hx__call_limit_ns(const hx__config *config, const hx__device *device);
/* Starts job(entry, arg) on the worker. alone: the caller has nothing else to do, so that both threads spin for some
 * time before they sleep. False if no thread could be started, or the device hangs. */
bool hx__device_entry_start_job(hx__device_entry *entry, const hx__device_table *table,
                                void (*job)(hx__device_entry *entry, void *arg), void *arg, bool alone);
/* Whether the worker has been inside one driver call for at least limit_ns. */
bool hx__device_entry_is_stuck(const hx__device_entry *entry, uint64_t limit_ns);
/* Waits for the job. False if the worker was stuck and has been given up: it does not touch the job any more. The entry
 * stays reserved for the caller. */
bool hx__device_entry_wait_job(hx__device_entry *entry, uint64_t limit_ns);
void hx__device_entry_release(hx__device_entry *entry);
/* Ends the worker, which closes its stream first, or gives it up. No call may use the entry or wait for it. */
void hx__device_entry_close(hx__device_entry *entry, uint64_t limit_ns);
/* Called on the worker: the stream, opened by the first job. NULL if it cannot be opened, the device is lost, or a
 * chunk that timed out is still running; with `wait`, waits until stream_wait_until_ns for such a chunk. */
hx__stream *hx__device_entry_stream(hx__device_entry *entry, const hx__device_table *table, bool wait);
/* Called on the worker: checks whether chunks that timed out have ended, so that the memory they read can be freed. */
void hx__device_entry_poll_timed_out(hx__device_entry *entry, const hx__device_table *table);
/* Called on the worker: whether a chunk that timed out is still running, so that the stream may become usable later. */
bool hx__device_entry_has_timed_out(const hx__device_entry *entry);

#endif
