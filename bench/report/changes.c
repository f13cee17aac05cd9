/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/changes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static bool same_share(double a, double b) { return isnan(a) ? isnan(b) : fabs(a - b) < 1e-6; }

static bool same_row(const facts_row *a, const facts_row *b) {
  return facts_same_task(a, b) && a->in_sweep == b->in_sweep && same_share(a->asked, b->asked);
}

static bool same_rung(const facts_rung *a, const facts_rung *b) {
  return strcmp(a->ladder, b->ladder) == 0 && strcmp(a->step, b->step) == 0 && a->m == b->m && a->n == b->n &&
         a->k == b->k;
}

static void name_row(const facts_row *row, char *text, size_t bytes) {
  static const char *const modes[] = {"CPU alone", "GPU alone", "both", "GPU's share"};
  char task[FACTS_TASK];
  facts_task_text(row, task);
  if (row->mode == FACTS_SPLIT)
    snprintf(text, bytes, "%s, %.0f %% on the GPU", task, 100 * row->asked);
  else
    snprintf(text, bytes, "%s, %s%s", task, modes[row->mode], row->in_sweep ? " (sweep)" : "");
}

/* Counts a pair, and adds it to the list if it has changed. */
static bool add(changes *c, const change *pair) {
  if (!(pair->before > 0) || !(pair->after > 0)) return true;
  c->compared++;
  const bool faster = facts_is_shorter(pair->after, pair->after_high, pair->before, pair->before_low);
  const bool slower = facts_is_shorter(pair->before, pair->before_high, pair->after, pair->after_low);
  c->faster += faster;
  c->slower += slower;
  c->bits += pair->bits;
  return !(faster || slower || pair->bits) || bench_append(&c->list, &c->count, &c->room, pair, sizeof *pair);
}

static bool bits_differ(const json_value *a, const json_value *b) {
  const char *const x = json_text(a, "bits"), *const y = json_text(b, "bits");
  return *x && *y && strcmp(x, y) != 0;
}

/* The row of `there` that was measured as row i of `here`: of several alike the first belongs to the first. */
static const facts_row *row_like(const facts *here, size_t i, const facts *there) {
  size_t alike = 0;
  for (size_t j = 0; j < i; j++) alike += same_row(&here->rows[j], &here->rows[i]);
  for (size_t j = 0; j < there->row_count; j++)
    if (same_row(&there->rows[j], &here->rows[i]) && alike-- == 0) return &there->rows[j];
  return NULL;
}

static const facts_rung *rung_like(const facts *here, size_t i, const facts *there) {
  size_t alike = 0;
  for (size_t j = 0; j < i; j++) alike += same_rung(&here->rungs[j], &here->rungs[i]);
  for (size_t j = 0; j < there->rung_count; j++)
    if (same_rung(&there->rungs[j], &here->rungs[i]) && alike-- == 0) return &there->rungs[j];
  return NULL;
}

/* The intervals of a pair of rows or rungs. */
#define PAIR(then, now)                                                                                       \
  {                                                                                                           \
    .before = (then)->median, .before_low = (then)->low, .before_high = (then)->high, .after = (now)->median, \
    .after_low = (now)->low, .after_high = (now)->high                                                        \
  }

static bool find_rows(const facts *before, const facts *after, changes *c) {
  bool fine = true;
  for (size_t i = 0; i < after->row_count && fine; i++) {
    const facts_row *const now = &after->rows[i], *const then = row_like(after, i, before);
    if (!then) {
      c->only_after++;
      continue;
    }
    change pair = PAIR(then, now);
    pair.bits = bits_differ(then->json, now->json);
    name_row(now, pair.what, sizeof pair.what);
    fine = add(c, &pair);
  }
  return fine;
}

static bool find_rungs(const facts *before, const facts *after, changes *c) {
  bool fine = true;
  for (size_t i = 0; i < after->rung_count && fine; i++) {
    const facts_rung *const now = &after->rungs[i], *const then = rung_like(after, i, before);
    char size[72];
    if (!then) {
      c->only_after++;
      continue;
    }
    change pair = PAIR(then, now);
    facts_size_text(now->m, now->n, now->k, size, sizeof size);
    snprintf(pair.what, sizeof pair.what, "ladder %.16s %.60s, %.60s", now->ladder, size, now->step);
    fine = add(c, &pair);
  }
  return fine;
}

/* Rows and rungs of `before` that `after` lacks. */
static size_t count_missing(const facts *before, const facts *after) {
  size_t missing = 0;
  for (size_t j = 0; j < before->row_count; j++) missing += !row_like(before, j, after);
  for (size_t j = 0; j < before->rung_count; j++) missing += !rung_like(before, j, after);
  return missing;
}

bool changes_find(const facts *before, const facts *after, changes *c) {
  *c = (changes){0};
  if (!find_rows(before, after, c) || !find_rungs(before, after, c)) return changes_free(c), false;
  c->only_before = count_missing(before, after);
  return true;
}

void changes_free(changes *c) {
  free(c->list);
  *c = (changes){0};
}

void changes_text(const changes *c, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "%zu of %zu times have changed: %zu faster, %zu slower",
                                 c->faster + c->slower, c->compared, c->faster, c->slower);
  if (c->bits && used < bytes)
    used += (size_t)snprintf(text + used, bytes - used, "; %zu results have OTHER BITS", c->bits);
  if ((c->only_before || c->only_after) && used < bytes)
    snprintf(text + used, bytes - used, "; %zu are only in the old document and %zu only in the new one",
             c->only_before, c->only_after);
}
