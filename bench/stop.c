/* SPDX-License-Identifier: Apache-2.0
 * Ends a run early. The handler notes the signal, measurements check for it between two samples, and the results
 * measured so far are written to the files. A second signal ends the program at once. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"

static volatile sig_atomic_t stopped_by;
static bool quiet;

static void note_signal(int signal) {
  static const char text[] =
      "\nhx-bench: stopping: what has been measured goes to the files (the same signal again ends it at once)\n";
  stopped_by = signal;
  if (!quiet && signal != SIGPIPE && write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

/* If the reader of the table has closed the pipe, each further line raises SIGPIPE again, so its handler stays
 * installed. */
static const struct {
  int signal, flags;
} rows[] = {{SIGINT, SA_RESTART | (int)SA_RESETHAND},
            {SIGTERM, SA_RESTART | (int)SA_RESETHAND},
            {SIGHUP, SA_RESTART | (int)SA_RESETHAND},
            {SIGPIPE, SA_RESTART}};

void bench_stop_watch(void) {
  quiet = !bench_human_file();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = rows[i].flags}, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(rows[i].signal, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(rows[i].signal, &action, NULL);
  }
}

bool bench_stopped(void) { return stopped_by != 0; }

void bench_stop_end(void) {
  if (!stopped_by) return;
  signal(stopped_by, SIG_DFL);
  raise(stopped_by);
}
