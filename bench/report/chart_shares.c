/* SPDX-License-Identifier: Apache-2.0
 * The figure with which the Intel GFX study begins: for several tasks, how much faster than one thread of C they are,
 * over the part that the CPU has. A line is the splits of a task at its largest size. */
#include "bench/report/rungs.h"

/* There is one figure, if two tasks can be compared. One alone is among the lines of its ladder. */
static size_t list(const facts *f, size_t figures[CHART_FIGURES]) {
  static lines l;
  rungs_shares(f, &l);
  figures[0] = 0;
  return l.count > 1;
}

static void name(const facts *f, size_t figure, plot_words *words) {
  static lines l;
  char machine[160];
  size_t used = 0;
  (void)figure;
  rungs_shares(f, &l);
  facts_machine_text(f, machine, sizeof machine);
  snprintf(words->id, sizeof words->id, "shares");
  snprintf(words->title, sizeof words->title, "Speed-up over one thread of C, by the CPU's part");
  snprintf(words->subtitle, sizeof words->subtitle, "%.160s; by the host's clock", machine);
  for (size_t i = 0; i < l.count && used < sizeof words->finding; i++) {
    const plot_point *best = &l.line[i].points[0];
    for (size_t j = 1; j < l.line[i].count; j++)
      if (l.line[i].points[j].y > best->y) best = &l.line[i].points[j];
    used += (size_t)snprintf(words->finding + used, sizeof words->finding - used,
                             "%s%.20s %.1f x with %.0f %% on the CPU%s", i ? ", " : "The best: ", l.line[i].name,
                             best->y, best->x, i + 1 == l.count ? "." : "");
  }
}

static double draw(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame) {
  static lines l;
  plot_label labels[LINES_MOST];
  plot p;
  (void)figure;
  rungs_shares(f, &l);
  lines_open(&p, &l, out, words, RUNGS_SHARES, "x one thread of C", frame);
  lines_draw(&p, &l, labels);
  plot_labels(&p, labels, l.count);
  return plot_close(&p);
}

const chart_kind chart_shares = {
    .intro = "Every split of several tasks, as multiples of the speed of one thread of C.",
    .part = "ladder offload",
    .list = list,
    .name = name,
    .draw = draw,
};
