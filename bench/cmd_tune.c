/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `tune`: times what the kernels of products leave open on every OpenCL device in use, and keeps the
 * winners in HX_CACHE_DIR for all programs on this machine. */
#include <string.h>

#include "bench/bench.h"
#include "bench/system.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/registry.h"
#include "runtime/base/cache_dir.h"

#define MOST_TRIALS (3 * HX__CL_TUNED) /* the orders of each row that may be kept */

/* The OpenCL device that hx has under this number, open; or NULL. */
static hx__cl_device *device_of(const bench_session *session, size_t index) {
  hx__device *const *list = NULL;
  const size_t count = hx__registry_devices(&list); /* OpenCL devices come just after the CPU */
  const hx_device_info *const info = &session->device[index];
  if (index == 0 || index > count || list[index - 1]->backend != &hx__opencl_backend) return NULL;
  if (info->state != HX_BUILDING && info->state != HX_USABLE) return NULL;
  hx__cl_device *const device = (hx__cl_device *)list[index - 1];
  return hx__cl_device_open(device) ? device : NULL;
}

static void name_of(const hx__cl_tune_result *t, char *text, size_t bytes) {
  const uint32_t *const tile = t->what.tile;
  const int used = snprintf(text, bytes, "%s", t->what.row->name);
  if (tile[0])
    snprintf(text + used, bytes - (size_t)used, " %ux%ux%u", tile[0], tile[1], tile[2]);
  else if (hx__kernel_of_set(t->what.row))
    snprintf(text + used, bytes - (size_t)used, " order %u", t->what.order);
}

static void print(FILE *f, const hx__cl_tune_result *t) {
  char name[96];
  name_of(t, name, sizeof name);
  if (t->flops > 0.0)
    fprintf(f, "  %-48s %10.1f GFLOP/s%s\n", name, t->flops * 1e-9, t->chosen ? "  kept" : "");
  else
    fprintf(f, "  %-48s %s\n", name, t->why ? t->why : "not tried");
}

static void write_json(FILE *f, size_t index, size_t side, const hx__cl_tune_result *trials, size_t count, bool first) {
  fprintf(f, "%s\n    {\"device\": %zu, \"side\": %zu, \"trials\": [", first ? "" : ",", index, side);
  for (size_t i = 0; i < count; i++)
    fprintf(f, "%s\n      {\"row\": \"%s\", \"tile\": [%u, %u, %u], \"order\": %u, \"gflops\": %.9g, \"kept\": %s}",
            i ? "," : "", trials[i].what.row->name, trials[i].what.tile[0], trials[i].what.tile[1],
            trials[i].what.tile[2], trials[i].what.order, trials[i].flops * 1e-9, trials[i].chosen ? "true" : "false");
  fputs("]}", f);
}

static void write_csv(FILE *f, size_t index, size_t side, const hx__cl_tune_result *trials, size_t count, bool first) {
  if (first) fputs("device,side,row,tile_m,tile_n,tile_k,order,gflops,kept\n", f);
  for (size_t i = 0; i < count; i++)
    fprintf(f, "%zu,%zu,%s,%u,%u,%u,%u,%.9g,%d\n", index, side, trials[i].what.row->name, trials[i].what.tile[0],
            trials[i].what.tile[1], trials[i].what.tile[2], trials[i].what.order, trials[i].flops * 1e-9,
            trials[i].chosen);
}

static int run(bench_session *session) {
  static hx__cl_tune_result trials[MOST_TRIALS];
  FILE *const human = session->human, *const json = bench_json_file(), *const csv = bench_csv_file();
  size_t tuned = 0;
  bool fine = true;
  if (human) bench_system_print(human, session);
  if (json) fputs("{\"schema\": 1, \"program\": \"hx-bench\", \"command\": \"tune\",\n  \"system\": ", json);
  if (json) bench_system_json(json, session);
  if (json) fputs(",\n  \"devices\": [", json);
  for (size_t i = 0; i < session->device_count && !bench_stopped(); i++) {
    hx__cl_device *const device = device_of(session, i);
    size_t side = 0, kept = 0;
    if (!device) continue;
    const size_t count = hx__cl_tune(device, trials, MOST_TRIALS, &side);
    if (human) fprintf(human, "\n%s: products of %zu x %zu x %zu\n", session->device[i].name, side, side, side);
    for (size_t t = 0; t < count; t++) {
      if (human) print(human, &trials[t]);
      kept += trials[t].chosen;
    }
    if (json) write_json(json, i, side, trials, count, tuned == 0);
    if (csv) write_csv(csv, i, side, trials, count, tuned == 0);
    fine = fine && kept > 0;
    tuned++;
    bench_measured();
  }
  if (json) fputs("]", json);
  if (json) bench_json_end(json);
  if (!tuned && !bench_stopped())
    fputs("hx-bench: no OpenCL device is in use (hx-bench info says why, and what is missing)\n", stderr);
  else if (tuned && human)
    fputs(hx__cache_dir_is_enabled() ? "\nkept in HX_CACHE_DIR\n" : "\nnothing kept: HX_CACHE_DIR is off\n", human);
  return tuned && fine ? BENCH_OK : BENCH_FAILED;
}

int bench_cmd_tune(const bench_options *options) {
  if (!bench_files_open(options)) return BENCH_USAGE;
  bench_session session;
  int status = bench_session_open(&session, options, true);
  if (status == BENCH_OK) {
    status = run(&session);
    bench_session_close(&session);
  }
  return bench_files_close() ? status : BENCH_FAILED;
}
