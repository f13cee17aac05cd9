/* SPDX-License-Identifier: Apache-2.0
 * The page: a head, and one section per row of a table. */
#include "bench/report/page.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/report/chart.h"
#include "bench/report/markup.h"
#include "bench/report/styles.h"
#include "bench/report/table.h"

typedef struct page {
  FILE *out;
  const facts *f, *before;
  const changes *changes;
} page;

static void paragraph(const page *p, const char *class, const char *text) {
  fprintf(p->out, "<p class=\"%s\">", class);
  markup_text(p->out, text);
  fputs("</p>\n", p->out);
}

static void finding(const page *p, bool bad, const char *head, const char *text) {
  fprintf(p->out, "<li%s><b>", bad ? " class=\"bad\"" : "");
  markup_text(p->out, head);
  fputs("</b> ", p->out);
  markup_text(p->out, text);
  fputs("</li>\n", p->out);
}

static size_t wrong_rows(const facts *f) {
  size_t wrong = 0;
  for (size_t i = 0; i < f->row_count; i++) wrong += !f->rows[i].verified;
  return wrong;
}

static void write_checks(const page *p) {
  const size_t wrong = wrong_rows(p->f);
  char text[160];
  if (wrong)
    snprintf(text, sizeof text, "%zu of %zu results are wrong or missing.", wrong, p->f->row_count);
  else
    snprintf(text, sizeof text, "All %zu results have the bits of the scalar definition.", p->f->row_count);
  if (p->f->row_count) finding(p, wrong != 0, wrong ? "NOT VERIFIED." : "Verified.", text);
}

/* What the charts show, then what hx-bench has concluded, part by part. */
static void write_verdict(const page *p) {
  const facts *const f = p->f;
  fputs("<ul class=\"findings\">\n", p->out);
  if (f->interrupted) finding(p, true, "Interrupted.", "This is what had been measured by then.");
  for (size_t k = 1; k < 3; k++) { /* modes, splits */
    size_t figures[CHART_FIGURES];
    const size_t count = chart_kinds[k]->list(f, figures);
    for (size_t i = 0; i < count; i++) {
      plot_words words;
      chart_name(chart_kinds[k], f, figures[i], &words);
      finding(p, false, words.title, words.finding);
    }
  }
  write_checks(p);
  for (size_t i = 0; i < f->part_count; i++) {
    char text[256];
    if (f->parts[i].document) continue;
    facts_absence(f, f->parts[i].name, text, sizeof text);
    text[0] = (char)toupper((unsigned char)text[0]);
    finding(p, true, "Missing.", text);
  }
  fputs("</ul>\n", p->out);
  for (size_t i = 0; i < f->part_count; i++) {
    const char *const verdict = json_text(f->parts[i].document, "verdict");
    char text[2300];
    if (!*verdict) continue;
    snprintf(text, sizeof text, "hx-bench %s: %s%s", f->parts[i].name, verdict,
             f->parts[i].timed_out ? " (Its share of the time was over.)" : "");
    paragraph(p, "note", text);
  }
  if (!f->row_count) paragraph(p, "note", "The document holds no rows of results.");
}

static void item(const page *p, const char *name, const char *text) {
  if (!*text) return;
  fprintf(p->out, "<dt>%s</dt><dd>", name);
  markup_text(p->out, text);
  fputs("</dd>\n", p->out);
}

static void write_processor(const page *p) {
  const json_value *const s = p->f->system;
  char text[256], size[24];
  const size_t cores = json_count(s, "cores"), threads = json_count(s, "threads");
  snprintf(text, sizeof text, "%.120s, %zu core%s, hx uses %zu thread%s and %.16s kernels", json_text(s, "cpu"), cores,
           cores == 1 ? "" : "s", threads, threads == 1 ? "" : "s", json_text(s, "isa"));
  item(p, "processor", text);
  size_t used = 0;
  static const char *const caches[][2] = {
      {"L1", "l1_bytes"}, {"L2", "l2_bytes"}, {"L3", "l3_bytes"}, {"memory", "memory_bytes"}};
  for (size_t i = 0; i < 4; i++) {
    if (!json_count(s, caches[i][1])) continue;
    bench_bytes_text(json_count(s, caches[i][1]), size, sizeof size);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "", caches[i][0], size);
  }
  if (used) item(p, "caches", text);
}

