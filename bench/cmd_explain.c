/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `explain`: what hx expects of each choice for a task on this machine, before a call and after some. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/measure.h"
#include "bench/system.h"
#include "bench/text.h"
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
static void print_part(FILE *f, const char *who, const char *company, const hx__estimate *e, const char *unit) {
  if (!(e->ns_per_unit > 0.0)) {
    fprintf(f, "  %-8s %-8s nothing is known\n", who, company);
    return;
  }
  fprintf(f, "  %-8s %-8s %9.3f %-12s latency %7.1f us  idle +%6.1f us  sigma %.2f  ", who, company,
          1.0 / e->ns_per_unit, unit, e->latency_ns * 1e-3, e->idle_ns * 1e-3, e->sigma);
  if (e->samples)
    fprintf(f, "%u samples\n", e->samples);
  else
    fputs("a guess\n", f);
}

/* The share of the choice's devices when all end together; NaN where nothing is known of one. */
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
    char who[24];
    snprintf(who, sizeof who, "%zu", e->index[d]);
    print_part(f, who, "alone", &e->inputs.device[d].alone, unit);
    print_part(f, who, "beside", &e->inputs.device[d].beside, unit);
  }
}

/* What a choice is expected to draw; NaN where that was never measured. */
static double joules_of(const hx__candidate *o) { return o->watts > 0.0 ? o->watts * o->ns * 1e-9 : NAN; }

static void print_energy(FILE *f, const hx__candidate *o) {
  char joules[24];
  bench_joules_text(joules_of(o), joules, sizeof joules);
  if (o->watts > 0.0)
    fprintf(f, " %8.1f %8s", o->watts, joules);
  else
    fprintf(f, " %8s %8s", "?", joules);
}

/* Who has which part of a task whose share is set. */
static void print_shares(FILE *f, const hx__explanation *e) {
  double rest = 1.0;
  for (unsigned d = 0; d < e->inputs.devices; d++) rest -= e->part[d];
  fprintf(f, "CPU %.1f%%", 100.0 * fmax(rest, 0.0));
  for (unsigned d = 0; d < e->inputs.devices; d++) fprintf(f, ", %zu %.1f%%", e->index[d], 100.0 * e->part[d]);
}

/* A number of a table, or that it is not known. */
static void print_known(FILE *f, int width, int digits, double x, const char *unit) {
  if (isfinite(x))
    fprintf(f, " %*.*f%s", width - (int)strlen(unit), digits, x, unit);
  else
    fprintf(f, " %*s", width, "?");
}

static void print_choices(FILE *f, const hx__explanation *e) {
  char name[96];
  if (e->source != HX__DECIDED_BY_COST) {
    fprintf(f, "  %s", sources[e->source]);
    if (e->source == HX__DECIDED_SHARE) print_shares(f, e);
    fputc('\n', f);
    return;
  }
  const bool metered = e->inputs.objective != HX__OBJECTIVE_TIME;
  fprintf(f, "  %-16s %12s %12s %8s %8s %8s%s\n", "choice", "expected ms", "by parts ms", "sigma", "share", "calls",
          metered ? "    watts   energy" : "");
  for (unsigned i = 0; i < e->decision.choices; i++) {
    const hx__candidate *const o = &e->decision.candidate[i];
    name_of(e, i, name, sizeof name);
    fprintf(f, "%c %-16s", i == e->decision.choice ? '>' : ' ', name);
    print_known(f, 12, 3, o->ns * 1e-6, "");
    print_known(f, 12, 3, o->parts_ns * 1e-6, "");
    print_known(f, 8, 2, o->sigma, "");
    print_known(f, 8, 0, 100.0 * share_of(e, i), "%");
    fprintf(f, " %8u", o->samples);
    if (metered) print_energy(f, o);
    fputc('\n', f);
  }
  name_of(e, e->decision.choice, name, sizeof name);
  char why[128];
  snprintf(why, sizeof why, reasons[e->decision.reason], aims[e->inputs.objective]);
  fprintf(f, "  %s: %s\n", name, why);
  if (e->inputs.no_split)
    fputs("  CPU and devices do not share it: C is small, and the CPU does its panels of k in parallel\n", f);
}

