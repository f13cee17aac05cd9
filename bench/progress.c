/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/progress.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/measure.h"
#include "bench/terminal.h"

#define FIRST_S 1.0
#define EVERY_S 0.1
#define BAR 20
#define TRUSTED_S 2.0 /* of work: from then on the time left is extrapolated from the time that the rows took */

static struct {
  size_t rows, row;                             /* row: from 1 */
  double seconds, before, current, part, begun; /* expected: of all rows, of those before this one, of this one */
  double drawn;                                 /* 0: no bar is on the terminal */
  const char *stage;
  char name[96];
} p;

void bench_progress_begin(size_t rows, double seconds) {
  bench_progress_erase();
  memset(&p, 0, sizeof p);
  p.rows = rows;
  p.seconds = seconds;
  p.begun = bench_now();
}

static bool is_wanted(void) {
  static int terminal = -1;
  if (terminal < 0) terminal = isatty(STDERR_FILENO);
  return terminal && p.begun > 0 && !bench_is_quiet();
}

/* "12 s", "2 min 5 s". */
static void duration_text(double seconds, char *text, size_t bytes) {
  const unsigned long whole = (unsigned long)ceil(seconds);
  if (whole < 60)
    snprintf(text, bytes, "%lu s", whole);
  else
    snprintf(text, bytes, "%lu min %lu s", whole / 60, whole % 60);
}

/* The share of the work that is done, and the seconds that are left. */
static double estimate(double elapsed, double *left) {
  const double done = p.before + p.part * p.current;
  const double pace = done >= TRUSTED_S ? elapsed / done : 1;
  *left = fmax(p.seconds - done, 0) * pace;
  return p.seconds > 0 ? fmin(done / p.seconds, 1) : 0;
}

static void draw(double now) {
  char line[256], time[40];
  double left;
  const double done = estimate(now - p.begun, &left);
  const int filled = (int)(BAR * done);
  duration_text(p.rows ? left : now - p.begun, time, sizeof time);
  if (p.rows)
    snprintf(line, sizeof line, "[%.*s%.*s] %3d %%  %zu of %zu, %s left  %s%s%s", filled, "####################",
             BAR - filled, "....................", (int)(100 * done), p.row, p.rows, time, p.name, p.stage ? ": " : "",
             p.stage ? p.stage : "");
  else
    snprintf(line, sizeof line, "%s%s%s, %s", p.name, p.stage ? ": " : "", p.stage ? p.stage : "", time);
  const int room = (int)bench_columns_of(stderr) - 1;
  fflush(stdout); /* the rows above */
  fprintf(stderr, "\r\033[K%.*s", room, line);
  fflush(stderr);
  p.drawn = now;
}

static void show(void) {
  if (!is_wanted()) return;
  const double now = bench_now();
  if (now - p.begun >= FIRST_S && now - p.drawn >= EVERY_S) draw(now);
}

void bench_progress_row(const char *name, double seconds) {
  p.before += p.current;
  p.current = seconds;
  p.part = 0;
  if (p.row < p.rows) p.row++;
  snprintf(p.name, sizeof p.name, "%s", name);
  p.stage = NULL;
  show();
}

void bench_progress_stage(const char *stage) {
  p.stage = stage;
  if (stage && p.drawn > 0) p.drawn = 1e-9; /* it may last, so it is shown at once */
  show();
}

void bench_progress_done(double part) {
  p.part = fmin(part, 1);
  show();
}

void bench_progress_erase(void) {
  if (p.drawn > 0) fputs("\r\033[K", stderr);
  p.drawn = 0;
}
