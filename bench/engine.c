/* SPDX-License-Identifier: Apache-2.0
 * Verifies the modes, warms them up, measures them in interleaved rounds and makes rows of results. */
#include "bench/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "bench/progress.h"
#include "runtime/base/energy.h"

/* Each mode is warmed up by some untimed calls, by more if hx decides, because its first calls are exploration. They
 * take at most a part of the time for measuring. */
#define WARM_CALLS 3
#define LEARNING_CALLS 10
#define WARM_PART 0.25
#define LEARNING_PART 1.0
#define ENERGY_SECONDS 0.1 /* about a hundred updates of the energy counters */
#define BRIEF_SECONDS 2e-3 /* a call that is shorter counts as brief (sample_call) */
/* Modes that take up to this multiple of the fastest one's time get the same number of calls per sample. */
#define LIKE 4.0

typedef struct mode_run {
  bench_session *session;
  bench_subject *subject;
  hx_task task;
  bench_contestant *contestant; /* NULL: the mode is not timed */
  hx_report report;             /* of the last call with a report */
  double *shares;               /* the share reported in each sample */
  size_t share_count, share_room;
  uint32_t recovered;
  uint64_t bits; /* of the result of the verified call */
  double joules; /* per call */
  double last;   /* seconds of the last warm-up call */
  bool failed, wrong;
} mode_run;

static bool offload_once(mode_run *p, hx_report *report) {
  hx_status status = hx_offload(p->session->hx, &p->task, report);
  if (status == HX_OK) return true;
  fprintf(stderr, "hx-bench: %s: %s\n", hx_status_string(status), hx_error_detail());
  p->failed = true;
  return false;
}

static bool note_share(mode_run *p) {
  const double share = p->report.gpu_share;
  if (p->report.recovered > p->recovered) p->recovered = p->report.recovered;
  return bench_append(&p->shares, &p->share_count, &p->share_room, &share, sizeof share);
}

/* A report costs two readings of the clock, which would matter for a call of less than a microsecond, and the first
 * call after another mode finds cold caches and sleeping threads. So for brief calls an untimed call before the timed
 * ones provides the report. */
static double sample_call(void *self, unsigned calls) {
  mode_run *p = self;
  const bool brief = p->last < BRIEF_SECONDS;
  if (brief && !offload_once(p, &p->report)) return -1;
  p->subject->kind->poison(p->subject, false);
  bool fine = true;
  double start = bench_now();
  for (unsigned i = 0; fine && i < calls; i++) fine = offload_once(p, brief ? NULL : &p->report);
  double seconds = (bench_now() - start) / calls;
  if (!fine) return -1;
  if (!p->subject->kind->check(p->subject, false)) p->wrong = true;
  return note_share(p) ? seconds : -1;
}

/* Makes one call and compares its whole result. */
static bool verify_mode(mode_run *p, const char *mode) {
  bench_subject *subject = p->subject;
  bench_progress_stage("verifying");
  subject->kind->poison(subject, true);
  if (!offload_once(p, &p->report)) return false;
  p->wrong = !subject->kind->check(subject, true) || (subject->has_first && subject->bits != subject->first_bits);
  p->bits = subject->bits;
  if (p->wrong) {
    char name[128];
    bench_task_text(&subject->row, name, sizeof name);
    fprintf(stderr, "hx-bench: %s, %s: the result differs from the scalar definition\n", name, mode);
    return false;
  }
  subject->first_bits = subject->bits;
  subject->has_first = true;
  return true;
}

/* Returns the seconds of the last call. */
static double warm_up(mode_run *p, bool learning, double seconds) {
  double start = bench_now(), last = 0;
  bench_progress_stage("warming up");
  for (int i = 0; i < (learning ? LEARNING_CALLS : WARM_CALLS); i++) {
    double before = bench_now();
    if (!offload_once(p, NULL)) break;
    last = bench_now() - before;
    if (bench_now() - start > seconds || bench_stopped()) break;
  }
  return last;
}

/* Joules per call, measured over many consecutive calls, because one call may be too short for the counters and rounds
 * mix the modes. NaN if the counters cannot be read, if a discrete GPU takes part, whose energy they do not include, or
 * if no time is left. */
static double joules_of(mode_run *p, unsigned calls) {
  hx__energy *const energy = hx__energy_of_process();
  const double start = bench_now(), before = hx__energy_joules(energy);
  size_t done = 0;
  if (isnan(before) || p->failed || (p->session->deadline > 0 && start > p->session->deadline)) return NAN;
  for (uint32_t d = 0; d < p->report.device_count && d < HX_MAX_DEVICES; d++)
    if (p->session->device[p->report.device[d].index].kind == HX_GPU) return NAN;
  for (; bench_now() - start < ENERGY_SECONDS; done += calls)
    for (unsigned i = 0; i < calls; i++)
      if (bench_stopped() || !offload_once(p, NULL)) return NAN;
  const double joules = (hx__energy_joules(energy) - before) / (double)done;
  return joules > 0 ? joules : NAN;
}

