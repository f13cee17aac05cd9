/* SPDX-License-Identifier: Apache-2.0
 * What the rows mean, in a sentence that can be read without the table. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/bench.h"
#include "bench/system.h"

#define GAIN 1.05 /* less is noise */
#define LOSS 0.95
#define NONE 0.005 /* of the work: a share that the table shows as 0 % */
#define ALL 0.995

typedef struct mode_rows { /* the rows of one operation and size */
  const bench_row *cpu, *gpu, *both;
} mode_rows;

__attribute__((format(printf, 2, 3))) static void add_text(bench_results *results, const char *format, ...) {
  size_t used = strlen(results->verdict);
  va_list list;
  va_start(list, format);
  vsnprintf(results->verdict + used, sizeof results->verdict - used, format, list);
  va_end(list);
}

/* The rows of one operation and size from row i on; returns how many. */
static size_t find_modes(const bench_results *results, size_t i, mode_rows *out) {
  *out = (mode_rows){0};
  const bench_row *first = &results->rows[i];
  size_t count = 0;
  for (; i + count < results->row_count; count++) {
    const bench_row *row = first + count;
    if (!bench_same_operation(row, first)) break;
    if (row->m != first->m || row->n != first->n || row->k != first->k) break;
    if (row->trans_a != first->trans_a || row->trans_b != first->trans_b) break;
    const bench_row **place = row->asked_share < 0 ? &out->both : row->asked_share > 0 ? &out->gpu : &out->cpu;
    if (*place) break;
    *place = row;
  }
  return count;
}

static double ratio(const bench_row *slow, const bench_row *fast) {
  return slow && fast && slow->verified && fast->verified ? slow->median_s / fast->median_s : NAN;
}

/* Whether the devices were asked for all of it and did none. */
static bool devices_did_nothing(const mode_rows *t) { return t->gpu && t->gpu->verified && t->gpu->gpu_share < NONE; }

static void add_product(const mode_rows *t, const char *where, bench_results *results) {
  char size[72];
  double gain = ratio(t->cpu, t->both), over_gpu = ratio(t->gpu, t->both);
  if (!isfinite(gain)) return;
  bench_size_text(t->both, size, sizeof size);
  if (devices_did_nothing(t)) {
    add_text(results, "the device took no part in matmul %s%s (hx-bench info says why); ", size, where);
    return;
  }
  add_text(results, "both is %.2fx the CPU alone", gain);
  if (isfinite(over_gpu)) add_text(results, " and %.2fx the device alone", over_gpu);
  add_text(results, " for matmul %s%s; ", size, where);
}

/* What the sizes of one reduction gained. */
typedef struct reduction_summary {
  const bench_row *last, *first_gain, *worst; /* first_gain: from there on every size gains; worst: below LOSS */
  double last_gain, worst_gain;
  size_t sizes;
  bool absent; /* the device did none of it */
} reduction_summary;

static reduction_summary summarize_reduction(const bench_results *results, size_t i, size_t end) {
  reduction_summary f = {.last_gain = NAN, .worst_gain = LOSS, .absent = true};
  mode_rows t;
  for (; i < end; i += find_modes(results, i, &t)) {
    find_modes(results, i, &t);
    double gain = ratio(t.cpu, t.both);
    if (!isfinite(gain)) continue;
    f.sizes++;
    f.absent &= devices_did_nothing(&t);
    f.last = t.both;
    f.last_gain = gain;
    if (gain < GAIN) f.first_gain = NULL;
    if (gain >= GAIN && !f.first_gain) f.first_gain = t.both;
    if (gain < f.worst_gain) f.worst = t.both, f.worst_gain = gain;
  }
  return f;
}

/* True where all there is to say is that it gains nothing. */
static bool gains_nothing(const reduction_summary *f) { return f->last && !f->first_gain && !f->worst && !f->absent; }

static void add_reduction(const reduction_summary *f, bench_results *results) {
  if (!f->last) return;
  char size[72], other[72];
  bench_size_text(f->last, size, sizeof size);
  add_text(results, "the %s %s ", f->last->type, f->last->op);
  if (f->absent) {
    add_text(results, "was not done by the device (hx-bench info says why); ");
    return;
  }
  if (f->first_gain == f->last) {
    add_text(results, "gains %.2fx at %s%s", f->last_gain, size, f->sizes > 1 ? " and nothing below" : "");
  } else if (f->first_gain) {
    bench_size_text(f->first_gain, other, sizeof other);
    add_text(results, "gains from %s on (%.2fx at %s)", other, f->last_gain, size);
  } else {
    add_text(results, "gains nothing here up to %s", size);
  }
  if (f->worst) {
    bench_size_text(f->worst, other, sizeof other);
    add_text(results, " and is slower with both at %s (%.2fx)", other, f->worst_gain);
  }
  add_text(results, "; ");
}