static void write_json(FILE *f, const hx__explanation *e, bool after) {
  char name[96];
  name_of(e, e->decision.choice, name, sizeof name);
  fprintf(f, "%s{\"after\": %u, \"threads\": %u, \"small\": %s, \"objective\": \"%s\", \"choice\": ", after ? ", " : "",
          after ? CALLS : 0u, e->threads, e->source == HX__DECIDED_SMALL ? "true" : "false",
          hx__objective_name(e->inputs.objective));
  bench_json_string(f, name);
  fputs(", \"choices\": [", f);
  for (unsigned i = 0; i < e->decision.choices; i++) {
    name_of(e, i, name, sizeof name);
    fputs(i ? ", {\"name\": " : "{\"name\": ", f);
    bench_json_string(f, name);
    fputs(", \"expected_ms\": ", f);
    bench_json_number(f, e->decision.candidate[i].ns * 1e-6);
    fputs(", \"parts_ms\": ", f);
    bench_json_number(f, e->decision.candidate[i].parts_ns * 1e-6);
    fputs(", \"expected_joules\": ", f);
    bench_json_number(f, joules_of(&e->decision.candidate[i]));
    fprintf(f, ", \"sigma\": %.9g, \"share\": ", e->decision.candidate[i].sigma);
    bench_json_number(f, share_of(e, i));
    fprintf(f, ", \"calls\": %u}", e->decision.candidate[i].samples);
  }
  fputs("]}", f);
}

static void write_csv(FILE *f, const bench_row *row, const char *size, const hx__explanation *e, bool after) {
  for (unsigned i = 0; i < e->decision.choices; i++) {
    char name[96];
    name_of(e, i, name, sizeof name);
    fprintf(f, "%s,%s,%s,%u,%u,%d,%s,", row->op, row->type, size, after ? CALLS : 0u, e->threads,
            e->source == HX__DECIDED_SMALL, hx__objective_name(e->inputs.objective));
    bench_csv_field(f, name);
    fprintf(f, "%d,", i == e->decision.choice);
    bench_csv_number(f, e->decision.candidate[i].ns * 1e-6);
    bench_csv_number(f, e->decision.candidate[i].parts_ns * 1e-6);
    bench_csv_number(f, joules_of(&e->decision.candidate[i]));
    bench_csv_number(f, e->decision.candidate[i].sigma);
    bench_csv_number(f, share_of(e, i));
    fprintf(f, "%u\n", e->decision.candidate[i].samples);
  }
}

/* Explains, calls some times, explains again. */
static bool explain_one(bench_session *session, bench_subject *subject, bool first) {
  FILE *const f = session->human, *const json = bench_json_file(), *const csv = bench_csv_file();
  const char *const unit = subject->row.m ? "GMAC/s" : "Gelement/s";
  char size[72];
  hx__explanation e;
  bench_size_text(&subject->row, size, sizeof size);
  if (json) {
    fprintf(json, "%s\n    {\"op\": \"%s\", \"type\": \"%s\", \"size\": \"%s\", \"decisions\": [", first ? "" : ",",
            subject->row.op, subject->row.type, size);
  }
  if (csv && first)
    fputs(
        "op,type,size,after,threads,small,objective,name,chosen,expected_ms,parts_ms,expected_joules,sigma,share,"
        "calls\n",
        csv);
  double seconds[CALLS];
  bool fine = true;
  for (int after = 0; fine && after < 2; after++) {
    fine = hx__explain(session->hx, &subject->task, &e) == HX_OK;
    if (!fine) break;
    if (f && !after) fprintf(f, "\n%s %s %s", subject->row.type, subject->row.op, size);
    if (f && after) fprintf(f, "  after %u calls, their median %.3f ms", CALLS, 1e3 * bench_median(seconds, CALLS));
    if (f) fprintf(f, ", %u thread%s%s\n", e.threads, e.threads == 1 ? "" : "s", after ? ":" : "");
    if (f) print_parts(f, &e, unit);
    if (f) print_choices(f, &e);
    if (json) write_json(json, &e, after);
    bench_measured();
    if (csv) write_csv(csv, &subject->row, size, &e, after);
    for (unsigned i = 0; fine && !after && i < CALLS; i++) {
      const double from = bench_now();
      fine = hx_offload(session->hx, &subject->task, NULL) == HX_OK;
      seconds[i] = bench_now() - from;
    }
  }
  if (!fine) fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
  if (json) fputs("]}", json);
  return fine;
}