static void write_machine(const page *p) {
  const json_value *const s = p->f->system, *const load = json_list(s, "load_average");
  char text[256];
  if (!s) {
    paragraph(p, "note", "The document does not describe the machine: no part that does was completed.");
    return;
  }
  fputs("<dl>\n", p->out);
  write_processor(p);
  snprintf(text, sizeof text, "Linux %.100s %.32s", json_text(s, "kernel"), json_text(s, "machine"));
  item(p, "system", text);
  item(p, "governor", json_text(s, "governor"));
  if (load && load->kind == JSON_NUMBER) {
    snprintf(text, sizeof text, "%.2f at the start", load->number);
    item(p, "load", text);
  }
  snprintf(text, sizeof text, "hx %.32s, compiled by %.100s", p->f->version, json_text(s, "compiler"));
  item(p, "versions", text);
  fputs("</dl>\n", p->out);
  if (!p->f->devices) paragraph(p, "note", "The document has no list of devices.");
  table_devices(p->out, p->f->devices);
}

static void write_figure(const page *p, const chart_kind *kind, size_t figure) {
  plot_words words;
  chart_name(kind, p->f, figure, &words);
  fputs("<figure>\n", p->out);
  kind->draw(p->f, figure, &words, p->out, PLOT_IN_PAGE);
  fputs("<figcaption>", p->out);
  markup_text(p->out, words.finding);
  fputs("</figcaption>\n</figure>\n", p->out);
}

static void write_chart(const page *p, const chart_kind *kind) {
  size_t figures[CHART_FIGURES];
  char why[256], text[300];
  const size_t count = kind->list(p->f, figures);
  if (count) paragraph(p, "lead", kind->intro);
  for (size_t i = 0; i < count; i++) write_figure(p, kind, figures[i]);
  if (count) return;
  facts_absence(p->f, kind->part, why, sizeof why);
  snprintf(text, sizeof text, "Absent: %s.", why);
  paragraph(p, "note absent", text);
}

static void write_rate(const page *p) { write_chart(p, &chart_rate); }
static void write_modes(const page *p) { write_chart(p, &chart_modes); }
static void write_split(const page *p) { write_chart(p, &chart_split); }

/* Few ladders have lines, and fewer have splits of several tasks; those that have none need no remark. */
static void write_ladder(const page *p) {
  static const chart_kind *const rare[] = {&chart_lines, &chart_shares, &chart_sizes};
  size_t figures[CHART_FIGURES];
  write_chart(p, &chart_ladder);
  for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
    if (rare[i]->list(p->f, figures)) write_chart(p, rare[i]);
}

static void write_roofline(const page *p) { write_chart(p, &chart_roofline); }

static void time_cell(const page *p, double median, double least, double most) {
  char m[32], l[32], h[32];
  facts_time_text(median, m, sizeof m);
  facts_time_text(least, l, sizeof l);
  facts_time_text(most, h, sizeof h);
  fprintf(p->out, "<td>%s (%s to %s)</td>", m, l, h);
}

static void write_change(const page *p, const change *c) {
  fputs("<tr><td class=\"text\">", p->out);
  markup_text(p->out, c->what);
  fputs("</td>", p->out);
  time_cell(p, c->before, c->before_low, c->before_high);
  time_cell(p, c->after, c->after_low, c->after_high);
  fprintf(p->out, "<td>%.2fx</td><td class=\"text\">%s</td></tr>\n", c->before / c->after,
          c->bits                ? "OTHER BITS"
          : c->after < c->before ? "faster"
                                 : "slower");
}

static void write_changes(const page *p) {
  char text[600], machine[256];
  if (!p->changes) return;
  facts_machine_text(p->before, machine, sizeof machine);
  snprintf(text, sizeof text,
           "Compared with %.250s, hx %.32s. A time counts as changed if the medians differ by more than 5 %% and their "
           "95 %% "
           "intervals do not overlap.",
           machine, p->before->version);
  paragraph(p, "lead", text);
  changes_text(p->changes, text, sizeof text - 1);
  strcat(text, ".");
  paragraph(p, "lead", text);
  if (!p->changes->count) return;
  fputs(
      "<div class=\"scroll\"><table>\n<thead><tr><th class=\"text\" scope=\"col\">what</th><th "
      "scope=\"col\">before</th>"
      "<th scope=\"col\">now</th><th scope=\"col\">speed</th><th class=\"text\" "
      "scope=\"col\">change</th></tr></thead>\n"
      "<tbody>\n",
      p->out);
  for (size_t i = 0; i < p->changes->count; i++) write_change(p, &p->changes->list[i]);
  fputs("</tbody></table></div>\n", p->out);
}

