/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/markup.h"
#include "bench/report/plot.h"

#define SPACE 15.0 /* between the baselines of two labels */

static const struct style {
  const char *class, *name;
  const char *marker; /* a path around the origin; NULL: no marker */
} styles[PLOT_STYLES] = {
    [PLOT_CPU] = {"cpu", "CPU alone", "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z"},
    [PLOT_GPU] = {"gpu", "GPU alone", "M-4 -4h8v8h-8z"},
    [PLOT_BOTH] = {"both", "both (hx)", "M0 -5.6L5.6 0L0 5.6L-5.6 0z"},
    [PLOT_CEILING] = {"ceiling", "CPU's ceiling", NULL},
    [PLOT_OTHER] = {"other", "other", "M0 -5L5 4H-5z"},
    [PLOT_PUBLISHED] = {"published", "published", NULL},
};

const char *plot_style_name(plot_style style) { return styles[style].name; }

void plot_marker(const plot *p, plot_style style, double x, double y) {
  if (!styles[style].marker) return;
  fprintf(p->f, "<path class=\"mark %s\" transform=\"translate(%.1f %.1f)\" d=\"%s\"/>\n", styles[style].class, x, y,
          styles[style].marker);
}

/* Writes a path through the points' y, low or high, forward or back. */
static void trace(const plot *p, const plot_point *points, size_t count, char which, bool back) {
  for (size_t i = 0; i < count; i++) {
    const plot_point *const point = &points[back ? count - 1 - i : i];
    const double y = which == 'l' ? point->low : which == 'h' ? point->high : point->y;
    fprintf(p->f, "%c%.1f %.1f", i || back ? 'L' : 'M', scale_at(&p->x, point->x), scale_at(&p->y, y));
  }
}

void plot_line(const plot *p, plot_style style, const plot_point *points, size_t count) {
  bool band = count > 1;
  for (size_t i = 0; i < count; i++) band &= isfinite(points[i].low) && isfinite(points[i].high);
  if (band) {
    fprintf(p->f, "<path class=\"band %s\" d=\"", styles[style].class);
    trace(p, points, count, 'h', false);
    trace(p, points, count, 'l', true);
    fputs("z\"/>\n", p->f);
  }
  plot_limit(p, style, points, count);
  for (size_t i = 0; i < count; i++) plot_marker(p, style, scale_at(&p->x, points[i].x), scale_at(&p->y, points[i].y));
}

void plot_limit(const plot *p, plot_style style, const plot_point *points, size_t count) {
  if (!count) return;
  fprintf(p->f, "<path class=\"line %s\" d=\"", styles[style].class);
  trace(p, points, count, 'y', false);
  fputs("\"/>\n", p->f);
}

void plot_whisker(const plot *p, double x, double low, double high) {
  if (!isfinite(low) || !isfinite(high)) return;
  const double at = scale_at(&p->x, x), from = scale_at(&p->y, low), to = scale_at(&p->y, high);
  fprintf(p->f, "<path class=\"whisker\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6\"/>\n", at, from, to, at - 3, from,
          at - 3, to);
}

void plot_rules(const plot *p, const plot_rule *rules, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const double at = scale_at(&p->x, rules[i].x);
    fprintf(p->f, "<line class=\"rule %s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
            styles[rules[i].style].class, at, p->top, at, p->bottom);
  }
  for (size_t i = 0; i < count; i++) {
    const double at = scale_at(&p->x, rules[i].x), width = plot_width(rules[i].text);
    const bool left = at + 5 + width > p->right && at - 5 - width > p->left;
    plot_text(p, "label halo", left ? PLOT_END : PLOT_START, left ? at - 5 : at + 5, p->top + 13 + SPACE * (double)i,
              "%s", rules[i].text);
  }
}

static int by_height(const void *a, const void *b) {
  const double x = ((const plot_label *)a)->y, y = ((const plot_label *)b)->y;
  return (x > y) - (x < y);
}

void plot_labels(const plot *p, plot_label *labels, size_t count) {
  double place[PLOT_LABELS];
  if (count > PLOT_LABELS) count = PLOT_LABELS;
  qsort(labels, count, sizeof *labels, by_height);
  for (size_t i = 0; i < count; i++) {
    place[i] = labels[i].y;
    if (i && place[i] < place[i - 1] + SPACE) place[i] = place[i - 1] + SPACE;
  }
  /* Those that were pushed below the axis go up again, and push others. */
  for (size_t i = count; i-- > 0;) {
    const double most = i + 1 < count ? place[i + 1] - SPACE : p->bottom;
    if (place[i] > most) place[i] = most;
  }
  for (size_t i = 0; i < count; i++) {
    if (styles[labels[i].style].marker && !labels[i].is_limit)
      plot_marker(p, labels[i].style, p->right + 14, place[i]);
    else
      fprintf(p->f, "<path class=\"line %s\" d=\"M%.1f %.1fh14\"/>\n", styles[labels[i].style].class, p->right + 6,
              place[i]);
    plot_text(p, "label", PLOT_START, p->right + 23, place[i] + 4, "%s", labels[i].text);
  }
}

void plot_bar(const plot *p, plot_style style, double y, double height, const plot_point *value, const char *text) {
  const double from = scale_at(&p->x, p->x.low), to = scale_at(&p->x, value->x), middle = y + height / 2;
  double end = to;
  fprintf(p->f, "<rect class=\"bar %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", styles[style].class,
          from, y, fmax(to - from, 1), height);
  if (isfinite(value->low) && isfinite(value->high)) {
    const double low = scale_at(&p->x, value->low), high = scale_at(&p->x, value->high);
    fprintf(p->f, "<path class=\"whisker\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\"/>\n", low, middle, high, low,
            middle - 3, high, middle - 3);
    end = fmax(end, high);
  }
  plot_text(p, "label", PLOT_START, end + 6, middle + 4, "%s", text);
}

void plot_legend(const plot *p, const plot_style *shown, size_t count) {
  double x = p->left;
  for (size_t i = 0; i < count; i++) {
    plot_marker(p, shown[i], x + 5, 62);
    plot_text(p, "label", PLOT_START, x + 14, 66, "%s", styles[shown[i]].name);
    x += 34 + plot_width(styles[shown[i]].name);
  }
}
