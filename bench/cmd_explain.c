/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `explain`: what hx expects of each candidate for a task on this machine, before the first call and
 * after some calls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/emit.h"
#include "bench/measure.h"
#include "bench/system.h"
#include "runtime/api/explain.h"

#define CALLS 10u

static const char *const sources[] = {
    [HX__DECIDED_NO_DEVICE] = "no device can do this task here (hx-bench info says why)",
    [HX__DECIDED_SMALL] = "the CPU alone: it finishes before a device could help, or HX_MIN_OFFLOAD says so",
    [HX__DECIDED_SHARE] = "the share is fixed (HX_SPLIT, HX_DEVICES or HX_OFFLOAD), so nothing is estimated: ",
    [HX__DECIDED_SETTING] = "all devices and the CPU, because of HX_SCHEDULE or HX_MIN_OFFLOAD",
    [HX__DECIDED_BY_COST] = "",
};
static const char *const reasons[] = {
    [HX__REASON_BEST] = "it is expected to %s",
    [HX__REASON_TRY] = "a trial: it may %s, but too little is known about it, so it is measured",
    [HX__REASON_RECHECK] = "it is measured again, so that a wrong measurement does not last"};
static const char *const aims[] = {[HX__OBJECTIVE_TIME] = "finish first",
                                   [HX__OBJECTIVE_ENERGY] = "use the least energy",
                                   [HX__OBJECTIVE_EDP] = "have the least energy times time"};

/* "CPU + 1"; with the session "CPU + 1 PoCL". */
static void name_of(const bench_session *session, const hx__explanation *e, unsigned choice, char *text, size_t bytes) {
  const hx__choice c = hx__choice_of(choice, e->inputs.devices);
  size_t used = (size_t)snprintf(text, bytes, "%s", c.cpu ? "CPU" : "");
  for (unsigned d = 0; d < c.devices && used < bytes; d++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%zu%s%s", used ? " + " : "", e->index[d], session ? " " : "",
                             session ? session->name[e->index[d]].brief : "");
}

/* The rate of one participant, and the source of that rate. */
typedef struct rate_record {
  char name[24], label[128]; /* label: as printed */
  const char *company, *unit;
  double rate, latency_us, idle_us, sigma;
  uint32_t samples;
  char basis[32]; /* as printed */
} rate_record;

#define RATE(member, ...) BENCH_COLUMN(rate_record, member, __VA_ARGS__)
static const bench_column rate_columns[] = {
    RATE(name, .name = "name", .kind = BENCH_CHARS),
    RATE(label, .head = "rate of", .kind = BENCH_CHARS, .flags = BENCH_CUT, .width = -18),
    RATE(company, .name = "company", .head = "company", .width = -7),
    RATE(rate, .name = "rate", .head = "", .kind = BENCH_NUMBER, .width = 10, .digits = 3),
    RATE(unit, .name = "unit"),
    RATE(latency_us, .name = "latency_us", .head = "latency us", .kind = BENCH_NUMBER, .width = 8, .digits = 1),
    RATE(idle_us, .name = "idle_us", .head = "if idle", .kind = BENCH_NUMBER, .width = 7, .digits = 1, .rank = 1),
    RATE(sigma, .name = "sigma", .head = "sigma", .kind = BENCH_NUMBER, .width = 5, .digits = 2),
    RATE(samples, .name = "samples", .kind = BENCH_UINT),
    RATE(basis, .head = "from", .kind = BENCH_CHARS, .width = -10),
};
static const bench_table rate_table = BENCH_TABLE(rate_columns);

#define MOST_RATES (2 + 2 * HX_MAX_DEVICES)

/* scale: from units to those of the rate. */
static rate_record describe_rate(const char *name, const char *label, const char *company, const hx__estimate *e,
                                 const char *unit, double scale) {
  rate_record r = {.company = company, .unit = unit, .rate = NAN, .latency_us = NAN, .idle_us = NAN, .sigma = NAN};
  snprintf(r.name, sizeof r.name, "%s", name);
  snprintf(r.label, sizeof r.label, "%s", label);
  snprintf(r.basis, sizeof r.basis, "nothing yet");
  if (e->ns_per_unit > 0.0) {
    r.rate = scale / e->ns_per_unit;
    r.latency_us = e->latency_ns * 1e-3;
    r.idle_us = e->idle_ns * 1e-3;
    r.sigma = e->sigma;
    r.samples = e->samples;
    snprintf(r.basis, sizeof r.basis, "a guess");
    if (e->samples) snprintf(r.basis, sizeof r.basis, "%u sample%s", e->samples, e->samples == 1 ? "" : "s");
  }
  return r;
}

