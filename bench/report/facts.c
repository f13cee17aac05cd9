/* SPDX-License-Identifier: Apache-2.0
 * Takes the records out of a document. */
#include "bench/report/facts.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

static facts_mode mode_of(const facts_row *row) {
  if (isnan(row->asked)) return FACTS_BOTH;
  if (row->in_sweep) return FACTS_SPLIT;
  return row->asked > 0 ? FACTS_GPU : FACTS_CPU;
}

static void take_spread(const json_value *json, double *low, double *high) {
  *low = json_number(json, "low_s");
  *high = json_number(json, "high_s");
  if (isfinite(*low) && isfinite(*high) && *low <= *high) return;
  *low = json_number(json, "min_s");
  *high = json_number(json, "max_s");
  if (!(*low <= *high)) *low = *high = NAN;
}

static facts_row take_row(const json_value *json, bool in_sweep) {
  facts_row row = {.json = json,
                   .op = json_text(json, "op"),
                   .type = json_text(json, "type"),
                   .unit = json_text(json, "unit"),
                   .m = json_count(json, "m"),
                   .n = json_count(json, "n"),
                   .k = json_count(json, "k"),
                   .trans_a = json_flag(json, "trans_a"),
                   .trans_b = json_flag(json, "trans_b"),
                   .in_sweep = in_sweep,
                   .asked = json_number(json, "asked_share"),
                   .share = json_number(json, "gpu_share"),
                   .median = json_number(json, "median_s"),
                   .rate = json_number(json, "rate"),
                   .ceiling = json_number(json, "ceiling"),
                   .verified = json_flag(json, "verified")};
  take_spread(json, &row.low, &row.high);
  row.mode = mode_of(&row);
  return row;
}

static bool take_rows(facts *f, const json_value *document) {
  const bool in_sweep = json_list(document, "sweeps") != NULL || strcmp(json_text(document, "command"), "sweep") == 0;
  for (const json_value *v = json_list(document, "rows"); v; v = v->next) {
    const facts_row row = take_row(v, in_sweep);
    f->has_intervals |= isfinite(json_number(v, "low_s")) != 0;
    if (!bench_append(&f->rows, &f->row_count, &f->row_room, &row, sizeof row)) return false;
  }
  return true;
}

/* first: the index of the first row of this document. */
static bool take_sweeps(facts *f, const json_value *document, size_t first) {
  const size_t room = f->row_count - first;
  for (const json_value *v = json_list(document, "sweeps"); v; v = v->next) {
    const facts_sweep sweep = {.first = first + json_count(v, "first_row"),
                               .count = json_count(v, "rows"),
                               .best_split = json_number(v, "best_split"),
                               .best_s = json_number(v, "best_s"),
                               .own_s = json_number(v, "own_s"),
                               .own_share = json_number(v, "own_share"),
                               .eta = json_number(v, "eta"),
                               .eta_low = json_number(v, "eta_quartile_1"),
                               .eta_high = json_number(v, "eta_quartile_3")};
    if (sweep.count < 2 || json_count(v, "first_row") > room || sweep.count > room - json_count(v, "first_row"))
      continue;
    if (!bench_append(&f->sweeps, &f->sweep_count, &f->sweep_room, &sweep, sizeof sweep)) return false;
  }
  return true;
}

static bool take_rungs(facts *f, const json_value *document) {
  for (const json_value *v = json_list(document, "ladders"); v; v = v->next) {
    facts_rung rung = {.json = v,
                       .ladder = json_text(document, "ladder"),
                       .device = json_text(v, "device"),
                       .task = json_text(v, "task"),
                       .step = json_text(v, "step"),
                       .unit = json_text(v, "unit"),
                       .note = json_text(v, "note"),
                       .family = json_text(v, "family"),
                       .axis = json_text(v, "axis"),
                       .place = json_number(v, "place"),
                       .rule = json_count(v, "transactions"),
                       .measured = json_number(v, "measured_transactions"),
                       .m = json_count(v, "m"),
                       .n = json_count(v, "n"),
                       .k = json_count(v, "k"),
                       .median = json_number(v, "median_s"),
                       .event = json_number(v, "event_s"),
                       .rate = json_number(v, "rate"),
                       .speedup = json_number(v, "speedup")};
    take_spread(v, &rung.low, &rung.high);
    f->has_intervals |= isfinite(json_number(v, "low_s")) != 0;
    if (!bench_append(&f->rungs, &f->rung_count, &f->rung_room, &rung, sizeof rung)) return false;
  }
  return true;
}

