/* SPDX-License-Identifier: Apache-2.0
 * The devices of a context, each with its stream and its worker: one thread for each device, asleep while it has
 * nothing to do, and the only one that uses the stream. A worker that hangs in a driver call is given up, with its
 * stream. */
#ifndef HX_RUN_TEAM_H
#define HX_RUN_TEAM_H

#include <pthread.h>

#include "runtime/backend/backend.h"
#include "runtime/base/trace.h"
#include "runtime/memory/memory.h"

typedef struct hx__device_entry {
  hx__device *device;
  uint64_t identity;        /* of its name and driver: the same in every process */
  _Atomic uint64_t used_ns; /* when its last chunk ended */
  bool selected;            /* by HX_DEVICES and HX_OFFLOAD */
  bool owned;               /* a simulated device, freed with the context */

  pthread_mutex_t lock; /* what follows */
  pthread_cond_t changed;
  bool in_use;
  uint64_t asked, served; /* who waits for the seat has a number, and they come in their order */

  struct hx__device_worker *worker; /* of the call that has the seat; NULL: none was started, or it was given up */
  hx__stream *stream;               /* the worker's own; NULL until its first job */
  double store_ns;                  /* likewise: of a byte of results; 0: not known */
  uint64_t late_till_ns;            /* likewise: how long a chunk that the CPU did instead would have been waited for */
} hx__device_entry;

typedef struct hx__device_table {
  const hx__config *config;
  hx__memory *memory;
  hx__stream *cpu;
  const hx__cpu_kernels *kernels;
  hx__trace *trace;     /* NULL: none */
  _Atomic size_t seats; /* set once all are described; seat[0] is the CPU's */
  hx__device_entry seat[HX_MAX_DEVICES];
} hx__device_table;

/* Opens the CPU's stream. HX_OUT_OF_MEMORY. */
hx_status hx__device_table_init(hx__device_table *team, const hx__config *config, hx__memory *memory);
/* Stops the workers and closes the streams; nothing is in flight. The devices are there until hx__device_table_free. */
void hx__device_table_close(hx__device_table *team);
/* Waits until the devices have their memory back. */
void hx__device_table_settle(const hx__device_table *team);
void hx__device_table_free(hx__device_table *team);
/* Seats the CPU, the process's devices and the context's simulated ones, in the numbering of hx_device. Once. */
void hx__device_table_fill(hx__device_table *team);

/* Takes the seat for one run; wait: until it is free and those are served who waited before, else false where it is not
 * free or another call waits. */
bool hx__device_entry_acquire(hx__device_entry *seat, bool wait);
/* How long a driver call of the device may last before its thread is given up; UINT64_MAX: as long as it does. */
uint64_t hx__call_limit_ns(const hx__config *config, const hx__device *device);
/* Starts job(seat, arg) on the worker; alone: the caller has nothing else to do, so that both threads look for one
 * another for some time before they sleep. False: there is no thread for it, or the device hangs. */
bool hx__device_entry_start_job(hx__device_entry *seat, const hx__device_table *team,
                                void (*job)(hx__device_entry *seat, void *arg), void *arg, bool alone);
/* Whether the worker has been inside one driver call for so long. */
bool hx__device_entry_is_stuck(const hx__device_entry *seat, uint64_t limit_ns);
/* Waits for the job; false: the worker was stuck, and is given up: it touches nothing of the job any more. The seat is
 * still the caller's. */
bool hx__device_entry_wait_job(hx__device_entry *seat, uint64_t limit_ns);
void hx__device_entry_release(hx__device_entry *seat);
/* Ends the worker, which closes its stream first, or gives it up. Nobody has the seat or wants it. */
void hx__device_entry_close(hx__device_entry *seat, uint64_t limit_ns);
/* On its worker: the stream, opened at its first job, and free of late chunks; NULL if it cannot work. */
hx__stream *hx__device_entry_stream(hx__device_entry *seat, const hx__device_table *team, bool wait);
/* On its worker: looks whether late chunks have ended, so that memory can be freed that was kept for them. */
void hx__device_entry_poll_timed_out(hx__device_entry *seat, const hx__device_table *team);
bool hx__device_entry_has_timed_out(
    const hx__device_entry *seat); /* likewise: that is why, and it may be free of them some time */

#endif