static void report_rates(const bench_session *session, const hx__explanation *e, bool product) {
  static rate_record list[MOST_RATES];
  const char *const unit = product ? "GFLOP/s" : "Gelement/s";
  const double scale = product ? 2 : 1; /* operations of a multiply-add */
  bench_layout layout = {0};
  size_t count = 0;
  list[count++] = describe_rate("CPU", "CPU", "alone", &e->inputs.cpu_alone, unit, scale);
  if (e->inputs.devices) list[count++] = describe_rate("CPU", "CPU", "beside", &e->inputs.cpu_beside, unit, scale);
  for (unsigned d = 0; d < e->inputs.devices; d++) {
    char name[24], label[128];
    snprintf(name, sizeof name, "%zu", e->index[d]);
    snprintf(label, sizeof label, "%zu %s", e->index[d], session->name[e->index[d]].brief);
    list[count++] = describe_rate(name, label, "alone", &e->inputs.device[d].alone, unit, scale);
    list[count++] = describe_rate(name, label, "beside", &e->inputs.device[d].beside, unit, scale);
  }
  const bench_group group = {&rate_table, list, count, sizeof list[0], &unit, NULL};
  bench_print_group(&layout, &group);
  bench_json_open("rates", '[');
  for (size_t i = 0; i < count; i++) bench_json_row(&rate_table, &list[i]);
  bench_json_close(']');
}

/* The share of the choice's devices if all participants finish together; NaN if a rate is not known. */
static double share_of(const hx__explanation *e, unsigned choice) {
  const hx__choice c = hx__choice_of(choice, e->inputs.devices);
  double share = 0.0;
  if (!c.cpu) return 1.0;
  if (!isfinite(e->decision.candidate[choice].parts_ns)) return NAN;
  for (unsigned d = 0; d < c.devices; d++) {
    const hx__estimate *const p = &e->inputs.device[d].beside;
    const double time = e->decision.candidate[choice].parts_ns - hx__estimate_ns(p, 0.0, e->inputs.device[d].idle);
    if (time > 0.0) share += time / p->ns_per_unit / e->inputs.units;
  }
  return share < 1.0 ? share : 1.0;
}

/* The expected energy of a call with this choice; NaN if its power was never measured. */
static double joules_of(const hx__candidate *o) { return o->watts > 0.0 ? o->watts * o->ns * 1e-9 : NAN; }

typedef struct choice_record {
  const char *op, *type, *size, *objective, *name;
  char label[112]; /* as printed; > marks the chosen one */
  uint32_t after, threads, small, chosen, samples;
  double expected_ms, parts_ms, joules, sigma, share, watts;
} choice_record;

#define CHOICE(member, ...) BENCH_COLUMN(choice_record, member, __VA_ARGS__)
#define KNOWN(member, files, ...) \
  CHOICE(member, .name = files, .kind = BENCH_NUMBER, .flags = BENCH_UNKNOWN, __VA_ARGS__)
