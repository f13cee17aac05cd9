/* SPDX-License-Identifier: Apache-2.0
 * --vs: hx beside other libraries, each in a process of its own (rival.h), in interleaved rounds. A library that takes
 * its kernels by an environment variable runs as installed and at its best core type, which a trial finds for each
 * task: the least of some calls of each core type that this CPU can run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/compare.h"
#include "bench/measure.h"
#include "bench/rival.h"
#include "bench/system.h"

#define LEAST_ROUNDS 15u
#define SECONDS 1.0
#define SAMPLE_SECONDS 300e-6
#define MOST_CALLS 10000.0
#define TOO_LOW 0.97 /* where even the upper end lies below, it is measured once more */
#define MOST_RIVALS (1 + BENCH_MAX_PEERS * (1 + BENCH_MOST_CORES))
#define MOST_FIELD (2 + 2 * BENCH_MAX_PEERS)

typedef struct team {
  bench_session *session;
  bench_rival rivals[MOST_RIVALS]; /* hx first; a library as installed before its core types */
  size_t of[MOST_RIVALS];          /* its place in options->vs */
  size_t count;
} team;

typedef struct seat {
  bench_rival *rival;
  size_t peer;
  bool best; /* of its core types; false: as installed */
  bench_ask ask;
  double seconds; /* of one call */
} seat;

static double sample(void *self, unsigned calls) {
  const seat *s = self;
  const bench_request request = {.ask = s->ask, .calls = calls};
  bench_reply reply;
  bench_answer answer = bench_rival_ask(s->rival, &request, &reply);
  if (answer == BENCH_WRONG)
    fprintf(stderr, "hx-bench: %s: a wrong result\n", s->peer == SIZE_MAX ? "hx" : "a library");
  return answer == BENCH_READY ? reply.value : -1;
}

static unsigned calls_of(double seconds) {
  if (seconds >= SAMPLE_SECONDS) return 1;
  return (unsigned)fmin(MOST_CALLS, ceil(SAMPLE_SECONDS / fmax(seconds, 1e-9)));
}

static void start_peer(team *t, size_t v) {
  const bench_vs *vs = &t->session->options->vs[v];
  const bench_peer *peer = vs->peer;
  FILE *f = t->session->human;
  bench_rival *installed = &t->rivals[t->count];
  bench_answer answer = bench_rival_start(installed, peer, NULL);
  if (answer != BENCH_READY) {
    if (f && answer == BENCH_ABSENT) fprintf(f, "%-9s is not installed here (no %s)\n", peer->name, peer->files[0]);
    return;
  }
  t->of[t->count++] = v;
  if (f) fprintf(f, "%-9s %s", peer->name, installed->file);
  if (f && *installed->core) fprintf(f, ", as installed %s kernels; also", installed->core);
  for (size_t c = 0; c < BENCH_MOST_CORES && peer->cores[c].name; c++) {
    if (!peer->cores[c].runs() || (vs->core && strcmp(vs->core, peer->cores[c].name) != 0)) continue;
    bench_rival *rival = &t->rivals[t->count];
    if (bench_rival_start(rival, peer, peer->cores[c].name) != BENCH_READY) continue;
    if (!vs->core && strcmp(rival->core, installed->core) == 0) { /* it is what is installed */
      bench_rival_end(rival);
      continue;
    }
    if (f) fprintf(f, " %s", rival->core);
    t->of[t->count++] = v;
  }
  if (f) fputc('\n', f);
}

static bench_answer start_task(bench_rival *rival, const bench_request *task, bench_reply *reply) {
  bench_answer answer = bench_rival_ask(rival, task, reply);
  if (answer == BENCH_WRONG)
    fprintf(stderr, "hx-bench: %s %s: a wrong result%s\n", rival->peer ? rival->peer->name : "hx", rival->core,
            rival->peer ? "; it is left out" : "");
  return answer;
}

static void end_task(bench_rival *rival) {
  const bench_request done = {.ask = BENCH_ASK_DONE};
  bench_reply reply;
  bench_rival_ask(rival, &done, &reply);
}

/* Puts the library as installed into the field, and its fastest core type; a library that is wrong stays out. False:
 * something is broken. */