static bool take_peaks(facts *f, const json_value *document) {
  for (const json_value *v = json_list(document, "peaks"); v; v = v->next) {
    const facts_peak peak = {.json = v,
                             .what = json_text(v, "what"),
                             .isa = json_text(v, "isa"),
                             .level = json_text(v, "level"),
                             .unit = json_text(v, "unit"),
                             .threads = json_count(v, "threads"),
                             .streams = json_count(v, "streams"),
                             .median = json_number(v, "median"),
                             .most = json_number(v, "max")};
    if (!bench_append(&f->peaks, &f->peak_count, &f->peak_room, &peak, sizeof peak)) return false;
  }
  return true;
}

static size_t list_length(const json_value *first) {
  size_t length = 0;
  for (; first; first = first->next) length++;
  return length;
}

/* The list of tune has the same name and other members. */
static bool has_names(const json_value *devices) { return *json_text(devices, "name") != '\0'; }

static bool take_part(facts *f, const json_value *document) {
  const json_value *const devices = json_list(document, "devices");
  const size_t first = f->row_count;
  if (!f->system) f->system = json_get(document, "system");
  if (has_names(devices) && list_length(devices) > list_length(f->devices)) f->devices = devices;
  f->interrupted |= json_flag(document, "interrupted");
  return take_rows(f, document) && take_sweeps(f, document, first) && take_rungs(f, document) &&
         take_peaks(f, document);
}

static bool take_parts(facts *f) {
  if (strcmp(f->command, "share") != 0) {
    f->parts[f->part_count++] = (facts_part){f->command, f->root, false};
    return take_part(f, f->root);
  }
  for (const json_value *v = json_list(f->root, "parts"); v && f->part_count < FACTS_MOST_PARTS; v = v->next) {
    const json_value *document = json_get(v, "document");
    if (document && document->kind != JSON_OBJECT) document = NULL;
    f->parts[f->part_count++] = (facts_part){json_text(v, "name"), document, json_flag(v, "timed_out")};
    if (document && !take_part(f, document)) return false;
  }
  f->interrupted = json_flag(f->root, "interrupted"); /* a part that used up its time was not interrupted */
  return true;
}

bool facts_take(const json_value *root, facts *f, char why[JSON_WHY]) {
  *f = (facts){.root = root, .command = json_text(root, "command")};
  if (strcmp(json_text(root, "program"), "hx-bench") != 0 || json_number(root, "schema") != 1) {
    snprintf(why, JSON_WHY, "this is no document of hx-bench (program \"hx-bench\", schema 1)");
    return false;
  }
  if (!take_parts(f)) {
    snprintf(why, JSON_WHY, "there is no memory");
    facts_free(f);
    return false;
  }
  f->version = json_text(root, "hx_version");
  if (!*f->version) f->version = json_text(f->system, "hx_version");
  return true;
}

void facts_free(facts *f) {
  free(f->rows);
  free(f->sweeps);
  free(f->rungs);
  free(f->peaks);
  *f = (facts){0};
}

const facts_part *facts_part_named(const facts *f, const char *name) {
  for (size_t i = 0; i < f->part_count; i++)
    if (strcmp(f->parts[i].name, name) == 0) return f->parts[i].document ? &f->parts[i] : NULL;
  return NULL;
}

void facts_absence(const facts *f, const char *name, char *text, size_t bytes) {
  const facts_part *part = NULL;
  for (size_t i = 0; i < f->part_count; i++)
    if (strcmp(f->parts[i].name, name) == 0) part = &f->parts[i];
  if (!part)
    snprintf(text, bytes, "the document holds no part \"%s\": hx-bench %s measures it", name, name);
  else if (!part->document)
    snprintf(text, bytes, "the part \"%s\" left no results: it failed, or a driver ended it", name);
  else if (part->timed_out)
    snprintf(text, bytes, "the part \"%s\" had measured nothing of this when its time was over", name);
  else
    snprintf(text, bytes,
             "the part \"%s\" has no such result: there was no device that could be used, or too few sizes", name);
}
