/* SPDX-License-Identifier: Apache-2.0
 * What the rows mean, in a sentence that can be read without the table. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/bench.h"
#include "bench/system.h"
#include "bench/terminal.h"

#define GAIN 1.05 /* less is noise */
#define LOSS 0.95
#define NONE 0.005 /* of the work: a share that the table shows as 0 % */
#define ALL 0.995

typedef struct mode_rows { /* the rows of one operation and size */
  const bench_row *cpu, *gpu, *both;
} mode_rows;

#define FINDINGS 1024 /* bytes of the verdict for what was found; the rest is for what went wrong */

__attribute__((format(printf, 2, 3))) static void add_text(bench_results *results, const char *format, ...) {
  size_t used = strlen(results->verdict);
  va_list list;
  va_start(list, format);
  vsnprintf(results->verdict + used, sizeof results->verdict - used, format, list);
  va_end(list);
}

/* Adds a finding whole, or counts it if there is no room. */
static void add_finding(bench_results *results, const char *text) {
  const size_t used = strlen(results->verdict);
  if (results->findings_left_out || used + strlen(text) + 2 > FINDINGS)
    results->findings_left_out++;
  else
    add_text(results, "%s%s", used ? "; " : "", text);
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

/* Whether the CPU had to do a part of what the devices were asked for. */
static bool devices_gave_back(const mode_rows *t) { return t->gpu && t->gpu->verified && !(t->gpu->gpu_share > ALL); }

/* What a ratio of speeds shows: 1 and -1 only if it is outside of the dead band and the medians' intervals do not
 * overlap; otherwise 0, which is noise. */
static int judge(const bench_row *slow, const bench_row *fast) {
  const double gain = ratio(slow, fast);
  const bool known = slow && fast && slow->high_s > 0 && fast->high_s > 0;
  if (gain >= GAIN && !(known && slow->low_s <= fast->high_s)) return 1;
  if (gain < LOSS && !(known && fast->low_s <= slow->high_s)) return -1;
  return 0;
}

/* "2.00x as fast as the CPU alone", "as fast as ...", "slower than ... (0.80x)". */
static void ratio_text(const bench_row *of, const bench_row *to, const char *name, char *text, size_t bytes) {
  const int judged = judge(of, to);
  if (judged > 0) snprintf(text, bytes, "%.2fx as fast as %s", ratio(of, to), name);
  if (judged == 0) snprintf(text, bytes, "as fast as %s", name);
  if (judged < 0) snprintf(text, bytes, "slower than %s (%.2fx)", name, ratio(of, to));
}

/* Whether hx, when it decided, let no device take part. Then `both` is the CPU alone, and its ratios are noise. */
static bool hx_used_the_cpu(const mode_rows *t) {
  return t->both && t->both->verified && !(t->both->set_share >= 0) && t->both->gpu_share < NONE;
}

static void add_product(const mode_rows *t, bench_results *results) {
  char size[72], text[320], over_cpu[80] = "", over_gpu[80] = "";
  if (!isfinite(ratio(t->cpu, t->both))) return;
  bench_size_text(t->both, size, sizeof size);
  ratio_text(t->cpu, t->both, "the CPU alone", over_cpu, sizeof over_cpu);
  if (isfinite(ratio(t->gpu, t->both))) ratio_text(t->gpu, t->both, "the device alone", over_gpu, sizeof over_gpu);
  if (devices_did_nothing(t))
    snprintf(text, sizeof text, "the device took no part in matmul %s (hx-bench info says why)", size);
  else if (hx_used_the_cpu(t) && judge(t->gpu, t->both) < 0)
    snprintf(text, sizeof text, "hx used the CPU alone for matmul %s, which is %s", size, over_gpu);
  else if (hx_used_the_cpu(t))
    snprintf(text, sizeof text, "hx used the CPU alone for matmul %s (the device would not have helped)", size);
  else if (devices_gave_back(t))
    snprintf(text, sizeof text, "both is %s, and the device did only %.0f %% of what it was to do alone, for matmul %s",
             over_cpu, 100 * t->gpu->gpu_share, size);
  else
    snprintf(text, sizeof text, "both is %s%s%s for matmul %s", over_cpu, *over_gpu ? " and " : "", over_gpu, size);
  add_finding(results, text);
}

/* What the sizes of one reduction gained. */
typedef struct reduction_summary {
  const bench_row *last, *first_gain, *best, *worst; /* first_gain: from there on every size gains; worst: below LOSS */
  const bench_row *missed;                           /* where hx used the CPU alone, and the device alone is faster */
  double last_gain, best_gain, worst_gain;
  size_t sizes, gains, gains_on; /* sizes that gain; those from first_gain on */
  size_t by_cpu;                 /* sizes for which hx used the CPU alone */
  bool absent;                   /* the device did none of it, at no size */
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
    f.by_cpu += hx_used_the_cpu(&t);
    f.last = t.both;
    f.last_gain = gain;
    if (hx_used_the_cpu(&t) && judge(t.gpu, t.both) < 0) f.missed = t.both;
    const int judged = hx_used_the_cpu(&t) ? 0 : judge(t.cpu, t.both);
    if (judged <= 0) f.first_gain = NULL, f.gains_on = 0;
    if (judged > 0) f.gains++, f.gains_on++;
    if (judged > 0 && gain > f.best_gain) f.best = t.both, f.best_gain = gain;
    if (judged > 0 && !f.first_gain) f.first_gain = t.both;
    if (judged < 0 && gain < f.worst_gain) f.worst = t.both, f.worst_gain = gain;
  }
  return f;
}

