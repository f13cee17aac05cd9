/* SPDX-License-Identifier: Apache-2.0
 * The rows of the ladders, and the JSON document with series for charts. */
#include "bench/ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/ladder_charts.h"
#include "bench/system.h"

typedef struct record {
  const char *ladder, *task, *unit, *clock, *verified, *check; /* clock: of the rate; check: as printed */
  const char *counted, *family, *axis,
      *label; /* family, axis: NULL: the rung is no point of a line; label: of the device */
  char device[128], driver[64];
  size_t m, n, k;
  ladder_rung rung;          /* only its numbers and texts are used */
  double measured;           /* transactions: the time as a multiple of that of one */
  double place;              /* on the axis; NaN: none */
  double rate, speedup, gap; /* gap: how much longer it takes than the rung that it is compared with */
} record;

#define RECORD(member, ...) BENCH_COLUMN(record, member, __VA_ARGS__)
#define NUMBER(member, files, ...) RECORD(member, .name = files, .kind = BENCH_NUMBER, __VA_ARGS__)
static const bench_column columns[] = {
    RECORD(ladder, .name = "ladder", .flags = BENCH_NOT_JSON),
    RECORD(device, .name = "device", .kind = BENCH_CHARS),
    RECORD(driver, .name = "driver", .kind = BENCH_CHARS),
    RECORD(rung.name, .name = "step", .head = "step", .kind = BENCH_CHARS, .flags = BENCH_CUT, .width = -24),
    RECORD(m, .name = "m", .kind = BENCH_SIZE, .flags = BENCH_OPTIONAL),
    RECORD(n, .name = "n", .kind = BENCH_SIZE),
    RECORD(k, .name = "k", .kind = BENCH_SIZE, .flags = BENCH_OPTIONAL),
    RECORD(rung.event_s, .name = "event_s", .head = "event", .kind = BENCH_TIME, .width = 9, .rank = 1),
    RECORD(rung.wall_s, .name = "wall_s", .head = "wall", .kind = BENCH_TIME, .flags = BENCH_NOT_JSON, .width = 9),
    NUMBER(rung.wall_s, "median_s", .flags = BENCH_NOT_CSV),
    NUMBER(rung.least_s, "min_s", .flags = 0),
    NUMBER(rung.most_s, "max_s", .flags = 0),
    NUMBER(rung.low_s, "low_s", .flags = BENCH_NOT_CSV),
    NUMBER(rung.high_s, "high_s", .flags = BENCH_NOT_CSV),
    RECORD(rung.rounds, .name = "reps", .kind = BENCH_SIZE),
    NUMBER(rate, "rate", .head = "", .width = 8, .digits = 1),
    RECORD(unit, .name = "unit"),
    NUMBER(speedup, "speedup", .head = "", .width = 8, .digits = 2),
    RECORD(rung.copied, .name = "bytes_copied", .kind = BENCH_SIZE),
    RECORD(verified, .name = "verified", .kind = BENCH_LITERAL),
    RECORD(rung.note, .name = "note", .kind = BENCH_CHARS),
    RECORD(gap, .name = "gap", .head = "gap", .kind = BENCH_PERCENT, .flags = BENCH_SPARE, .width = 7, .digits = 1,
           .rank = 2),
    RECORD(clock, .name = "clock", .head = "clock", .width = -5, .rank = 2),
    RECORD(family, .name = "family", .flags = BENCH_OPTIONAL),
    RECORD(axis, .name = "axis", .flags = BENCH_OPTIONAL),
    NUMBER(place, "place", .flags = 0),
    RECORD(rung.rule, .name = "transactions", .head = "rule", .kind = BENCH_UINT, .flags = BENCH_OPTIONAL | BENCH_SPARE,
           .width = 4),
    NUMBER(measured, "measured_transactions", .head = "here", .flags = BENCH_SPARE, .width = 5, .digits = 2),
    RECORD(task, .name = "task", .flags = BENCH_OPTIONAL),
    RECORD(check, .head = "check", .flags = BENCH_ALARM, .width = -5),
};
static const bench_table table = BENCH_TABLE(columns);

static record *rows;
static size_t count, room;
static bool failed;

bool ladder_failed(void) { return failed; }
void ladder_fail(void) { failed = true; }

void ladder_rows_free(void) {
  free(rows);
  rows = NULL;
  count = room = 0;
}

/* Seconds by the device's clock if it was measured, otherwise by the host's. */
static double seconds_of(const ladder_rung *rung, bool event) { return event ? rung->event_s : rung->wall_s; }