static bool explain_reduction(bench_session *session, hx_op op, hx_type type, const bench_size *size, bool *first) {
  bench_arrays arrays;
  bench_subject subject;
  if (!bench_reduce_arrays(session, op, type, size->n, &arrays)) return false;
  bench_reduce_subject(&arrays, op, type, size->n, &subject);
  const bool fine = explain_one(session, &subject, *first);
  *first = false;
  bench_arrays_free(session, &arrays);
  return fine;
}

static bool explain_product(bench_session *session, const bench_size *size, bool *first) {
  bench_size shape = *size;
  bench_arrays arrays;
  bench_subject subject;
  if (!shape.m) shape = (bench_size){.m = size->n, .n = size->n, .k = size->n};
  if (!bench_matmul_arrays(session, &shape, &arrays)) return false;
  bool fine = bench_matmul_subject(&arrays, &shape, &subject);
  if (fine) {
    fine = explain_one(session, &subject, *first);
    bench_subject_free(&subject);
  }
  *first = false;
  bench_arrays_free(session, &arrays);
  return fine;
}

static bool run(bench_session *session, const bench_options *options) {
  static const bench_size length = {.n = 1u << 24}, shape = {.m = 1024, .n = 1024, .k = 1024};
  const uint32_t ops = options->ops ? options->ops : 1u << HX_SUM | 1u << BENCH_OP_MATMUL;
  const uint32_t types = options->types ? options->types : 1u << HX_F32;
  bool fine = true, first = true;
  for (size_t i = 0; fine && !bench_stopped() && i < (options->size_count ? options->size_count : 1); i++) {
    const bench_size *const given = options->size_count ? &options->sizes[i] : NULL;
    for (hx_op op = HX_SUM; op <= HX_PROD; op++)
      for (hx_type type = HX_F32; type <= HX_U32; type++)
        if (fine && !bench_stopped() && (ops & 1u << op) && (types & 1u << type) && !(given && given->m))
          fine = explain_reduction(session, op, type, given ? given : &length, &first);
    if (fine && !bench_stopped() && (ops & 1u << BENCH_OP_MATMUL) &&
        !(given && !given->m && ops != 1u << BENCH_OP_MATMUL))
      fine = explain_product(session, given ? given : &shape, &first);
  }
  return fine;
}

int bench_cmd_explain(const bench_options *options) {
  const uint32_t product = 1u << BENCH_OP_MATMUL, ops = options->ops;
  if (!bench_sizes_fit(options, !ops || (ops & ~product), !ops || (ops & product))) return bench_nothing_fits();
  if (!bench_files_open(options)) return BENCH_USAGE;
  bench_session session;
  int status = bench_session_open(&session, options, true);
  if (status == BENCH_OK) {
    FILE *const json = bench_json_file();
    if (session.human) bench_system_print(session.human, &session);
    if (session.human) bench_print_devices(&session, session.human);
    if (json) fputs("{\"schema\": 1, \"program\": \"hx-bench\", \"command\": \"explain\",\n  \"tasks\": [", json);
    if (!run(&session, options)) status = BENCH_FAILED;
    if (json) fputs("]", json);
    if (json) bench_json_end(json);
    bench_session_close(&session);
  }
  return bench_files_close() ? status : BENCH_FAILED;
}
