/* SPDX-License-Identifier: Apache-2.0
 * A machine in virtual time: a CPU of some threads and devices that share a range of slices, by a policy. Nothing
 * sleeps and nothing computes; the slices are handed out by the runtime's own code (runtime/sched). */
#ifndef HX_SIM_SIM_H
#define HX_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/sched/decide.h"
#include "runtime/sched/work_range.h"
#include "runtime/task/launch.h"

enum {
  SIM_DEPTH = HX__DEPTH,
  SIM_DEVICES = 4,
  SIM_STEPS = 6,
  SIM_THREADS = 32,
  SIM_WORKERS = SIM_DEVICES + SIM_THREADS
};

/* From at_ns on, the rate is multiplied by `factor` (0: a stall). */
typedef struct sim_step {
  double at_ns, factor;
} sim_step;

typedef struct sim_unit {
  double rate;                /* slices per nanosecond, of all threads together */
  double latency_ns, idle_ns; /* of a launch; added to it if the device was idle */
  double once_ns;             /* added to the first launch of a run, before which an operand that all need is copied */
  double gap_ns;              /* the latency of a launch that is queued behind another */
  double elbow;               /* A launch of fewer slices takes as long as one of `elbow`. */
  double bytes;               /* of DRAM traffic for each slice */
  double corun;               /* factor on the rate while the CPU and a device work; 0: 1 */
  double noise;               /* standard deviation of the logarithm of a chunk's time */
  double watts;               /* drawn while it works; of all threads together */
  unsigned threads, slow;     /* the CPU's; `slow` of them run at half the speed of the others */
  size_t grain;               /* multiple of a device's chunks; 0: 1 */
  size_t most;                /* slices that a thread of the CPU takes at most; 0: any number */
  unsigned fail_at, hang_at;  /* number of the launch that fails, or never ends; 0: none */
  unsigned steps;
  sim_step step[SIM_STEPS];
} sim_unit;

typedef struct sim_machine {
  sim_unit cpu, device[SIM_DEVICES];
  unsigned devices;
  bool linked;  /* Devices are behind links, so their rate beside the CPU says little about their rate alone. */
  double dram;  /* bytes per nanosecond for all together; 0: no limit */
  double watts; /* drawn at all times */
} sim_machine;

typedef struct sim_world sim_world;

/* How the slices of a run are shared out. Each function is called if its worker is idle. */
typedef struct sim_policy {
  const char *name;
  size_t (*cpu)(void *self, const sim_world *w, unsigned thread); /* slices from the front; 0: done with the run */

  /* A device that has one chunk at a time: */
  size_t (*device)(void *self, const sim_world *w, unsigned d); /* slices from the back; 0: done with the run */
  void (*done)(void *self, const sim_world *w, size_t slices, double ns); /* Its chunk has ended. May be NULL. */

  /* hx's devices instead, which launch, deliver and give back by themselves: */
  void (*begin)(void *self, sim_world *w);
  void (*fill)(void *self, unsigned d);                     /* Launches chunks until the device has enough in flight. */
  const _Atomic uint64_t *(*await)(void *self, unsigned d); /* The deadline of its oldest chunk. */
  void (*ended)(void *self, unsigned d, hx__outcome outcome); /* That chunk has ended. */
  void (*cpu_done)(void *self, size_t slices, double ns);     /* A thread of the CPU has finished a chunk. */
  hx__chunk (*redo)(void *self,
                    double *check_ns); /* for an idle CPU: slices of an overdue chunk, or when to check again */
} sim_policy;

#define SIM_BEGAN_NS 1e9 /* when a run begins on hx's clock, which uses 0 for "not known" */

typedef struct sim_result {
  double ns, cpu_ns; /* cpu_ns: when the CPU found no more slices */
  double joules;
  size_t cpu_slices, device_slices[SIM_DEVICES];
  unsigned launches, recovered, redone; /* chunks: recovered after a failure; computed again by the CPU to their ends */
  bool stuck;                           /* A worker never ends. */
} sim_result;

struct sim_world {
  const sim_machine *machine;
  hx__work_range ends; /* the slices that no worker has taken */
  size_t total;
  double now;      /* since the run began */
  size_t cpu_done; /* slices that the CPU has finished */
  unsigned idle;   /* bit d: device d was idle */
  uint64_t *random;
  unsigned char *seen; /* how often each slice was delivered; NULL: not counted */
};

/* For hx's devices: a chunk is launched; slices of one are delivered; slices go back to the CPU. */
void sim_launch_chunk(sim_world *w, unsigned d, hx__chunk chunk);
void sim_deliver(sim_world *w, unsigned d, hx__chunk chunk);
void sim_give_back(sim_world *w, hx__chunk chunk);

/* One run. idle: bits of the devices that were idle before. */
sim_result sim_run(const sim_machine *m, size_t slices, const sim_policy *policy, void *self, unsigned idle,
                   uint64_t *random, unsigned char *seen);

double sim_uniform(uint64_t *random);  /* [0, 1) */
double sim_gaussian(uint64_t *random); /* of mean 0 and deviation 1 */

/* The earliest end of any fixed split, without noise. share: of each device. */
double sim_oracle(const sim_machine *m, size_t slices, double share[SIM_DEVICES]);

/* Energy counters. */
typedef struct sim_meter {
  double tick_ns;                 /* the interval at which they move; 0: all the time */
  double now_ns, joules, pending; /* joules: shown; pending: not yet */
} sim_meter;

/* hx: decides, runs and learns as the runtime does, with a model of its own. */
typedef struct sim_hx {
  hx__model *model;
  uint64_t now_s;
  unsigned idle; /* devices that are idle before the next call */
  bool copies;   /* Devices copy, so their rate beside the CPU says little about their rate alone. */
  hx__objective objective;
  sim_meter meter;
  hx__decision decision;
  sim_result result;
} sim_hx;

/* Guesses for what was never measured, as a self-test gives them: rates in slices per nanosecond, of the devices and at
 * [SIM_DEVICES] of the CPU, and latencies. 0: none. */
typedef struct sim_guess {
  double rate[SIM_DEVICES + 1], latency_ns[SIM_DEVICES];
} sim_guess;
/* A guess in which the devices have `factor` times their rate, and a latency that is somewhat too long. */
sim_guess sim_guess_of(const sim_machine *m, double factor);
double sim_hx_call(sim_hx *hx, const sim_machine *m, size_t slices, const sim_guess *guess, uint64_t *random,
                   unsigned char *seen);
/* The model learns from `calls` calls on machine m. */
void sim_hx_warm(sim_hx *hx, const sim_machine *m, size_t slices, unsigned calls, uint64_t *random);

/* Other policies for comparison. Each makes one call with the given rates. */
typedef struct sim_peer {
  const char *name;
  double (*call)(const sim_machine *m, size_t slices, const double *rates, uint64_t *random);
} sim_peer;
extern const sim_peer sim_peers[];
extern const unsigned sim_peer_count;

#endif
