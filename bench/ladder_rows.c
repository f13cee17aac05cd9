/* SPDX-License-Identifier: Apache-2.0
 * Rows of the ladders: the table, the CSV table, the JSON document with its series for charts. */
#include "bench/ladder_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/system.h"
#include "bench/text.h"

typedef struct kept {
  const char *ladder, *unit;
  char step[32], note[160], device[128], driver[64];
  size_t m, n, k;
  double event_s, wall_s, least_s, most_s, rate, speedup;
  size_t rounds;
  uint64_t copied;
  bool out, wrong;
} kept;

static kept *rows;
static size_t count, room;
static bool failed;

bool ladder_failed(void) { return failed; }
void ladder_fail(void) { failed = true; }

void ladder_rows_free(void) {
  free(rows);
  rows = NULL;
  count = room = 0;
}

/* The device's clock where there is one, else the host's. */
static double seconds_of(const ladder_rung *rung, bool event) { return event ? rung->event_s : rung->wall_s; }

static double speedup_of(const ladder_case *c, const ladder_rung *rung) {
  for (size_t i = 0; i < c->rungs; i++) {
    const ladder_rung *base = &c->rung[i];
    if (base->out || strcmp(base->name, c->base) != 0) continue;
    bool event = isfinite(rung->event_s) && isfinite(base->event_s);
    return seconds_of(base, event) / seconds_of(rung, event);
  }
  return NAN;
}

static void print_head(FILE *f, const ladder_case *c) {
  const bench_row row = {.m = c->m, .n = c->n, .k = c->k};
  char size[64], name[128], head[32];
  bench_size_text(&row, size, sizeof size);
  fprintf(f, "\n%s %s%s%s\n", c->ladder, size, c->device ? " on " : "",
          c->device ? bench_plain(c->device->name, name, sizeof name) : "");
  snprintf(head, sizeof head, "x %.16s", c->base);
  fprintf(f, "%-26s %10s %10s %10s %10s  %s\n", "step", "event", "wall", c->unit, head, "check, note");
}

static void print_row(FILE *f, const kept *r) {
  char event[24] = "-", wall[24] = "-", rate[24] = "-", speedup[24] = "-";
  if (isfinite(r->event_s)) bench_time_text(r->event_s, event, sizeof event);
  if (isfinite(r->wall_s)) bench_time_text(r->wall_s, wall, sizeof wall);
  if (isfinite(r->rate)) snprintf(rate, sizeof rate, "%.1f", r->rate);
  if (isfinite(r->speedup)) snprintf(speedup, sizeof speedup, "%.2f", r->speedup);
  fprintf(f, "%-26s %10s %10s %10s %10s  ", r->step, event, wall, rate, speedup);
  char note[160], text[192];
  bench_plain(r->note, note, sizeof note);
  snprintf(text, sizeof text, "%s%s%s", r->out ? (r->wrong ? "" : "out: ") : "ok", r->out || !*note ? "" : "; ", note);
  bench_wrap(f, text, 72, 72, BENCH_COLUMNS);
}

bool ladder_keep(const bench_session *session, const ladder_case *c) {
  bench_measured();
  if (session->human) print_head(session->human, c);
  for (size_t i = 0; i < c->rungs; i++) {
    const ladder_rung *rung = &c->rung[i];
    if (count == room) {
      size_t more = room ? 2 * room : 64;
      kept *grown = realloc(rows, more * sizeof *grown);
      if (!grown) return false;
      rows = grown;
      room = more;
    }
    kept *r = &rows[count++];
    *r = (kept){.ladder = c->ladder,
                .unit = c->unit,
                .m = c->m,
                .n = c->n,
                .k = c->k,
                .event_s = rung->event_s,
                .wall_s = rung->wall_s,
                .least_s = rung->least_s,
                .most_s = rung->most_s,
                .rounds = rung->rounds,
                .copied = rung->copied,
                .out = rung->out,
                .wrong = rung->wrong,
                .rate = NAN,
                .speedup = NAN};
    memcpy(r->step, rung->name, sizeof r->step);
    memcpy(r->note, rung->note, sizeof r->note);
    if (c->device) memcpy(r->device, c->device->name, sizeof r->device);
    if (c->device) memcpy(r->driver, c->device->driver, sizeof r->driver);
    if (!r->out) {
      r->rate = c->work / seconds_of(rung, isfinite(rung->event_s));
      r->speedup = speedup_of(c, rung);
    }
    if (session->human) print_row(session->human, r);
  }
  if (session->human) fflush(session->human);
  return true;
}

