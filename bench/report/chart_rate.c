/* SPDX-License-Identifier: Apache-2.0
 * The rate over the size of a task, for CPU alone, GPU alone and both, with two break-even points: where hx begins to
 * use the device, and where the device alone overtakes the CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/report/chart.h"

#define USED 0.005 /* a smaller share counts as none */
#define HEIGHT 400.0

typedef struct curve {
  const facts_row *row[BENCH_MAX_SIZES]; /* in order of size */
  size_t count;
} curve;

/* What a figure shows of one operation and type. */
typedef struct curves {
  const facts_row *first;
  curve of[FACTS_SPLIT];    /* CPU, GPU, both */
  bool is_product, by_work; /* by_work: not all shapes are cubes, so x is the number of multiply-adds */
  bool has_intervals;
} curves;

static double size_of(const curves *c, const facts_row *row) {
  return c->by_work ? (double)row->m * (double)row->n * (double)row->k : (double)row->n;
}

static bool is_cube(const facts_row *row) { return row->m == row->n && row->n == row->k; }

static bool belongs(const facts_row *first, const facts_row *row) {
  return !row->in_sweep && row->mode < FACTS_SPLIT && facts_same_kind(first, row) && row->rate > 0 && row->n > 0 &&
         row->trans_a == first->trans_a && row->trans_b == first->trans_b && !row->m == !first->m;
}

/* Insertion keeps each curve in order; of two rows of one size the first counts. */
static void insert(curves *c, const facts_row *row) {
  curve *const curve = &c->of[row->mode];
  size_t i = curve->count;
  if (curve->count == BENCH_MAX_SIZES) return;
  for (; i && size_of(c, curve->row[i - 1]) >= size_of(c, row); i--)
    if (size_of(c, curve->row[i - 1]) == size_of(c, row)) return;
  memmove(&curve->row[i + 1], &curve->row[i], (curve->count - i) * sizeof curve->row[0]);
  curve->row[i] = row;
  curve->count++;
}

static void take_curves(const facts *f, size_t figure, curves *c) {
  *c = (curves){.first = &f->rows[figure], .is_product = f->rows[figure].m != 0, .has_intervals = f->has_intervals};
  for (size_t i = 0; i < f->row_count; i++)
    if (belongs(c->first, &f->rows[i])) c->by_work |= c->is_product && !is_cube(&f->rows[i]);
  for (size_t i = 0; i < f->row_count; i++)
    if (belongs(c->first, &f->rows[i])) insert(c, &f->rows[i]);
}

static size_t most_sizes(const curves *c) {
  size_t most = 0;
  for (int mode = 0; mode < FACTS_SPLIT; mode++)
    if (c->of[mode].count > most) most = c->of[mode].count;
  return most;
}

static size_t list(const facts *f, size_t figures[CHART_FIGURES]) {
  static curves c;
  size_t count = 0;
  for (size_t i = 0; i < f->row_count && count < CHART_FIGURES; i++) {
    size_t before = 0;
    while (before < i && !(belongs(&f->rows[i], &f->rows[before]))) before++;
    if (before < i || !belongs(&f->rows[i], &f->rows[i])) continue;
    take_curves(f, i, &c);
    if (most_sizes(&c) > 1) figures[count++] = i;
  }
  return count;
}

/* The first index from which on hx uses the device at every size; the count: there is none. */
static size_t first_use(const curve *both) {
  size_t i = both->count;
  while (i && both->row[i - 1]->share >= USED) i--;
  return i;
}

static const facts_row *row_of_size(const curves *c, const curve *curve, double size) {
  for (size_t i = 0; i < curve->count; i++)
    if (size_of(c, curve->row[i]) == size) return curve->row[i];
  return NULL;
}

/* The time of the CPU over that of the device at a size of the device's curve; NaN: not both are known. */
static double lead(const curves *c, size_t i) {
  const facts_row *const gpu = c->of[FACTS_GPU].row[i], *const cpu = row_of_size(c, &c->of[FACTS_CPU], size_of(c, gpu));
  return cpu ? cpu->median / gpu->median : NAN;
}

