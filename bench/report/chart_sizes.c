/* SPDX-License-Identifier: Apache-2.0
 * hx and other libraries over the size of a sum, as multiples of the speed of OpenCV on the CPU: the figures 4 to 6 of
 * PCL-Reduction. A time ends when the host has the sum. */
#include <math.h>
#include <string.h>

#include "bench/report/published.h"
#include "bench/report/rungs.h"

#define BASE "OpenCV, CPU"
#define AXIS "elements"
#define LEAST_SIZES 3

static bool is_base(const facts_rung *rung) { return rungs_is_timed(rung) && strcmp(rung->step, BASE) == 0; }

/* How much faster it is than the base of the same size; NaN: one of them was not timed, or it is a step. */
static double times_base(const facts *f, const facts_rung *rung) {
  if (!rungs_is_timed(rung) || rungs_style(rung) == PLOT_CEILING || is_base(rung)) return NAN;
  for (size_t i = 0; i < f->rung_count; i++)
    if (is_base(&f->rungs[i]) && rungs_go_together(rung, &f->rungs[i])) return f->rungs[i].median / rung->median;
  return NAN;
}

/* The libraries as lines: those of the figure's ladder and device. */
static void take_lines(const facts *f, const facts_rung *at, lines *l) {
  l->count = 0;
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    const double times = times_base(f, rung);
    if (rungs_same_ladder(at, rung) && isfinite(times)) lines_add(l, rung->step, (double)rung->n, times);
  }
}

/* A figure is the first rung of its base. */
static size_t list(const facts *f, size_t figures[CHART_FIGURES]) {
  static lines l;
  size_t count = 0;
  for (size_t i = 0; i < f->rung_count && count < CHART_FIGURES; i++) {
    const facts_rung *const rung = &f->rungs[i];
    bool first = is_base(rung);
    for (size_t j = 0; j < count && first; j++) first = !rungs_same_ladder(rung, &f->rungs[figures[j]]);
    if (!first) continue;
    take_lines(f, rung, &l);
    if (l.count && l.line[0].count >= LEAST_SIZES) figures[count++] = i;
  }
  return count;
}

static void name(const facts *f, size_t figure, plot_words *words) {
  static lines l;
  const facts_rung *const at = &f->rungs[figure];
  char device[160], size[24] = "";
  size_t figures[CHART_FIGURES];
  const size_t before = rungs_before(f, figures, list(f, figures), figure);
  take_lines(f, at, &l);
  const line *const one = &l.line[0];
  size_t first = one->count; /* the point from which on it is faster than the base at every larger size */
  while (first > 0 && one->points[first - 1].y > 1) first--;
  rungs_device_text(f, at, device, sizeof device);
  snprintf(words->id, sizeof words->id, "sizes-%.40s-%zu", at->ladder, before + 1);
  snprintf(words->title, sizeof words->title, "Sums of every size, as multiples of the speed of OpenCV on the CPU");
  snprintf(words->subtitle, sizeof words->subtitle, "%.160s; until the host has the sum, by its clock", device);
  if (first == one->count) {
    snprintf(words->finding, sizeof words->finding, "\"%.60s\" is not faster at the largest size.", one->name);
  } else {
    facts_size_text(0, (size_t)one->points[first].x, 0, size, sizeof size);
    snprintf(words->finding, sizeof words->finding, "\"%.60s\" is faster from %s elements on.", one->name, size);
  }
}

/* What was published, from the size on from which it was; the texts are at the upper and at the lower edge. */
static void draw_published(const plot *p, const facts_rung *at, double most) {
  double from = 0;
  size_t row = 0;
  for (size_t i = 0; i < published_place_count; i++) {
    const published_place *const place = &published_places[i];
    if (strcmp(place->ladder, at->ladder) != 0 || strcmp(place->axis, AXIS) != 0) continue;
    plot_rules(p, &(plot_rule){PLOT_PUBLISHED, place->x, place->text}, 1);
    from = place->x;
  }
  for (size_t i = 0; i < published_rate_count; i++) {
    const published *const range = &published_rates[i];
    if (strcmp(range->ladder, at->ladder) != 0 || strcmp(range->step, BASE) != 0) continue;
    const plot_point band[] = {{from, range->low, range->low, range->high},
                               {most, range->low, range->low, range->high}};
    plot_line(p, PLOT_PUBLISHED, band, sizeof band / sizeof band[0]);
    const double edge = scale_at(&p->y, row ? range->low : range->high) + (row ? 21 : -5);
    plot_text(p, "label halo", PLOT_END, p->right - 4, edge, "%s", range->text);
    row++;
  }
}

static double draw(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame) {
  static lines l;
  const facts_rung *const at = &f->rungs[figure];
  plot_label labels[LINES_MOST];
  plot p;
  take_lines(f, at, &l);
  lines_open(&p, &l, out, words, AXIS, "x OpenCV on the CPU", frame);
  draw_published(&p, at, l.line[0].points[l.line[0].count - 1].x);
  lines_draw(&p, &l, labels);
  plot_labels(&p, labels, l.count);
  return plot_close(&p);
}

const chart_kind chart_sizes = {
    .intro = "hx and other libraries over the size of a sum, as multiples of the speed of OpenCV on the CPU.",
    .part = "ladder reduce",
    .list = list,
    .name = name,
    .draw = draw,
};