/* The speed of a rung divided by that of the one with this name. */
static double speedup_over(const ladder_case *c, const ladder_rung *rung, const char *name) {
  for (size_t i = 0; name && i < c->rungs; i++) {
    const ladder_rung *base = &c->rung[i];
    if (base->out || strcmp(base->name, name) != 0) continue;
    bool event = isfinite(rung->event_s) && isfinite(base->event_s);
    return seconds_of(base, event) / seconds_of(rung, event);
  }
  return NAN;
}

static void print_title(const ladder_case *c) {
  const bench_row row = {.m = c->m, .n = c->n, .k = c->k};
  char size[64];
  bench_size_text(&row, size, sizeof size);
  bench_say("\n");
  bench_note(0, "%s %s%s%s%s%s", c->ladder, c->task ? c->task : "", c->task ? " " : "", size, c->device ? " on " : "",
             c->device ? c->label : "");
}

/* Prints the steps that have figures as a table, and below it notes, and why others have none. */
static void print_case(const ladder_case *c, const record *list) {
  static record timed[LADDER_MOST_RUNGS];
  static bool winner[LADDER_MOST_RUNGS];
  size_t lines = 0, best = SIZE_MAX;
  char base[48];
  bench_layout layout = {0};
  print_title(c);
  for (size_t i = 0; i < c->rungs; i++) {
    if (list[i].rung.out && !list[i].rung.wrong) continue;
    winner[lines] = false;
    if (isfinite(list[i].rate) && (best == SIZE_MAX || list[i].rate > timed[best].rate)) best = lines;
    timed[lines++] = list[i];
  }
  if (best != SIZE_MAX && lines > 1) winner[best] = true;
  snprintf(base, sizeof base, "x %.16s", c->base);
  const char *const titles[] = {c->unit, base};
  const bench_group group = {&table, timed, lines, sizeof timed[0], titles, winner};
  if (lines) bench_print_group(&layout, &group);
  for (size_t i = 0; i < c->rungs; i++) {
    const ladder_rung *const rung = &list[i].rung;
    if (rung->out || *rung->note)
      bench_note(2, "%s%s: %s", rung->out && !rung->wrong ? "not run: " : "", rung->name, rung->note);
  }
}

/* The rows from `first` on as the records of charts, which use their texts. */
static bool take_facts(size_t first, facts *f) {
  for (const record *r = rows + first; r < rows + count; r++) {
    const facts_rung rung = {.ladder = r->ladder,
                             .task = r->task ? r->task : "",
                             .device = r->label,
                             .step = r->rung.name,
                             .unit = r->unit,
                             .note = r->rung.note,
                             .family = r->family ? r->family : "",
                             .axis = r->axis ? r->axis : "",
                             .place = r->place,
                             .m = r->m,
                             .n = r->n,
                             .k = r->k,
                             .median = r->rung.wall_s,
                             .event = r->rung.event_s,
                             .low = r->rung.low_s,
                             .high = r->rung.high_s,
                             .rule = r->rung.rule,
                             .measured = r->measured,
                             .rate = r->rate,
                             .speedup = r->speedup};
    if (!bench_append(&f->rungs, &f->rung_count, &f->rung_room, &rung, sizeof rung)) return false;
  }
  return true;
}

bool ladder_rows_add(const ladder_case *c) {
  const size_t first = count;
  bench_measured();
  for (size_t i = 0; i < c->rungs; i++) {
    const ladder_rung *rung = &c->rung[i];
    record r = {.ladder = c->ladder,
                .task = c->task,
                .unit = c->unit,
                .m = c->m,
                .n = c->n,
                .k = c->k,
                .rung = *rung,
                .counted = c->counted ? c->counted : "elements",
                .label = c->device ? c->label : "",
                .rate = NAN,
                .speedup = NAN,
                .gap = NAN,
                .measured = NAN,
                .place = NAN};
    r.verified = !rung->out ? "true" : rung->wrong ? "false" : NULL;
    r.check = rung->wrong ? "WRONG" : "ok";
    if (rung->family) r.family = rung->family->name, r.axis = rung->family->x, r.place = rung->x;
    if (c->device) memcpy(r.device, c->device->name, sizeof r.device);
    if (c->device) memcpy(r.driver, c->device->driver, sizeof r.driver);
    if (!rung->out) {
      r.rate = c->work / seconds_of(rung, isfinite(rung->event_s));
      r.clock = isfinite(rung->event_s) ? "event" : "wall";
      r.speedup = speedup_over(c, rung, c->base);
      if (rung->rule) r.measured = 1 / r.speedup;
      r.gap = 1 / speedup_over(c, rung, rung->against) - 1;
    }
    if (!bench_append(&rows, &count, &room, &r, sizeof r)) return false;
  }
  print_case(c, rows + first);
  facts drawn = {0};
  const bool fine = take_facts(first, &drawn);
  if (fine && !bench_is_quiet()) ladder_bars_print(&drawn);
  facts_free(&drawn);
  bench_show_output();
  return fine;
}

