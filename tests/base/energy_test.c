/* SPDX-License-Identifier: Apache-2.0
 * Energy: counters in a folder that the test makes, the joules of a report, and what HX_OBJECTIVE does with counters
 * that can be read and with others. Each scenario runs in its own process, because counters belong to the process. */
#define _GNU_SOURCE
#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "runtime/api/explain.h"
#include "runtime/base/clock.h"
#include "runtime/base/energy.h"
#include "tests/scenario.h"

enum { N = 16 << 20, DEVICE_MS = 40 };

static char folder[64];

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
  (void)s, (void)type, (void)f;
  return remove(path);
}
static void remove_folder(void) { nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static void make_folder(void) {
  snprintf(folder, sizeof folder, "/tmp/hx-energy-XXXXXX");
  if (!mkdtemp(folder)) exit(1);
  atexit(remove_folder);
  hx__energy_folder = folder;
}

/* Writes once, so that a reader sees either the old number or the new one. */
static void write_zone_file(const char *zone, const char *file, const char *text) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s/%s", folder, zone, file);
  FILE *const f = fopen(path, access(path, F_OK) == 0 ? "r+" : "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) exit(1);
}

static void set_energy(const char *zone, uint64_t uj) {
  char text[24];
  snprintf(text, sizeof text, "%07llu\n", (unsigned long long)uj);
  write_zone_file(zone, "energy_uj", text);
}

static void make_zone(const char *zone, const char *name, uint64_t uj) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, zone);
  mkdir(path, 0700);
  write_zone_file(zone, "name", name);
  write_zone_file(zone, "max_energy_range_uj", "9999999\n");
  set_energy(zone, uj);
}

static void check_joules(hx__energy *e, double wanted, const char *what) {
  const double got = hx__energy_joules(e);
  CHECK(isnan(wanted) ? isnan(got) : fabs(got - wanted) < 1e-9, "%s: %.9g J, not %.9g", what, got, wanted);
}

/* The counters of a laptop, then of two packages. */
static void reads_counters(void) {
  make_folder();
  CHECK(!hx__energy_open("/nowhere"), "counters without a folder");
  CHECK(!hx__energy_open(folder), "counters in an empty folder");
  check_joules(NULL, NAN, "none");
  make_zone("intel-rapl:0", "package-0\n", 1000000);
  make_zone("intel-rapl:0:0", "core\n", 10);
  make_zone("intel-rapl:0:1", "uncore\n", 20);
  make_zone("intel-rapl:0:2", "dram\n", 3000000);
  make_zone("intel-rapl:1", "psys\n", 40);
  make_zone("intel-rapl-mmio:0", "package-0\n", 50);
  make_zone("intel-rapl:2", "package-1-die-0\n", 6000000);
  make_zone("intel-rapl:2x", "package-2\n", 60);
  hx__energy *const e = hx__energy_open(folder);
  CHECK(e != NULL, "no counters");
  check_joules(e, 0.0, "at once");
  static const char *const parts[] = {"intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1", "intel-rapl-mmio:0",
                                      "intel-rapl:2x"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) set_energy(parts[i], 5000000);
  check_joules(e, 0.0, "parts of packages, the platform, the same once more");
  set_energy("intel-rapl:0", 1500000);
  check_joules(e, 0.5, "a package");
  set_energy("intel-rapl:0:2", 3250000);
  check_joules(e, 0.75, "its memory");
  set_energy("intel-rapl:2", 8000000);
  check_joules(e, 2.75, "another package");
  set_energy("intel-rapl:2", 499999); /* 2 J up to the end of the range, and half a joule from its beginning */
  check_joules(e, 2.75 + 1.999999 + 0.499999, "from the start again");
  const double before = hx__energy_joules(e);
  write_zone_file("intel-rapl:2", "energy_uj", "nothing\n");
  set_energy("intel-rapl:0", 1600000);
  check_joules(e, NAN, "unreadable for a while");
  set_energy("intel-rapl:2", 599999);
  check_joules(e, before + 0.2, "and readable again");
  hx__sleep_ns(1100000000);
  check_joules(e, NAN, "stuck for a second");
  set_energy("intel-rapl:0", 1700000);
  check_joules(e, before + 0.3, "and on again");
  hx__energy_close(e);
  hx__energy_close(NULL);
}

/* If a package cannot be read there is no sum; if memory cannot be read there is one. The counter of the platform is
 * used only if there is no other. */
