/* SPDX-License-Identifier: Apache-2.0
 * Ends a run early. The handler notes the signal, measurements check for it between two samples, and the results
 * measured so far are written to the files. A second signal ends the program at once. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"

static volatile sig_atomic_t stopped_by;
static const char *said; /* by the handler; NULL: nothing */

static void note_signal(int signal) {
  stopped_by = signal;
  if (said && signal != SIGPIPE && write(STDERR_FILENO, said, strlen(said)) < 0) return;
}

/* If the reader of the table has closed the pipe, each further line raises SIGPIPE again, so its handler stays
 * installed. Without files that may still be written SIGPIPE ends the program. */
static const struct {
  int signal, flags;
  bool for_files;
} rows[] = {{SIGINT, SA_RESTART | (int)SA_RESETHAND, false},
            {SIGTERM, SA_RESTART | (int)SA_RESETHAND, false},
            {SIGHUP, SA_RESTART | (int)SA_RESETHAND, false},
            {SIGPIPE, SA_RESTART, true}};

#define AGAIN "(again: ends at once)\n"
#define TO_FILES "hx-bench: stopping: what has been measured is written " AGAIN
#define TO_TABLE "hx-bench: stopping: what has been measured is printed " AGAIN
#define ERASE "\r\033[K" /* the progress bar, and the terminal's ^C */

void bench_stop_watch(bool files) {
  static const char *const texts[2][2] = {{"\n" TO_TABLE, ERASE TO_TABLE}, {"\n" TO_FILES, ERASE TO_FILES}};
  said = !bench_is_quiet() ? texts[files][isatty(STDERR_FILENO)] : NULL;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = rows[i].flags}, before;
    if (rows[i].for_files && !files) continue;
    sigemptyset(&action.sa_mask);
    if (sigaction(rows[i].signal, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(rows[i].signal, &action, NULL);
  }
}

bool bench_stopped(void) { return stopped_by != 0; }

void bench_stop_end(void) {
  if (!stopped_by) return;
  fflush(stdout); /* a signal ends the program without it */
  signal(stopped_by, SIG_DFL);
  raise(stopped_by);
}
