/* SPDX-License-Identifier: Apache-2.0
 * A ladder as bars: the steps of a published technique, hx, and other libraries, at the largest size. */
#include <math.h>
#include <string.h>

#include "bench/report/chart.h"

#define BAR 24.0
#define NAMES 270.0

/* What a rung is, by the beginning of its name. The first row that fits counts. */
static const struct {
  const char *begin;
  plot_style style;
} kinds[] = {{"hx", PLOT_BOTH},      {"CPU ", PLOT_BOTH}, {"OpenCV", PLOT_OTHER}, {"CLBlast", PLOT_OTHER},
             {"cuBLAS", PLOT_OTHER}, {"CUB", PLOT_OTHER}, {"", PLOT_CEILING}};

static plot_style style_of(const facts_rung *rung) {
  size_t i = 0;
  while (strncmp(rung->step, kinds[i].begin, strlen(kinds[i].begin)) != 0) i++;
  return kinds[i].style;
}

static double work(const facts_rung *r) { return r->m ? (double)r->m * (double)r->n * (double)r->k : (double)r->n; }

static bool same_ladder(const facts_rung *a, const facts_rung *b) {
  return strcmp(a->ladder, b->ladder) == 0 && strcmp(a->device, b->device) == 0;
}

/* The splits of `ladder offload` are named by the CPU's part alone: "CPU 70 %", "CPU 0 % (devices alone)". */
static void step_text(const facts_rung *rung, char *text, size_t bytes) {
  unsigned cpu;
  if (sscanf(rung->step, "CPU %3u %%", &cpu) != 1 || cpu > 100)
    snprintf(text, bytes, "%s", rung->step);
  else if (cpu == 0 || cpu == 100)
    snprintf(text, bytes, "hx, %s alone", cpu ? "CPU" : "GPU");
  else
    snprintf(text, bytes, "hx, %u %% CPU + %u %% GPU", cpu, 100 - cpu);
}

static bool is_timed(const facts_rung *rung) { return isfinite(rung->rate) && rung->rate > 0; }

/* Whether the rung belongs to the figure: the same ladder, device and size. */
static bool belongs(const facts_rung *figure, const facts_rung *rung) {
  return same_ladder(figure, rung) && figure->m == rung->m && figure->n == rung->n && figure->k == rung->k;
}

/* The figure of a ladder and device is the first timed rung of its largest size. */
static size_t list(const facts *f, size_t figures[CHART_FIGURES]) {
  size_t count = 0;
  for (size_t i = 0; i < f->rung_count && count < CHART_FIGURES; i++) {
    const facts_rung *const rung = &f->rungs[i];
    bool first = is_timed(rung);
    for (size_t j = 0; j < f->rung_count && first; j++) {
      const facts_rung *const other = &f->rungs[j];
      if (!same_ladder(rung, other) || !is_timed(other)) continue;
      if (work(other) > work(rung) || (j < i && work(other) == work(rung))) first = false;
    }
    if (first) figures[count++] = i;
  }
  return count;
}

static const facts_rung *fastest(const facts *f, const facts_rung *figure, bool of_hx) {
  const facts_rung *best = NULL;
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    if (!belongs(figure, rung) || !is_timed(rung) || (style_of(rung) == PLOT_BOTH) != of_hx) continue;
    if (!best || rung->rate > best->rate) best = rung;
  }
  return best;
}

static void device_text(const facts *f, const facts_rung *figure, char *text, size_t bytes) {
  for (const json_value *d = f->devices; d && *figure->device; d = d->next)
    if (strcmp(json_text(d, "name"), figure->device) == 0) {
      facts_device_text(d, text, bytes);
      return;
    }
  if (*figure->device)
    snprintf(text, bytes, "%s", figure->device);
  else
    facts_machine_text(f, text, bytes);
}

static size_t figures_before(const facts *f, size_t figure) {
  size_t figures[CHART_FIGURES], before = 0;
  const size_t count = list(f, figures);
  for (size_t i = 0; i < count && figures[i] != figure; i++)
    before += strcmp(f->rungs[figures[i]].ladder, f->rungs[figure].ladder) == 0;
  return before;
}

