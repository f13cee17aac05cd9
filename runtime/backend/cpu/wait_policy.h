/* SPDX-License-Identifier: Apache-2.0
 * Whether a team is worth waiting for, as data: what teams of one thread have saved it and what they have made it wait.
 * No clock and no threads here: team.c has both. */
#ifndef HX_BACKEND_CPU_PATIENCE_H
#define HX_BACKEND_CPU_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/cpu/cpu_backend.h"

#define HX__BURST_NS 100000u         /* calls closer than this find libgomp's threads awake: they spin some ms */
#define HX__CREDIT_NS 10000000       /* of what was saved, kept against a wait: a core that is taken for once */
#define HX__BACKOFF_WAITS 8          /* as many times what was lost threads are not waited for */
#define HX__MOST_BACKOFF_NS 64000000 /* then they are tried again */
#define HX__SPINS_NS 3000000u        /* so long libgomp's threads spin, more or less, on cores that others want */
#define HX__LASTS_NS 200000u         /* a region in which the caller's time on a core is worth a system call to know */

typedef struct hx__wait_policy {
  uint64_t called_ns;  /* when work that a team could do came last */
  uint64_t crowded_ns; /* until then threads are not waited for */
  int64_t saved_ns;    /* by teams, less what was waited for them */
  uint64_t ended_ns;   /* the last region, */
  unsigned threads;    /* and its threads */
  bool has_run;        /* libgomp has made its threads: the first region does not count */
  bool last_was_long;  /* the last region did: of the next one this thread's time on a core is worth a system call */
} hx__wait_policy;

static inline hx__pool_state hx__wait_policy_state(hx__wait_policy *p, uint64_t now_ns) {
  const uint64_t gap = now_ns - p->called_ns;
  p->called_ns = now_ns;
  return now_ns < p->crowded_ns ? HX__POOL_CROWDED : gap < HX__BURST_NS ? HX__POOL_AWAKE : HX__POOL_ASLEEP;
}

/* A region that ended at end_ns, in which the caller worked for own_ns of all_ns and otherwise waited: for the others
 * to come to its start, where libgomp meets them all, or to its end, for they were asleep or without a core; or, where
 * own_ns is time on a core, for a core itself, on which another of them may have waited in a loop. */
static inline void hx__wait_policy_learn(hx__wait_policy *p, unsigned threads, uint64_t own_ns, uint64_t all_ns,
                                         uint64_t end_ns) {
  p->called_ns = p->ended_ns = end_ns;
  p->threads = threads;
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

/* Threads that spin still, and would be at work at once; 0: none, or other programs have their cores. */
static inline unsigned hx__wait_policy_spinning(const hx__wait_policy *p, uint64_t now_ns) {
  return p->threads && now_ns - p->ended_ns < HX__SPINS_NS && now_ns >= p->crowded_ns ? p->threads : 0;
}

#endif
