/* SPDX-License-Identifier: Apache-2.0
 * A write that fails is no reason to end the program: the signals of a pipe that nobody reads any more (SIGPIPE) and of
 * a limit of file sizes (SIGXFSZ) are held back from this thread while hx writes, and what they say is forgotten. */
#ifndef HX_BASE_HUSH_H
#define HX_BASE_HUSH_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

typedef struct hx__signal_guard {
  sigset_t was, mine; /* mine: of the two, those that nobody has sent before */
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

/* failed: a write has, with errno, which is left as it is. */
static inline void hx__signal_guard_end(const hx__signal_guard *h, bool failed) {
  static const struct timespec now = {0, 0};
  const int error = errno;
  while (failed && sigtimedwait(&h->mine, NULL, &now) > 0) continue;
  pthread_sigmask(SIG_SETMASK, &h->was, NULL);
  errno = error;
}

#endif