void ladder_write_csv(FILE *f, const bench_session *session) {
  (void)session;
  fputs(
      "ladder,device,driver,step,m,n,k,event_s,wall_s,min_s,max_s,reps,rate,unit,speedup,bytes_copied,verified,note\n",
      f);
  for (size_t i = 0; i < count; i++) {
    const kept *r = &rows[i];
    bench_csv_field(f, r->ladder);
    bench_csv_field(f, r->device);
    bench_csv_field(f, r->driver);
    bench_csv_field(f, r->step);
    if (r->m) fprintf(f, "%zu", r->m);
    fprintf(f, ",%zu,", r->n);
    if (r->m) fprintf(f, "%zu", r->k);
    fputc(',', f);
    bench_csv_number(f, r->event_s);
    bench_csv_number(f, r->wall_s);
    bench_csv_number(f, r->least_s);
    bench_csv_number(f, r->most_s);
    fprintf(f, "%zu,", r->rounds);
    bench_csv_number(f, r->rate);
    bench_csv_field(f, r->unit);
    bench_csv_number(f, r->speedup);
    fprintf(f, "%llu,%s,", (unsigned long long)r->copied, !r->out ? "true" : r->wrong ? "false" : "");
    bench_csv_string(f, r->note);
    fputc('\n', f);
  }
}

/* One line of a chart: a step's rate over the sizes, on one device. */
static void write_series(FILE *f, const kept *first) {
  fputs("{", f);
  bench_json_member(f, "step", first->step);
  bench_json_member(f, "device", first->device);
  bench_json_member(f, "unit", first->unit);
  fputs("\"points\": [", f);
  bool more = false;
  for (const kept *r = first; r < rows + count; r++) {
    if (r->out || strcmp(r->step, first->step) != 0 || strcmp(r->device, first->device) != 0) continue;
    fprintf(f, "%s[%zu, %.9g]", more ? ", " : "", r->n, r->rate);
    more = true;
  }
  fputs("]}", f);
}

static bool begins_series(const kept *r) {
  for (const kept *before = rows; before < r; before++)
    if (strcmp(before->step, r->step) == 0 && strcmp(before->device, r->device) == 0) return false;
  return true;
}

void ladder_write_json(FILE *f, const bench_session *session, const char *ladder) {
  fputs("{\"schema\": 1, \"program\": \"hx-bench\", \"command\": \"ladder\", ", f);
  bench_json_member(f, "ladder", ladder);
  fputs("\n  \"system\": ", f);
  bench_system_json(f, session);
  fputs(",\n  \"ladders\": [", f);
  for (size_t i = 0; i < count; i++) {
    const kept *r = &rows[i];
    fputs(i ? ",\n    {" : "\n    {", f);
    bench_json_member(f, "step", r->step);
    bench_json_member(f, "device", r->device);
    bench_json_member(f, "driver", r->driver);
    if (r->m) fprintf(f, "\"m\": %zu, \"k\": %zu, ", r->m, r->k);
    fprintf(f, "\"n\": %zu, ", r->n);
    bench_json_member_number(f, "event_s", r->event_s);
    bench_json_member_number(f, "median_s", r->wall_s);
    bench_json_member_number(f, "min_s", r->least_s);
    bench_json_member_number(f, "max_s", r->most_s);
    bench_json_member_number(f, "rate", r->rate);
    bench_json_member(f, "unit", r->unit);
    bench_json_member_number(f, "speedup", r->speedup);
    bench_json_member(f, "note", r->note);
    fprintf(f, "\"reps\": %zu, \"bytes_copied\": %llu, \"verified\": %s}", r->rounds, (unsigned long long)r->copied,
            r->out ? r->wrong ? "false" : "null" : "true");
  }
  fputs("],\n  \"series\": [", f);
  bool more = false;
  for (size_t i = 0; i < count; i++) {
    if (!begins_series(&rows[i])) continue;
    fputs(more ? ",\n    " : "\n    ", f);
    write_series(f, &rows[i]);
    more = true;
  }
  fprintf(f, "],\n  \"failed\": %s", failed ? "true" : "false");
  bench_json_end(f);
}
