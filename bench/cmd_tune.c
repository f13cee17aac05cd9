/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `tune`: times the interchangeable product kernels on every OpenCL device in use, and stores the
 * fastest in HX_CACHE_DIR for all programs on this machine. */
#include <string.h>

#include "bench/emit.h"
#include "bench/opencl.h"
#include "bench/progress.h"
#include "bench/system.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/base/cache_dir.h"

#define MOST_RESULTS (3 * HX__CL_TUNED) /* three orders of each row of which a result can be stored */

static void name_of(const hx__cl_tuned *what, char *text, size_t bytes) {
  const uint32_t *const tile = what->tile;
  const int used = snprintf(text, bytes, "%s", what->row->name);
  if (tile[0])
    snprintf(text + used, bytes - (size_t)used, " %ux%ux%u", tile[0], tile[1], tile[2]);
  else if (hx__kernel_of_set(what->row))
    snprintf(text + used, bytes - (size_t)used, " order %u", what->order);
}

typedef struct tune_record {
  size_t device, side;
  hx__cl_tune_result result;
  const char *row;
  double gflops;
  const char *why;              /* why it was not timed; NULL: it was */
  char label[96], outcome[128]; /* of the table */
} tune_record;

#define TUNE_COLUMN(member, ...) BENCH_COLUMN(tune_record, member, __VA_ARGS__)
static const bench_column columns[] = {
    TUNE_COLUMN(device, .name = "device", .kind = BENCH_SIZE, .flags = BENCH_NOT_JSON),
    TUNE_COLUMN(side, .name = "side", .kind = BENCH_SIZE, .flags = BENCH_NOT_JSON),
    TUNE_COLUMN(label, .head = "kernel", .kind = BENCH_CHARS, .flags = BENCH_CUT, .width = -32),
    TUNE_COLUMN(row, .name = "row"),
    TUNE_COLUMN(result.what.tile, .name = "tile", .kind = BENCH_UINTS_3, .flags = BENCH_NOT_CSV),
    TUNE_COLUMN(result.what.tile[0], .name = "tile_m", .kind = BENCH_UINT, .flags = BENCH_NOT_JSON),
    TUNE_COLUMN(result.what.tile[1], .name = "tile_n", .kind = BENCH_UINT, .flags = BENCH_NOT_JSON),
    TUNE_COLUMN(result.what.tile[2], .name = "tile_k", .kind = BENCH_UINT, .flags = BENCH_NOT_JSON),
    TUNE_COLUMN(result.what.order, .name = "order", .kind = BENCH_UINT),
    TUNE_COLUMN(gflops, .name = "gflops", .head = "GFLOP/s", .kind = BENCH_NUMBER, .width = 10, .digits = 1),
    TUNE_COLUMN(result.chosen, .name = "kept", .kind = BENCH_BIT),
    TUNE_COLUMN(outcome, .head = "outcome", .kind = BENCH_CHARS, .flags = BENCH_CUT, .width = -7),
    TUNE_COLUMN(why, .name = "why", .flags = BENCH_OPTIONAL),
};
static const bench_table table = BENCH_TABLE(columns);

static tune_record describe_result(size_t device, size_t side, const hx__cl_tune_result *t) {
  tune_record r = {.device = device, .side = side, .result = *t, .row = t->what.row->name, .gflops = t->flops * 1e-9};
  const bool timed = t->flops > 0.0;
  name_of(&t->what, r.label, sizeof r.label);
  if (!timed) r.why = t->why ? t->why : "not tried";
  snprintf(r.outcome, sizeof r.outcome, "%s", t->chosen ? "kept" : "");
  return r;
}

#define KERNEL_SECONDS 4.0 /* building, testing and timing one; for the progress bar */

static bool next_kernel(const hx__cl_tuned *what, size_t index, size_t count) {
  char name[96];
  if (index == 0) bench_progress_begin(count, KERNEL_SECONDS * (double)count);
  name_of(what, name, sizeof name);
  bench_progress_row(name, KERNEL_SECONDS);
  return bench_stopped();
}

/* Prints the kernels that were timed as a table, and below it why the others were not. */
static void print_results(const tune_record *records, size_t count) {
  static tune_record timed[MOST_RESULTS];
  static bool winner[MOST_RESULTS];
  bench_layout layout = {0};
  size_t rows = 0;
  for (size_t i = 0; i < count; i++) {
    if (records[i].why) continue;
    winner[rows] = records[i].result.chosen;
    timed[rows++] = records[i];
  }
  const bench_group group = {&table, timed, rows, sizeof timed[0], NULL, winner};
  if (rows) bench_print_group(&layout, &group);
  for (size_t i = 0; i < count; i++)
    if (records[i].why) bench_note(2, "not timed: %s: %s", records[i].label, records[i].why);
}

/* Returns true if a result was stored. */
static bool tune_device(bench_session *session, size_t index, const void *unused) {
  static hx__cl_tune_result results[MOST_RESULTS];
  static tune_record records[MOST_RESULTS];
  hx__cl_device *const device = bench_opencl_device(session, index);
  size_t side = 0;
  bool kept = false;
  (void)unused;
  if (!hx__cl_device_open(device)) return false;
  const size_t count = hx__cl_tune(device, results, MOST_RESULTS, &side, next_kernel);
  bench_progress_erase();
  bench_say("\n");
  bench_note(0, "%s: products of %zu x %zu x %zu", session->name[index].label, side, side, side);
  bench_json_open(NULL, '{');
  bench_json_count("device", index);
  bench_json_count("side", side);
  bench_json_open("trials", '[');
  for (size_t t = 0; t < count; t++) {
    records[t] = describe_result(index, side, &results[t]);
    bench_store_row(&table, &records[t]);
    kept |= results[t].chosen;
  }
  print_results(records, count);
  bench_show_output();
  bench_json_close(']');
  bench_json_close('}');
  return kept;
}

static int tune_devices(bench_session *session, const void *unused) {
  bench_print_system(session);
  bench_show_output();
  bench_json_begin("tune");
  bench_system_json(session);
  bench_json_open("devices", '[');
  const bool fine = bench_opencl_each(session, tune_device, unused);
  bench_json_close(']');
  bench_json_end();
  if (fine)
    bench_say(hx__cache_dir_is_enabled() ? "\nstored in HX_CACHE_DIR\n" : "\nnothing is stored: HX_CACHE_DIR is off\n");
  return fine ? BENCH_OK : BENCH_FAILED;
}

int bench_cmd_tune(const bench_options *options) { return bench_session_run(options, NULL, true, tune_devices, NULL); }