/* Whether the device is faster than the CPU at a size of its curve, beyond noise. */
static bool is_ahead(const curves *c, size_t i) {
  const facts_row *const gpu = c->of[FACTS_GPU].row[i], *const cpu = row_of_size(c, &c->of[FACTS_CPU], size_of(c, gpu));
  if (!cpu) return false;
  return facts_is_shorter(gpu->median, c->has_intervals ? gpu->high : 0, cpu->median,
                          c->has_intervals ? cpu->low : cpu->median);
}

/* The first index of the device's curve from which on it is ahead at every size. */
static size_t first_lead(const curves *c) {
  size_t i = c->of[FACTS_GPU].count;
  while (i && is_ahead(c, i - 1)) i--;
  return i;
}

/* Where the two lines cross, if they are straight between the sizes i - 1 and i on logarithmic scales. */
static double crossing(const curves *c, size_t i) {
  const double high = log(lead(c, i)), low = log(lead(c, i - 1));
  const double from = size_of(c, c->of[FACTS_GPU].row[i - 1]), to = size_of(c, c->of[FACTS_GPU].row[i]);
  if (!(low < 0)) return from;
  return exp(log(from) + (log(to) - log(from)) * -low / (high - low));
}

static void size_text(const facts_row *row, char *text, size_t bytes) {
  facts_size_text(row->m, row->n, row->k, text, bytes);
}

static void describe(const curves *c, char *text, size_t bytes) {
  const curve *const gpu = &c->of[FACTS_GPU], *const both = &c->of[FACTS_BOTH];
  const size_t use = first_use(both), ahead = first_lead(c);
  char size[72], before[72];
  size_t used = 0;
  text[0] = '\0';
  if (both->count && use < both->count) {
    size_text(both->row[use], size, sizeof size);
    used = (size_t)snprintf(text, bytes, use ? "hx uses the device from %s on. " : "hx uses the device at every size. ",
                            size);
  } else if (both->count) {
    used = (size_t)snprintf(text, bytes, "At the largest size hx leaves the device out. ");
  }
  if (!gpu->count || !c->of[FACTS_CPU].count) {
    snprintf(text + used, bytes - used, "Only one side was measured, so there is no break-even.");
  } else if (ahead == 0) {
    snprintf(text + used, bytes - used, "The device alone is faster than the CPU at every size.");
  } else if (ahead == gpu->count) {
    snprintf(text + used, bytes - used,
             "The device alone does not overtake the CPU, beyond noise, up to the largest size.");
  } else {
    size_text(gpu->row[ahead], size, sizeof size);
    size_text(gpu->row[ahead - 1], before, sizeof before);
    snprintf(text + used, bytes - used, "The device alone overtakes the CPU between %s and %s.", before, size);
  }
}

static void name(const facts *f, size_t figure, plot_words *words) {
  static curves c;
  take_curves(f, figure, &c);
  const bool trans = c.first->trans_a || c.first->trans_b;
  snprintf(words->id, sizeof words->id, "rate-%.12s-%.16s%s", c.first->op, c.first->type,
           !trans              ? ""
           : !c.first->trans_a ? "-nt"
           : c.first->trans_b  ? "-tt"
                               : "-tn");
  snprintf(words->title, sizeof words->title, "Rate of the %.12s %.16s over its size", c.first->type, c.first->op);
  facts_machine_text(f, words->subtitle, sizeof words->subtitle);
  describe(&c, words->finding, sizeof words->finding);
}

static size_t points_of(const curves *c, const curve *curve, double factor, plot_point *points) {
  for (size_t i = 0; i < curve->count; i++) {
    const facts_row *const row = curve->row[i];
    points[i] = (plot_point){size_of(c, row), row->rate * factor, facts_rate_at(row, row->high) * factor,
                             facts_rate_at(row, row->low) * factor};
  }
  return curve->count;
}

