/* SPDX-License-Identifier: Apache-2.0
 * What the rows mean, in a sentence for someone who never saw the table. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/system.h"
#include "bench/text.h"

#define GAIN 1.05 /* less is noise */
#define LOSS 0.95
#define NONE 0.005 /* of the work: a share that the table shows as 0 % */
#define ALL 0.995

typedef struct trio { /* the rows of one operation and size */
  const bench_row *cpu, *gpu, *both;
} trio;

__attribute__((format(printf, 2, 3))) static void add(bench_results *results, const char *format, ...) {
  size_t used = strlen(results->verdict);
  va_list list;
  va_start(list, format);
  vsnprintf(results->verdict + used, sizeof results->verdict - used, format, list);
  va_end(list);
}

/* The trio that starts at row i; how many rows it has. */
static size_t read_trio(const bench_results *results, size_t i, trio *out) {
  *out = (trio){0};
  const bench_row *first = &results->rows[i];
  size_t count = 0;
  for (; i + count < results->row_count; count++) {
    const bench_row *row = first + count;
    if (strcmp(row->op, first->op) || strcmp(row->type, first->type)) break;
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
static bool took_no_part(const trio *t) { return t->gpu && t->gpu->verified && t->gpu->gpu_share < NONE; }

static void judge_product(const trio *t, const char *where, bench_results *results) {
  char size[72];
  double gain = ratio(t->cpu, t->both), over_gpu = ratio(t->gpu, t->both);
  if (!isfinite(gain)) return;
  bench_size_text(t->both, size, sizeof size);
  if (took_no_part(t)) {
    add(results, "the device took no part in matmul %s%s (hx-bench info says why); ", size, where);
    return;
  }
  add(results, "both is %.2fx the CPU alone", gain);
  if (isfinite(over_gpu)) add(results, " and %.2fx the device alone", over_gpu);
  add(results, " for matmul %s%s; ", size, where);
}

/* How the sizes of one reduction fared. */
typedef struct fortune {
  const bench_row *last, *first_gain, *worst; /* first_gain: from there on every size gains; worst: below LOSS */
  double last_gain, worst_gain;
  size_t sizes;
  bool absent; /* the device did none of it */
} fortune;

static fortune read_fortune(const bench_results *results, size_t i, size_t end) {
  fortune f = {.last_gain = NAN, .worst_gain = LOSS, .absent = true};
  trio t;
  for (; i < end; i += read_trio(results, i, &t)) {
    read_trio(results, i, &t);
    double gain = ratio(t.cpu, t.both);
    if (!isfinite(gain)) continue;
    f.sizes++;
    f.absent &= took_no_part(&t);
    f.last = t.both;
    f.last_gain = gain;
    if (gain < GAIN) f.first_gain = NULL;
    if (gain >= GAIN && !f.first_gain) f.first_gain = t.both;
    if (gain < f.worst_gain) f.worst = t.both, f.worst_gain = gain;
  }
  return f;
}

/* True where all there is to say is that it gains nothing. */
static bool gains_nothing(const fortune *f) { return f->last && !f->first_gain && !f->worst && !f->absent; }

static void judge_reduction(const fortune *f, bench_results *results) {
  if (!f->last) return;
  char size[72], other[72];
  bench_size_text(f->last, size, sizeof size);
  add(results, "the %s %s ", f->last->type, f->last->op);
  if (f->absent) {
    add(results, "was not done by the device (hx-bench info says why); ");
    return;
  }
  if (f->first_gain == f->last) {
    add(results, "gains %.2fx at %s%s", f->last_gain, size, f->sizes > 1 ? " and nothing below" : "");
  } else if (f->first_gain) {
    bench_size_text(f->first_gain, other, sizeof other);
    add(results, "gains from %s on (%.2fx at %s)", other, f->last_gain, size);
  } else {
    add(results, "gains nothing here up to %s", size);
  }
  if (f->worst) {
    bench_size_text(f->worst, other, sizeof other);
    add(results, " and is slower with both at %s (%.2fx)", other, f->worst_gain);
  }
  add(results, "; ");
}

/* The rows from i on that are of one reduction. */
static size_t group_end(const bench_results *results, size_t i) {
  const bench_row *first = &results->rows[i];
  size_t end = i;
  while (end < results->row_count && !results->rows[end].m && !strcmp(results->rows[end].op, first->op) &&
         !strcmp(results->rows[end].type, first->type))
    end++;
  return end;
}

static void judge_rows(const char *where, bench_results *results) {
  size_t idle = 0;
  for (size_t i = 0, end; i < results->row_count; i = end) {
    if (results->rows[i].m) {
      trio t;
      end = i + read_trio(results, i, &t);
      judge_product(&t, where, results);
      if (t.both) where = ""; /* once is enough */
      continue;
    }
    end = group_end(results, i);
    fortune f = read_fortune(results, i, end);
    if (gains_nothing(&f)) {
      idle++;
    } else {
      judge_reduction(&f, results);
    }
  }
  const char *before = "the ";
  for (size_t i = 0, end; idle && i < results->row_count; i = end) {
    trio t;
    end = results->rows[i].m ? i + read_trio(results, i, &t) : group_end(results, i);
    fortune f = read_fortune(results, i, end);
    if (results->rows[i].m || !gains_nothing(&f)) continue;
    char size[72];
    bench_size_text(f.last, size, sizeof size);
    add(results, "%s%s %s", before, f.last->type, f.last->op);
    before = ", ";
    if (--idle == 0) add(results, " gains nothing here up to %s; ", size);
  }
  size_t length = strlen(results->verdict);
  if (length < 2) return;
  results->verdict[length - 2] = '\0'; /* the last "; " */
  add(results, "%s", where);
}

static size_t wrong_rows(const bench_results *results) {
  size_t wrong = 0;
  for (size_t i = 0; i < results->row_count; i++) wrong += !results->rows[i].verified;
  return wrong;
}

/* " on CPU + device": the devices in use. */
static void where_text(const bench_session *session, char *text, size_t bytes) {
  uint32_t devices = 0;
  char names[512];
  for (size_t i = 0; i < session->device_count; i++)
    if (session->device[i].state == HX_USABLE || session->device[i].state == HX_BUILDING) devices |= 1u << i;
  bench_row_devices(session, devices, names, sizeof names);
  snprintf(text, bytes, "%s%s", devices ? " on " : "", names);
}

/* Where nothing can be compared: who did the work, by what the calls reported, whatever was asked of whom. */
static void judge_part(const char *where, bench_results *results) {
  double least = INFINITY, most = 0;
  for (size_t i = 0; i < results->row_count; i++) {
    const bench_row *row = &results->rows[i];
    if (!row->verified || !isfinite(row->gpu_share)) continue;
    least = fmin(least, row->gpu_share);
    most = fmax(most, row->gpu_share);
  }
  if (!isfinite(least)) return;
  if (least > ALL)
    add(results, "only devices took part%s", where);
  else if (most < NONE)
    add(results, "only the CPU took part%s: hx-bench info says what a GPU would need, or why one did nothing", where);
  else
    add(results, "devices did %.0f %% to %.0f %% of the work and the CPU the rest%s", 100 * least, 100 * most, where);
}

void bench_verdict(const bench_session *session, bench_results *results) {
  char where[600];
  where_text(session, where, sizeof where);
  if (!results->verdict[0]) judge_rows(where, results); /* a sweep has said its part */
  if (!results->verdict[0]) judge_part(where, results);
  if (results->verdict[0]) add(results, ". ");
  if (bench_stopped()) add(results, "Interrupted: this is what had been measured by then. ");
  size_t wrong = wrong_rows(results), missing = results->missing;
  if (wrong) add(results, "NOT VERIFIED: %zu of %zu results are wrong or missing. ", wrong, results->row_count);
  if (missing) add(results, "NOT RUN: %zu size%s, for lack of memory. ", missing, missing > 1 ? "s" : "");
  if (!wrong && results->row_count) add(results, "Every result has the bits of the scalar definition. ");
  if (results->row_count && bench_system_busy())
    add(results, "Other programs were busy meanwhile: take the times with care. ");
  size_t length = strlen(results->verdict);
  if (length && results->verdict[length - 1] == ' ') results->verdict[length - 1] = '\0';
  if (!session->human) return;
  char plain[sizeof results->verdict];
  fprintf(session->human, "\nverdict: ");
  bench_wrap(session->human, bench_plain(results->verdict, plain, sizeof plain), 9, 9, BENCH_COLUMNS);
}