static const bench_column columns[] = {
    CHOICE(op, .name = "op", .flags = BENCH_NOT_JSON),
    CHOICE(type, .name = "type", .flags = BENCH_NOT_JSON),
    CHOICE(size, .name = "size", .flags = BENCH_NOT_JSON),
    CHOICE(after, .name = "after", .kind = BENCH_UINT, .flags = BENCH_NOT_JSON),
    CHOICE(threads, .name = "threads", .kind = BENCH_UINT, .flags = BENCH_NOT_JSON),
    CHOICE(small, .name = "small", .kind = BENCH_UINT, .flags = BENCH_NOT_JSON),
    CHOICE(objective, .name = "objective", .flags = BENCH_NOT_JSON),
    CHOICE(name, .name = "name"),
    CHOICE(chosen, .name = "chosen", .kind = BENCH_UINT, .flags = BENCH_NOT_JSON),
    CHOICE(label, .head = "  choice", .kind = BENCH_CHARS, .flags = BENCH_CUT, .width = -20),
    KNOWN(expected_ms, "expected_ms", .head = "expected ms", .width = 8, .digits = 3),
    KNOWN(parts_ms, "parts_ms", .head = "by rates ms", .width = 8, .digits = 3, .rank = 2),
    CHOICE(joules, .name = "expected_joules", .kind = BENCH_NUMBER),
    KNOWN(sigma, "sigma", .head = "sigma", .width = 5, .digits = 2),
    CHOICE(share, .name = "share", .head = "on device", .kind = BENCH_PERCENT, .flags = BENCH_UNKNOWN),
    CHOICE(samples, .name = "calls", .head = "calls", .kind = BENCH_UINT, .width = 5, .rank = 1),
    KNOWN(watts, NULL, .head = "watts", .width = 6,
          .digits = 1), /* the last two only if the objective includes energy */
    CHOICE(joules, .head = "energy", .kind = BENCH_JOULES, .width = 8),
};
static const bench_table energy_table = BENCH_TABLE(columns);
static const bench_table table = {columns, sizeof columns / sizeof columns[0] - 2};

static choice_record describe_choice(const hx__explanation *e, unsigned choice, const char *name, const char *label) {
  const hx__candidate *const o = &e->decision.candidate[choice];
  choice_record r = {.objective = hx__objective_name(e->inputs.objective),
                     .name = name,
                     .threads = e->threads,
                     .small = e->source == HX__DECIDED_SMALL,
                     .chosen = (int)choice == (int)e->decision.choice,
                     .samples = o->samples,
                     .expected_ms = o->ns * 1e-6,
                     .parts_ms = o->parts_ns * 1e-6,
                     .joules = joules_of(o),
                     .sigma = o->sigma,
                     .share = share_of(e, choice),
                     .watts = o->watts > 0.0 ? o->watts : NAN};
  snprintf(r.label, sizeof r.label, "%c %s", r.chosen ? '>' : ' ', label);
  return r;
}

/* The parts of a task whose share is fixed. */
static void shares_text(const hx__explanation *e, char *text, size_t bytes) {
  double rest = 1.0;
  for (unsigned d = 0; d < e->inputs.devices; d++) rest -= e->part[d];
  size_t used = (size_t)snprintf(text, bytes, "CPU %.1f%%", 100.0 * fmax(rest, 0.0));
  for (unsigned d = 0; d < e->inputs.devices && used < bytes; d++)
    used += (size_t)snprintf(text + used, bytes - used, ", %zu %.1f%%", e->index[d], 100.0 * e->part[d]);
}

/* Prints the reason for the decision. */
static void print_reason(const hx__explanation *e, const char *choice) {
  char text[512] = "";
  if (e->source != HX__DECIDED_BY_COST) {
    if (e->source == HX__DECIDED_SHARE) shares_text(e, text, sizeof text);
    bench_note(2, "%s%s", sources[e->source], text);
    return;
  }
  snprintf(text, sizeof text, reasons[e->decision.reason], aims[e->inputs.objective]);
  bench_note(2, "%s: %s", choice, text);
  if (e->inputs.no_split)
    bench_note(2, "CPU and devices do not share it: C is small, and the CPU does its panels of k in parallel");
}

#define MOST_CHOICES (2 * HX_MAX_DEVICES + 1)

static void report_choices(const bench_session *session, const bench_row *row, const char *size,
                           const hx__explanation *e, uint32_t after) {
  choice_record list[MOST_CHOICES];
  bench_layout layout = {0};
  size_t count = 0;
  char name[96];
  bench_json_open("choices", '[');
  for (unsigned i = 0; i < e->decision.choices && count < MOST_CHOICES; i++) {
    char label[110];
    name_of(NULL, e, i, name, sizeof name);
    name_of(session, e, i, label, sizeof label);
    choice_record *const r = &list[count++];
    *r = describe_choice(e, i, name, label);
    r->op = row->op;
    r->type = row->type;
    r->size = size;
    r->after = after;
    bench_store_row(&table, r);
  }
  bench_json_close(']');
  const bool estimated = e->source == HX__DECIDED_BY_COST, timed = e->inputs.objective == HX__OBJECTIVE_TIME;
  const bench_group group = {timed ? &table : &energy_table, list, count, sizeof list[0], NULL, NULL};
  if (estimated) bench_print_group(&layout, &group);
}

