/* SPDX-License-Identifier: Apache-2.0
 * The rungs of a ladder that differ in one number, as lines over that number, at the largest size. */
#include <math.h>
#include <string.h>

#include "bench/report/published.h"
#include "bench/report/rungs.h"

/* A figure is an axis, and the first point on it. */
static size_t list(const facts *f, size_t figures[CHART_FIGURES]) {
  size_t ladders[CHART_FIGURES], count = 0;
  const size_t ladder_count = rungs_figures(f, ladders);
  for (size_t l = 0; l < ladder_count; l++)
    for (size_t i = ladders[l]; i < f->rung_count && count < CHART_FIGURES; i++) {
      const facts_rung *const rung = &f->rungs[i];
      bool first = rungs_go_together(rung, &f->rungs[ladders[l]]) && rungs_is_timed(rung) && rungs_is_point(f, rung);
      for (size_t j = 0; j < count && first; j++) first = !rungs_same_axis(rung, &f->rungs[figures[j]]);
      if (first) figures[count++] = i;
    }
  return count;
}

static void name(const facts *f, size_t figure, plot_words *words) {
  const facts_rung *const at = &f->rungs[figure], *best = at;
  size_t figures[CHART_FIGURES];
  const size_t count = list(f, figures), before = rungs_before(f, figures, count, figure);
  char device[160], size[72], number[32], step[128];
  rungs_device_text(f, at, device, sizeof device);
  facts_size_text(at->m, at->n, at->k, size, sizeof size);
  for (size_t i = 0; i < f->rung_count; i++)
    if (rungs_same_axis(at, &f->rungs[i]) && rungs_is_timed(&f->rungs[i]) && f->rungs[i].rate > best->rate)
      best = &f->rungs[i];
  snprintf(words->id, sizeof words->id, "lines-%.40s-%zu", at->ladder, before + 1);
  snprintf(words->title, sizeof words->title, "%.40s %.20s%s%.60s: the rate over %.40s", at->ladder, at->task,
           *at->task ? " " : "", size, at->axis);
  snprintf(words->subtitle, sizeof words->subtitle, "%.160s; %s", device,
           isfinite(at->event) ? "by the device's clock" : "by the host's clock");
  rungs_step_text(best, step, sizeof step);
  facts_number_text(best->rate, number, sizeof number);
  snprintf(words->finding, sizeof words->finding, "The fastest is %.80s with %s %.16s.", step, number, at->unit);
}

static void draw_places(const plot *p, const facts_rung *at) {
  plot_rule rules[8];
  size_t count = 0;
  for (size_t i = 0; i < published_place_count && count < sizeof rules / sizeof rules[0]; i++) {
    const published_place *const place = &published_places[i];
    if (strcmp(place->ladder, at->ladder) == 0 && strcmp(place->axis, at->axis) == 0)
      rules[count++] = (plot_rule){PLOT_PUBLISHED, place->x, place->text};
  }
  plot_rules(p, rules, count);
}

/* Draws what a rule gives from the first point of a line on. Returns whether there is such a rule. */
static bool draw_fall(const plot *p, const facts_rung *at, const line *l, plot_label *label) {
  plot_point points[LINES_POINTS];
  size_t row = 0;
  while (row < published_fall_count &&
         (strcmp(published_falls[row].ladder, at->ladder) != 0 || strcmp(published_falls[row].axis, at->axis) != 0))
    row++;
  if (row == published_fall_count || !l->count) return false;
  for (size_t i = 0; i < l->count; i++)
    points[i] = (plot_point){l->points[i].x, l->points[0].y * l->points[0].x / l->points[i].x, NAN, NAN};
  plot_limit(p, PLOT_PUBLISHED, points, l->count);
  *label = (plot_label){PLOT_PUBLISHED, scale_at(&p->y, points[l->count - 1].y), "", true};
  snprintf(label->text, sizeof label->text, "%.40s", published_falls[row].text);
  return true;
}

static double draw(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame) {
  static lines l;
  const facts_rung *const at = &f->rungs[figure];
  plot_label labels[LINES_MOST + 1];
  double most = 0, factor;
  plot p;
  for (size_t i = 0; i < f->rung_count; i++)
    if (rungs_same_axis(at, &f->rungs[i])) most = fmax(most, f->rungs[i].rate);
  const char *const unit = scale_unit(at->unit, most, &factor);
  rungs_lines(f, at, factor, &l);
  lines_open(&p, &l, out, words, at->axis, unit, frame);
  lines_draw(&p, &l, labels);
  draw_places(&p, at);
  const bool fall = l.count && draw_fall(&p, at, &l.line[0], &labels[l.count]);
  plot_labels(&p, labels, l.count + fall);
  return plot_close(&p);
}

const chart_kind chart_lines = {
    .intro = "Steps of a ladder that differ in one number.",
    .part = "ladder reduce",
    .list = list,
    .name = name,
    .draw = draw,
};