void ladder_rows_end(void) {
  facts all = {0};
  if (take_facts(0, &all) && !bench_is_quiet()) ladder_shares_print(&all);
  facts_free(&all);
}

static bool same_text(const char *a, const char *b) { return strcmp(a, b) == 0; }
static bool same_task(const record *a, const record *b) {
  return a->task == b->task || (a->task && b->task && same_text(a->task, b->task));
}

/* Whether two records belong to one series: the same step over all sizes, or a family at one size. */
static bool same_step(const record *a, const record *b) {
  return same_text(a->rung.name, b->rung.name) && same_text(a->device, b->device) && same_task(a, b);
}
static bool same_family(const record *a, const record *b) {
  return a->rung.family && a->rung.family == b->rung.family && same_text(a->device, b->device) && same_task(a, b) &&
         a->m == b->m && a->n == b->n && a->k == b->k;
}

/* A product has as many multiply-adds as the first coordinate says, because many have the same n. */
static uint64_t size_of(const record *r) { return r->m ? (uint64_t)r->m * r->n * r->k : r->n; }

static bool begins_series(const record *r, bool (*same)(const record *, const record *)) {
  for (const record *before = rows; before < r; before++)
    if (same(before, r)) return false;
  return same(r, r);
}

static void points_json(const record *first, bool (*same)(const record *, const record *)) {
  bench_json_open("points", '[');
  for (const record *r = first; r < rows + count; r++) {
    if (r->rung.out || !same(r, first)) continue;
    bench_json_open(NULL, '[');
    bench_json_count(NULL, same == same_family ? r->rung.x : size_of(r));
    bench_json_value(NULL, BENCH_NUMBER, &r->rate);
    bench_json_close(']');
  }
  bench_json_close(']');
}

static void series_json(const record *first, bool (*same)(const record *, const record *)) {
  const ladder_family *const family = same == same_family ? first->rung.family : NULL;
  bench_json_open(NULL, '{');
  bench_json_text("step", family ? family->name : first->rung.name);
  bench_json_text("device", first->device);
  if (first->task) bench_json_text("task", first->task);
  bench_json_text("unit", first->unit);
  bench_json_text("x", family ? family->x : first->m ? "multiply-adds" : first->counted);
  if (family) bench_json_count("size", size_of(first));
  points_json(first, same);
  bench_json_close('}');
}

static void write_series(bool (*same)(const record *, const record *)) {
  for (size_t i = 0; i < count; i++)
    if (begins_series(&rows[i], same)) series_json(&rows[i], same);
}

/* Draws the charts of --svg, if something was measured. */
static bool write_charts(const bench_session *session, const char *ladder) {
  char machine[512];
  size_t used = 0;
  facts drawn = {.machine = machine};
  for (size_t i = 0; i < session->device_count; i++)
    if (session->device[i].state != HX_REFUSED && used < sizeof machine)
      used +=
          (size_t)snprintf(machine + used, sizeof machine - used, "%s%s", used ? " + " : "", session->name[i].label);
  const bool fine =
      take_facts(0, &drawn) && (!drawn.rung_count || ladder_svg_write(session->options->svg, &drawn, ladder));
  facts_free(&drawn);
  return fine;
}

void ladder_rows_write(const bench_session *session, const char *ladder) {
  if (session->options->svg && !write_charts(session, ladder)) failed = true;
  bench_csv_head(&table);
  bench_json_begin("ladder");
  bench_json_text("ladder", ladder);
  bench_system_json(session);
  bench_json_open("ladders", '[');
  for (size_t i = 0; i < count; i++) bench_store_row(&table, &rows[i]);
  bench_json_close(']');
  bench_json_open("series", '[');
  write_series(same_step);
  write_series(same_family);
  bench_json_close(']');
  bench_json_flag("failed", failed);
  bench_json_end();
}
