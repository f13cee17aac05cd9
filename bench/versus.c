/* SPDX-License-Identifier: Apache-2.0
 * --vs: compares hx with other libraries, each in a process of its own (process.h), in interleaved rounds. A library
 * that selects its kernels by an environment variable runs as installed and at its best core type. That is the core
 * type with the shortest of a few calls, found for each task among the types that this CPU can run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/emit.h"
#include "bench/measure.h"
#include "bench/process.h"
#include "bench/progress.h"
#include "bench/system.h"

#define LEAST_ROUNDS 15u
#define SECONDS 1.0
#define SAMPLE_SECONDS 300e-6
#define MOST_CALLS 10000.0
#define TOO_LOW 0.97 /* if the whole interval is lower, the task is measured a second time */
#define MOST_PROCESSES (1 + BENCH_MAX_PEERS * (1 + BENCH_MOST_CORES))
#define MOST_ENTRIES (2 + 2 * BENCH_MAX_PEERS)

typedef struct comparison {
  bench_session *session;
  bench_process processes[MOST_PROCESSES]; /* hx comes first; a library as installed comes before its core types */
  size_t peer_of[MOST_PROCESSES];          /* index in options->vs of each process */
  size_t count;
} comparison;

typedef struct entry {
  bench_process *process;
  size_t peer;
  bool best; /* at its best core type; false: as installed */
  bench_ask ask;
  double seconds; /* per call */
} entry;

static double sample_process(void *self, unsigned calls) {
  const entry *s = self;
  const bench_request request = {.ask = s->ask, .calls = calls};
  bench_reply reply;
  bench_answer answer = bench_process_ask(s->process, &request, &reply);
  if (answer == BENCH_WRONG)
    fprintf(stderr, "hx-bench: %s: a wrong result\n", s->peer == SIZE_MAX ? "hx" : "a library");
  return answer == BENCH_READY ? reply.value : -1;
}

static unsigned calls_of(double seconds) {
  if (seconds >= SAMPLE_SECONDS) return 1;
  return (unsigned)fmin(MOST_CALLS, ceil(SAMPLE_SECONDS / fmax(seconds, 1e-9)));
}

static void start_peer(comparison *all, size_t v) {
  const bench_vs *vs = &all->session->options->vs[v];
  const bench_peer *peer = vs->peer;
  bench_process *installed = &all->processes[all->count];
  bench_answer answer = bench_process_start(installed, peer, NULL);
  if (answer != BENCH_READY) {
    if (answer == BENCH_ABSENT) bench_say("%-9s is not installed here (no %s)\n", peer->name, peer->files[0]);
    return;
  }
  all->peer_of[all->count++] = v;
  char line[512];
  int written = snprintf(line, sizeof line, "%s", installed->file);
  if (*installed->core)
    written +=
        snprintf(line + written, sizeof line - (size_t)written, ", as installed %s kernels; also", installed->core);
  for (size_t c = 0; c < BENCH_MOST_CORES && peer->cores[c].name; c++) {
    if (!peer->cores[c].runs() || (vs->core && strcmp(vs->core, peer->cores[c].name) != 0)) continue;
    bench_process *process = &all->processes[all->count];
    if (bench_process_start(process, peer, peer->cores[c].name) != BENCH_READY) continue;
    if (!vs->core && strcmp(process->core, installed->core) == 0) { /* the library as installed uses this core type */
      bench_process_end(process);
      continue;
    }
    written += snprintf(line + written, sizeof line - (size_t)written, " %s", process->core);
    all->peer_of[all->count++] = v;
  }
  bench_say("%-9s ", peer->name);
  bench_say_wrapped(line, 10, 10);
}

static bench_answer start_task(bench_process *process, const bench_request *task, bench_reply *reply) {
  bench_answer answer = bench_process_ask(process, task, reply);
  if (answer == BENCH_WRONG)
    fprintf(stderr, "hx-bench: %s %s: a wrong result%s\n", process->peer ? process->peer->name : "hx", process->core,
            process->peer ? "; it is left out" : "");
  return answer;
}

static void end_task(bench_process *process) {
  const bench_request done = {.ask = BENCH_ASK_DONE};
  bench_reply reply;
  bench_process_ask(process, &done, &reply);
}

/* Adds the library as installed, and with its fastest core type, to the entries. A library with a wrong result is left
 * out. Returns false if a process is broken. */
