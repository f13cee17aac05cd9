/* SPDX-License-Identifier: Apache-2.0
 * What a public function guarantees to the calling thread: its floating-point state is unchanged when the function
 * returns, and the thread is not cancelled inside, where it may hold a lock or other threads may use its stack. */
#ifndef HX_BASE_GUARD_H
#define HX_BASE_GUARD_H

#include <pthread.h>

#include "runtime/base/fpenv.h"

typedef struct hx__guard {
  hx__fpenv fpenv;
  int cancel;
} hx__guard;

static inline hx__guard hx__guard_begin(void) {
  hx__guard g = {.fpenv = hx__fpenv_enter()};
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g.cancel);
  return g;
}

/* A cancellation request that arrived in between takes effect at the caller's next cancellation point. This function is
 * not one, because the caller could not free what the public function returns. hx_offload and hx_wait, which return
 * nothing to free, end with one. */
static inline void hx__guard_end(const hx__guard *g) {
  pthread_setcancelstate(g->cancel, NULL);
  hx__fpenv_leave(g->fpenv);
}

/* To the end of the block. */
#define HX__GUARD __attribute__((cleanup(hx__guard_end), unused)) const hx__guard guard = hx__guard_begin()

#endif
