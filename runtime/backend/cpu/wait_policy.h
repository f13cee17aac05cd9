/* SPDX-License-Identifier: Apache-2.0
 * Decides whether a thread pool is worth waiting for, from the time that the regions of one calling thread have saved
 * and the time that they made it wait. Pure: the clock and the threads are in pool.c. */
#ifndef HX_BACKEND_CPU_WAIT_POLICY_H
#define HX_BACKEND_CPU_WAIT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/cpu/cpu_backend.h"

#define HX__BURST_NS 4000000u /* calls further apart never count on spinning threads; pool.c finds the limit below */
#define HX__SHORT_BURST_NS 100000u   /* that limit if the environment says that they sleep at once */
#define HX__CREDIT_NS 10000000       /* largest balance of saved time: forgives one wait for a core taken briefly */
#define HX__BACKOFF_WAITS 8          /* the pool is not used for this many times the time that was lost */
#define HX__MOST_BACKOFF_NS 64000000 /* nor for longer than this */
#define HX__UNEVEN_PART 5u           /* Parts are uneven if they end further apart than this part of the region. */
#define HX__UNEVEN_REGIONS 2u        /* in a row, after which short products are cut into blocks, */
#define HX__UNEVEN_NS 20000000u      /* for so long */
#define HX__LASTS_NS 200000u /* a region of this length is worth a system call that measures the caller's CPU time */

typedef struct hx__wait_policy {
  uint64_t called_ns;  /* time of the last call that could have used the pool */
  uint64_t crowded_ns; /* the pool is not used before this time */
  int64_t saved_ns;    /* balance of time saved by the pool and time spent waiting for it */
  uint64_t ended_ns;   /* end of the last region */
  uint64_t uneven_ns;  /* before this time, equal parts take the threads different times */
  unsigned uneven;     /* how many of the last regions with equal parts did */
  bool has_run;        /* libgomp has started its threads: the first region does not count */
  bool finds_asleep;   /* the last call follows others closely, none of which used the pool: a device did */
  bool last_was_long;  /* the last region was long: measure the caller's CPU time in the next one */
} hx__wait_policy;

static inline hx__pool_state hx__wait_policy_state(hx__wait_policy *p, uint64_t now_ns, uint64_t burst_ns) {
  const uint64_t gap = now_ns - p->called_ns;
  p->called_ns = now_ns;
  p->finds_asleep = gap < burst_ns && now_ns - p->ended_ns >= burst_ns;
  return now_ns < p->crowded_ns ? HX__POOL_CROWDED : gap < burst_ns ? HX__POOL_AWAKE : HX__POOL_ASLEEP;
}

/* Learns from a region that ended at end_ns. The caller worked for own_ns of all_ns and waited for the rest: for the
 * other threads to arrive at the start of the region, where libgomp synchronises them, or at its end, because they
 * slept or had no core. If own_ns is CPU time, the caller may also have waited for a core on which another of the
 * threads was spinning. */
static inline void hx__wait_policy_learn(hx__wait_policy *p, unsigned threads, uint64_t own_ns, uint64_t all_ns,
                                         uint64_t end_ns) {
  p->called_ns = p->ended_ns = end_ns;
  p->last_was_long = all_ns >= HX__LASTS_NS;
  if (!p->has_run) {
    p->has_run = true;
    return;
  }
  p->saved_ns += (int64_t)own_ns * (threads - 1) - (int64_t)(all_ns - own_ns);
  if (p->saved_ns > HX__CREDIT_NS) p->saved_ns = HX__CREDIT_NS;
  if (p->saved_ns >= 0) return;
  const int64_t backoff = -p->saved_ns * HX__BACKOFF_WAITS;
  p->crowded_ns = end_ns + (uint64_t)(backoff < HX__MOST_BACKOFF_NS ? backoff : HX__MOST_BACKOFF_NS);
  p->saved_ns = 0;
}

/* Learns from a region of equal parts, of which the first ended at first_ns and the last at last_ns. If they took
 * different times, one core is slower than another, or another program had it; a single region says little. */
static inline void hx__wait_policy_learn_parts(hx__wait_policy *p, uint64_t from_ns, uint64_t first_ns,
                                               uint64_t last_ns) {
  const bool uneven = last_ns > first_ns && last_ns - first_ns > (last_ns - from_ns) / HX__UNEVEN_PART;
  p->uneven = uneven ? p->uneven + 1 : 0;
  if (p->uneven < HX__UNEVEN_REGIONS) return;
  p->uneven_ns = last_ns + HX__UNEVEN_NS;
  p->uneven = HX__UNEVEN_REGIONS - 1; /* The next one after that time is enough. */
}

static inline bool hx__wait_policy_is_uneven(const hx__wait_policy *p, uint64_t now_ns) {
  return now_ns < p->uneven_ns;
}

#endif
