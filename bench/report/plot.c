/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/plot.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "bench/report/markup.h"
#include "bench/report/styles.h"

#define CHARACTER 6.4 /* width of a character of 12 pixels */

static const char *const anchors[] = {"start", "middle", "end"};

void plot_text(const plot *p, const char *class, plot_anchor anchor, double x, double y, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(p->f, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, anchors[anchor], x, y);
  markup_format_list(p->f, format, list);
  fputs("</text>\n", p->f);
  va_end(list);
}

static bool begins_character(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

double plot_width(const char *text) {
  size_t characters = 0;
  for (; *text; text++) characters += begins_character(*text);
  return CHARACTER * (double)characters;
}

void plot_fit(char *text, double width) {
  if (plot_width(text) <= width) return;
  const size_t most = width > 3 * CHARACTER ? (size_t)(width / CHARACTER) - 3 : 0;
  size_t characters = 0, at = 0, end = 0;
  for (; text[at] && characters <= most; at++)
    if (begins_character(text[at]) && characters++ <= most) end = at;
  snprintf(text + end, 4, "%s", "...");
}

/* The element, its title and description, and what a file needs besides. */
static void open_svg(FILE *f, const plot_words *words, double height, plot_frame frame) {
  fprintf(f, "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %.0f %.0f\"", PLOT_WIDTH, height);
  if (frame == PLOT_ALONE) fputs(" xmlns=\"http://www.w3.org/2000/svg\"", f);
  if (frame != PLOT_IN_PAGE) fprintf(f, " width=\"%.0f\" height=\"%.0f\"", PLOT_WIDTH, height);
  fputs(" aria-labelledby=\"", f);
  markup_format(f, "%s-title %s-desc", words->id, words->id);
  fputs("\">\n<title id=\"", f);
  markup_format(f, "%s-title", words->id);
  fputs("\">", f);
  markup_text(f, words->title);
  fputs("</title>\n<desc id=\"", f);
  markup_format(f, "%s-desc", words->id);
  fputs("\">", f);
  markup_format(f, "%s. %s", words->subtitle, words->finding);
  fputs("</desc>\n", f);
  if (frame == PLOT_ALONE)
    fprintf(f, "<style>%s</style>\n<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", report_chart_css,
            PLOT_WIDTH, height);
}

void plot_open(plot *p, FILE *f, const plot_words *words, double height, plot_frame frame) {
  *p = (plot){.f = f, .left = 64, .top = 84, .right = PLOT_WIDTH - 110, .bottom = height - 48, .height = height};
  open_svg(f, words, height, frame);
  char text[sizeof words->subtitle];
  snprintf(text, sizeof text, "%s", words->title);
  plot_fit(text, (PLOT_WIDTH - 24) / 1.25);
  plot_text(p, "title", PLOT_START, 12, 24, "%s", text);
  snprintf(text, sizeof text, "%s", words->subtitle);
  plot_fit(text, PLOT_WIDTH - 24);
  plot_text(p, "muted", PLOT_START, 12, 44, "%s", text);
}

double plot_close(const plot *p) {
  fputs("</svg>\n", p->f);
  return p->height;
}

void plot_sheet_open(FILE *f, const plot_words *words, double height) { open_svg(f, words, height, PLOT_ALONE); }
void plot_sheet_close(FILE *f) { fputs("</svg>\n", f); }

static void line(const plot *p, const char *class, double x1, double y1, double x2, double y2) {
  fprintf(p->f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

void plot_axis_x(const plot *p, const char *label) {
  double ticks[SCALE_TICKS];
  const size_t count = scale_ticks(&p->x, ticks);
  for (size_t i = 0; i < count; i++) {
    char text[32];
    const double x = scale_at(&p->x, ticks[i]);
    scale_text(&p->x, ticks[i], text, sizeof text);
    line(p, "grid", x, p->top, x, p->bottom);
    plot_text(p, "tick", PLOT_MIDDLE, x, p->bottom + 17, "%s", text);
  }
  line(p, "axis", p->left, p->bottom, p->right, p->bottom);
  plot_text(p, "muted", PLOT_MIDDLE, (p->left + p->right) / 2, p->bottom + 36, "%s", label);
}

void plot_axis_y(const plot *p, const char *label) {
  double ticks[SCALE_TICKS];
  const size_t count = scale_ticks(&p->y, ticks);
  for (size_t i = 0; i < count; i++) {
    char text[32];
    const double y = scale_at(&p->y, ticks[i]);
    scale_text(&p->y, ticks[i], text, sizeof text);
    line(p, "grid", p->left, y, p->right, y);
    plot_text(p, "tick", PLOT_END, p->left - 7, y + 4, "%s", text);
  }
  plot_text(p, "muted", PLOT_START, 12, p->top - 12, "%s", label);
}