static bool add_peer_entries(comparison *all, size_t v, const bench_request *task, entry *entries, size_t *count) {
  size_t first = 0;
  while (first < all->count && all->peer_of[first] != v) first++;
  if (first == all->count) return true; /* not installed */
  bench_reply reply;
  bench_answer answer = start_task(&all->processes[first], task, &reply);
  bool installed = answer == BENCH_READY;
  if (installed) {
    entries[(*count)++] = (entry){&all->processes[first], v, false, BENCH_ASK_SAMPLE, reply.value};
  } else {
    end_task(&all->processes[first]);
  }
  if (answer == BENCH_UNABLE || answer == BENCH_BROKEN) return answer == BENCH_UNABLE;
  /* If a core type is named, only that one is used. Otherwise the library as installed competes with its core types. */
  size_t best = SIZE_MAX;
  double best_s = INFINITY;
  if (installed && !all->session->options->vs[v].core) best = first, best_s = reply.value;
  for (size_t r = first + 1; r < all->count && all->peer_of[r] == v; r++) {
    answer = start_task(&all->processes[r], task, &reply);
    end_task(&all->processes[r]); /* the arrays of only one process are allocated at a time */
    if (answer == BENCH_BROKEN) return false;
    if (answer == BENCH_READY && reply.value < best_s) best_s = reply.value, best = r;
  }
  if (best == first || best == SIZE_MAX) return true;
  if (start_task(&all->processes[best], task, &reply) != BENCH_READY) return false;
  entries[(*count)++] = (entry){&all->processes[best], v, true, BENCH_ASK_SAMPLE, reply.value};
  return true;
}

/* The measurements of one task: samples of each entry, of which the first two are hx and the ceiling. */
typedef struct measured {
  const entry *entries;
  const bench_contestant *contestants;
  size_t count, rounds;
  unsigned run;
  double amount; /* of work in a call, as bench_row_amount */
} measured;

static bool add_versus(const measured *m, size_t i, bool best, bench_results *results) {
  const double *const samples = m->contestants[i].samples, *const own = m->contestants[0].samples;
  double *ratios = malloc(m->rounds * sizeof *ratios);
  if (!ratios) return false;
  bench_versus v = {.row = results->row_count - 1, .peer = m->entries[i].peer, .best = best, .runs = m->run};
  snprintf(v.core, sizeof v.core, "%s", m->entries[i].process->core);
  for (size_t r = 0; r < m->rounds; r++) ratios[r] = samples[r] / own[r];
  bench_sort(ratios, m->rounds);
  v.ratio = bench_quantile(ratios, m->rounds, 0.5);
  bench_median_interval(ratios, m->rounds, &v.low, &v.high);
  v.median_s = bench_median(samples, m->rounds);
  v.rate = m->amount / v.median_s;
  free(ratios);
  return bench_results_add_versus(results, &v);
}

static bool add_results(const bench_options *options, const measured *m, bench_row row, bench_results *results) {
  const bench_times times = bench_times_of(m->contestants[0].samples, m->rounds);
  row.median_s = times.median;
  row.min_s = times.least;
  row.max_s = times.most;
  row.low_s = times.low;
  row.high_s = times.high;
  row.reps = m->rounds;
  row.rate = m->amount / row.median_s;
  row.ceiling = bench_median(m->contestants[1].samples, m->rounds);
  row.ran = row.verified = true;
  bool fine = bench_results_add(results, &row);
  for (size_t i = 2, next; fine && i < m->count; i = next) {
    next = i + 1 < m->count && m->entries[i + 1].peer == m->entries[i].peer ? i + 2 : i + 1;
    size_t best = next - 1; /* the few calls may have misled: as installed may be the fastest */
    if (best > i && !options->vs[m->entries[i].peer].core &&
        bench_median(m->contestants[i].samples, m->rounds) < bench_median(m->contestants[best].samples, m->rounds))
      best = i;
    if (!m->entries[i].best) fine = add_versus(m, i, false, results);
    fine = fine && add_versus(m, best, true, results);
  }
  return fine;
}

/* Whether hx is certainly slower than a library at its best core type in the last row. */
static bool fell_behind(const bench_results *results) {
  for (size_t i = 0; i < results->versus_count; i++) {
    const bench_versus *v = &results->versus[i];
    if (v->row + 1 == results->row_count && v->best && v->high < TOO_LOW) return true;
  }
  return false;
}

