/* SPDX-License-Identifier: Apache-2.0
 * A ladder as bars: the steps of a published technique, hx, and other libraries, at the largest size. */
#include <math.h>
#include <string.h>

#include "bench/report/published.h"
#include "bench/report/rungs.h"

#define BAR 24.0
#define NAMES 270.0

static const facts_rung *fastest(const facts *f, const facts_rung *figure, bool of_hx) {
  const facts_rung *best = NULL;
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    if (!rungs_go_together(figure, rung) || !rungs_is_timed(rung) || (rungs_style(rung) == PLOT_BOTH) != of_hx)
      continue;
    if (!best || rung->rate > best->rate) best = rung;
  }
  return best;
}

/* The title without the size. A document may have a ladder that is not in this table. */
static const char *title_of(const facts_rung *rung) {
  static const struct {
    const char *ladder, *title;
  } rows[] = {{"offload", "CPU and GPU together:"},
              {"lds", "Local memory, accesses of a warp per second; accesses of an item:"},
              {"addressing", "What one pass of a loop costs, by how its addresses are computed"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rung->ladder, rows[i].ladder) == 0) return rows[i].title;
  return rung->m ? "A product on the device, step by step:" : "A sum on the device, step by step:";
}

/* Instructions are counted, not timed, and few of them are better. */
static bool is_count(const facts_rung *rung) { return strcmp(rung->unit, "instructions") == 0; }

static void name_count(const facts *f, const facts_rung *at, plot_words *words) {
  const facts_rung *least = at;
  char number[32];
  for (size_t i = 0; i < f->rung_count; i++)
    if (rungs_go_together(at, &f->rungs[i]) && f->rungs[i].rate < least->rate) least = &f->rungs[i];
  facts_number_text(least->rate, number, sizeof number);
  snprintf(words->id, sizeof words->id, "ladder-%.40s", at->ladder);
  snprintf(words->title, sizeof words->title, "%s", title_of(at));
  snprintf(words->subtitle, sizeof words->subtitle, "%.160s; counted, not timed", at->device);
  snprintf(words->finding, sizeof words->finding, "\"%.80s\" has the fewest instructions, %s.", least->step, number);
}

static void name(const facts *f, size_t figure, plot_words *words) {
  const facts_rung *const at = &f->rungs[figure];
  if (is_count(at)) {
    name_count(f, at, words);
    return;
  }
  size_t figures[CHART_FIGURES];
  const size_t before = rungs_before(f, figures, rungs_figures(f, figures), figure);
  char size[72], number[16] = "", device[160];
  facts_size_text(at->m, at->n, at->k, size, sizeof size);
  rungs_device_text(f, at, device, sizeof device);
  if (before) snprintf(number, sizeof number, "-%zu", before + 1);
  snprintf(words->id, sizeof words->id, "ladder-%.40s%s", at->ladder, number);
  const char *const task = *at->task ? at->task : strcmp(at->ladder, "offload") == 0 ? "the product" : "";
  snprintf(words->title, sizeof words->title, "%s %.40s%s%s", title_of(at), task, *task ? " " : "", size);
  snprintf(words->subtitle, sizeof words->subtitle, "%.160s; %s", device,
           isfinite(at->event) ? "data on the device, by the device's clock"
                               : "from and to host memory, by the host's clock");
  const facts_rung *const hx = fastest(f, at, true), *const other = fastest(f, at, false);
  if (hx && other) {
    char fast[64], slow[64];
    rungs_step_text(hx, fast, sizeof fast);
    rungs_step_text(other, slow, sizeof slow);
    snprintf(words->finding, sizeof words->finding,
             "The rate of \"%s\" is %.2f times that of \"%s\", the fastest of the others.", fast,
             hx->rate / other->rate, slow);
  } else {
    snprintf(words->finding, sizeof words->finding, "%s", hx ? "Only hx was timed." : "hx was not timed.");
  }
}

/* The time is given for one whole call by the host's clock; by the device's clock the rate says it all. */
static void bar_text(const facts_rung *rung, double factor, const char *unit, char *text, size_t bytes) {
  char number[32], time[64] = "";
  facts_number_text(rung->rate * factor, number, sizeof number);
  if (!isfinite(rung->event) && isfinite(rung->median)) facts_time_text(rung->median, time, sizeof time);
  if (rung->rule) snprintf(time, sizeof time, "%.2f x the time (rule: %zu)", rung->measured, rung->rule);
  if (!rungs_is_timed(rung))
    snprintf(text, bytes, "not run%s%.60s", *rung->note ? ": " : "", rung->note);
  else
    snprintf(text, bytes, "%s %s%s%s", number, unit, *time ? ", " : "", time);
}

