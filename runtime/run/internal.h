/* SPDX-License-Identifier: Apache-2.0
 * A run in progress; private to this folder. */
#ifndef HX_RUN_INTERNAL_H
#define HX_RUN_INTERNAL_H

#include "runtime/run/run.h"
#include "runtime/run/remainder.h"
#include "runtime/sched/progress.h"
#include "runtime/sched/work_range.h"
#include "runtime/sched/policy.h"

/* In flight, not delivered, not launched, and the rest of a fixed part. */
#define HX__MAX_REDO ((HX__MAX_INFLIGHT + 2) * HX_MAX_DEVICES)

typedef struct hx__run_state hx__run_state;

/* A chunk in flight. */
typedef struct hx__launched_chunk {
  hx__inflight *ticket;
  hx__chunk chunk;
  hx__chunk rest;           /* of it, what the CPU has not done meanwhile; under the run's lock */
  uint64_t from_ns;         /* when it was launched, */
  uint64_t bringing_ns;     /* and how long that took the worker */
  double expected_ns;       /* how long from there, or from the end of the chunk before it; 0: not known */
  _Atomic uint64_t till_ns; /* when it is given up: at once where nothing is left of it */
} hx__launched_chunk;

/* One device's part. */
typedef struct hx__device_run {
  hx__run_state *run;
  const hx__plan_device *planned;
  hx__device_entry *seat;
  const hx__stream *stream; /* set before it runs chunks */
  hx__request request;
  size_t taken;
  uint64_t call_limit_ns; /* of a driver call of its worker */
  bool started;           /* the worker has the job */
  bool resolved;          /* the request's arrays are set */
  hx__chunk pending;      /* taken, and not in flight yet */
  hx__chunk landed;       /* not in flight any more, and not delivered yet */
  hx__launched_chunk flight[HX__DEPTH];
  unsigned flights;         /* in flight, the oldest first; changed under the run's lock, by the worker alone */
  bool may_be_redone;       /* by the CPU where a chunk is late: it is no CPU itself, and nothing is fixed */
  hx__progress course;      /* the worker's own */
  uint64_t landed_ns;       /* when the last chunk ended, */
  hx__observation last;     /* and what it has shown that is not learned yet; likewise */
  _Atomic double rate;      /* of the course, for the others to see */
  _Atomic uint64_t ends_ns; /* when what is in flight is expected to end; 0: nothing is */
  _Atomic bool working;     /* takes part still */
  uint32_t chunks;
  uint64_t units, busy_ns, copied;
} hx__device_run;

struct hx__run_state {
  hx__device_table *team;
  const hx__plan *plan;
  const hx__work *work;
  hx__request request;       /* the CPU's */
  struct hx__packed *packed; /* likewise; NULL: none */
  hx__work_range ends;
  hx__remainder tail;           /* behind the slices of ends */
  uint64_t from_ns;             /* 0: nobody measures */
  hx__progress cpu;             /* as expected at first */
  _Atomic size_t cpu_done;      /* slices the CPU has finished, beside devices, */
  _Atomic uint64_t cpu_busy_ns; /* and how long its threads took for them, all together */
  uint64_t cpu_from_ns;         /* when they began; 0: nobody measures */
  _Atomic size_t beside_done;   /* cpu_done when a device that had but a trial ended it; 0: none had */
  _Atomic uint64_t beside_ns;   /* and cpu_busy_ns, of a thread */
  _Atomic bool surprised;       /* a part took much more or less than expected */
  bool disturbed;               /* drivers were at work when it began: nothing is learned, */
  _Atomic bool grown;           /* nor where a device has pinned memory to keep for calls to come */
  _Atomic uint32_t cpu_chunks;
  _Atomic uint64_t cpu_units;
  hx__resident_output keep; /* to: NULL where C goes to the host */
  uint64_t fetched;         /* bytes of results brought back for it */
  bool whole; /* hx__request: written by the one device that did everything, read when its worker is done */

  pthread_mutex_t lock;  /* what follows, redo[] included */
  pthread_cond_t landed; /* a chunk was launched or has ended, or a device is done with the run */
  size_t redos;
  hx__device_run *late; /* of which the team does the last chunk once more; NULL: none */
  uint32_t redone;      /* chunks that it has done to their ends */

  size_t feeds;

  hx__chunk redo[HX__MAX_REDO]; /* redos of them; from here on nothing is set before it is used */
  hx__device_run feed[HX_MAX_DEVICES];
  hx__array
      arrays[HX__PRODUCT_ARRAYS * HX_MAX_DEVICES]; /* of the devices: a product must not fail for want of memory */
};

/* The device's side of a run, on its worker. */
void hx__device_run_main(hx__device_entry *seat, void *feed);
/* The worker was given up: what it had goes back to the CPU, and what the device may still read is kept. */
void hx__device_run_give_up(hx__device_run *feed);
/* A chunk took ns, in that the part `shown` of its launch; and what that teaches: of one that has not ended that it
 * takes so long at least. */
hx__observation hx__device_run_observe(const hx__device_run *feed, hx__chunk chunk, double ns, double shown);
void hx__device_run_learn(hx__device_run *feed, const hx__observation *showing, bool has_ended);
/* Gives a chunk back to the CPU. */
void hx__return_chunk(hx__run_state *run, hx__chunk chunk);
/* What is in flight, done once more by the idle team where that ends sooner than a device that is late. Returns when no
 * device may be late any more. */
void hx__redo_overdue(hx__run_state *run);
/* A part of run->late's last chunk for a thread; count 0: nothing is left of it. */
hx__chunk hx__redo_next_part(hx__run_state *run, size_t grain);
/* A device with which the team, at that rate, had better not wait; NULL: none now. *look_ns: when to ask again; 0: no
 * device may be late. Under the lock. */
hx__device_run *hx__find_overdue(hx__run_state *run, double rate, uint64_t *look_ns);
/* A small product with a long k, by the team, its panels in parallel; false: it is no such product, or no memory. */
bool hx__cpu_panels(hx__run_state *run);
/* The devices that take part still, but for one (NULL: all of them), and when they may launch again. */
unsigned hx__run_participants(const hx__run_state *run, const hx__device_run *but,
                              hx__participant party[HX_MAX_DEVICES]);
/* The CPU's rate as this run has shown it, in slices a nanosecond; 0 where it only recovers. */
double hx__run_cpu_rate(const hx__run_state *run);
/* A chunk that `threads` of the CPU's did together, from from_ns until now. */
void hx__trace_cpu(const hx__run_state *run, uint64_t from_ns, hx__chunk chunk, uint64_t units, unsigned threads);
/* The CPU's side: all that is left in run->ends, by the team. */
void hx__cpu_side(hx__run_state *run);

#endif
