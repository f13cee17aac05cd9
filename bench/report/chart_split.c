/* SPDX-License-Identifier: Apache-2.0
 * The time of a task over the GPUs' share of it, as the published study of integrated GPUs draws it, with the best
 * split and hx's own choice. */
#include <math.h>

#include "bench/engine.h"
#include "bench/report/chart.h"

#define HEIGHT 400.0

static size_t list(const facts *f, size_t figures[CHART_FIGURES]) {
  size_t count = 0;
  for (size_t i = 0; i < f->sweep_count && count < CHART_FIGURES; i++) {
    size_t timed = 0;
    for (size_t r = 0; r < f->sweeps[i].count; r++) timed += f->rows[f->sweeps[i].first + r].median > 0;
    if (timed > 2) figures[count++] = i;
  }
  return count;
}

static const facts_row *own_row(const facts *f, const facts_sweep *s) { return &f->rows[s->first + s->count - 1]; }

static bool device_worked(const facts *f, const facts_sweep *s) {
  for (size_t i = 0; i < s->count; i++)
    if (f->rows[s->first + i].share > 0.005) return true;
  return false;
}

static void name(const facts *f, size_t figure, plot_words *words) {
  const facts_sweep *const s = &f->sweeps[figure];
  const facts_row *const own = own_row(f, s);
  char task[FACTS_TASK], size[72], best_time[32], own_time[32];
  facts_task_text(own, task);
  facts_size_slug(own->m, own->n, own->k, size, sizeof size);
  facts_time_text(s->best_s, best_time, sizeof best_time);
  facts_time_text(s->own_s, own_time, sizeof own_time);
  snprintf(words->id, sizeof words->id, "split-%.12s-%.16s-%.60s", own->op, own->type, size);
  snprintf(words->title, sizeof words->title, "Time of the %.100s over the GPU's share", task);
  facts_machine_text(f, words->subtitle, sizeof words->subtitle);
  if (!device_worked(f, s))
    snprintf(words->finding, sizeof words->finding,
             "The device took no part in any split: the CPU computed all of them.");
  else if (!isfinite(s->eta))
    snprintf(words->finding, sizeof words->finding, "Too few rounds were measured to compare hx with the best split.");
  else
    snprintf(
        words->finding, sizeof words->finding,
        "The best fixed split gives the GPU %.0f %% and takes %s. hx's own choice takes %s with %.0f %%: eta %.3f, "
        "where 1 is as fast as the best split (half of the rounds: %.3f to %.3f).",
        100 * s->best_split, best_time, own_time, 100 * s->own_share, s->eta, s->eta_low, s->eta_high);
}

/* Where hx's own choice is, in the same rounds as the splits. Adds its label. */
static void draw_choice(const facts *f, const facts_sweep *s, const plot *p, double factor, plot_label *labels,
                        size_t *count) {
  const facts_row *const own = own_row(f, s);
  if (!(own->median > 0) || !isfinite(own->share)) return;
  const double x = scale_at(&p->x, 100 * own->share), y = scale_at(&p->y, own->median * factor);
  fprintf(p->f, "<line class=\"rule both\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, y, p->right, y);
  plot_whisker(p, 100 * own->share, own->low * factor, own->high * factor);
  plot_marker(p, PLOT_BOTH, x, y);
  labels[(*count)++] = (plot_label){PLOT_BOTH, y, "hx's choice", false};
}

static double draw(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame) {
  const facts_sweep *const s = &f->sweeps[figure];
  plot_point points[BENCH_MOST_MODES];
  plot_label labels[2];
  size_t count = 0, label_count = 0;
  double most = 0, factor;
  char text[96];
  plot p;
  for (size_t i = 0; i < s->count; i++) most = fmax(most, f->rows[s->first + i].median);
  const char *const unit = scale_unit("s", most, &factor);
  for (size_t i = 0; i + 1 < s->count && count < BENCH_MOST_MODES; i++) {
    const facts_row *const row = &f->rows[s->first + i];
    if (row->median > 0)
      points[count++] = (plot_point){100 * row->asked, row->median * factor, row->low * factor, row->high * factor};
  }
  plot_open(&p, out, words, HEIGHT, frame);
  p.x = scale_make(SCALE_LINEAR, 0, 100, p.left, p.right);
  p.y = scale_make(SCALE_LINEAR, 0, most * factor * 1.25, p.bottom, p.top);
  plot_axis_x(&p, "the GPU's share of the work, %");
  snprintf(text, sizeof text, "%s per call (band: %s)", unit, facts_spread_text(f));
  plot_axis_y(&p, text);
  plot_line(&p, PLOT_OTHER, points, count);
  if (isfinite(s->best_split) && device_worked(f, s)) {
    snprintf(text, sizeof text, "best split: %.0f %%", 100 * s->best_split);
    const plot_rule best = {PLOT_OTHER, 100 * s->best_split, text};
    plot_rules(&p, &best, 1);
  }
  if (count)
    labels[label_count++] = (plot_label){PLOT_OTHER, scale_at(&p.y, points[count - 1].y), "fixed splits", false};
  draw_choice(f, s, &p, factor, labels, &label_count);
  plot_labels(&p, labels, label_count);
  return plot_close(&p);
}

const chart_kind chart_split = {
    .intro =
        "The same task with a fixed share for the GPU, from none to all, and with the share that hx chose itself, in "
        "interleaved rounds.",
    .part = "sweep",
    .list = list,
    .name = name,
    .draw = draw,
};