/* A chart of bars that is being drawn. */
typedef struct bars {
  const facts *f;
  const facts_rung *at; /* the figure's */
  plot p;
  double y, factor; /* y: the upper end of the next bar */
  const char *unit;
} bars;

static bool is_shown(const facts *f, const facts_rung *at, const facts_rung *rung) {
  return rungs_go_together(at, rung) && rungs_has_bar(f, rung);
}

/* The rate that a published figure means here; NaN: the rung of which it is a multiple was not timed. */
static double published_rate(const facts *f, const facts_rung *at, const published *row) {
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    if (rungs_go_together(at, rung) && rungs_is_timed(rung) && strcmp(rung->step, row->base) == 0) return rung->rate;
  }
  return NAN;
}

/* Whether the figure is drawn beside this rung. */
static bool is_published(const facts *f, const facts_rung *rung, const published *row) {
  return strcmp(row->ladder, rung->ladder) == 0 && strcmp(row->step, rung->step) == 0 &&
         isfinite(published_rate(f, rung, row));
}

static void draw_bar(bars *b, plot_style style, const char *name, const plot_point *value, const char *text) {
  char fitted[128], label[128];
  snprintf(fitted, sizeof fitted, "%s", text);
  snprintf(label, sizeof label, "%s", name);
  plot_fit(fitted, PLOT_WIDTH - scale_at(&b->p.x, isfinite(value->high) ? value->high : value->x) - 10);
  plot_fit(label, NAMES - 20);
  plot_bar(&b->p, style, b->y + 3, BAR - 8, value, fitted);
  plot_text(&b->p, style == PLOT_BOTH ? "label strong" : "label", PLOT_END, b->p.left - 8, b->y + BAR / 2 + 3, "%s",
            label);
  b->y += BAR;
}

static void draw_rung(bars *b, const facts_rung *rung) {
  char step[128], text[128];
  const bool spread = rungs_is_timed(rung) && !isfinite(rung->event);
  const double scaled = rung->rate * rung->median * b->factor;
  const plot_point value = {rungs_is_timed(rung) ? rung->rate * b->factor : 0, 0, spread ? scaled / rung->high : NAN,
                            spread ? scaled / rung->low : NAN};
  bar_text(rung, b->factor, b->unit, text, sizeof text);
  rungs_step_text(rung, step, sizeof step);
  draw_bar(b, rungs_style(rung), step, &value, text);
}

static void draw_published(bars *b, const facts_rung *rung) {
  for (size_t i = 0; i < published_rate_count; i++) {
    const published *const row = &published_rates[i];
    if (!is_published(b->f, rung, row)) continue;
    const double rate = published_rate(b->f, rung, row) * b->factor;
    const bool range = row->high > row->low;
    const plot_point value = {rate * row->low, 0, range ? rate * row->low : NAN, range ? rate * row->high : NAN};
    char text[64], number[32];
    facts_number_text(value.x, number, sizeof number);
    snprintf(text, sizeof text, range ? "from %s %s on" : "would be %s %s", number, b->unit);
    draw_bar(b, PLOT_PUBLISHED, row->text, &value, text);
  }
}

static double draw(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame) {
  bars b = {.f = f, .at = &f->rungs[figure]};
  double most = 0;
  size_t count = 0;
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    if (!is_shown(f, b.at, rung)) continue;
    most = fmax(most, rung->rate), count++; /* fmax leaves out a NaN */
    for (size_t j = 0; j < published_rate_count; j++) {
      if (!is_published(f, rung, &published_rates[j])) continue;
      most = fmax(most, published_rate(f, rung, &published_rates[j]) * published_rates[j].low), count++;
    }
  }
  b.unit = scale_unit(b.at->unit, most, &b.factor);
  plot_open(&b.p, out, words, 66 + 48 + BAR * (double)count, frame);
  b.p.left = NAMES;
  b.p.top = 62;
  b.p.right -= b.at->rule ? 80 : isfinite(b.at->event) ? 0 : 40; /* for longer texts */
  b.p.x = scale_make(SCALE_LINEAR, 0, most * b.factor, b.p.left, b.p.right);
  plot_axis_x(&b.p, b.unit);
  b.y = b.p.top + 2;
  for (size_t i = 0; i < f->rung_count; i++) {
    if (!is_shown(f, b.at, &f->rungs[i])) continue;
    draw_rung(&b, &f->rungs[i]);
    draw_published(&b, &f->rungs[i]);
  }
  return plot_close(&b.p);
}

const chart_kind chart_ladder = {
    .intro =
        "Steps of published techniques in grey, each with those before it; hx in green; other libraries with a dashed "
        "outline. Every result was compared exactly. Figures of the studies, which are of other machines, as multiples "
        "of what was measured here. Of steps that differ in one number the fastest is here, and all are lines below.",
    .part = "ladder matmul",
    .list = rungs_figures,
    .name = name,
    .draw = draw,
};