static void set_scales(const curves *c, double factor, plot *p) {
  double low = INFINITY, high = 0, least = INFINITY, most = 0;
  for (int mode = 0; mode < FACTS_SPLIT; mode++)
    for (size_t i = 0; i < c->of[mode].count; i++) {
      const facts_row *const row = c->of[mode].row[i];
      least = fmin(least, size_of(c, row)), most = fmax(most, size_of(c, row));
      low = fmin(low, row->rate), high = fmax(high, fmax(row->rate, row->ceiling)); /* fmax leaves out a NaN */
    }
  p->x = scale_make(SCALE_LOG2, least, most, p->left, p->right);
  p->y = scale_make(SCALE_LOG10, low * factor / 1.2, high * factor * 1.6, p->bottom, p->top);
}

static void draw_marks(const curves *c, const plot *p) {
  const curve *const gpu = &c->of[FACTS_GPU], *const both = &c->of[FACTS_BOTH];
  const size_t use = first_use(both), ahead = first_lead(c);
  plot_rule rules[2];
  size_t count = 0;
  if (use && use < both->count)
    rules[count++] = (plot_rule){PLOT_BOTH, size_of(c, both->row[use]), "hx uses the device"};
  if (ahead && ahead < gpu->count) rules[count++] = (plot_rule){PLOT_GPU, crossing(c, ahead), "GPU overtakes CPU"};
  plot_rules(p, rules, count);
}

static void draw_ceiling(const curves *c, const plot *p, double factor, plot_label *labels, size_t *count) {
  plot_point points[BENCH_MAX_SIZES];
  const curve *const cpu = &c->of[FACTS_CPU];
  size_t n = 0;
  for (size_t i = 0; i < cpu->count; i++)
    if (cpu->row[i]->ceiling > 0)
      points[n++] = (plot_point){size_of(c, cpu->row[i]), cpu->row[i]->ceiling * factor, NAN, NAN};
  plot_limit(p, PLOT_CEILING, points, n);
  if (!n) return;
  labels[*count] = (plot_label){.style = PLOT_CEILING, .is_limit = true, .y = scale_at(&p->y, points[n - 1].y)};
  snprintf(labels[(*count)++].text, sizeof labels[0].text, "%s", plot_style_name(PLOT_CEILING));
}

static double draw(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame) {
  static const plot_style styles[FACTS_SPLIT] = {PLOT_CPU, PLOT_GPU, PLOT_BOTH};
  static curves c;
  plot_point points[BENCH_MAX_SIZES];
  plot_label labels[PLOT_LABELS];
  size_t label_count = 0;
  double factor, most = 0;
  plot p;
  char text[96];
  take_curves(f, figure, &c);
  for (int mode = 0; mode < FACTS_SPLIT; mode++)
    for (size_t i = 0; i < c.of[mode].count; i++) most = fmax(most, c.of[mode].row[i]->rate);
  const char *const unit = scale_unit(c.first->unit, most, &factor);
  plot_open(&p, out, words, HEIGHT, frame);
  set_scales(&c, factor, &p);
  plot_axis_x(&p, !c.is_product ? "elements" : c.by_work ? "multiply-adds" : "side N of an N x N x N product");
  snprintf(text, sizeof text, "%.24s%s (logarithmic; band: %s)", unit, c.is_product ? "" : " of input",
           facts_spread_text(f));
  plot_axis_y(&p, text);
  draw_ceiling(&c, &p, factor, labels, &label_count);
  for (int mode = 0; mode < FACTS_SPLIT; mode++) {
    const size_t n = points_of(&c, &c.of[mode], factor, points);
    if (!n) continue;
    plot_line(&p, styles[mode], points, n);
    labels[label_count] = (plot_label){.style = styles[mode], .y = scale_at(&p.y, points[n - 1].y)};
    snprintf(labels[label_count++].text, sizeof labels[0].text, "%s", plot_style_name(styles[mode]));
  }
  draw_marks(&c, &p);
  plot_labels(&p, labels, label_count);
  return plot_close(&p);
}

const chart_kind chart_rate = {
    .intro =
        "Each point is the median of interleaved rounds. The dashed vertical lines are the break-even points: from "
        "where on hx gives the device work, and where the device alone overtakes the CPU.",
    .part = "reduce",
    .list = list,
    .name = name,
    .draw = draw,
};
