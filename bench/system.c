/* SPDX-License-Identifier: Apache-2.0
 * Describes the system, printed and in the JSON document. */
#include "bench/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bench/emit.h"
#include "bench/terminal.h"
#include "bench/text.h"
#include "runtime/topo/topo.h"

extern char **environ;

static double load[3] = {-1, -1, -1};

void bench_system_start(void) {
  if (getloadavg(load, 3) != 3) load[0] = load[1] = load[2] = -1;
}

bool bench_system_busy(void) { return load[0] > 0.5 * hx__topo_get()->cores; }

/* Prefixes of the names of variables that affect measurements, or which devices a driver shows. */
static const char *const prefixes[] = {"HX_",  "OMP_",    "GOMP_",   "POCL_",  "RUSTICL_", "LP_NUM",      "CL_CONFIG_",
                                       "OCL_", "OPENCL_", "MALLOC_", "CUDA_V", "ROCR_",    "ZE_AFFINITY", "radeonsi_"};

bool bench_system_records(const char *variable) {
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
    if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) return strchr(variable, '=') != NULL;
  return false;
}

typedef struct system_record {
  const char *hx_version, *compiler, *isa, *governor, *arrays;
  hx__topo topo;
  struct utsname kernel;
  uint32_t threads;
  bool stand_in;
  char policy[64]; /* the text of governor */
} system_record;

#define SYSTEM(value_kind, member, name) BENCH_FILE_COLUMN(system_record, value_kind, member, name)
static const bench_column columns[] = {
    SYSTEM(STRING, hx_version, "hx_version"),
    SYSTEM(STRING, compiler, "compiler"),
    SYSTEM(CHARS, topo.cpu_name, "cpu"),
    SYSTEM(UINT, topo.cores, "cores"),
    SYSTEM(UINT, topo.hardware_threads, "hardware_threads"),
    SYSTEM(UINT, threads, "threads"),
    SYSTEM(STRING, isa, "isa"),
    SYSTEM(SIZE, topo.l1_bytes, "l1_bytes"),
    SYSTEM(SIZE, topo.l2_bytes, "l2_bytes"),
    SYSTEM(SIZE, topo.l3_bytes, "l3_bytes"),
    SYSTEM(SIZE, topo.memory_bytes, "memory_bytes"),
    SYSTEM(CHARS, kernel.release, "kernel"),
    SYSTEM(CHARS, kernel.machine, "machine"),
    SYSTEM(STRING, governor, "governor"),
    SYSTEM(FLAG, stand_in, "stand_in"),
    SYSTEM(STRING, arrays, "arrays"),
};
static const bench_table table = BENCH_TABLE(columns);

static void describe_system(const bench_session *session, system_record *r) {
  *r = (system_record){.hx_version = hx_version(),
                       .compiler = __VERSION__,
                       .isa = bench_isa(),
                       .arrays = session->options->use_malloc ? "malloc" : "hx_alloc",
                       .topo = *hx__topo_get(),
                       .threads = session->threads,
                       .stand_in = session->stand_in};
  bench_read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", r->policy, sizeof r->policy);
  if (*r->policy) r->governor = r->policy;
  if (uname(&r->kernel) != 0) memset(&r->kernel, 0, sizeof r->kernel);
}

/* Prints the recorded variables, as many per line as fit. */
static void print_environment(void) {
  const size_t columns = bench_columns();
  size_t column = 0;
  for (char **variable = environ; *variable; variable++) {
    if (!bench_system_records(*variable)) continue;
    char text[512];
    bench_plain(*variable, text, sizeof text);
    const size_t length = bench_text_width(text);
    if (column && column + 1 + length > columns) bench_say("\n"), column = 0;
    if (length > columns) {
      bench_say_wrapped(text, 0, 2);
      continue;
    }
    bench_say("%s%s", column ? " " : "", text);
    column += (column != 0) + length;
  }
  if (column) bench_say("\n");
}

void bench_print_system(const bench_session *session) {
  system_record r;
  char name[128], memory[24], kinds[96] = "", extra[64] = "", when[48] = "";
  describe_system(session, &r);
  bench_plain(r.topo.cpu_name[0] ? r.topo.cpu_name : "CPU", name, sizeof name);
  bench_bytes_text(r.topo.memory_bytes, memory, sizeof memory);
  size_t used = 0;
  for (unsigned k = 0; r.topo.kinds > 1 && k < r.topo.kinds && used < sizeof kinds; k++)
    used += (size_t)snprintf(kinds + used, sizeof kinds - used, "%s%u", k ? "+" : " (", r.topo.kind_cores[k]);
  if (r.topo.hardware_threads != r.topo.cores)
    snprintf(extra, sizeof extra, ", %u hardware threads", r.topo.hardware_threads);
  bench_note(0, "hx-bench %s on %s, %u core%s%s%s%s, %s, hx uses %u thread%s and %s kernels", r.hx_version, name,
             r.topo.cores, r.topo.cores == 1 ? "" : "s", kinds, *kinds ? ")" : "", extra, memory, r.threads,
             r.threads == 1 ? "" : "s", r.isa);
  if (load[0] >= 0) snprintf(when, sizeof when, ", load %.2f at the start", load[0]);
  bench_note(0, "%s %s %s%s%s%s", r.kernel.sysname, r.kernel.release, r.kernel.machine, when,
             r.governor ? ", governor " : "", r.governor ? r.governor : "");
  if (bench_system_busy())
    bench_note(0, "Other programs are busy on this machine: times vary more than they would on a quiet one.");
  print_environment();
}

/* A path may name the user, and means nothing on another machine. */
static const char *value_in_file(const char *value, bool report) {
  return report && strchr(value, '/') ? "(a path)" : value;
}

static void environment_json(bool report) {
  bench_json_open("environment", '{');
  for (char **variable = environ; *variable; variable++) {
    if (!bench_system_records(*variable)) continue;
    const size_t length = strcspn(*variable, "=");
    char name[128];
    if (length >= sizeof name) continue;
    memcpy(name, *variable, length);
    name[length] = '\0';
    bench_json_text(name, value_in_file(*variable + length + 1, report));
  }
  bench_json_close('}');
}

/* The members of `system`. */
static void system_members(const bench_session *session, const system_record *r) {
  bench_json_members(&table, r);
  bench_json_open("load_average", '[');
  for (int i = 0; i < 3; i++) {
    const double value = load[i] >= 0 ? load[i] : NAN;
    bench_json_value(NULL, BENCH_NUMBER, &value);
  }
  bench_json_close(']');
  environment_json(session->options->report);
}

void bench_system_json(const bench_session *session) {
  system_record r;
  describe_system(session, &r);
  bench_json_open("system", '{');
  system_members(session, &r);
  bench_json_close('}');
  bench_json_line_begin("system");
  system_members(session, &r);
  bench_json_line_end();
}
