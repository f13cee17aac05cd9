/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEIGHT 360.0
#define LEAST_RANGE 8.0 /* from the least number to the greatest: from here on the axis is logarithmic */
#define FAR 100.0       /* the same of the other axis: lines further apart cannot be seen on one that begins with 0 */
#define NAME_FROM 38.0  /* of a line's name from the end of the line */
#define NAME_MOST 140.0 /* width of a name */
#define MARGIN 1.15     /* above the highest point */

static const plot_style styles[LINES_MOST] = {PLOT_OTHER, PLOT_CPU, PLOT_GPU, PLOT_BOTH};

static void add_point(line *l, double x, double y) {
  size_t at = l->count;
  if (l->count == LINES_POINTS) return;
  for (; at > 0 && l->points[at - 1].x > x; at--) l->points[at] = l->points[at - 1];
  l->points[at] = (plot_point){x, y, NAN, NAN};
  l->count++;
}

void lines_add(lines *l, const char *name, double x, double y) {
  size_t i = 0;
  while (i < l->count && strcmp(l->line[i].name, name) != 0) i++;
  if (i == LINES_MOST) return;
  if (i == l->count) l->line[l->count++] = (line){.name = name};
  add_point(&l->line[i], x, y);
}

void lines_open(plot *p, const lines *l, FILE *out, const plot_words *words, const char *x, const char *y,
                plot_frame frame) {
  double least_x = INFINITY, most_x = 0, least_y = INFINITY, most_y = 0, widest = 0;
  for (size_t i = 0; i < l->count; i++) {
    const line *const one = &l->line[i];
    widest = fmax(widest, plot_width(one->name));
    least_x = fmin(least_x, one->points[0].x);
    most_x = fmax(most_x, one->points[one->count - 1].x);
    for (size_t j = 0; j < one->count; j++) {
      least_y = fmin(least_y, one->points[j].y);
      most_y = fmax(most_y, one->points[j].y);
    }
  }
  const bool powers = least_x > 0 && most_x >= LEAST_RANGE * least_x, far = least_y > 0 && most_y >= FAR * least_y;
  plot_open(p, out, words, HEIGHT, frame);
  p->right = fmin(p->right, PLOT_WIDTH - NAME_FROM - fmin(widest, NAME_MOST));
  p->x = scale_make(powers ? SCALE_LOG2 : SCALE_LINEAR, least_x, most_x, p->left, p->right);
  p->y = far ? scale_make(SCALE_LOG10, least_y, most_y, p->bottom, p->top)
             : scale_make(SCALE_LINEAR, 0, most_y * MARGIN, p->bottom, p->top);
  plot_axis_x(p, x);
  plot_axis_y(p, y);
}

void lines_draw(const plot *p, const lines *l, plot_label labels[LINES_MOST]) {
  for (size_t i = 0; i < l->count; i++) {
    const line *const one = &l->line[i];
    plot_line(p, styles[i], one->points, one->count);
    labels[i] = (plot_label){.style = styles[i], .y = scale_at(&p->y, one->points[one->count - 1].y)};
    snprintf(labels[i].text, sizeof labels[i].text, "%.40s", one->name);
    plot_fit(labels[i].text, PLOT_WIDTH - p->right - 24);
  }
}
