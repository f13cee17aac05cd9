/* SPDX-License-Identifier: Apache-2.0
 * The results of a comparison: tables of devices, rows, sweeps and other libraries, and the document that contains all
 * of them. Members and columns may be added but never renamed, and new columns come last, so that results of different
 * versions can be compared. README.md lists them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/opencl.h"
#include "bench/peers.h"
#include "bench/system.h"

enum { NAME_WIDTH = 44, DRIVER_WIDTH = 22 }; /* of the columns of the table of devices */

typedef struct device_record {
  hx_device_info info;
  uint64_t index;
  const char *kind, *state, *memory; /* memory: as printed */
  char size[24], why[BENCH_WHY];     /* why: with the name of every kernel that the device refuses */
} device_record;

#define DEVICE(member, ...) BENCH_COLUMN(device_record, member, __VA_ARGS__)
static const bench_column device_columns[] = {
    DEVICE(index, .name = "index", .head = "#", .kind = BENCH_SIZE, .width = 3),
    DEVICE(info.name, .name = "name", .kind = BENCH_CHARS),
    DEVICE(info.vendor, .name = "vendor", .kind = BENCH_CHARS),
    DEVICE(info.driver, .name = "driver", .kind = BENCH_CHARS),
    DEVICE(info.name, .head = "device", .kind = BENCH_CHARS, .flags = BENCH_CUT, .gap = 1, .width = -NAME_WIDTH),
    DEVICE(kind, .name = "kind", .head = "kind", .width = -10),
    DEVICE(info.driver, .head = "driver", .kind = BENCH_CHARS, .flags = BENCH_CUT, .width = -DRIVER_WIDTH),
    DEVICE(state, .name = "state", .head = "state", .width = -8),
    DEVICE(info.memory, .name = "memory", .kind = BENCH_CHARS),
    DEVICE(memory, .head = "memory", .flags = BENCH_CUT, .width = -10),
    DEVICE(info.compute_units, .name = "compute_units", .head = "units", .kind = BENCH_UINT, .width = 5),
    DEVICE(info.memory_bytes, .name = "memory_bytes", .kind = BENCH_SIZE),
    DEVICE(size, .head = "size", .kind = BENCH_CHARS, .width = 8),
    DEVICE(why, .name = "why", .kind = BENCH_CHARS),
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

/* The memory mode of a device is known once it is ready. */
static device_record describe_device(const bench_session *session, size_t index) {
  const hx_device_info *d = &session->device[index];
  device_record r = {*d, index, bench_kind_name(d->kind), bench_state_name(d->state), "-", "", ""};
  bench_device_why(session, index, r.why);
  if (d->state != HX_BUILDING) r.memory = d->memory;
  if (d->memory_bytes) bench_bytes_text(d->memory_bytes, r.size, sizeof r.size);
  return r;
}

/* What the table has cut or has no room for. */
static void print_in_full(const device_record *r) {
  char text[sizeof r->info.name + sizeof r->info.driver + 16];
  if (strlen(r->info.name) > NAME_WIDTH || strlen(r->info.driver) > DRIVER_WIDTH) {
    snprintf(text, sizeof text, "%s, driver %s", r->info.name, r->info.driver);
    bench_say("     ");
    bench_say_wrapped(text, 5, 5);
  }
  if (!*r->why) return;
  bench_say("     ");
  bench_say_wrapped(r->why, 5, 5);
}

void bench_print_devices(const bench_session *session) {
  bench_print_head(&device_table, NULL);
  for (size_t i = 0; i < session->device_count; i++) {
    const device_record r = describe_device(session, i);
    bench_print_row(&device_table, &r);
    print_in_full(&r);
  }
  if (session->stand_in)
    bench_say(
        "There is no GPU here, so PoCL is used. It runs on the CPU's own cores, and shows that CPU and device work "
        "together,\nnot what a GPU gains. (--devices or HX_DEVICES select others.)\n");
}

/* A row and values derived from it. */
typedef struct row_record {
  bench_row row;
  const char *devices[HX_MAX_DEVICES + 1];
  const char *trans_a, *trans_b, *check; /* trans_a, trans_b: both or neither are NULL */
  char size[72], asked[16], rate[16];
  double asked_share, of_ceiling;
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
    ROW(asked, .head = "asked", .kind = BENCH_CHARS, .width = 5),
    ROW(asked_share, .name = "asked_share", .kind = BENCH_NUMBER),
    ROW(row.median_s, .name = "median_s", .head = "median", .kind = BENCH_TIME, .width = 8),
    ROW(row.min_s, .name = "min_s", .head = "min", .kind = BENCH_TIME, .width = 8),
    ROW(row.max_s, .name = "max_s", .head = "max", .kind = BENCH_TIME, .width = 8),
    ROW(row.reps, .name = "reps", .head = "runs", .kind = BENCH_SIZE, .width = 4),
    ROW(row.rate, .name = "rate", .kind = BENCH_NUMBER),
    ROW(rate, .head = "", .kind = BENCH_CHARS, .width = 7),
    ROW(row.unit, .name = "unit"),
    ROW(row.ceiling, .name = "ceiling", .kind = BENCH_NUMBER),
    ROW(of_ceiling, .head = "ceiling", .kind = BENCH_PERCENT, .width = 7),
    ROW(row.gpu_share, .name = "gpu_share", .head = "on GPU", .kind = BENCH_PERCENT, .width = 6),
    ROW(row.bytes_copied, .name = "bytes_copied", .head = "copied", .kind = BENCH_BYTES, .width = 8),
    ROW(row.joules, .head = "energy", .kind = BENCH_JOULES, .width = 7),
    ROW(check, .head = "check", .width = -5),
    ROW(row.recovered, .name = "recovered", .kind = BENCH_UINT),
    ROW(row.verified, .name = "verified", .kind = BENCH_FLAG),
    ROW(row.bits, .name = "bits", .head = "bits", .kind = BENCH_HEX),
    ROW(row.joules, .name = "joules", .kind = BENCH_NUMBER),
};
static const bench_table row_table = BENCH_TABLE(row_columns);

static row_record describe_row(const bench_session *session, const bench_row *row) {
  row_record r = {.row = *row, .asked = "auto", .rate = "-"};
  size_t count = 0;
  for (size_t i = 0; session && i < session->device_count; i++)
    if (row->devices & 1u << i) r.devices[count++] = session->device[i].name;
  if (row->trans_a || row->trans_b) {
    r.trans_a = row->trans_a ? "true" : "false";
    r.trans_b = row->trans_b ? "true" : "false";
  }
  r.check = row->verified ? "ok" : row->ran ? "WRONG" : "error";
  r.asked_share = row->asked_share < 0 ? NAN : (double)row->asked_share;
  r.of_ceiling = row->rate / row->ceiling;
  bench_size_text(row, r.size, sizeof r.size);
  if (row->asked_share >= 0) snprintf(r.asked, sizeof r.asked, "%.0f %%", 100.0 * r.asked_share);
  if (isfinite(row->rate)) snprintf(r.rate, sizeof r.rate, row->rate < 100 ? "%.2f" : "%.0f", row->rate);
  return r;
}

void bench_print_result_head(const bench_row *row) {
  bench_say(
      "\n%s %s; ceiling: %s\n", row->type, row->op,
      row->m ? "multiply-adds on the CPU's registers alone" : "reading the same bytes with a bare loop on the CPU");
  bench_print_head(&row_table, &row->unit);
}

void bench_print_result(const bench_row *row) {
  const row_record r = describe_row(NULL, row);
  bench_print_row(&row_table, &r);
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
    const row_record r = describe_row(session, &results->rows[i]);
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