static void report_decision(const bench_session *session, const bench_row *row, const char *size,
                            const hx__explanation *e, uint32_t after) {
  char name[96], label[110];
  name_of(NULL, e, e->decision.choice, name, sizeof name);
  name_of(session, e, e->decision.choice, label, sizeof label);
  bench_json_open(NULL, '{');
  bench_json_count("after", after);
  bench_json_count("threads", e->threads);
  bench_json_flag("small", e->source == HX__DECIDED_SMALL);
  bench_json_text("objective", hx__objective_name(e->inputs.objective));
  bench_json_text("choice", name);
  report_rates(session, e, row->m != 0);
  report_choices(session, row, size, e, after);
  bench_json_close('}');
  print_reason(e, label);
  bench_measured();
}

/* Makes some calls of the task. Returns false if one failed. */
static bool time_calls(bench_session *session, const hx_task *task, double seconds[CALLS]) {
  for (unsigned i = 0; i < CALLS; i++) {
    const double start = bench_now();
    if (hx_offload(session->hx, task, NULL) != HX_OK) return false;
    seconds[i] = bench_now() - start;
  }
  return true;
}

/* Explains the task, calls it some times, and explains it again. */
static bool explain_twice(bench_session *session, bench_subject *subject) {
  const bench_row *const row = &subject->row;
  char size[72];
  double seconds[CALLS];
  hx__explanation e;
  bench_size_text(row, size, sizeof size);
  if (hx__explain(session->hx, &subject->task, &e) != HX_OK) return false;
  bench_say("\n%s %s %s, %u thread%s\n", row->type, row->op, size, e.threads, e.threads == 1 ? "" : "s");
  report_decision(session, row, size, &e, 0);
  if (!time_calls(session, &subject->task, seconds)) return false;
  if (hx__explain(session->hx, &subject->task, &e) != HX_OK) return false;
  bench_say("  after %u calls, their median %.3f ms, %u thread%s:\n", CALLS, 1e3 * bench_median(seconds, CALLS),
            e.threads, e.threads == 1 ? "" : "s");
  report_decision(session, row, size, &e, CALLS);
  return true;
}

/* The shape by the same names as in the rows of the other verbs: n, and of a product also m, k and what is transposed.
 */
static void shape_json(const bench_row *row) {
  if (row->m) bench_json_count("m", row->m);
  bench_json_count("n", row->n);
  if (row->m) bench_json_count("k", row->k);
  if (row->trans_a || row->trans_b) bench_json_flag("trans_a", row->trans_a), bench_json_flag("trans_b", row->trans_b);
}

static bool explain_one(bench_session *session, bench_subject *subject, const bench_plan *plan,
                        bench_results *results) {
  char size[72];
  (void)plan, (void)results;
  bench_size_text(&subject->row, size, sizeof size);
  bench_csv_head(&table);
  bench_json_open(NULL, '{');
  bench_json_text("op", subject->row.op);
  bench_json_text("type", subject->row.type);
  bench_json_text("size", size); /* older documents had this alone */
  shape_json(&subject->row);
  bench_json_open("decisions", '[');
  const bool fine = explain_twice(session, subject);
  if (!fine) fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
  bench_json_close(']');
  bench_json_close('}');
  return fine;
}

static int explain_tasks(bench_session *session, const void *tasks) {
  bench_results results = {0};
  bench_print_system(session);
  bench_print_devices(session);
  bench_say("\n");
  bench_note(
      0,
      "alone, beside: measured while the others rest, or work on the same call. latency: of a launch; if idle: "
      "added to it after a pause. sigma: the uncertainty, as a standard deviation of the logarithm. expected: the time "
      "of a call, corrected by the calls that were timed; by rates: by the rates above alone. on device: the "
      "share of devices. >: the choice.");
  bench_json_begin("explain");
  bench_json_open("tasks", '[');
  const bool fine = bench_tasks_each(session, tasks, explain_one, &results);
  bench_json_close(']');
  bench_json_end();
  return fine ? BENCH_OK : BENCH_FAILED;
}

int bench_cmd_explain(const bench_options *options) {
  bench_tasks tasks;
  if (!bench_tasks_of_command(options, &tasks)) return BENCH_USAGE;
  return bench_session_run(options, NULL, true, explain_tasks, &tasks);
}
