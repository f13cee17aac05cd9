/* SPDX-License-Identifier: Apache-2.0
 * The devices of a context, each with its lane and its feeder: one thread for each device, asleep while it has nothing
 * to do, and the only one that uses the lane. A feeder that hangs in a driver call is given up, with its lane. */
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
  bool in_use;
  uint64_t asked, served; /* who waits for the seat has a number, and they come in their order */

  struct hx__feeder *feeder; /* of whoever has the seat; NULL: none was started, or it was given up */
  hx__lane *lane;            /* the feeder's own; NULL until its first job */
  double store_ns;           /* likewise: of a byte of results; 0: not known */
  uint64_t late_till_ns;     /* likewise: how long a chunk that the CPU did meanwhile would have been waited for */
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
/* Waits until the devices have their memory back. */
void hx__team_settle(const hx__team *team);
void hx__team_free(hx__team *team);
/* Seats the CPU, the process's devices and the context's simulated ones, in the numbering of hx_device. Once. */
void hx__team_seat_devices(hx__team *team);

/* Takes the seat for one run; wait: until it is free and those are served who waited before, else false where it is not
 * free or somebody waits. */
bool hx__seat_take(hx__seat *seat, bool wait);
/* How long a driver call of the device may last before its thread is given up; UINT64_MAX: as long as it does. */
uint64_t hx__call_limit_ns(const hx__config *config, const hx__device *device);
/* Starts job(seat, arg) on the feeder; alone: the caller has nothing to do meanwhile, so that both threads look for one
 * another for some time before they sleep. False: there is no thread for it, or the device hangs. */
bool hx__seat_start(hx__seat *seat, const hx__team *team, void (*job)(hx__seat *seat, void *arg), void *arg,
                    bool alone);
/* Whether the feeder has been inside one driver call for so long. */
bool hx__seat_is_stuck(const hx__seat *seat, uint64_t limit_ns);
/* Waits for the job; false: the feeder was stuck, and is given up: it touches nothing of the job any more. The seat is
 * still the caller's. */
bool hx__seat_wait(hx__seat *seat, uint64_t limit_ns);
void hx__seat_leave(hx__seat *seat);
/* Ends the feeder, which closes its lane first, or gives it up. Nobody has the seat or wants it. */
void hx__seat_close(hx__seat *seat, uint64_t limit_ns);
/* On its feeder: the lane, opened at its first job, and free of late chunks; NULL if it cannot work. */
hx__lane *hx__seat_lane(hx__seat *seat, const hx__team *team, bool wait);
/* On its feeder: looks whether late chunks have ended, so that memory can be freed that was kept for them. */
void hx__seat_look_back(hx__seat *seat, const hx__team *team);
bool hx__seat_is_late(const hx__seat *seat); /* likewise: that is why, and it may be free of them some time */

#endif
