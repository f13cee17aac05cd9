/* SPDX-License-Identifier: Apache-2.0
 * The results of a comparison: tables of devices, rows, sweeps and other libraries, and the document that contains all
 * of them. Members and columns may be added but never renamed, and new columns come last, so that results of different
 * versions can be compared. README.md lists them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/engine.h"
#include "bench/opencl.h"
#include "bench/peers.h"
#include "bench/system.h"

typedef struct device_record {
  hx_device_info info;
  uint64_t index;
  const char *kind, *state, *shown_state, *memory, *platform; /* shown_state, memory: as printed */
  const char *label;
  char size[24], why[BENCH_WHY]; /* why: with the name of every kernel that the device refuses */
} device_record;

#define DEVICE(member, ...) BENCH_COLUMN(device_record, member, __VA_ARGS__)
static const bench_column device_columns[] = {
    DEVICE(index, .name = "index", .head = "#", .kind = BENCH_SIZE, .width = 2),
    DEVICE(info.name, .name = "name", .kind = BENCH_CHARS),
    DEVICE(info.vendor, .name = "vendor", .kind = BENCH_CHARS),
    DEVICE(info.driver, .name = "driver", .kind = BENCH_CHARS),
    DEVICE(label, .head = "device", .flags = BENCH_CUT, .width = -16),
    DEVICE(kind, .name = "kind", .head = "kind", .width = -10),
    DEVICE(state, .name = "state"),
    DEVICE(shown_state, .head = "state", .width = -8),
    DEVICE(info.memory, .name = "memory", .kind = BENCH_CHARS),
    DEVICE(memory, .head = "access", .flags = BENCH_CUT, .width = -6, .rank = 3),
    DEVICE(info.compute_units, .name = "compute_units", .head = "compute units", .kind = BENCH_UINT, .rank = 2),
    DEVICE(info.memory_bytes, .name = "memory_bytes", .kind = BENCH_SIZE),
    DEVICE(size, .head = "memory", .kind = BENCH_CHARS, .width = 7, .rank = 1),
    DEVICE(why, .name = "why", .kind = BENCH_CHARS),
    DEVICE(platform, .name = "platform", .flags = BENCH_OPTIONAL | BENCH_NOT_CSV),
};
static const bench_table device_table = BENCH_TABLE(device_columns);