static bool seat_peer(team *t, size_t v, const bench_request *task, seat *field, size_t *count) {
  size_t first = 0;
  while (first < t->count && t->of[first] != v) first++;
  if (first == t->count) return true; /* not installed */
  bench_reply reply;
  bench_answer answer = start_task(&t->rivals[first], task, &reply);
  bool installed = answer == BENCH_READY;
  if (installed) {
    field[(*count)++] = (seat){&t->rivals[first], v, false, BENCH_ASK_SAMPLE, reply.value};
  } else {
    end_task(&t->rivals[first]);
  }
  if (answer == BENCH_UNABLE || answer == BENCH_BROKEN) return answer == BENCH_UNABLE;
  /* One named core type is taken as it is; as installed is as good as any other. */
  size_t best = SIZE_MAX;
  double best_s = INFINITY;
  if (installed && !t->session->options->vs[v].core) best = first, best_s = reply.value;
  for (size_t r = first + 1; r < t->count && t->of[r] == v; r++) {
    answer = start_task(&t->rivals[r], task, &reply);
    end_task(&t->rivals[r]); /* memory for one of them at a time */
    if (answer == BENCH_BROKEN) return false;
    if (answer == BENCH_READY && reply.value < best_s) best_s = reply.value, best = r;
  }
  if (best == first || best == SIZE_MAX) return true;
  if (start_task(&t->rivals[best], task, &reply) != BENCH_READY) return false;
  field[(*count)++] = (seat){&t->rivals[best], v, true, BENCH_ASK_SAMPLE, reply.value};
  return true;
}

static bool note_versus(const seat *s, bool best, const double *samples, const double *own, size_t rounds, double work,
                        unsigned runs, bench_results *results) {
  double *ratios = malloc(rounds * sizeof *ratios);
  if (!ratios) return false;
  bench_versus v = {.row = results->row_count - 1, .peer = s->peer, .best = best, .runs = runs};
  snprintf(v.core, sizeof v.core, "%s", s->rival->core);
  for (size_t i = 0; i < rounds; i++) ratios[i] = samples[i] / own[i];
  bench_sort(ratios, rounds);
  v.ratio = bench_quantile(ratios, rounds, 0.5);
  bench_median_interval(ratios, rounds, &v.low, &v.high);
  v.median_s = bench_median(samples, rounds);
  v.rate = work / v.median_s;
  free(ratios);
  return bench_results_add_versus(results, &v);
}

static bool add_results(const bench_options *options, const seat *field, const bench_contestant *who, size_t count,
                        size_t rounds, bench_row row, unsigned runs, bench_results *results) {
  const bench_size size = {.m = row.m, .n = row.n, .k = row.k};
  double sides = size.m ? 2.0 * (double)size.m * (double)size.k : strcmp(row.op, "dot") ? 4 : 8;
  double work = 1e-9 * sides * (double)size.n;
  double *sorted = malloc(rounds * sizeof *sorted);
  if (!sorted) return false;
  memcpy(sorted, who[0].samples, rounds * sizeof *sorted);
  bench_sort(sorted, rounds);
  row.median_s = bench_quantile(sorted, rounds, 0.5);
  row.min_s = sorted[0];
  row.max_s = sorted[rounds - 1];
  free(sorted);
  row.reps = rounds;
  row.rate = work / row.median_s;
  row.ceiling = bench_median(who[1].samples, rounds);
  row.ran = row.verified = true;
  bool fine = bench_results_add(results, &row);
  for (size_t i = 2, next; fine && i < count; i = next) {
    next = i + 1 < count && field[i + 1].peer == field[i].peer ? i + 2 : i + 1;
    size_t best = next - 1; /* a trial may have been mistaken: as installed may still be the best */
    if (best > i && !options->vs[field[i].peer].core &&
        bench_median(who[i].samples, rounds) < bench_median(who[best].samples, rounds))
      best = i;
    if (!field[i].best)
      fine = note_versus(&field[i], false, who[i].samples, who[0].samples, rounds, work, runs, results);
    if (fine) fine = note_versus(&field[best], true, who[best].samples, who[0].samples, rounds, work, runs, results);
  }
  return fine;
}

