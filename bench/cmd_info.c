/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `info`: the machine, the numbered devices, the OpenCL drivers, and what is missing to use more of
 * them. With --report it prints the same as text for a bug report. */
#include <dlfcn.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/emit.h"
#include "bench/hints.h"
#include "bench/names.h"
#include "bench/opencl.h"
#include "bench/system.h"

static void print_note(const bench_session *session) {
  size_t refused = 0;
  for (size_t i = 0; i < session->device_count; i++) refused += session->device[i].state == HX_REFUSED;
  bench_say("\n");
  bench_note(
      0,
      "HX_DEVICES and --devices accept these numbers, and words for kinds and vendors (hx-bench env). access: how "
      "arrays reach the device; copy: they are copied.");
  if (refused)
    bench_note(0,
               "A device that is refused or not in use keeps its number; the line under the table says why. --devices "
               "all tries every one.");
}

static void read_machine(const bench_session *session, bench_machine *machine) {
  bench_machine_read(machine, "");
  machine->icd_count = bench_icd_list(machine->icds, "");
  for (size_t i = 0; i < machine->icd_count; i++) bench_icd_try(&machine->icds[i]);
  void *const loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!loader) snprintf(machine->loader_fault, sizeof machine->loader_fault, "%s", dlerror());
  if (loader) dlclose(loader);
  machine->device_count = session->device_count;
  memcpy(machine->devices, session->device, sizeof machine->devices);
}

static void print_drivers(const bench_machine *machine) {
  bench_say("\nOpenCL drivers:%s\n", machine->icd_count ? "" : " none");
  for (size_t i = 0; i < machine->icd_count; i++) {
    const bench_icd *const icd = &machine->icds[i];
    char text[1024], devices[32] = "no device";
    if (icd->device_count)
      snprintf(devices, sizeof devices, "%zu device%s", icd->device_count, icd->device_count > 1 ? "s" : "");
    if (*icd->fault)
      snprintf(text, sizeof text, "%s: %s", bench_icd_name(icd), icd->fault);
    else
      snprintf(text, sizeof text, "%s: %s, %s", bench_icd_name(icd), *icd->platform ? icd->platform : "no platform",
               devices);
    bench_say("  ");
    bench_say_wrapped(text, 2, 4);
  }
}

static void print_hints(const bench_hint_list *hints) {
  bench_say("\nmissing:\n");
  if (!hints->count) bench_say("  nothing: every GPU of this machine is among the devices above\n");
  for (size_t i = 0; i < hints->count; i++) {
    const size_t indent = hints->hint[i].detail ? 6 : 4;
    bench_say("%*s- ", (int)indent - 2, "");
    bench_say_wrapped(hints->hint[i].text, indent, indent);
  }
}

static void print_report(const bench_machine *machine, const bench_hint_list *hints) {
  FILE *const file = bench_human_file();
  if (!file) return;
  bench_say("hx: %s\n", hx_version());
  bench_machine_write(machine, file);
  for (size_t i = 0; i < hints->count; i++) {
    char hidden[sizeof hints->hint[i].text];
    bench_say("hint:%s %s\n", hints->hint[i].detail ? " -" : "",
              bench_names_hide(hints->hint[i].text, hidden, sizeof hidden));
  }
}

static int show_machine(bench_session *session, const void *unused) {
  (void)unused;
  static bench_machine machine;
  static bench_hint_list hints;
  bench_results results = {.failed = !bench_session_ready(session)};
  read_machine(session, &machine);
  bench_hints_find(&machine, &hints);
  if (session->options->report) {
    print_report(&machine, &hints);
  } else {
    bench_print_system(session);
    bench_print_devices(session);
    print_note(session);
    print_drivers(&machine);
    print_hints(&hints);
  }
  bench_results_write(session, &results, true);
  return results.failed ? BENCH_FAILED : hints.unusable ? BENCH_UNUSABLE : BENCH_OK;
}

int bench_cmd_info(const bench_options *options) { return bench_session_run(options, NULL, false, show_machine, NULL); }
