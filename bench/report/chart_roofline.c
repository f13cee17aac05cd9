/* SPDX-License-Identifier: Apache-2.0
 * The roofline (Williams, Waterman and Patterson, CACM 52(4), 2009): what a device can reach, given its peak rate, its
 * read bandwidth, and how many operations a task does per byte. All roofs are measured: the CPU's by the loops of
 * `peak`, or else by the ceilings of the rows; a device's by the fastest sum and the fastest product of the ladders or
 * `tune`. */
#include <math.h>
#include <string.h>

#include "bench/report/chart.h"

#define HEIGHT 430.0
#define LOWEST 0.0625 /* operations per byte, at the left end */

typedef struct roof {
  double flops, bytes; /* GFLOP/s and GB/s; 0: not measured */
} roof;

static roof cpu_roof(const facts *f) {
  roof r = {0, 0};
  for (size_t i = 0; i < f->peak_count; i++) {
    const facts_peak *const p = &f->peaks[i];
    if (strcmp(p->what, "fma") == 0) r.flops = fmax(r.flops, p->median);
    if (strcmp(p->level, "memory") == 0) r.bytes = fmax(r.bytes, p->median);
  }
  size_t largest = 0;
  for (size_t i = 0; i < f->row_count && !f->peak_count; i++) {
    const facts_row *const row = &f->rows[i];
    if (row->m) r.flops = fmax(r.flops, row->ceiling);
    if (!row->m && row->n >= largest && row->ceiling > 0) largest = row->n, r.bytes = row->ceiling;
  }
  return r;
}

static roof device_roof(const facts *f) {
  roof r = {0, 0};
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    if (strcmp(rung->ladder, "matmul") == 0) r.flops = fmax(r.flops, rung->rate);
    if (strcmp(rung->ladder, "reduce") == 0 && strcmp(rung->step, "OpenCV, CPU") != 0)
      r.bytes = fmax(r.bytes, rung->rate);
  }
  const facts_part *const tune = facts_part_named(f, "tune");
  for (const json_value *d = tune ? json_list(tune->document, "devices") : NULL; d; d = d->next)
    for (const json_value *t = json_list(d, "trials"); t; t = t->next)
      r.flops = fmax(r.flops, json_number(t, "gflops"));
  return r;
}

static size_t list(const facts *f, size_t figures[CHART_FIGURES]) {
  const roof cpu = cpu_roof(f);
  figures[0] = 0;
  return cpu.flops > 0 && cpu.bytes > 0;
}

/* Operations per byte of input and output, if each is moved once. */
static double intensity(const facts_row *row) {
  const double m = (double)row->m, n = (double)row->n, k = (double)row->k;
  return row->m ? 2 * m * n * k / (4 * (m * k + k * n + m * n)) : 0.25;
}

static double flops(const facts_row *row) { return row->m ? row->rate : row->rate * intensity(row); }

/* Whether the row is a point: the largest reduction of its kind, or a product, outside sweeps. */
static bool is_point(const facts *f, const facts_row *row) {
  if (row->in_sweep || row->mode >= FACTS_SPLIT || !(row->rate > 0)) return false;
  for (size_t i = 0; !row->m && i < f->row_count; i++)
    if (!f->rows[i].in_sweep && facts_same_kind(&f->rows[i], row) && f->rows[i].n > row->n && f->rows[i].rate > 0)
      return false;
  return true;
}

static void name(const facts *f, size_t figure, plot_words *words) {
  (void)figure;
  const roof cpu = cpu_roof(f), device = device_roof(f);
  char a[32], b[32], c[32], d[32];
  facts_number_text(cpu.flops, a, sizeof a);
  facts_number_text(cpu.bytes, b, sizeof b);
  facts_number_text(device.flops, c, sizeof c);
  facts_number_text(device.bytes, d, sizeof d);
  snprintf(words->id, sizeof words->id, "roofline");
  snprintf(words->title, sizeof words->title, "Roofline");
  facts_machine_text(f, words->subtitle, sizeof words->subtitle);
  const size_t used = (size_t)snprintf(words->finding, sizeof words->finding,
                                       "The CPU's measured roofs are %s GFLOP/s and %s GB/s. ", a, b);
  if (device.flops > 0 && device.bytes > 0)
    snprintf(words->finding + used, sizeof words->finding - used,
             "The fastest kernels on the device reached %s GFLOP/s and read %s GB/s.", c, d);
  else
    snprintf(words->finding + used, sizeof words->finding - used,
             "The device has no roof here, because its ladders (reduce and matmul) were not measured.");
}

static void draw_roof(const plot *p, plot_style style, const roof *r, plot_label *labels, size_t *count) {
  if (!(r->flops > 0 && r->bytes > 0)) return;
  const double ridge = r->flops / r->bytes;
  plot_point points[3] = {
      {p->x.low, p->x.low * r->bytes, NAN, NAN}, {ridge, r->flops, NAN, NAN}, {p->x.high, r->flops, NAN, NAN}};
  plot_limit(p, style, points, 3);
  labels[*count] = (plot_label){.style = style, .y = scale_at(&p->y, r->flops), .is_limit = true};
  snprintf(labels[(*count)++].text, sizeof labels[0].text, "%s", style == PLOT_CPU ? "CPU's roof" : "device's roof");
}

static double draw(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame) {
  static const plot_style styles[FACTS_SPLIT] = {PLOT_CPU, PLOT_GPU, PLOT_BOTH};
  (void)figure;
  const roof cpu = cpu_roof(f), device = device_roof(f);
  double least = cpu.bytes * LOWEST, most = fmax(cpu.flops, device.flops), widest = 16;
  plot_label labels[PLOT_LABELS];
  size_t count = 0;
  plot p;
  for (size_t i = 0; i < f->row_count; i++) {
    const facts_row *const row = &f->rows[i];
    if (!is_point(f, row)) continue;
    least = fmin(least, flops(row)), most = fmax(most, flops(row)), widest = fmax(widest, intensity(row));
  }
  plot_open(&p, out, words, HEIGHT, frame);
  plot_legend(&p, styles, FACTS_SPLIT);
  p.top += 16;
  p.x = scale_make(SCALE_LOG2, LOWEST, exp2(ceil(log2(widest) + 0.5)), p.left, p.right);
  p.y = scale_make(SCALE_LOG10, least, most * 1.2, p.bottom, p.top);
  plot_axis_x(&p, "operations per byte, each operand moved once (logarithmic)");
  plot_axis_y(&p, "GFLOP/s (logarithmic)");
  draw_roof(&p, PLOT_CPU, &cpu, labels, &count);
  draw_roof(&p, PLOT_GPU, &device, labels, &count);
  for (size_t i = 0; i < f->row_count; i++)
    if (is_point(f, &f->rows[i]))
      plot_marker(&p, styles[f->rows[i].mode], scale_at(&p.x, intensity(&f->rows[i])),
                  scale_at(&p.y, flops(&f->rows[i])));
  plot_labels(&p, labels, count);
  return plot_close(&p);
}

const chart_kind chart_roofline = {
    .intro =
        "A task cannot be faster than the lower of two roofs: what memory delivers (rising) and what the cores compute "
        "(flat). Points are the measured tasks: reductions at 1/4 operation per byte, products to the right. A point "
        "may lie above the CPU's roof if its operands fit into a cache or if a device helps.",
    .part = "peak",
    .list = list,
    .name = name,
    .draw = draw,
};
