/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/report/facts.h"
#include "bench/report/markup.h"

typedef enum form {
  FORM_TEXT,
  FORM_DEVICE, /* the object is a device; PoCL is named */
  FORM_COUNT,
  FORM_NUMBER,
  FORM_TIME,
  FORM_PERCENT,
  FORM_BYTES,
  FORM_SIZE,  /* of a task: its members m, n and k */
  FORM_ASKED, /* a share, or null if hx decides */
  FORM_RIGHT  /* whether the result is right; null: it was not compared */
} form;

typedef struct column {
  const char *head, *member;
  form form;
} column;

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void size_text(const json_value *v, char *text, size_t bytes) {
  const bench_row row = {.m = json_count(v, "m"),
                         .n = json_count(v, "n"),
                         .k = json_count(v, "k"),
                         .trans_a = json_flag(v, "trans_a"),
                         .trans_b = json_flag(v, "trans_b")};
  bench_size_text(&row, text, bytes);
}

static void cell_text(const column *c, const json_value *v, char *text, size_t bytes) {
  const double number = json_number(v, c->member);
  const json_value *const member = json_get(v, c->member);
  switch (c->form) {
    case FORM_TEXT:
      snprintf(text, bytes, "%s", json_text(v, c->member));
      break;
    case FORM_DEVICE:
      facts_device_text(v, text, bytes);
      break;
    case FORM_COUNT:
      snprintf(text, bytes, isfinite(number) ? "%.0f" : "-", number);
      break;
    case FORM_NUMBER:
      facts_number_text(number, text, bytes);
      break;
    case FORM_TIME:
      facts_time_text(number, text, bytes);
      break;
    case FORM_PERCENT:
      snprintf(text, bytes, isfinite(number) ? "%.0f %%" : "-", 100 * number);
      break;
    case FORM_BYTES:
      bench_bytes_text(json_count(v, c->member), text, bytes);
      break;
    case FORM_SIZE:
      size_text(v, text, bytes);
      break;
    case FORM_ASKED:
      snprintf(text, bytes, isfinite(number) ? "%.0f %%" : "auto", 100 * number);
      break;
    case FORM_RIGHT:
      snprintf(text, bytes, "%s", !member || member->kind != JSON_FLAG ? "-" : member->flag ? "ok" : "WRONG");
      break;
  }
}

static bool is_text(form form) { return form == FORM_TEXT || form == FORM_DEVICE || form == FORM_SIZE; }

static void write_table(FILE *out, const char *caption, const column *columns, size_t count, const json_value *first) {
  if (!first) return;
  fputs("<div class=\"scroll\"><table>\n", out);
  if (caption) {
    fputs("<caption>", out);
    markup_text(out, caption);
    fputs("</caption>\n", out);
  }
  fputs("<thead><tr>", out);
  for (size_t i = 0; i < count; i++)
    fprintf(out, "<th scope=\"col\"%s>%s</th>", is_text(columns[i].form) ? " class=\"text\"" : "", columns[i].head);
  fputs("</tr></thead>\n<tbody>\n", out);
  for (const json_value *v = first; v; v = v->next) {
    fputs("<tr>", out);
    for (size_t i = 0; i < count; i++) {
      char text[320];
      cell_text(&columns[i], v, text, sizeof text);
      fputs(is_text(columns[i].form) ? "<td class=\"text\">" : "<td>", out);
      markup_text(out, text);
      fputs("</td>", out);
    }
    fputs("</tr>\n", out);
  }
  fputs("</tbody></table></div>\n", out);
}

static const column device_columns[] = {{"#", "index", FORM_COUNT},
                                        {"device", "name", FORM_DEVICE},
                                        {"kind", "kind", FORM_TEXT},
                                        {"driver", "driver", FORM_TEXT},
                                        {"state", "state", FORM_TEXT},
                                        {"arrays", "memory", FORM_TEXT},
                                        {"units", "compute_units", FORM_COUNT},
                                        {"memory", "memory_bytes", FORM_BYTES},
                                        {"remarks", "why", FORM_TEXT}};
static const column row_columns[] = {{"operation", "op", FORM_TEXT},
                                     {"type", "type", FORM_TEXT},
                                     {"size", "", FORM_SIZE},
                                     {"mode", "mode", FORM_TEXT},
                                     {"asked", "asked_share", FORM_ASKED},
                                     {"on GPU", "gpu_share", FORM_PERCENT},
                                     {"median", "median_s", FORM_TIME},
                                     {"min", "min_s", FORM_TIME},
                                     {"max", "max_s", FORM_TIME},
                                     {"rounds", "reps", FORM_COUNT},
                                     {"rate", "rate", FORM_NUMBER},
                                     {"unit", "unit", FORM_TEXT},
                                     {"copied", "bytes_copied", FORM_BYTES},
                                     {"check", "verified", FORM_RIGHT},
                                     {"bits", "bits", FORM_TEXT}};
static const column rung_columns[] = {{"step", "step", FORM_TEXT},
                                      {"size", "", FORM_SIZE},
                                      {"device's clock", "event_s", FORM_TIME},
                                      {"host's clock", "median_s", FORM_TIME},
                                      {"min", "min_s", FORM_TIME},
                                      {"max", "max_s", FORM_TIME},
                                      {"rounds", "reps", FORM_COUNT},
                                      {"rate", "rate", FORM_NUMBER},
                                      {"unit", "unit", FORM_TEXT},
                                      {"speed-up", "speedup", FORM_NUMBER},
                                      {"check", "verified", FORM_RIGHT},
                                      {"note", "note", FORM_TEXT}};
static const column peak_columns[] = {
    {"what", "what", FORM_TEXT},        {"level", "level", FORM_TEXT},      {"instructions", "isa", FORM_TEXT},
    {"threads", "threads", FORM_COUNT}, {"streams", "streams", FORM_COUNT}, {"bytes", "bytes", FORM_BYTES},
    {"median", "median", FORM_NUMBER},  {"most", "max", FORM_NUMBER},       {"unit", "unit", FORM_TEXT}};
static const column trial_columns[] = {{"kernel", "row", FORM_TEXT},
                                       {"order", "order", FORM_COUNT},
                                       {"GFLOP/s", "gflops", FORM_NUMBER},
                                       {"why not", "why", FORM_TEXT}};

static const struct {
  const char *list;
  const column *columns;
  size_t count;
} lists[] = {{"rows", row_columns, COUNT(row_columns)},
             {"ladders", rung_columns, COUNT(rung_columns)},
             {"peaks", peak_columns, COUNT(peak_columns)}};

void table_devices(FILE *out, const json_value *first) {
  write_table(out, NULL, device_columns, COUNT(device_columns), first);
}

void table_measurements(FILE *out, const char *part, const json_value *document) {
  for (size_t i = 0; i < COUNT(lists); i++)
    write_table(out, part, lists[i].columns, lists[i].count, json_list(document, lists[i].list));
  for (const json_value *d = json_list(document, "devices"); d; d = d->next)
    write_table(out, part, trial_columns, COUNT(trial_columns), json_list(d, "trials"));
}
