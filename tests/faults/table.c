/* SPDX-License-Identifier: Apache-2.0
 * The table of the fault matrix: see table.h. */
#include "tests/faults/table.h"

#include <stdio.h>
#include <string.h>

typedef struct tally {
  unsigned cases, right;
} tally;

typedef struct row {
  char entry[48];
  tally all, by_kind[F_KINDS], by_mode[MODES], by_dress[DRESSES];
  double slowest_ms;
  char slowest[32];
} row;

static row rows[ENTRIES_MAX + 1]; /* the row after the last one is the sum */
static int row_count;
static row sum = {.entry = "all"};
static unsigned long faults, not_reached;

static void count_case(tally *t, bool right) {
  t->cases++;
  t->right += right;
}

static void add_outcome(row *r, const cell *at, const outcome *o) {
  const bool right = o->verdict == RIGHT;
  count_case(&r->all, right);
  count_case(&r->by_kind[at->kind], right);
  count_case(&r->by_mode[at->mode], right);
  count_case(&r->by_dress[at->dress], right);
  if (o->slowest_ms <= r->slowest_ms) return;
  r->slowest_ms = o->slowest_ms;
  snprintf(r->slowest, sizeof r->slowest, "%s", o->slowest);
}

static row *row_of(const char *entry) {
  for (int i = 0; i < row_count; i++)
    if (strcmp(rows[i].entry, entry) == 0) return &rows[i];
  row *const made = &rows[row_count < ENTRIES_MAX ? row_count++ : ENTRIES_MAX];
  snprintf(made->entry, sizeof made->entry, "%s", entry);
  return made;
}

void table_add(const cell *at, const outcome *o) {
  if (o->verdict == NOT_REACHED) {
    not_reached++;
    return;
  }
  faults += o->faults > 0;
  add_outcome(row_of(at->entry), at, o);
  add_outcome(&sum, at, o);
  if (o->verdict == RIGHT) return;
  printf("RED --cell %s:%lu:%s:%s:%s:%s:%d:%s (of %lu): %s\n", at->entry, at->nth, kKinds[at->kind], kModes[at->mode],
         kDresses[at->dress].name, kArms[at->arm], at->code, kWorks[at->work], at->of, o->why);
  fflush(stdout);
}

static void print_tally(const tally *t) {
  char text[32] = "n/a";
  if (t->cases) snprintf(text, sizeof text, "%u/%u", t->right, t->cases);
  printf(" %9s", text);
}

static void print_row(const row *r) {
  printf("%-40s", r->entry);
  for (int i = 0; i < F_KINDS; i++) print_tally(&r->by_kind[i]);
  for (int i = 0; i < MODES; i++)
    if (sum.by_mode[i].cases) print_tally(&r->by_mode[i]);
  for (int i = 0; i < DRESSES; i++) print_tally(&r->by_dress[i]);
  print_tally(&r->all);
  printf(" %8.0f %s\n", r->slowest_ms, r->slowest);
}

bool table_print(void) {
  printf("\nall right / cases%23s", "");
  for (int i = 0; i < F_KINDS; i++) printf(" %9s", kKinds[i]);
  for (int i = 0; i < MODES; i++)
    if (sum.by_mode[i].cases) printf(" %9.9s", kModes[i]);
  for (int i = 0; i < DRESSES; i++) printf(" %9s", kDresses[i].name);
  printf(" %9s %8s in\n", "all", "slowest");
  for (int i = 0; i < row_count; i++) print_row(&rows[i]);
  print_row(&sum);
  printf("fault_matrix: %lu faults injected, %u cases, %u all right, %u red, %lu not reached, slowest call %.0f ms\n",
         faults, sum.all.cases, sum.all.right, sum.all.cases - sum.all.right, not_reached, sum.slowest_ms);
  return sum.all.cases > 0 && sum.all.right == sum.all.cases;
}
