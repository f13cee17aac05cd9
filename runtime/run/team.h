/* SPDX-License-Identifier: Apache-2.0
 * The devices of a context, each with its lane and its feeder: one thread a device, asleep while it has nothing to do,
 * and the only one that uses the lane. */
#ifndef HX_RUN_TEAM_H
#define HX_RUN_TEAM_H

#include <pthread.h>

#include "runtime/backend/backend.h"
#include "runtime/base/trace.h"
#include "runtime/memory/memory.h"

typedef struct hx__seat {
  hx__device *device;
  uint64_t identity;        /* of its name and driver: the same in every process */
  _Atomic uint64_t used_ns; /* when its last chunk ended */
  bool selected;            /* by HX_DEVICES and HX_OFFLOAD */
  bool owned;               /* a simulated device, freed with the context */

  pthread_mutex_t lock; /* what follows */
  pthread_cond_t changed;
  bool in_use, running, stop;
  uint64_t asked, served;                        /* who waits for the seat has a number, and they come in their order */
  void (*job)(struct hx__seat *seat, void *arg); /* for the feeder; NULL: none */
  void *arg;
  hx__lane *lane;        /* the feeder's own; NULL until its first job */
  double store_ns;       /* likewise: of a byte of results; 0: not known */
  uint64_t late_till_ns; /* likewise: how long a chunk that the CPU did meanwhile would have been waited for */
} hx__seat;

typedef struct hx__team {
  const hx__config *config;
  hx__memory *memory;
  hx__lane *cpu;
  const hx__cpu_kernels *kernels;
  hx__trace *trace;     /* NULL: none */
  _Atomic size_t seats; /* set once all are described; seat[0] is the CPU's */
  hx__seat seat[HX_MAX_DEVICES];
} hx__team;

/* Opens the CPU's lane. HX_OUT_OF_MEMORY. */
hx_status hx__team_init(hx__team *team, const hx__config *config, hx__memory *memory);
/* Stops the feeders and closes the lanes; nothing is in flight. The devices are there until hx__team_free. */
void hx__team_close(hx__team *team);
void hx__team_free(hx__team *team);
/* Seats the CPU, the process's devices and the context's simulated ones, in the numbering of hx_device. Once. */
void hx__team_seat_devices(hx__team *team);

/* Looks whether late chunks have ended, so that memory can be freed that was kept for them. */
void hx__team_settle(hx__team *team);

/* Takes the seat for one run; wait: until it is free and those are served who waited before, else false where it is not
 * free or somebody waits. */
bool hx__seat_take(hx__seat *seat, bool wait);
/* Starts job(seat, arg) on the feeder; false where there is no thread for it. */
bool hx__seat_start(hx__seat *seat, void (*job)(hx__seat *seat, void *arg), void *arg);
/* Waits for the job, then frees the seat. */
void hx__seat_finish(hx__seat *seat);
void hx__seat_leave(hx__seat *seat); /* taken, but no job was started */
/* On its feeder: the lane, opened at its first job, and free of late chunks; NULL where it cannot work. */
hx__lane *hx__seat_lane(hx__seat *seat, const hx__team *team, bool wait);
/* By whoever has the seat: whether its lane is free of late chunks by now; then what they read may be freed. */
bool hx__seat_is_back(hx__seat *seat, const hx__team *team);
bool hx__seat_is_late(const hx__seat *seat); /* likewise: that is why, and it may be free of them some time */

#endif