static void unreadable(void) {
  make_folder();
  make_zone("intel-rapl:0", "package-0\n", 1);
  make_zone("intel-rapl:1", "package-1\n", 1);
  make_zone("intel-rapl:1:0", "dram\n", 1);
  make_zone("intel-rapl:2", "psys\n", 1);
  write_zone_file("intel-rapl:1:0", "energy_uj", "-3\n");
  hx__energy *e = hx__energy_open(folder);
  CHECK(e != NULL, "memory that cannot be read hides the packages");
  set_energy("intel-rapl:1:0", 7000000);
  check_joules(e, 0.0, "memory that could not be read at first");
  hx__energy_close(e);
  write_zone_file("intel-rapl:1", "energy_uj", "x\n");
  CHECK(!hx__energy_open(folder), "a sum although one package cannot be read");
  set_energy("intel-rapl:1", 1);
  char path[200];
  snprintf(path, sizeof path, "%s/intel-rapl:1/energy_uj", folder);
  chmod(path, 0);
  if (geteuid() != 0) CHECK(!hx__energy_open(folder), "opened without permission");
  remove(path);
  CHECK(!hx__energy_open(folder), "opened although a file is missing");
  write_zone_file("intel-rapl:0", "name", "core\nxxxx");
  write_zone_file("intel-rapl:1", "name", "core\nxxxx");
  e = hx__energy_open(folder);
  CHECK(e != NULL, "psys is not used if it is the only counter");
  set_energy("intel-rapl:2", 500001);
  check_joules(e, 0.5, "psys is not used if it is the only counter");
  hx__energy_close(e);
}

static hx_context *open_here(const char *objective) {
  static char sim[64];
  hx_settings s = HX_SETTINGS_DEFAULT;
  snprintf(sim, sizeof sim, "rate=%g,latency_us=20", N * 1e3 / DEVICE_MS);
  s.devices = "cpu,sim";
  s.sim = sim;
  s.threads = "1";
  s.cache_dir = "off";
  s.objective = objective;
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  return hx;
}

static float x[N];

static hx_report sum_with_share(hx_context *hx, size_t n, float share) {
  static hx_value sum;
  hx_report report;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, n, &sum);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, &report));
  return report;
}

static void *add_energy_later(void *p) {
  (void)p;
  hx__sleep_ns(DEVICE_MS / 2 * 1000000u);
  set_energy("intel-rapl:0", 2500000);
  return NULL;
}

static void report_has_joules(void) {
  make_folder();
  make_zone("intel-rapl:0", "package-0\n", 0);
  hx_context *const hx = open_here("time");
  pthread_t thread;
  pthread_create(&thread, NULL, add_energy_later, NULL);
  const hx_report r = sum_with_share(hx, N, 1.0f);
  pthread_join(thread, NULL);
  CHECK(r.seconds >= 0.9e-3 * DEVICE_MS && fabs(r.joules - 2.5) < 1e-9, "%.9g J in %g s", r.joules, r.seconds);
  CHECK(isnan(sum_with_share(hx, N, 1.0f).joules), "counters that have not moved: %g J",
        sum_with_share(hx, N, 1.0f).joules);
  const hx_report quick = sum_with_share(hx, N / 8, 1.0f);
  CHECK(isnan(quick.joules) || quick.seconds >= 10e-3, "a call of %g s has joules", quick.seconds);
  CHECK(isnan(sum_with_share(hx, 1000, -1.0f).joules), "a small call has joules");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(isnan(sum_with_share(hx, N, -1.0f).joules) ? 0 : 1);
  CHECK(child_wait(child) == 0, "a forked child has joules");
  hx_close(hx);
}

static _Atomic bool ended;

#define WATTS 20.0

static void *draw_power(void *p) {
  const uint64_t from = hx__now_ns();
  (void)p;
  while (!atomic_load(&ended)) { /* the counter wraps around every half second */
    set_energy("intel-rapl:0", (uint64_t)((double)(hx__now_ns() - from) * 1e-3 * WATTS) % 10000000u);
    hx__sleep_ns(1000000);
  }
  return NULL;
}

/* What hx expects of the choices after some calls; after more calls if powers are needed and none is known, because a
 * call that other programs disturb is not measured. */