/* Whether hx fell behind a library at its best in the last row. */
static bool fell(const bench_results *results) {
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

static bool race(team *t, seat *field, size_t count, const bench_row *row, bench_results *results) {
  const bench_options *options = t->session->options;
  char label[128];
  bench_size_text(row, label, sizeof label);
  const bench_limits limits = {.reps = options->reps,
                               .least = LEAST_ROUNDS,
                               .whole = true,
                               .seconds = options->seconds > 0 ? options->seconds : SECONDS,
                               .label = label,
                               .progress = t->session->human && isatty(STDERR_FILENO)};
  bool fine = true;
  for (unsigned run = 1; fine && run <= 2; run++) {
    bench_contestant who[MOST_FIELD] = {{0}};
    for (size_t i = 0; i < count; i++)
      who[i] = (bench_contestant){.sample = sample, .self = &field[i], .calls = calls_of(field[i].seconds)};
    size_t rounds = bench_measure(who, count, &limits);
    fine = rounds && add_results(options, field, who, count, rounds, *row, run, results);
    for (size_t i = 0; i < count; i++) free(who[i].samples);
    if (!fine || run == 2 || !fell(results)) break;
    drop_last_row(results);
  }
  return fine;
}

/* False when hx or a library is wrong, or is gone. */
static bool versus_one(team *t, const bench_item *item, const bench_size *size, bench_results *results) {
  const bench_options *options = t->session->options;
  const bench_request task = {.ask = BENCH_ASK_TASK, .op = item->op, .type = item->type, .size = *size};
  seat field[MOST_FIELD];
  size_t count = 0;
  bench_reply reply;
  bool fine = start_task(&t->rivals[0], &task, &reply) == BENCH_READY;
  bench_row row = {.op = bench_op_name(item->op),
                   .type = bench_type_name(item->type),
                   .mode = "cpu",
                   .unit = size->m ? "GFLOP/s" : "GB/s",
                   .m = size->m,
                   .n = size->n,
                   .k = size->k,
                   .trans_a = size->trans_a,
                   .trans_b = size->trans_b,
                   .file = size->file,
                   .devices = 1,
                   .joules = NAN,
                   .bits = reply.bits};
  field[count++] = (seat){&t->rivals[0], SIZE_MAX, true, BENCH_ASK_SAMPLE, reply.value};
  field[count++] = (seat){&t->rivals[0], SIZE_MAX, true, BENCH_ASK_CEILING, reply.ceiling_s};
  for (size_t v = 0; fine && v < options->vs_count; v++) fine = seat_peer(t, v, &task, field, &count);
  if (fine) fine = race(t, field, count, &row, results);
  for (size_t i = 0; i < count; i++)
    if (field[i].ask == BENCH_ASK_SAMPLE) end_task(field[i].rival);
  if (fine && t->session->human) {
    const bench_row *rows = results->rows, *last = results->row_count > 1 ? &rows[results->row_count - 2] : NULL;
    const bench_row *now = &rows[results->row_count - 1];
    if (!last || strcmp(last->op, now->op) || strcmp(last->type, now->type) || last->file != now->file)
      // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): race has just added a row
      bench_versus_head(t->session->human, now, now->file ? options->shapes[now->file - 1] : NULL);
    bench_versus_lines(t->session->human, t->session, results, results->row_count - 1);
    fflush(t->session->human);
  }
  return fine;
}

int bench_versus_run(const bench_options *options, const bench_plan *plan, const bench_item *items, size_t count) {
  if (plan->each || options->devices) {
    fputs("hx-bench: --vs compares the CPU's side of reduce and matmul: without --devices, and not in a sweep\n",
          stderr);
    return BENCH_USAGE;
  }
  static team t;
  bench_options own = *options;
  own.devices = "cpu";
  if (!bench_files_open(&own)) return BENCH_USAGE;
  bench_session session;
  int status = bench_session_open(&session, &own, false);
  if (status != BENCH_OK) {
    bench_files_close();
    return status;
  }
  bench_results results = {0};
  if (session.human) bench_system_print(session.human, &session);
  t.session = &session;
  t.of[t.count++] = SIZE_MAX;
  bool fine = bench_rival_start(&t.rivals[0], NULL, NULL) == BENCH_READY;
  for (size_t v = 0; fine && v < own.vs_count; v++) start_peer(&t, v);
  for (size_t i = 0; fine && i < count; i++)
    for (size_t s = 0; s < items[i].count && !bench_stopped(); s++)
      if (!versus_one(&t, &items[i], &items[i].sizes[s], &results)) results.failed = true;
  if (!fine) results.failed = true;
  for (size_t r = 0; r < t.count; r++) bench_rival_end(&t.rivals[r]);
  bench_versus_means(&session, &results);
  if (!bench_files_write(&session, &results)) results.failed = true;
  bench_session_close(&session);
  status = results.failed ? BENCH_FAILED : BENCH_OK;
  bench_results_free(&results);
  return status;
}
