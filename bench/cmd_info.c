/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `info`: the machine, the numbered devices, what is missing. */
#include "bench/bench.h"
#include "bench/hints.h"
#include "bench/system.h"

static void print_note(FILE *f, const bench_session *session) {
  size_t refused = 0;
  for (size_t i = 0; i < session->device_count; i++) refused += session->device[i].state == HX_REFUSED;
  fputs(
      "\nThe number is what HX_DEVICES and --devices take; kinds and names are taken too (hx-bench env). memory: how "
      "an\n"
      "array reaches the device, copy meaning that it is copied.\n",
      f);
  if (refused)
    fputs("A refused device keeps its number; the line under it says why. --devices all tries every one.\n", f);
}

static int run(bench_session *session) {
  bench_results results = {.failed = hx_ready(session->hx) != HX_OK};
  if (results.failed) fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
  bench_session_refresh(session);
  FILE *f = session->human;
  if (f) {
    bench_system_print(f, session);
    bench_print_devices(session, f);
    print_note(f, session);
    fputs("\nmissing:\n", f);
  }
  if (!bench_hints(f, session, "") && f) fputs("  nothing: every GPU of this machine is among the devices above\n", f);
  bench_measured();
  bench_results_json(session, &results);
  bench_devices_csv(session);
  return results.failed ? BENCH_FAILED : BENCH_OK;
}

int bench_cmd_info(const bench_options *options) { return bench_session_run(options, NULL, false, run); }
