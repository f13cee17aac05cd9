/* SPDX-License-Identifier: Apache-2.0
 * A failing write must not end the program. While hx writes, the signals for a pipe without a reader (SIGPIPE) and for
 * the limit on file sizes (SIGXFSZ) are blocked for this thread, and those that the write raised are discarded. */
#ifndef HX_BASE_SIGNAL_GUARD_H
#define HX_BASE_SIGNAL_GUARD_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

typedef struct hx__signal_guard {
  sigset_t was, mine; /* mine: those of the two that were not pending before */
} hx__signal_guard;

static inline hx__signal_guard hx__signal_guard_begin(void) {
  static const int signals[] = {SIGPIPE, SIGXFSZ};
  hx__signal_guard h;
  sigset_t both, pending;
  sigemptyset(&both);
  sigemptyset(&h.mine);
  sigpending(&pending);
  for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    sigaddset(&both, signals[i]);
    if (!sigismember(&pending, signals[i])) sigaddset(&h.mine, signals[i]);
  }
  pthread_sigmask(SIG_BLOCK, &both, &h.was);
  return h;
}

/* failed: whether a write has failed. errno is left as it is. */
static inline void hx__signal_guard_end(const hx__signal_guard *h, bool failed) {
  static const struct timespec now = {0, 0};
  const int error = errno;
  while (failed && sigtimedwait(&h->mine, NULL, &now) > 0) continue;
  pthread_sigmask(SIG_SETMASK, &h->was, NULL);
  errno = error;
}

#endif
