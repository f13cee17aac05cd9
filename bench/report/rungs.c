/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/rungs.h"

#include <math.h>
#include <string.h>

#define LEAST_POINTS 3 /* of a line */

/* What a rung is, by the beginning of its name. The first row that fits counts. */
static const struct {
  const char *begin;
  plot_style style;
} kinds[] = {{"hx", PLOT_BOTH},      {"CPU ", PLOT_BOTH}, {"OpenCV", PLOT_OTHER},        {"CLBlast", PLOT_OTHER},
             {"cuBLAS", PLOT_OTHER}, {"CUB", PLOT_OTHER}, {"published", PLOT_PUBLISHED}, {"", PLOT_CEILING}};

plot_style rungs_style(const facts_rung *rung) {
  size_t i = 0;
  while (strncmp(rung->step, kinds[i].begin, strlen(kinds[i].begin)) != 0) i++;
  return kinds[i].style;
}

static double work(const facts_rung *r) { return r->m ? (double)r->m * (double)r->n * (double)r->k : (double)r->n; }

bool rungs_same_ladder(const facts_rung *a, const facts_rung *b) {
  return strcmp(a->ladder, b->ladder) == 0 && strcmp(a->device, b->device) == 0 && strcmp(a->task, b->task) == 0;
}

bool rungs_is_timed(const facts_rung *rung) { return isfinite(rung->rate) && rung->rate > 0; }

bool rungs_go_together(const facts_rung *a, const facts_rung *b) {
  return rungs_same_ladder(a, b) && a->m == b->m && a->n == b->n && a->k == b->k;
}

bool rungs_same_axis(const facts_rung *a, const facts_rung *b) {
  return *a->family && *b->family && strcmp(a->axis, b->axis) == 0 && rungs_go_together(a, b);
}

static bool same_family(const facts_rung *a, const facts_rung *b) {
  return rungs_same_axis(a, b) && strcmp(a->family, b->family) == 0;
}

bool rungs_is_point(const facts *f, const facts_rung *rung) {
  size_t points = 0;
  for (size_t i = 0; i < f->rung_count; i++) points += rungs_is_timed(&f->rungs[i]) && same_family(rung, &f->rungs[i]);
  return points >= LEAST_POINTS;
}

bool rungs_has_bar(const facts *f, const facts_rung *rung) {
  if (!rungs_is_point(f, rung) || rung->speedup == 1) return true; /* 1: speed-ups are counted from it */
  bool best = rungs_is_timed(rung);
  for (size_t i = 0; best && i < f->rung_count; i++)
    best = !rungs_is_timed(&f->rungs[i]) || !same_family(rung, &f->rungs[i]) || f->rungs[i].rate <= rung->rate;
  return best;
}

size_t rungs_figures(const facts *f, size_t figures[CHART_FIGURES]) {
  size_t count = 0;
  for (size_t i = 0; i < f->rung_count && count < CHART_FIGURES; i++) {
    const facts_rung *const rung = &f->rungs[i];
    bool first = rungs_is_timed(rung);
    for (size_t j = 0; j < f->rung_count && first; j++) {
      const facts_rung *const other = &f->rungs[j];
      if (!rungs_same_ladder(rung, other) || !rungs_is_timed(other)) continue;
      if (work(other) > work(rung) || (j < i && work(other) == work(rung))) first = false;
    }
    if (first) figures[count++] = i;
  }
  return count;
}

size_t rungs_before(const facts *f, const size_t *figures, size_t count, size_t figure) {
  size_t before = 0;
  for (size_t i = 0; i < count && figures[i] != figure; i++)
    before += strcmp(f->rungs[figures[i]].ladder, f->rungs[figure].ladder) == 0;
  return before;
}

void rungs_lines(const facts *f, const facts_rung *at, double factor, lines *l) {
  l->count = 0;
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    if (!rungs_same_axis(at, rung) || !rungs_is_timed(rung) || !isfinite(rung->place) || !rungs_is_point(f, rung))
      continue;
    lines_add(l, rung->family, rung->place, rung->rate * factor);
  }
}

/* Whether the rung is a split of the figure's task. */
static bool is_split(const facts *f, const facts_rung *figure, const facts_rung *rung) {
  return rungs_go_together(figure, rung) && strcmp(rung->axis, RUNGS_SHARES) == 0 && rungs_is_timed(rung) &&
         rungs_is_point(f, rung) && isfinite(rung->speedup) && isfinite(rung->place);
}

void rungs_shares(const facts *f, lines *l) {
  size_t figures[CHART_FIGURES];
  const size_t count = rungs_figures(f, figures);
  l->count = 0;
  for (size_t i = 0; i < count; i++) {
    const facts_rung *const figure = &f->rungs[figures[i]];
    for (size_t j = 0; j < f->rung_count; j++)
      if (is_split(f, figure, &f->rungs[j]))
        lines_add(l, *figure->task ? figure->task : "product", f->rungs[j].place, f->rungs[j].speedup);
  }
}

/* The splits of `ladder offload` are named by the CPU's part alone: "CPU 70 %", "CPU 0 % (devices alone)". */
void rungs_step_text(const facts_rung *rung, char *text, size_t bytes) {
  unsigned cpu;
  if (sscanf(rung->step, "CPU %3u %%", &cpu) != 1 || cpu > 100)
    snprintf(text, bytes, "%s", rung->step);
  else if (cpu == 0 || cpu == 100)
    snprintf(text, bytes, "hx, %s alone", cpu ? "CPU" : "GPU");
  else
    snprintf(text, bytes, "hx, %u %% CPU + %u %% GPU", cpu, 100 - cpu);
}

void rungs_device_text(const facts *f, const facts_rung *rung, char *text, size_t bytes) {
  for (const json_value *d = f->devices; d && *rung->device; d = d->next)
    if (strcmp(json_text(d, "name"), rung->device) == 0) {
      facts_device_text(d, text, bytes);
      return;
    }
  if (*rung->device)
    snprintf(text, bytes, "%s", rung->device);
  else
    facts_machine_text(f, text, bytes);
}
