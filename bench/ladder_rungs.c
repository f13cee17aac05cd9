/* SPDX-License-Identifier: Apache-2.0
 * Verifies and times the rungs of a case. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ladder.h"
#include "bench/measure.h"
#include "bench/progress.h"

#define LEAST_ROUNDS 5
#define WARM_CALLS 2
#define LONG_SECONDS 0.5 /* such a long call needs no warm-up */

ladder_rung *ladder_add(ladder_case *c, const char *name, ladder_call *call, void *self) {
  ladder_rung *rung = &c->rung[c->rungs < LADDER_MOST_RUNGS ? c->rungs++ : LADDER_MOST_RUNGS - 1];
  *rung = (ladder_rung){.call = call,
                        .self = self,
                        .event_s = NAN,
                        .wall_s = NAN,
                        .least_s = NAN,
                        .most_s = NAN,
                        .low_s = NAN,
                        .high_s = NAN};
  snprintf(rung->name, sizeof rung->name, "%s", name);
  return rung;
}

ladder_rung *ladder_add_owner(ladder_case *c, const char *name, ladder_call *call, size_t bytes) {
  ladder_rung *rung = ladder_add(c, name, call, calloc(1, bytes));
  rung->owns_self = true;
  if (!rung->self) ladder_out(rung, "there is no memory");
  return rung;
}

void ladder_case_of_product(ladder_case *c, const char *ladder, const char *base, ladder_product *p) {
  *c = (ladder_case){.ladder = ladder, .unit = "GFLOP/s", .base = base, .m = p->m, .n = p->n, .k = p->k, .product = p};
  c->device = p->device ? p->device->info : NULL;
  c->label = p->device ? p->device->label : NULL;
  c->work = 2e-9 * (double)p->m * (double)p->n * (double)p->k;
}

static bool result_is_right(const ladder_case *c, ladder_rung *rung) {
  if (c->sum) return memcmp(rung->result, c->sum, c->sums * sizeof *c->sum) == 0;
  return (!rung->fetch || rung->fetch(rung)) && ladder_product_same(c->product);
}

typedef struct rung_run {
  ladder_case *c;
  ladder_rung *rung;
} rung_run;

/* A rung that fails is not sampled any more, and its times do not count. The other rungs continue. */
static double sample_rung(void *self, unsigned calls) {
  (void)calls;
  rung_run *p = self;
  if (p->rung->out) return 0;
  double event = NAN, wall = p->rung->call(p->rung, &event);
  if (wall < 0) {
    p->rung->out = true;
    ladder_fail();
    return 0;
  }
  if (p->c->sum && !result_is_right(p->c, p->rung)) p->rung->wrong = true;
  return bench_append(&p->rung->events, &p->rung->count, &p->rung->room, &event, sizeof event) ? wall : -1;
}

/* Calls the rung, several times if a call is short, and compares the result of the last call. */
static void verify_rung(const ladder_case *c, ladder_rung *rung, int calls) {
  double event, seconds = 0;
  for (int i = 0; i < calls && seconds >= 0 && seconds < LONG_SECONDS; i++) seconds = rung->call(rung, &event);
  if (seconds < 0) {
    rung->out = true;
  } else if (rung->wrong || !result_is_right(c, rung)) {
    rung->wrong = true;
    ladder_out(rung, "WRONG: the result is not the expected one");
  }
  if (rung->out) ladder_fail();
}

static void set_times(ladder_rung *rung, const bench_contestant *contestant, size_t rounds) {
  const bench_times times = bench_times_of(contestant->samples, rounds);
  rung->rounds = rounds;
  rung->wall_s = times.median;
  rung->least_s = times.least;
  rung->most_s = times.most;
  rung->low_s = times.low;
  rung->high_s = times.high;
  bool all = rung->count == rounds;
  for (size_t i = 0; i < rung->count; i++) all &= isfinite(rung->events[i]) != 0;
  rung->event_s = all ? bench_median(rung->events, rounds) : NAN;
}

bool ladder_run(bench_session *session, ladder_case *c, double seconds) {
  bench_contestant contestants[LADDER_MOST_RUNGS] = {{0}};
  rung_run runs[LADDER_MOST_RUNGS];
  ladder_rung *taking_part[LADDER_MOST_RUNGS];
  size_t count = 0;
  char size[64];
  const bench_row row = {.m = c->m, .n = c->n, .k = c->k};
  bench_size_text(&row, size, sizeof size);
  bench_progress_row(size, session->options->seconds > 0 ? session->options->seconds : seconds);
  bench_progress_stage("verifying");
  for (size_t i = 0; i < c->rungs; i++) {
    ladder_rung *rung = &c->rung[i];
    if (!rung->out && !bench_stopped()) verify_rung(c, rung, WARM_CALLS);
    if (rung->out) continue;
    runs[count] = (rung_run){c, rung};
    contestants[count] = (bench_contestant){.sample = sample_rung, .self = &runs[count], .calls = 1};
    taking_part[count++] = rung;
  }
  bench_progress_stage(NULL);
  const bench_limits limits = bench_session_limits(session, LEAST_ROUNDS, seconds);
  size_t rounds = count ? bench_measure(contestants, count, &limits) : 0;
  for (size_t i = 0; i < count; i++) {
    if (rounds && !taking_part[i]->out && (!c->sum || taking_part[i]->wrong)) verify_rung(c, taking_part[i], 1);
    if (rounds && !taking_part[i]->out) set_times(taking_part[i], &contestants[i], rounds);
    free(contestants[i].samples);
    free(taking_part[i]->events);
    taking_part[i]->events = NULL;
  }
  const bool unmeasured = bench_stopped() && !rounds;
  if (count && !rounds && !unmeasured) fputs("hx-bench: there is no memory for the results\n", stderr);
  bool fine = unmeasured || (ladder_rows_add(c) && (rounds || !count));
  for (size_t i = 0; i < c->rungs; i++) {
    if (c->rung[i].close) c->rung[i].close(&c->rung[i]);
    if (c->rung[i].owns_self) free(c->rung[i].self);
  }
  return fine;
}

static const ladder_rung *find_rung(const ladder_case *c, const char *name) {
  for (size_t i = 0; i < c->rungs; i++)
    if (strcmp(c->rung[i].name, name) == 0) return &c->rung[i];
  return NULL;
}

double ladder_ratio(const ladder_case *c, const char *fast, const char *slow, bool wall) {
  const ladder_rung *f = find_rung(c, fast), *s = find_rung(c, slow);
  if (!f || !s || f->out || s->out) return NAN;
  return wall ? s->wall_s / f->wall_s : s->event_s / f->event_s;
}