/* The rows from i on that are of one reduction. */
static size_t group_end(const bench_results *results, size_t i) {
  const bench_row *first = &results->rows[i];
  size_t end = i;
  while (end < results->row_count && !results->rows[end].m && bench_same_operation(&results->rows[end], first)) end++;
  return end;
}

static void add_gains(const char *where, bench_results *results) {
  char idle[512] = "", size[72]; /* idle: reductions that gain nothing; size: of the last one's largest */
  for (size_t i = 0, end; i < results->row_count; i = end) {
    if (results->rows[i].m) {
      mode_rows t;
      end = i + find_modes(results, i, &t);
      add_product(&t, where, results);
      if (t.both) where = ""; /* once is enough */
      continue;
    }
    end = group_end(results, i);
    const reduction_summary f = summarize_reduction(results, i, end);
    if (!gains_nothing(&f)) {
      add_reduction(&f, results);
      continue;
    }
    const size_t used = strlen(idle);
    snprintf(idle + used, sizeof idle - used, "%s%s %s", used ? ", " : "the ", f.last->type, f.last->op);
    bench_size_text(f.last, size, sizeof size);
  }
  if (*idle) add_text(results, "%s gains nothing here up to %s; ", idle, size);
  size_t length = strlen(results->verdict);
  if (length < 2) return;
  results->verdict[length - 2] = '\0'; /* the last "; " */
  add_text(results, "%s", where);
}

static size_t wrong_rows(const bench_results *results) {
  size_t wrong = 0;
  for (size_t i = 0; i < results->row_count; i++) wrong += !results->rows[i].verified;
  return wrong;
}

/* " on CPU + device": the devices in use. */
static void where_text(const bench_session *session, char *text, size_t bytes) {
  const char *names[HX_MAX_DEVICES + 1] = {NULL};
  size_t count = 0;
  char joined[512];
  for (size_t i = 0; i < session->device_count; i++)
    if (session->device[i].state == HX_USABLE || session->device[i].state == HX_BUILDING)
      names[count++] = session->device[i].name;
  bench_join_names(names, joined, sizeof joined);
  snprintf(text, bytes, "%s%s", count ? " on " : "", joined);
}

/* If nothing can be compared: which side did the work, by what the calls reported, whatever share was asked for. */
static void add_shares(const char *where, bench_results *results) {
  double least = INFINITY, most = 0;
  for (size_t i = 0; i < results->row_count; i++) {
    const bench_row *row = &results->rows[i];
    if (!row->verified || !isfinite(row->gpu_share)) continue;
    least = fmin(least, row->gpu_share);
    most = fmax(most, row->gpu_share);
  }
  if (!isfinite(least)) return;
  if (least > ALL)
    add_text(results, "only devices took part%s", where);
  else if (most < NONE)
    add_text(results, "only the CPU took part%s: hx-bench info says what a GPU would need, or why one did nothing",
             where);
  else
    add_text(results, "devices did %.0f %% to %.0f %% of the work and the CPU the rest%s", 100 * least, 100 * most,
             where);
}

void bench_verdict(const bench_session *session, bench_results *results) {
  char where[600];
  where_text(session, where, sizeof where);
  if (!results->verdict[0]) add_gains(where, results); /* a sweep has said its part */
  if (!results->verdict[0]) add_shares(where, results);
  if (results->verdict[0]) add_text(results, ". ");
  if (bench_stopped()) add_text(results, "Interrupted: this is what had been measured by then. ");
  size_t wrong = wrong_rows(results), missing = results->missing;
  if (wrong) add_text(results, "NOT VERIFIED: %zu of %zu results are wrong or missing. ", wrong, results->row_count);
  if (missing) add_text(results, "NOT RUN: %zu size%s, for lack of memory. ", missing, missing > 1 ? "s" : "");
  if (!wrong && results->row_count) add_text(results, "Every result has the bits of the scalar definition. ");
  if (results->row_count && bench_system_busy())
    add_text(results, "Other programs were busy during the run: take the times with care. ");
  size_t length = strlen(results->verdict);
  if (length && results->verdict[length - 1] == ' ') results->verdict[length - 1] = '\0';
  bench_say("\nverdict: ");
  bench_say_wrapped(results->verdict, 9, 9);
}