const char *bench_kind_name(hx_device_kind kind) {
  static const char *const names[] = {"?", "cpu", "igpu", "gpu", "opencl-cpu", "sim"};
  return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

const char *bench_state_name(hx_device_state state) {
  static const char *const names[] = {"?", "building", "usable", "refused", "lost"};
  return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "?";
}

/* Whether hx has nothing against the device, and only the settings leave it out. */
static bool is_left_out(const hx_device_info *d) {
  return d->state == HX_REFUSED && (strstr(d->why, "does not name it") || strstr(d->why, "leaves it out"));
}

/* The memory mode of a device is known once it is ready. */
static device_record describe_device(const bench_session *session, size_t index) {
  const hx_device_info *d = &session->device[index];
  device_record r = {.info = *d,
                     .index = index,
                     .kind = bench_kind_name(d->kind),
                     .state = bench_state_name(d->state),
                     .memory = "-",
                     .platform = session->name[index].platform,
                     .label = session->name[index].label};
  r.shown_state = is_left_out(d) ? "not in use" : r.state;
  bench_device_why(session, index, r.why);
  if (d->state != HX_BUILDING) r.memory = d->memory;
  if (d->memory_bytes) bench_bytes_text(d->memory_bytes, r.size, sizeof r.size);
  return r;
}

/* What the table has cut or has no room for. */
static void print_in_full(const device_record *r) {
  const char *const driver = r->info.driver, *const platform = r->info.kind == HX_CPU_OPENCL ? "" : r->platform;
  if (*driver || *r->why)
    bench_note(3, "%u: %s%s%s%s%s%s%s", (unsigned)r->index, r->label, *platform ? ", platform " : "", platform,
               *driver ? ", driver " : "", driver, *r->why ? "; " : "", r->why);
}

void bench_print_devices(const bench_session *session) {
  device_record records[HX_MAX_DEVICES];
  bench_layout layout = {0};
  for (size_t i = 0; i < session->device_count; i++) records[i] = describe_device(session, i);
  bench_say("\n");
  const bench_group group = {&device_table, records, session->device_count, sizeof records[0], NULL, NULL};
  bench_print_group(&layout, &group);
  for (size_t i = 0; i < session->device_count; i++) print_in_full(&records[i]);
  if (session->stand_in)
    bench_note(0,
               "There is no GPU here, so PoCL is used. It runs on the CPU's own cores, and shows that CPU and "
               "device work together, not what a GPU gains. (--devices or HX_DEVICES select others.)");
}

/* A row and values derived from it. */
typedef struct row_record {
  bench_row row;
  const char *devices[HX_MAX_DEVICES + 1];
  const char *trans_a, *trans_b, *check;         /* trans_a, trans_b: both or neither are NULL */
  char size[72], asked[16], rate[16], times[16]; /* times: speedup, as printed */
  double asked_share, of_ceiling, speedup;
} row_record;

/* The columns of the task, for a record that contains a bench_row. */
#define TASK_COLUMNS(record)                                                                  \
  BENCH_COLUMN(record, row.op, .name = "op"), BENCH_COLUMN(record, row.type, .name = "type"), \
      BENCH_COLUMN(record, row.m, .name = "m", .kind = BENCH_SIZE, .flags = BENCH_OPTIONAL),  \
      BENCH_COLUMN(record, row.n, .name = "n", .kind = BENCH_SIZE),                           \
      BENCH_COLUMN(record, row.k, .name = "k", .kind = BENCH_SIZE, .flags = BENCH_OPTIONAL)

#define ROW(member, ...) BENCH_COLUMN(row_record, member, __VA_ARGS__)
static const bench_column row_columns[] = {
    TASK_COLUMNS(row_record),
    ROW(trans_a, .name = "trans_a", .kind = BENCH_LITERAL, .flags = BENCH_NOT_CSV | BENCH_OPTIONAL),
    ROW(trans_b, .name = "trans_b", .kind = BENCH_LITERAL, .flags = BENCH_NOT_CSV | BENCH_OPTIONAL),
    ROW(size, .head = "size", .kind = BENCH_CHARS, .width = -14),
    ROW(row.mode, .name = "mode", .head = "mode", .width = -4),
    ROW(devices, .name = "devices", .kind = BENCH_NAMES),
    ROW(asked, .head = "asked", .kind = BENCH_CHARS, .width = 5, .rank = 2),
    ROW(asked_share, .name = "asked_share", .kind = BENCH_NUMBER),
    ROW(row.median_s, .name = "median_s", .head = "median", .kind = BENCH_TIME, .width = 8),
    ROW(row.min_s, .name = "min_s", .head = "min", .kind = BENCH_TIME, .width = 8, .rank = 8),
    ROW(row.max_s, .name = "max_s", .head = "max", .kind = BENCH_TIME, .width = 8, .rank = 8),
    ROW(row.reps, .name = "reps", .head = "runs", .kind = BENCH_SIZE, .width = 4, .rank = 7),
    ROW(row.rate, .name = "rate", .kind = BENCH_NUMBER),
    ROW(rate, .head = "", .kind = BENCH_CHARS, .width = 7, .rank = 3),
    ROW(row.unit, .name = "unit"),
    ROW(row.ceiling, .name = "ceiling", .kind = BENCH_NUMBER),
    ROW(of_ceiling, .head = "ceiling", .kind = BENCH_PERCENT, .width = 7, .rank = 6),
    ROW(times, .head = "x CPU", .kind = BENCH_CHARS, .width = 6, .rank = 1),
    ROW(row.gpu_share, .name = "gpu_share", .head = "on GPU", .kind = BENCH_PERCENT, .width = 6, .rank = 1),
    ROW(row.bytes_copied, .name = "bytes_copied", .head = "copied", .kind = BENCH_BYTES, .flags = BENCH_SPARE,
        .width = 8, .rank = 10),
    ROW(row.joules, .head = "energy", .kind = BENCH_JOULES, .flags = BENCH_SPARE, .width = 7, .rank = 9),
    ROW(check, .head = "check", .flags = BENCH_ALARM, .width = -5),
    ROW(row.recovered, .name = "recovered", .kind = BENCH_UINT),
    ROW(row.verified, .name = "verified", .kind = BENCH_FLAG),
    ROW(row.bits, .name = "bits", .kind = BENCH_HEX), /* the same in all modes by construction */
    ROW(row.joules, .name = "joules", .kind = BENCH_NUMBER),
    ROW(row.low_s, .name = "low_s", .kind = BENCH_NUMBER),
    ROW(row.high_s, .name = "high_s", .kind = BENCH_NUMBER),
    ROW(speedup, .name = "speedup", .kind = BENCH_NUMBER),
};
static const bench_table row_table = BENCH_TABLE(row_columns);

/* The time of the CPU alone for the task of a row, which is among the rows around it; NaN: it was not measured. */
static double cpu_seconds(const bench_results *results, size_t index) {
  const bench_row *const row = &results->rows[index];
  size_t first = index;
  while (first > 0 && bench_same_task(&results->rows[first - 1], row)) first--;
  for (; first < results->row_count && bench_same_task(&results->rows[first], row); first++)
    if (results->rows[first].asked_share == 0 && results->rows[first].verified) return results->rows[first].median_s;
  return NAN;
}

static row_record describe_row(const bench_session *session, const bench_results *results, size_t index) {
  const bench_row *const row = &results->rows[index];
  const float asked = row->asked_share < 0 ? row->set_share : row->asked_share;
  row_record r = {.row = *row, .asked = "auto", .rate = "-", .times = "-"};
  size_t count = 0;
  for (size_t i = 0; i < session->device_count; i++)
    if (row->devices & 1u << i) r.devices[count++] = session->device[i].name;
  if (row->trans_a || row->trans_b) {
    r.trans_a = row->trans_a ? "true" : "false";
    r.trans_b = row->trans_b ? "true" : "false";
  }
  r.check = row->verified ? "ok" : row->ran ? "WRONG" : "error";
  r.asked_share = asked < 0 ? NAN : (double)asked;
  r.of_ceiling = row->rate / row->ceiling;
  r.speedup = row->verified ? cpu_seconds(results, index) / row->median_s : NAN;
  bench_size_text(row, r.size, sizeof r.size);
  if (asked >= 0) snprintf(r.asked, sizeof r.asked, "%.0f %%", 100.0 * r.asked_share);
  if (isfinite(r.speedup))
    snprintf(r.times, sizeof r.times, r.speedup < 0.001 ? "<0.001" : r.speedup < 0.1 ? "%.3f" : "%.2f", r.speedup);
  if (isfinite(row->rate)) snprintf(r.rate, sizeof r.rate, row->rate < 100 ? "%.2f" : "%.0f", row->rate);
  return r;
}

static void print_result_head(const bench_row *row) {
  bench_say("\n");
  bench_note(
      0, "%s %s; ceiling: %s", row->type, row->op,
      row->m ? "multiply-adds on the CPU's registers alone" : "reading the same bytes with a bare loop on the CPU");
}

void bench_print_results(const bench_session *session, const bench_results *results, size_t count) {
  static bench_layout layout;
  static row_record records[BENCH_MOST_MODES];
  bool winner[BENCH_MOST_MODES] = {false};
  const size_t first = results->row_count - count;
  const bench_row *const rows = results->rows + first;
  size_t best = SIZE_MAX;
  if (!count) return;
  for (size_t i = 0; i < count; i++) {
    records[i] = describe_row(session, results, first + i);
    if (rows[i].verified && rows[i].reps && (best == SIZE_MAX || rows[i].median_s < rows[best].median_s)) best = i;
  }
  if (best != SIZE_MAX && count > 1) winner[best] = true;
  if (!first || !bench_same_operation(&rows[-1], rows)) {
    print_result_head(rows);
    layout = (bench_layout){0};
  }
  const bench_group group = {&row_table, records, count, sizeof records[0], &rows->unit, winner};
  bench_print_group(&layout, &group);
  bench_show_output();
}

typedef struct sweep_record {
  bench_row row;
  bench_sweep sweep;
} sweep_record;

#define SWEEP(value_kind, member, name) BENCH_FILE_COLUMN(sweep_record, value_kind, member, name)
static const bench_column sweep_columns[] = {TASK_COLUMNS(sweep_record),
                                             SWEEP(SIZE, sweep.first_row, "first_row"),
                                             SWEEP(SIZE, sweep.row_count, "rows"),
                                             SWEEP(SIZE, sweep.rounds, "rounds"),
                                             SWEEP(NUMBER, sweep.best_split, "best_split"),
                                             SWEEP(NUMBER, sweep.best_s, "best_s"),
                                             SWEEP(NUMBER, sweep.own_s, "own_s"),
                                             SWEEP(NUMBER, sweep.own_share, "own_share"),
                                             SWEEP(NUMBER, sweep.eta_low, "eta_quartile_1"),
                                             SWEEP(NUMBER, sweep.eta_high, "eta_quartile_3"),
                                             SWEEP(NUMBER, sweep.eta, "eta")};
static const bench_table sweep_table = BENCH_TABLE(sweep_columns);

typedef struct versus_record {
  bench_versus versus;
  const char *peer;
} versus_record;

#define VERSUS(value_kind, member, name) BENCH_FILE_COLUMN(versus_record, value_kind, member, name)
static const bench_column versus_columns[] = {
    VERSUS(SIZE, versus.row, "row"),     VERSUS(STRING, peer, "peer"),
    VERSUS(CHARS, versus.core, "core"),  VERSUS(FLAG, versus.best, "best"),
    VERSUS(UINT, versus.runs, "runs"),   VERSUS(NUMBER, versus.median_s, "median_s"),
    VERSUS(NUMBER, versus.rate, "rate"), VERSUS(NUMBER, versus.low, "low"),
    VERSUS(NUMBER, versus.high, "high"), VERSUS(NUMBER, versus.ratio, "ratio")};
static const bench_table versus_table = BENCH_TABLE(versus_columns);

void bench_results_write(const bench_session *session, const bench_results *results, bool devices) {
  bench_json_begin(session->options->command);
  bench_system_json(session);
  bench_json_open("devices", '[');
  for (size_t i = 0; i < session->device_count; i++) {
    const device_record r = describe_device(session, i);
    (devices ? bench_store_row : bench_json_row)(&device_table, &r);
  }
  bench_json_close(']');
  if (!devices) bench_csv_head(&row_table);
  bench_json_open("rows", '[');
  for (size_t i = 0; i < results->row_count; i++) {
    const row_record r = describe_row(session, results, i);
    bench_store_row(&row_table, &r);
  }
  bench_json_close(']');
  bench_json_open("sweeps", '[');
  for (size_t i = 0; i < results->sweep_count; i++) {
    const bench_sweep *const sweep = &results->sweeps[i];
    const sweep_record r = {results->rows[sweep->first_row], *sweep};
    bench_json_row(&sweep_table, &r);
  }
  bench_json_close(']');
  bench_json_open("versus", '[');
  for (size_t i = 0; i < results->versus_count; i++) {
    const bench_versus *const versus = &results->versus[i];
    const versus_record r = {*versus, session->options->vs[versus->peer].peer->name};
    bench_json_row(&versus_table, &r);
  }
  bench_json_close(']');
  bench_json_flag("failed", results->failed);
  bench_json_text("verdict", results->verdict);
  bench_json_end();
}