static bool make_row(mode_run *p, const bench_mode *mode, size_t rounds, double ceiling, bench_results *results) {
  bench_subject *subject = p->subject;
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every mode_run has a subject
  bench_row row = subject->row;
  row.mode = mode->name;
  row.asked_share = mode->share;
  row.set_share = p->session->split;
  row.ceiling = ceiling;
  row.reps = p->contestant ? rounds : 0;
  row.ran = !p->failed;
  row.verified = !p->failed && !p->wrong;
  row.bits = p->bits;
  row.joules = p->joules;
  const bench_times times = bench_times_of(row.reps ? p->contestant->samples : NULL, row.reps);
  row.median_s = times.median;
  row.min_s = times.least;
  row.max_s = times.most;
  row.low_s = times.low;
  row.high_s = times.high;
  row.rate = row.gpu_share = NAN;
  if (row.reps) {
    row.rate = bench_row_amount(&row) / row.median_s;
    row.gpu_share = bench_median(p->shares, p->share_count);
    row.bytes_copied = p->report.bytes_copied;
    row.recovered = p->recovered;
    for (uint32_t d = 0; d < p->report.device_count && d < HX_MAX_DEVICES; d++)
      if (p->report.device[d].index < 32 && p->report.device[d].units) row.devices |= 1u << p->report.device[d].index;
  }
  if (!row.verified) results->failed = true;
  return bench_results_add(results, &row);
}

size_t bench_compare_modes(const bench_session *session, bench_mode modes[3]) {
  static const bench_mode cpu = {"cpu", 0}, gpu = {"gpu", 1}, both = {"both", -1};
  size_t count = 0;
  if (session->has_cpu) modes[count++] = cpu;
  if (session->has_device) modes[count++] = gpu;
  if (session->has_cpu && session->has_device) modes[count++] = both;
  return count;
}

/* Modes of similar speed get the same number of calls per sample, because the first call of a sample finds the caches
 * and threads as another mode has left them. */
static void choose_calls(bench_contestant *contestants, size_t count) {
  double least = INFINITY;
  for (size_t i = 0; i < count; i++) least = fmin(least, ((const mode_run *)contestants[i].self)->last);
  for (size_t i = 0; i < count; i++) {
    double last = ((const mode_run *)contestants[i].self)->last;
    contestants[i].calls = bench_calls(last <= LIKE * least ? least : last);
  }
}

bool bench_engine_run(bench_session *session, bench_subject *subject, const bench_mode *modes, size_t count,
                      bench_run *run, bench_results *results) {
  static mode_run runs[BENCH_MOST_MODES];
  bench_contestant contestants[BENCH_MOST_MODES + 1] = {{0}}; /* one more for the ceiling */
  size_t taking_part = 0;
  const double seconds = session->options->seconds > 0 ? session->options->seconds : run->seconds;
  run->rounds = 0;
  for (size_t i = 0; i < count; i++) {
    mode_run *p = &runs[i];
    *p = (mode_run){.session = session, .subject = subject, .task = subject->task, .joules = NAN};
    p->task.gpu_share = modes[i].share;
    if (bench_stopped() || !verify_mode(p, modes[i].name)) continue;
    const bool learning = modes[i].share < 0;
    p->last = warm_up(p, learning, seconds * (learning ? LEARNING_PART : WARM_PART / (double)count));
    if (p->failed) continue;
    p->contestant = &contestants[taking_part++];
    *p->contestant = (bench_contestant){.sample = sample_call, .self = p};
  }
  choose_calls(contestants, taking_part);
  bench_ceiling ceiling;
  double ceiling_rate = NAN;
  if (taking_part && !bench_stopped()) {
    bench_ceiling_choose(&ceiling, subject, session->threads);
    contestants[taking_part] =
        (bench_contestant){.sample = bench_ceiling_rate, .self = &ceiling, .calls = bench_calls(ceiling.seconds)};
    bench_progress_stage(NULL);
    bench_limits limits = bench_session_limits(session, run->least, run->seconds);
    limits.whole = run->whole;
    run->rounds = bench_measure(contestants, taking_part + 1, &limits);
    ceiling_rate = bench_median(contestants[taking_part].samples, run->rounds);
  }
  const bool unmeasured = bench_stopped() && !run->rounds;
  const size_t rows_before = results->row_count;
  bool fine = true;
  for (size_t i = 0; fine && !unmeasured && i < count; i++) {
    mode_run *const p = &runs[i];
    if (p->contestant && !run->rounds) p->failed = true;
    if (p->contestant) p->joules = joules_of(p, p->contestant->calls);
    fine = make_row(p, &modes[i], run->rounds, ceiling_rate, results);
    if (run->samples && p->contestant && run->rounds) {
      run->samples[i] = p->contestant->samples;
      p->contestant->samples = NULL;
    }
  }
  bench_print_results(session, results, results->row_count - rows_before);
  if (!fine) fputs("hx-bench: there is no memory for the results\n", stderr);
  for (size_t i = 0; i <= count; i++) free(contestants[i].samples);
  for (size_t i = 0; i < count; i++) {
    free(runs[i].shares);
    runs[i] = (mode_run){.contestant = NULL}; /* contestants are on the stack of this function */
  }
  return fine;
}
