/* SPDX-License-Identifier: Apache-2.0
 * The system block. */
#include "bench/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bench/emit.h"
#include "bench/text.h"
#include "runtime/topo/topo.h"

extern char **environ;

static double load[3] = {-1, -1, -1};

void bench_system_start(void) {
  if (getloadavg(load, 3) != 3) load[0] = load[1] = load[2] = -1;
}

bool bench_system_busy(void) { return load[0] > 0.5 * hx__topo_get()->cores; }

/* Variables that change what is measured, by how their names begin. */
static const char *const prefixes[] = {"HX_",    "OMP_",       "GOMP_", "POCL_",    "RUSTICL_",
                                       "LP_NUM", "CL_CONFIG_", "OCL_",  "OPENCL_L", "MALLOC_"};

static bool listed(const char *variable) {
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
    if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) return strchr(variable, '=') != NULL;
  return false;
}

/* The first line of a small file, or "". */
static char *read_line(const char *path, char *text, size_t bytes) {
  text[0] = '\0';
  FILE *f = fopen(path, "r");
  if (!f) return text;
  if (!fgets(text, (int)bytes, f)) text[0] = '\0';
  text[strcspn(text, "\n")] = '\0';
  fclose(f);
  return text;
}

static char *governor(char *text, size_t bytes) {
  return read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, bytes);
}

void bench_system_print(FILE *f, const bench_session *session) {
  const hx__topo *topo = hx__topo_get();
  struct utsname kernel;
  char name[128], policy[64], memory[24];
  if (uname(&kernel) != 0) memset(&kernel, 0, sizeof kernel);
  bench_plain(topo->cpu_name[0] ? topo->cpu_name : "CPU", name, sizeof name);
  bench_bytes_text(topo->memory_bytes, memory, sizeof memory);
  fprintf(f, "hx-bench %s   %s, %u cores", hx_version(), name, topo->cores);
  for (unsigned k = 0; topo->kinds > 1 && k < topo->kinds; k++) fprintf(f, "%s%u", k ? "+" : " (", topo->kind_cores[k]);
  if (topo->kinds > 1) fputc(')', f);
  if (topo->hardware_threads != topo->cores) fprintf(f, ", %u hardware threads", topo->hardware_threads);
  fprintf(f, ", %s, hx takes %u thread%s and %s kernels\n", memory, session->threads, session->threads == 1 ? "" : "s",
          bench_isa());
  fprintf(f, "%s %s %s", kernel.sysname, kernel.release, kernel.machine);
  if (load[0] >= 0) fprintf(f, ", load %.2f at the start", load[0]);
  if (*governor(policy, sizeof policy)) fprintf(f, ", governor %s", policy);
  fputc('\n', f);
  if (bench_system_busy())
    fputs("Other programs are busy on this machine: times vary more than they would on a quiet one.\n", f);
  size_t column = 0;
  for (char **variable = environ; *variable; variable++) {
    if (!listed(*variable)) continue;
    char text[BENCH_COLUMNS];
    size_t length = strlen(bench_plain(*variable, text, sizeof text - 1));
    if (column && column + 1 + length > BENCH_COLUMNS) column = 0, fputc('\n', f);
    column += (size_t)fprintf(f, "%s%s", column ? " " : "", text);
  }
  if (column) fputc('\n', f);
}

static void environment_json(void) {
  bench_json_open("environment", '{');
  for (char **variable = environ; *variable; variable++) {
    if (!listed(*variable)) continue;
    const size_t length = strcspn(*variable, "=");
    char name[128];
    if (length >= sizeof name) continue;
    memcpy(name, *variable, length);
    name[length] = '\0';
    bench_json_text(name, *variable + length + 1);
  }
  bench_json_close('}');
}

typedef struct system_record {
  const char *hx_version, *compiler, *isa, *governor, *arrays;
  hx__topo topo;
  struct utsname kernel;
  uint32_t threads;
  bool stand_in;
} system_record;

#define SYSTEM(value_kind, member, name) BENCH_FILE_COLUMN(system_record, value_kind, member, name)
static const bench_column system_columns[] = {SYSTEM(STRING, hx_version, "hx_version"),
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
                                              SYSTEM(STRING, arrays, "arrays")};
static const bench_table system_table = BENCH_TABLE(system_columns);

void bench_system_json(const bench_session *session) {
  char policy[64];
  system_record r = {.hx_version = hx_version(),
                     .compiler = __VERSION__,
                     .isa = bench_isa(),
                     .governor = *governor(policy, sizeof policy) ? policy : NULL,
                     .arrays = session->options->use_malloc ? "malloc" : "hx_alloc",
                     .topo = *hx__topo_get(),
                     .threads = session->threads,
                     .stand_in = session->stand_in};
  if (uname(&r.kernel) != 0) memset(&r.kernel, 0, sizeof r.kernel);
  bench_json_open("system", '{');
  bench_json_members(&system_table, &r);
  bench_json_open("load_average", '[');
  for (int i = 0; i < 3; i++) {
    const double value = load[i] >= 0 ? load[i] : NAN;
    bench_json_value(NULL, BENCH_NUMBER, &value);
  }
  bench_json_close(']');
  environment_json();
  bench_json_close('}');
}