static void name(const facts *f, size_t figure, plot_words *words) {
  const facts_rung *const at = &f->rungs[figure], *const hx = fastest(f, at, true),
                          *const other = fastest(f, at, false);
  const size_t before = figures_before(f, figure);
  char size[72], number[16] = "", device[160];
  const bool one = strcmp(at->ladder, "offload") == 0;
  facts_size_text(at->m, at->n, at->k, size, sizeof size);
  device_text(f, at, device, sizeof device);
  if (before) snprintf(number, sizeof number, "-%zu", before + 1);
  snprintf(words->id, sizeof words->id, "ladder-%.40s%s", at->ladder, number);
  snprintf(words->title, sizeof words->title, "%s %s",
           one     ? "CPU and GPU together: the product"
           : at->m ? "A product on the device, step by step:"
                   : "A sum on the device, step by step:",
           size);
  snprintf(words->subtitle, sizeof words->subtitle, "%.160s; %s", device,
           isfinite(at->event) ? "data on the device, by the device's clock"
                               : "from and to host memory, by the host's clock");
  if (hx && other) {
    char fast[64], slow[64];
    step_text(hx, fast, sizeof fast);
    step_text(other, slow, sizeof slow);
    snprintf(words->finding, sizeof words->finding,
             "The rate of \"%s\" is %.2f times that of \"%s\", the fastest of the others.", fast,
             hx->rate / other->rate, slow);
  } else {
    snprintf(words->finding, sizeof words->finding, "%s", hx ? "Only hx was timed." : "hx was not timed.");
  }
}

/* The time is given for one whole call by the host's clock; by the device's clock the rate says it all. */
static void bar_text(const facts_rung *rung, double factor, const char *unit, char *text, size_t bytes) {
  char number[32], time[40] = "";
  facts_number_text(rung->rate * factor, number, sizeof number);
  if (!isfinite(rung->event)) facts_time_text(rung->median, time, sizeof time);
  if (!is_timed(rung))
    snprintf(text, bytes, "not run%s%.60s", *rung->note ? ": " : "", rung->note);
  else
    snprintf(text, bytes, "%s %s%s%s", number, unit, *time ? ", " : "", time);
}

static void draw(const facts *f, size_t figure, const plot_words *words, FILE *out, bool standalone) {
  const facts_rung *const at = &f->rungs[figure];
  double most = 0, factor, y;
  size_t count = 0;
  plot p;
  for (size_t i = 0; i < f->rung_count; i++)
    if (belongs(at, &f->rungs[i])) most = fmax(most, f->rungs[i].rate), count++; /* fmax leaves out a NaN */
  const char *const unit = scale_unit(at->unit, most, &factor);
  plot_open(&p, out, words, 66 + 48 + BAR * (double)count, standalone);
  p.left = NAMES;
  p.top = 62;
  p.right -= isfinite(at->event) ? 0 : 40;
  p.x = scale_make(SCALE_LINEAR, 0, most * factor, p.left, p.right);
  plot_axis_x(&p, unit);
  y = p.top + 2;
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    char step[128], text[128];
    if (!belongs(at, rung)) continue;
    const bool spread = is_timed(rung) && !isfinite(rung->event);
    const double scaled = rung->rate * rung->median * factor;
    const plot_point value = {is_timed(rung) ? rung->rate * factor : 0, 0, spread ? scaled / rung->high : NAN,
                              spread ? scaled / rung->low : NAN};
    bar_text(rung, factor, unit, text, sizeof text);
    plot_fit(text, PLOT_WIDTH - scale_at(&p.x, value.x) - 10);
    plot_bar(&p, style_of(rung), y + 3, BAR - 8, &value, text);
    step_text(rung, step, sizeof step);
    plot_fit(step, NAMES - 20);
    plot_text(&p, style_of(rung) == PLOT_BOTH ? "label strong" : "label", PLOT_END, p.left - 8, y + BAR / 2 + 3, "%s",
              step);
    y += BAR;
  }
  plot_close(&p);
}

const chart_kind chart_ladder = {
    .intro =
        "Steps of published techniques in grey, each with those before it; hx in green; other libraries with a dashed "
        "outline. Every result was compared exactly.",
    .part = "ladder matmul",
    .list = list,
    .name = name,
    .draw = draw,
};
