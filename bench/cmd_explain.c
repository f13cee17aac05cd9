/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `explain`: what hx expects of each choice for a task on this machine, before a call and after some. */
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
    [HX__DECIDED_SMALL] = "the CPU is done before a device is worth asking, or HX_MIN_OFFLOAD says so: no device is",
    [HX__DECIDED_SHARE] = "the share is set (HX_SPLIT, HX_DEVICES or HX_OFFLOAD), so nothing is weighed: ",
    [HX__DECIDED_SETTING] = "HX_SCHEDULE or HX_MIN_OFFLOAD settles it: all devices and the CPU",
    [HX__DECIDED_BY_COST] = "",
};
static const char *const reasons[] = {
    [HX__REASON_BEST] = "it is expected to %s",
    [HX__REASON_TRY] = "it may well %s, and too little is known of it",
    [HX__REASON_RECHECK] = "its turn to be measured again, so that a wrong memory heals"};
static const char *const aims[] = {[HX__OBJECTIVE_TIME] = "end first",
                                   [HX__OBJECTIVE_ENERGY] = "draw the least energy",
                                   [HX__OBJECTIVE_EDP] = "have the least energy times time"};

static void name_of(const hx__explanation *e, unsigned choice, char *text, size_t bytes) {
  const hx__choice c = hx__choice_of(choice, e->inputs.devices);
  size_t used = (size_t)snprintf(text, bytes, "%s", c.cpu ? "CPU" : "");
  for (unsigned d = 0; d < c.devices && used < bytes; d++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%zu", used ? " + " : "", e->index[d]);
}

/* One participant: its rate, and where that comes from. */
static void print_part(FILE *f, const char *participant, const char *company, const hx__estimate *e, const char *unit) {
  if (!(e->ns_per_unit > 0.0)) {
    fprintf(f, "  %-8s %-8s nothing is known\n", participant, company);
    return;
  }
  fprintf(f, "  %-8s %-8s %9.3f %-12s latency %7.1f us  idle +%6.1f us  sigma %.2f  ", participant, company,
          1.0 / e->ns_per_unit, unit, e->latency_ns * 1e-3, e->idle_ns * 1e-3, e->sigma);
  if (e->samples)
    fprintf(f, "%u samples\n", e->samples);
  else
    fputs("a guess\n", f);
}

/* The share of the choice's devices when all end together; NaN if there is no estimate of one. */
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

static void print_parts(FILE *f, const hx__explanation *e, const char *unit) {
  print_part(f, "CPU", "alone", &e->inputs.cpu_alone, unit);
  if (e->inputs.devices) print_part(f, "CPU", "beside", &e->inputs.cpu_beside, unit);
  for (unsigned d = 0; d < e->inputs.devices; d++) {
    char device[24];
    snprintf(device, sizeof device, "%zu", e->index[d]);
    print_part(f, device, "alone", &e->inputs.device[d].alone, unit);
    print_part(f, device, "beside", &e->inputs.device[d].beside, unit);
  }
}

/* What a choice is expected to draw; NaN if that was never measured. */
static double joules_of(const hx__candidate *o) { return o->watts > 0.0 ? o->watts * o->ns * 1e-9 : NAN; }

typedef struct choice_record {
  const char *op, *type, *size, *objective, *name;
  char label[112]; /* of the table: > marks the one that is taken */
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
    CHOICE(label, .head = "  choice", .kind = BENCH_CHARS, .width = -18),
    KNOWN(expected_ms, "expected_ms", .head = "expected ms", .width = 12, .digits = 3),
    KNOWN(parts_ms, "parts_ms", .head = "by parts ms", .width = 12, .digits = 3),
    CHOICE(joules, .name = "expected_joules", .kind = BENCH_NUMBER),
    KNOWN(sigma, "sigma", .head = "sigma", .width = 8, .digits = 2),
    CHOICE(share, .name = "share", .head = "share", .kind = BENCH_PERCENT_JOINED, .flags = BENCH_UNKNOWN, .width = 8),
    CHOICE(samples, .name = "calls", .head = "calls", .kind = BENCH_UINT, .width = 8),
    KNOWN(watts, NULL, .head = "watts", .width = 8, .digits = 1), /* these two only if energy counts */
    CHOICE(joules, .head = "energy", .kind = BENCH_JOULES, .width = 8),
};
static const bench_table energy_table = BENCH_TABLE(columns);
static const bench_table table = {columns, sizeof columns / sizeof columns[0] - 2};

static choice_record describe_choice(const hx__explanation *e, unsigned choice, const char *name) {
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
  snprintf(r.label, sizeof r.label, "%c %s", r.chosen ? '>' : ' ', name);
  return r;
}

/* The parts of a task whose share is set. */
static void print_shares(FILE *f, const hx__explanation *e) {
  double rest = 1.0;
  for (unsigned d = 0; d < e->inputs.devices; d++) rest -= e->part[d];
  fprintf(f, "CPU %.1f%%", 100.0 * fmax(rest, 0.0));
  for (unsigned d = 0; d < e->inputs.devices; d++) fprintf(f, ", %zu %.1f%%", e->index[d], 100.0 * e->part[d]);
}

/* Why the decision is what it is. */
static void print_reason(FILE *f, const hx__explanation *e) {
  char name[96], why[128];
  if (e->source != HX__DECIDED_BY_COST) {
    fprintf(f, "  %s", sources[e->source]);
    if (e->source == HX__DECIDED_SHARE) print_shares(f, e);
    fputc('\n', f);
    return;
  }
  name_of(e, e->decision.choice, name, sizeof name);
  snprintf(why, sizeof why, reasons[e->decision.reason], aims[e->inputs.objective]);
  fprintf(f, "  %s: %s\n", name, why);
  if (e->inputs.no_split)
    fputs("  CPU and devices do not share it: C is small, and the CPU does its panels of k in parallel\n", f);
}

static void report_choices(FILE *human, const bench_row *row, const char *size, const hx__explanation *e,
                           uint32_t after) {
  const bench_table *const printed = e->inputs.objective == HX__OBJECTIVE_TIME ? &table : &energy_table;
  FILE *const f = e->source == HX__DECIDED_BY_COST ? human : NULL;
  char name[96];
  if (f) bench_print_head(f, printed, NULL);
  bench_json_open("choices", '[');
  for (unsigned i = 0; i < e->decision.choices; i++) {
    name_of(e, i, name, sizeof name);
    choice_record r = describe_choice(e, i, name);
    r.op = row->op;
    r.type = row->type;
    r.size = size;
    r.after = after;
    if (f) bench_print_row(f, printed, &r);
    bench_emit_row(&table, &r);
  }
  bench_json_close(']');
}

static void report_decision(FILE *human, const bench_row *row, const char *size, const hx__explanation *e,
                            uint32_t after) {
  char name[96];
  name_of(e, e->decision.choice, name, sizeof name);
  bench_json_open(NULL, '{');
  bench_json_count("after", after);
  bench_json_count("threads", e->threads);
  bench_json_flag("small", e->source == HX__DECIDED_SMALL);
  bench_json_text("objective", hx__objective_name(e->inputs.objective));
  bench_json_text("choice", name);
  report_choices(human, row, size, e, after);
  bench_json_close('}');
  if (human) print_reason(human, e);
}

/* Explains, calls some times, explains again. */
static bool explain_one(bench_session *session, bench_subject *subject) {
  FILE *const f = session->human;
  const bench_row *const row = &subject->row;
  char size[72];
  const char *const unit = row->m ? "GMAC/s" : "Gelement/s";
  hx__explanation e;
  bench_size_text(row, size, sizeof size);
  bench_csv_head(&table);
  bench_json_open(NULL, '{');
  bench_json_text("op", row->op);
  bench_json_text("type", row->type);
  bench_json_text("size", size);
  bench_json_open("decisions", '[');
  double seconds[CALLS];
  bool fine = true;
  for (int after = 0; fine && after < 2; after++) {
    fine = hx__explain(session->hx, &subject->task, &e) == HX_OK;
    if (!fine) break;
    if (f && !after) fprintf(f, "\n%s %s %s", row->type, row->op, size);
    if (f && after) fprintf(f, "  after %u calls, their median %.3f ms", CALLS, 1e3 * bench_median(seconds, CALLS));
    if (f) fprintf(f, ", %u thread%s%s\n", e.threads, e.threads == 1 ? "" : "s", after ? ":" : "");
    if (f) print_parts(f, &e, unit);
    report_decision(f, row, size, &e, after ? CALLS : 0);
    bench_measured();
    for (unsigned i = 0; fine && !after && i < CALLS; i++) {
      const double from = bench_now();
      fine = hx_offload(session->hx, &subject->task, NULL) == HX_OK;
      seconds[i] = bench_now() - from;
    }
  }
  if (!fine) fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
  bench_json_close(']');
  bench_json_close('}');
  return fine;
}

static bool explain_reduction(bench_session *session, hx_op op, hx_type type, const bench_size *size) {
  bench_arrays arrays;
  bench_subject subject;
  if (!bench_reduce_arrays(session, op, type, size->n, &arrays)) return false;
  bench_reduce_subject(&arrays, op, type, size->n, &subject);
  const bool fine = explain_one(session, &subject);
  bench_arrays_free(session, &arrays);
  return fine;
}

static bool explain_product(bench_session *session, const bench_size *size) {
  bench_size shape = *size;
  bench_arrays arrays;
  bench_subject subject;
  if (!shape.m) shape = (bench_size){.m = size->n, .n = size->n, .k = size->n};
  if (!bench_matmul_arrays(session, &shape, &arrays)) return false;
  bool fine = bench_matmul_subject(&arrays, &shape, &subject);
  if (fine) {
    fine = explain_one(session, &subject);
    bench_subject_free(&subject);
  }
  bench_arrays_free(session, &arrays);
  return fine;
}

static bool explain_all(bench_session *session, const bench_options *options) {
  static const bench_size length = {.n = 1u << 24}, shape = {.m = 1024, .n = 1024, .k = 1024};
  const uint32_t ops = options->ops ? options->ops : 1u << HX_SUM | 1u << BENCH_OP_MATMUL;
  const uint32_t types = options->types ? options->types : 1u << HX_F32;
  bool fine = true;
  for (size_t i = 0; fine && !bench_stopped() && i < (options->size_count ? options->size_count : 1); i++) {
    const bench_size *const given = options->size_count ? &options->sizes[i] : NULL;
    for (hx_op op = HX_SUM; op <= HX_PROD; op++)
      for (hx_type type = HX_F32; type <= HX_U32; type++)
        if (fine && !bench_stopped() && (ops & 1u << op) && (types & 1u << type) && !(given && given->m))
          fine = explain_reduction(session, op, type, given ? given : &length);
    if (fine && !bench_stopped() && (ops & 1u << BENCH_OP_MATMUL) &&
        !(given && !given->m && ops != 1u << BENCH_OP_MATMUL))
      fine = explain_product(session, given ? given : &shape);
  }
  return fine;
}

static int run(bench_session *session) {
  if (session->human) bench_system_print(session->human, session);
  if (session->human) bench_print_devices(session, session->human);
  bench_json_begin("explain");
  bench_json_open("tasks", '[');
  const bool fine = explain_all(session, session->options);
  bench_json_close(']');
  bench_json_end();
  return fine ? BENCH_OK : BENCH_FAILED;
}

int bench_cmd_explain(const bench_options *options) {
  const uint32_t product = 1u << BENCH_OP_MATMUL, ops = options->ops;
  if (!bench_sizes_fit(options, !ops || (ops & ~product), !ops || (ops & product))) return bench_nothing_fits();
  return bench_session_run(options, NULL, true, run);
}
