/* SPDX-License-Identifier: Apache-2.0
 * CPU alone, GPU alone and both as bars, task by task, as multiples of the CPU alone. */
#include <math.h>

#include "bench/report/chart.h"

#define MOST_TASKS 8
#define BAR 15.0
#define GAP 16.0 /* between the bars of two tasks */
#define NAMES 190.0

/* The rows of one task. */
typedef struct modes {
  const facts_row *of[FACTS_SPLIT]; /* NULL: not measured */
} modes;

static bool is_timed(const facts_row *row) { return !row->in_sweep && row->mode < FACTS_SPLIT && row->median > 0; }

static modes modes_of(const facts *f, const facts_row *first) {
  modes m = {{NULL}};
  for (size_t i = 0; i < f->row_count; i++)
    if (is_timed(&f->rows[i]) && facts_same_task(&f->rows[i], first) && !m.of[f->rows[i].mode])
      m.of[f->rows[i].mode] = &f->rows[i];
  return m;
}

static bool is_comparison(const modes *m) { return m->of[FACTS_CPU] && (m->of[FACTS_GPU] || m->of[FACTS_BOTH]); }

/* Whether a larger task of the same operation and type is compared. Products are shown at every size. */
static bool is_outgrown(const facts *f, const facts_row *row) {
  for (size_t i = 0; !row->m && i < f->row_count; i++) {
    const facts_row *const other = &f->rows[i];
    if (!is_timed(other) || !facts_same_kind(other, row) || other->n <= row->n) continue;
    const modes m = modes_of(f, other);
    if (is_comparison(&m)) return true;
  }
  return false;
}

/* The tasks of the only figure. */
static size_t take_tasks(const facts *f, modes tasks[MOST_TASKS]) {
  size_t count = 0;
  for (size_t i = 0; i < f->row_count && count < MOST_TASKS; i++) {
    const facts_row *const row = &f->rows[i];
    if (!is_timed(row) || is_outgrown(f, row)) continue;
    const modes m = modes_of(f, row);
    bool seen = false;
    for (size_t t = 0; t < count; t++) seen |= tasks[t].of[FACTS_CPU] == m.of[FACTS_CPU];
    if (!seen && is_comparison(&m)) tasks[count++] = m;
  }
  return count;
}

static size_t list(const facts *f, size_t figures[CHART_FIGURES]) {
  modes tasks[MOST_TASKS];
  figures[0] = 0;
  return take_tasks(f, tasks) > 0;
}

static double gain(const modes *m, facts_mode mode) {
  return m->of[mode] && m->of[FACTS_CPU] ? m->of[FACTS_CPU]->median / m->of[mode]->median : NAN;
}

/* Whether mode a takes less time than mode b. Documents without intervals are judged by the medians. */
static bool is_faster(const facts *f, const modes *m, facts_mode a, facts_mode b) {
  const facts_row *const x = m->of[a], *const y = m->of[b];
  if (!x || !y) return false;
  return facts_is_shorter(x->median, f->has_intervals ? x->high : 0, y->median, f->has_intervals ? y->low : y->median);
}

/* "2.00x the device alone", or "as fast as the device alone" if the difference is noise. "": it was not measured. */
static void device_text(const facts *f, const modes *m, char *text, size_t bytes) {
  const double ratio = gain(m, FACTS_BOTH) / gain(m, FACTS_GPU);
  *text = '\0';
  if (!isfinite(ratio)) return;
  if (is_faster(f, m, FACTS_BOTH, FACTS_GPU) || is_faster(f, m, FACTS_GPU, FACTS_BOTH))
    snprintf(text, bytes, " and %.2fx the device alone", ratio);
  else
    snprintf(text, bytes, ", as fast as the device alone");
}