static hx__explanation explain(hx_context *hx, bool powers) {
  hx__explanation e = {0};
  hx_value sum;
  const hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  bool known = false;
  for (int i = 1; i <= 400 && !known; i++) {
    sum_with_share(hx, N, -1.0f);
    if (i % 24) continue;
    CHECK_OK(hx__explain(hx, &t, &e));
    known = !powers;
    for (unsigned c = 0; c < e.decision.choices; c++) known = known || e.decision.candidate[c].watts > 0.0;
  }
  return e;
}

/* The bounds are wide, because the counters of this test only move when their thread has a core. */
static bool watts_are_near(double watts) { return fabs(log(watts / WATTS)) < log(5.0); }

static void learns_objective(const char *objective, hx__objective wanted) {
  make_folder();
  make_zone("intel-rapl:0", "package-0\n", 0);
  hx_context *const hx = open_here(objective);
  pthread_t thread;
  pthread_create(&thread, NULL, draw_power, NULL);
  const hx_report r = sum_with_share(hx, N, 1.0f);
  CHECK(watts_are_near(r.joules / r.seconds), "%g J in %g s", r.joules, r.seconds);
  const hx_report quick = sum_with_share(hx, N / 8, 1.0f);
  CHECK(isnan(quick.joules) || quick.seconds >= 10e-3, "a call of %g s has joules", quick.seconds);
  const hx__explanation e = explain(hx, wanted != HX__OBJECTIVE_TIME);
  CHECK(e.source == HX__DECIDED_BY_COST && e.inputs.objective == wanted, "source %d, objective %d", e.source,
        e.inputs.objective);
  unsigned known = 0;
  for (unsigned i = 0; i < e.decision.choices; i++) {
    const hx__candidate *const o = &e.decision.candidate[i];
    known += o->watts > 0.0;
    CHECK(!(o->watts > 0.0) || watts_are_near(o->watts), "choice %u: %g W", i, o->watts);
  }
  CHECK(known >= (wanted != HX__OBJECTIVE_TIME) && (known == 0) == (wanted == HX__OBJECTIVE_TIME),
        "the power of %u choices is known", known);
  atomic_store(&ended, true);
  pthread_join(thread, NULL);
  hx_close(hx);
}
static void learns_by_time(void) { learns_objective("time", HX__OBJECTIVE_TIME); }
static void learns_by_energy(void) { learns_objective("energy", HX__OBJECTIVE_ENERGY); }
static void learns_by_edp(void) { learns_objective("edp", HX__OBJECTIVE_EDP); }

/* If there are no counters, or they stop, one warning is logged and choices are made by time. */
static void energy_without_counters(bool some) {
  make_folder();
  if (some) make_zone("intel-rapl:0", "package-0\n", 0);
  char path[100], text[4096] = "";
  snprintf(path, sizeof path, "%s/log", folder);
  const int was = dup(STDERR_FILENO);
  if (!freopen(path, "w", stderr)) exit(1);
  hx_context *const hx = open_here("energy"), *const other = open_here("edp");
  sum_with_share(hx, N, -1.0f);
  if (some) hx__sleep_ns(1100000000);
  const hx__explanation e = explain(hx, false);
  hx_close(other);
  hx_close(hx);
  fflush(stderr);
  dup2(was, STDERR_FILENO);
  FILE *const f = fopen(path, "r");
  const size_t bytes = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  const char *const said = strstr(text, "HX_OBJECTIVE");
  CHECK(e.source == HX__DECIDED_BY_COST && e.inputs.objective == HX__OBJECTIVE_TIME, "objective %d without counters",
        e.inputs.objective);
  CHECK(said && strstr(said, "time decides") && !strstr(said + 1, "HX_OBJECTIVE"), "said: %.*s", (int)bytes, text);
}
static void counters_absent(void) { energy_without_counters(false); }
static void counters_stopped(void) { energy_without_counters(true); }

int main(int argc, char **argv) {
  static const scenario table[] = {{"reads_counters", reads_counters},       {"unreadable", unreadable},
                                   {"report_has_joules", report_has_joules}, {"learns_by_time", learns_by_time},
                                   {"learns_by_energy", learns_by_energy},   {"learns_by_edp", learns_by_edp},
                                   {"counters_absent", counters_absent},     {"counters_stopped", counters_stopped}};
  memset(x, 0, sizeof x); /* so that no page of it is new while a counter moves */
  return scenarios_main(argc, argv, "energy_test", table, sizeof table / sizeof table[0]);
}