/* True where all there is to say is that it gains nothing. */
static bool gains_nothing(const reduction_summary *f) {
  return f->last && !f->gains && !f->worst && !f->absent && !f->missed;
}

static void add_reduction(const reduction_summary *f, bench_results *results) {
  if (!f->last) return;
  char size[72], other[72], best[72], what[200], slower[160] = "", text[400];
  bench_size_text(f->last, size, sizeof size);
  if (f->best) bench_size_text(f->best, best, sizeof best);
  if (f->first_gain) bench_size_text(f->first_gain, other, sizeof other);
  if (f->absent)
    snprintf(what, sizeof what, "was not done by the device (hx-bench info says why)");
  else if (f->gains > f->gains_on)
    snprintf(what, sizeof what, "gains at %zu of %zu sizes (at most %.2fx, at %s)", f->gains, f->sizes, f->best_gain,
             best);
  else if (f->first_gain == f->last)
    snprintf(what, sizeof what, "gains %.2fx at %s%s", f->last_gain, size, f->sizes > 1 ? " and nothing below" : "");
  else if (f->first_gain)
    snprintf(what, sizeof what, "gains from %s on (%.2fx at %s)", other, f->last_gain, size);
  else
    snprintf(what, sizeof what, "gains nothing here up to %s", size);
  if (f->worst) bench_size_text(f->worst, other, sizeof other);
  if (f->worst && !f->absent)
    snprintf(slower, sizeof slower, " and is slower with both at %s (%.2fx)", other, f->worst_gain);
  if (f->missed && !f->worst && !f->absent) {
    bench_size_text(f->missed, other, sizeof other);
    snprintf(slower, sizeof slower, ", and hx used the CPU alone at %s, where the device alone is faster", other);
  }
  snprintf(text, sizeof text, "the %s %s %s%s", f->last->type, f->last->op, what, slower);
  add_finding(results, text);
}

/* The rows from i on that are of one reduction. */
static size_t group_end(const bench_results *results, size_t i) {
  const bench_row *first = &results->rows[i];
  size_t end = i;
  while (end < results->row_count && !results->rows[end].m && bench_same_operation(&results->rows[end], first)) end++;
  return end;
}

/* Reductions of which the same is to be said. */
typedef struct names {
  char text[512], size[72]; /* size: of the last one's largest */
} names;

static void add_name(names *n, const reduction_summary *f) {
  const size_t used = strlen(n->text);
  snprintf(n->text + used, sizeof n->text - used, "%s%s %s", used ? ", " : "the ", f->last->type, f->last->op);
  bench_size_text(f->last, n->size, sizeof n->size);
}

static void add_gains(bench_results *results) {
  names idle = {.text = ""}, by_cpu = {.text = ""};
  char text[720];
  for (size_t i = 0, end; i < results->row_count; i = end) {
    if (results->rows[i].m) {
      mode_rows t;
      end = i + find_modes(results, i, &t);
      add_product(&t, results);
      continue;
    }
    end = group_end(results, i);
    const reduction_summary f = summarize_reduction(results, i, end);
    if (gains_nothing(&f))
      add_name(f.by_cpu == f.sizes ? &by_cpu : &idle, &f);
    else
      add_reduction(&f, results);
  }
  snprintf(text, sizeof text, "%s gains nothing here up to %s", idle.text, idle.size);
  if (*idle.text) add_finding(results, text);
  snprintf(text, sizeof text, "hx used the CPU alone for %s up to %s (the device would not have helped)", by_cpu.text,
           by_cpu.size);
  if (*by_cpu.text) add_finding(results, text);
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
      names[count++] = *session->name[i].label ? session->name[i].label : session->device[i].name;
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

/* Splits whose devices did nothing were all computed by the CPU: none of them is the best. */
static bool sweep_used_devices(const bench_results *results, const bench_sweep *sweep) {
  for (size_t i = 0; i < sweep->row_count; i++)
    if (results->rows[sweep->first_row + i].gpu_share >= NONE) return true;
  return false;
}

void bench_verdict_add_sweep(bench_results *results, const bench_sweep *sweep) {
  const bench_row *own = &results->rows[sweep->first_row + sweep->row_count - 1];
  char text[400], task[128], best_time[24], own_time[24];
  bench_task_text(own, task, sizeof task);
  bench_time_text(sweep->best_s, best_time, sizeof best_time);
  bench_time_text(sweep->own_s, own_time, sizeof own_time);
  if (sweep_used_devices(results, sweep))
    snprintf(text, sizeof text,
             "%s: the best static split is %.0f %% on the device with %s, hx's own choice takes %s with %.0f %%: "
             "eta %.3f (half of the rounds lie in %.3f to %.3f)",
             task, 100.0 * sweep->best_split, best_time, own_time, 100 * sweep->own_share, sweep->eta, sweep->eta_low,
             sweep->eta_high);
  else
    snprintf(text, sizeof text, "%s: the device took no part in any split (hx-bench info says why)", task);
  add_finding(results, text);
}

void bench_verdict(const bench_session *session, bench_results *results) {
  char where[600];
  where_text(session, where, sizeof where);
  const bool said = results->verdict[0]; /* by a sweep, or by a comparison with other libraries */
  if (!said) add_gains(results);
  if (!said && results->verdict[0]) add_text(results, "%s", where);
  if (results->findings_left_out) add_text(results, "; %zu more are in the table", results->findings_left_out);
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
  bench_say("\n");
  bench_set_style(results->failed ? BENCH_RED : BENCH_BOLD);
  bench_say("verdict: ");
  if (!results->failed) bench_set_style(BENCH_PLAIN);
  bench_say_wrapped(results->verdict, 9, 9);
  bench_set_style(BENCH_PLAIN);
}