static void name(const facts *f, size_t figure, plot_words *words) {
  (void)figure;
  modes tasks[MOST_TASKS];
  const size_t count = take_tasks(f, tasks);
  const modes *best = NULL;
  bool chosen = false; /* hx's own choice was measured */
  for (size_t i = 0; i < count; i++) {
    chosen |= tasks[i].of[FACTS_BOTH] != NULL;
    if (!is_faster(f, &tasks[i], FACTS_BOTH, FACTS_CPU)) continue;
    if (!best || gain(best, FACTS_BOTH) < gain(&tasks[i], FACTS_BOTH)) best = &tasks[i];
  }
  snprintf(words->id, sizeof words->id, "modes");
  snprintf(words->title, sizeof words->title, "CPU alone, GPU alone and both");
  facts_machine_text(f, words->subtitle, sizeof words->subtitle);
  if (best) {
    char task[FACTS_TASK], device[64];
    facts_task_text(best->of[FACTS_CPU], task);
    device_text(f, best, device, sizeof device);
    snprintf(words->finding, sizeof words->finding, "hx gains most for the %s: %.2fx the CPU alone%s.", task,
             gain(best, FACTS_BOTH), device);
  } else {
    snprintf(words->finding, sizeof words->finding, "%s",
             chosen ? "hx gains nothing over the CPU alone here that is more than noise."
                    : "hx's own choice was not measured.");
  }
}

static void bar_text(const modes *m, facts_mode mode, char *text, size_t bytes) {
  char time[32];
  facts_time_text(m->of[mode]->median, time, sizeof time);
  if (mode == FACTS_CPU)
    snprintf(text, bytes, "%s", time);
  else
    snprintf(text, bytes, "%s, %.2fx%s", time, gain(m, mode),
             mode == FACTS_BOTH && m->of[mode]->share < 0.005 ? " (no GPU)" : "");
}

static double draw(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame) {
  static const plot_style styles[FACTS_SPLIT] = {PLOT_CPU, PLOT_GPU, PLOT_BOTH};
  (void)figure;
  modes tasks[MOST_TASKS];
  const size_t count = take_tasks(f, tasks);
  double most = 1, y, bars = 0;
  char axis[96];
  plot p;
  for (size_t i = 0; i < count; i++)
    for (facts_mode mode = 0; mode < FACTS_SPLIT; mode++)
      if (tasks[i].of[mode]) most = fmax(most, gain(&tasks[i], mode)), bars++;
  plot_open(&p, out, words, 84 + 48 + BAR * bars + GAP * (double)count, frame);
  plot_legend(&p, styles, FACTS_SPLIT);
  p.left = NAMES;
  p.right -= 30;
  p.x = scale_make(SCALE_LINEAR, 0, most, p.left, p.right);
  snprintf(axis, sizeof axis, "speed, as a multiple of the CPU alone (whiskers: %s)", facts_spread_text(f));
  plot_axis_x(&p, axis);
  y = p.top + GAP / 2;
  for (size_t i = 0; i < count; i++) {
    char task[FACTS_TASK], text[80];
    const double from = y;
    for (facts_mode mode = 0; mode < FACTS_SPLIT; mode++) {
      const facts_row *const row = tasks[i].of[mode];
      if (!row) continue;
      const double speed = gain(&tasks[i], mode);
      const plot_point value = {speed, 0, speed * row->median / row->high, speed * row->median / row->low};
      bar_text(&tasks[i], mode, text, sizeof text);
      plot_bar(&p, styles[mode], y + 1, BAR - 2, &value, text);
      y += BAR;
    }
    facts_task_text(tasks[i].of[FACTS_CPU], task);
    plot_fit(task, NAMES - 20);
    plot_text(&p, "label", PLOT_END, p.left - 8, (from + y) / 2 + 4, "%s", task);
    y += GAP;
  }
  return plot_close(&p);
}

const chart_kind chart_modes = {
    .intro = "The largest size of each operation, and each product.",
    .part = "matmul",
    .list = list,
    .name = name,
    .draw = draw,
};
