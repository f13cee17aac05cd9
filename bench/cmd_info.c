/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `info`: the machine, the numbered devices, and what is missing to use more of them. */
#include "bench/bench.h"
#include "bench/emit.h"
#include "bench/hints.h"
#include "bench/system.h"

static void print_note(const bench_session *session) {
  size_t refused = 0;
  for (size_t i = 0; i < session->device_count; i++) refused += session->device[i].state == HX_REFUSED;
  bench_say(
      "\nHX_DEVICES and --devices accept these numbers, and words for kinds and vendors (hx-bench env). memory: how "
      "arrays\nreach the device; copy: they are copied.\n");
  if (refused)
    bench_say("A refused device keeps its number; the line under it says why. --devices all tries every one.\n");
}

static int show_machine(bench_session *session, const void *unused) {
  (void)unused;
  bench_results results = {.failed = hx_ready(session->hx) != HX_OK};
  if (results.failed) fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
  bench_session_refresh(session);
  bench_print_system(session);
  bench_print_devices(session);
  print_note(session);
  bench_say("\nmissing:\n");
  if (!bench_hints(session)) bench_say("  nothing: every GPU of this machine is among the devices above\n");
  bench_results_write(session, &results, true);
  return results.failed ? BENCH_FAILED : BENCH_OK;
}

int bench_cmd_info(const bench_options *options) { return bench_session_run(options, NULL, false, show_machine, NULL); }