static void write_tables(const page *p) {
  paragraph(
      p, "lead",
      "Times are medians of interleaved rounds, with the fastest and the slowest. check: compared with the scalar "
      "definition. bits: a hash of the result, the same in every mode and on every machine.");
  for (size_t i = 0; i < p->f->part_count; i++)
    table_measurements(p->out, p->f->parts[i].name, p->f->parts[i].document);
}

/* Quotes a value for a POSIX shell. */
static void write_quoted(FILE *out, const char *value) {
  markup_text(out, "'");
  for (; *value; value++) {
    const char one[] = {*value, '\0'};
    if (*value == '\'')
      markup_text(out, "'\\''");
    else if ((unsigned char)*value < 0x80)
      markup_text(out, one);
    else
      fputc(*value, out);
  }
  markup_text(out, "'");
}

/* The settings of hx that the run had. A name that is not one of a variable is left out. */
static void write_environment(const page *p) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  const json_value *const environment = json_get(p->f->system, "environment");
  if (!environment || environment->kind != JSON_OBJECT) return;
  for (const json_value *v = environment->first; v; v = v->next) {
    if (v->kind != JSON_TEXT || !*v->name || v->name[strspn(v->name, letters)] || v->text[0] == '(') continue;
    fprintf(p->out, "export %s=", v->name);
    write_quoted(p->out, v->text);
    fputs("\n", p->out);
  }
}

static void write_commands(const page *p) {
  const double seconds = json_number(p->f->root, "asked_seconds");
  fputs("<pre>", p->out);
  write_environment(p);
  if (strcmp(p->f->command, "share") == 0 && isfinite(seconds)) {
    fprintf(p->out, "hx-bench share --seconds %.6g --json hx-share.json\n", seconds);
    fputs("hx-bench report --from hx-share.json --out hx-report.html\n", p->out);
  } else {
    fputs("hx-bench ", p->out);
    markup_text(p->out, p->f->command);
    const char *const ladder = json_text(p->f->root, "ladder");
    if (*ladder) fputs(" ", p->out), markup_text(p->out, ladder);
    fputs(" --json results.json\nhx-bench report --from results.json --out hx-report.html\n", p->out);
  }
  fputs("</pre>\n", p->out);
}

static const struct section {
  const char *id, *heading;
  void (*write)(const page *p);
  bool if_compared; /* only with --compare */
} sections[] = {
    {"verdict", "Verdict", write_verdict, false},         {"machine", "Machine", write_machine, false},
    {"changes", "What has changed", write_changes, true}, {"rate", "Rate over size", write_rate, false},
    {"modes", "CPU, GPU and both", write_modes, false},   {"split", "Every split of the work", write_split, false},
    {"ladders", "Ladders", write_ladder, false},          {"roofline", "Roofline", write_roofline, false},
    {"tables", "All measurements", write_tables, false},  {"commands", "Measure it again", write_commands, false}};

#define SECTIONS (sizeof sections / sizeof sections[0])

static void write_head(const page *p) {
  char machine[256];
  facts_machine_text(p->f, machine, sizeof machine);
  fputs(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
      p->out);
  markup_format(p->out, "hx on %s", machine);
  fprintf(p->out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<header>\n<h1>", report_page_css,
          report_chart_css);
  markup_text(p->out, machine);
  fputs("</h1>\n", p->out);
  char text[192];
  snprintf(text, sizeof text, "What hx %.32s does on this machine, measured by hx-bench %.48s.", p->f->version,
           p->f->command);
  paragraph(p, "lead", text);
  fputs("<nav aria-label=\"Sections\">", p->out);
  for (size_t i = 0; i < SECTIONS; i++)
    if (!sections[i].if_compared || p->changes)
      fprintf(p->out, "<a href=\"#%s\">%s</a>\n", sections[i].id, sections[i].heading);
  fputs("</nav>\n</header>\n<main>\n", p->out);
}

void page_write(FILE *out, const facts *f, const facts *before, const changes *changes) {
  const page p = {out, f, before, changes};
  write_head(&p);
  for (size_t i = 0; i < SECTIONS; i++) {
    if (sections[i].if_compared && !changes) continue;
    fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", sections[i].id, sections[i].heading);
    sections[i].write(&p);
    fputs("</section>\n", out);
  }
  fprintf(out, "</main>\n<footer>Written by hx-bench %s.</footer>\n</body>\n</html>\n", hx_version());
}