static void drop_last_row(bench_results *results) {
  results->row_count--;
  while (results->versus_count && results->versus[results->versus_count - 1].row == results->row_count)
    results->versus_count--;
}

static bool measure_task(comparison *all, entry *entries, size_t count, const bench_row *row, bench_results *results) {
  bench_progress_stage(NULL);
  bench_limits limits = bench_session_limits(all->session, LEAST_ROUNDS, SECONDS);
  limits.whole = true;
  bool fine = true;
  for (unsigned run = 1; fine && run <= 2; run++) {
    bench_contestant contestants[MOST_ENTRIES] = {{0}};
    for (size_t i = 0; i < count; i++)
      contestants[i] =
          (bench_contestant){.sample = sample_process, .self = &entries[i], .calls = calls_of(entries[i].seconds)};
    size_t rounds = bench_measure(contestants, count, &limits);
    const measured m = {entries, contestants, count, rounds, run, bench_row_amount(row)};
    fine = rounds && add_results(all->session->options, &m, *row, results);
    for (size_t i = 0; i < count; i++) free(contestants[i].samples);
    if (!fine || run == 2 || !fell_behind(results)) break;
    drop_last_row(results);
  }
  return fine;
}

/* Returns false if hx or a library gives a wrong result, or a process has ended. */
static bool versus_one(comparison *all, const bench_task *next, bench_results *results) {
  const bench_options *options = all->session->options;
  const bench_request task = {.ask = BENCH_ASK_TASK, .task = *next};
  entry entries[MOST_ENTRIES];
  size_t count = 0;
  bench_reply reply;
  char name[128];
  bench_row row = bench_row_of_task(next);
  bench_task_text(&row, name, sizeof name);
  bench_progress_row(name, all->session->options->seconds > 0 ? all->session->options->seconds : SECONDS);
  bench_progress_stage("verifying");
  bool fine = start_task(&all->processes[0], &task, &reply) == BENCH_READY;
  row.mode = "cpu";
  row.devices = 1;
  row.joules = NAN;
  row.set_share = -1;
  row.bits = reply.bits;
  entries[count++] = (entry){&all->processes[0], SIZE_MAX, true, BENCH_ASK_SAMPLE, reply.value};
  entries[count++] = (entry){&all->processes[0], SIZE_MAX, true, BENCH_ASK_CEILING, reply.ceiling_s};
  for (size_t v = 0; fine && v < options->vs_count; v++) fine = add_peer_entries(all, v, &task, entries, &count);
  if (fine) fine = measure_task(all, entries, count, &row, results);
  for (size_t i = 0; i < count; i++)
    if (entries[i].ask == BENCH_ASK_SAMPLE) end_task(entries[i].process);
  if (!fine) return false;
  const bench_row *const now = &results->rows[results->row_count - 1];
  const bench_row *const last = results->row_count > 1 ? now - 1 : NULL;
  if (!last || !bench_same_operation(last, now) || last->file != now->file)
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): measure_task has just added a row
    bench_versus_head(now, now->file ? options->shapes[now->file - 1] : NULL);
  bench_versus_lines(all->session, results, results->row_count - 1);
  bench_show_output();
  return true;
}

static int compare_libraries(bench_session *session, const void *what) {
  static comparison all;
  const bench_tasks *const tasks = what;
  bench_results results = {0};
  bench_print_system(session);
  all.session = session;
  all.peer_of[all.count++] = SIZE_MAX;
  const bool fine = bench_process_start(&all.processes[0], NULL, NULL) == BENCH_READY;
  for (size_t v = 0; fine && v < session->options->vs_count; v++) start_peer(&all, v);
  const double each = session->options->seconds > 0 ? session->options->seconds : SECONDS;
  bench_progress_begin(tasks->count, each * (double)tasks->count);
  for (size_t i = 0; fine && i < tasks->count && !bench_stopped(); i++)
    if (!versus_one(&all, &tasks->task[i], &results)) results.failed = true;
  if (!fine) results.failed = true;
  for (size_t r = 0; r < all.count; r++) bench_process_end(&all.processes[r]);
  bench_versus_means(session, &results);
  bench_results_write(session, &results, false);
  const int status = results.failed ? BENCH_FAILED : BENCH_OK;
  bench_results_free(&results);
  return status;
}

int bench_versus_run(const bench_options *options, const bench_tasks *tasks) {
  return bench_session_run(options, "cpu", false, compare_libraries, tasks);
}
