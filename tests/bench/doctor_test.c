/* SPDX-License-Identifier: Apache-2.0
 * doctor_test [--write] FILE.machine...: what the doctor says of captured machines. A file holds the facts of one
 * machine as `hx-bench info --report` prints them (lines that begin with # are comments); FILE.hints beside it holds
 * the exact sentences. --write writes these files instead, to be read before they are committed. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "bench/hints.h"
#include "bench/intel_chip.h"
#include "tests/check.h"

enum { FIELDS = 8, TEXT = 1 << 16 };

static bench_machine machine;
static bench_hint_list hints;

static void take(char *out, size_t bytes, const char *field) {
  snprintf(out, bytes, "%.*s", (int)bytes - 1, strcmp(field, "-") == 0 ? "" : field);
}
#define TAKE(member, index) take(member, sizeof(member), field[index])

static unsigned index_of(const char *word, const char *(*name)(unsigned)) {
  for (unsigned i = 1; i < 8; i++)
    if (strcmp(name(i), word) == 0) return i;
  return 0;
}

static const char *kind_name(unsigned i) { return bench_kind_name((hx_device_kind)i); }
static const char *state_name(unsigned i) { return bench_state_name((hx_device_state)i); }

static void read_gpu(char field[FIELDS][1024]) {
  bench_gpu *const g = &machine.gpus[machine.gpu_count++];
  TAKE(g->address, 0);
  CHECK(sscanf(field[1], "%x:%x", &g->vendor, &g->device) == 2, "%s", field[1]);
  TAKE(g->kernel_driver, 2);
  TAKE(g->node, 3);
}

static void read_node(char field[FIELDS][1024]) {
  bench_node *const n = &machine.nodes[machine.node_count++];
  TAKE(n->path, 0);
  n->openable = strcmp(field[1], "opens") == 0;
  n->group_id = (unsigned)strtoul(field[2], NULL, 10);
  TAKE(n->group, 3);
  n->member = strcmp(field[4], "member") == 0;
}

static void read_icd(char field[FIELDS][1024]) {
  bench_icd *const icd = &machine.icds[machine.icd_count++];
  TAKE(icd->file, 0);
  TAKE(icd->path, 1);
  TAKE(icd->platform, 2);
  TAKE(icd->fault, 3);
}

static void read_icd_device(char field[FIELDS][1024]) {
  bench_icd *const icd = &machine.icds[machine.icd_count - 1];
  bench_icd_device *const d = &icd->devices[icd->device_count++];
  d->is_gpu = strcmp(field[0], "gpu") == 0;
  d->vendor = (unsigned)strtoul(field[1], NULL, 16);
  TAKE(d->address, 2);
  TAKE(d->name, 3);
}

static void read_device(char field[FIELDS][1024]) {
  hx_device_info *const d = &machine.devices[machine.device_count++];
  d->kind = (hx_device_kind)index_of(field[0], kind_name);
  d->state = (hx_device_state)index_of(field[1], state_name);
  CHECK(d->kind && d->state, "%s, %s", field[0], field[1]);
  TAKE(d->name, 2);
  TAKE(d->vendor, 3);
  TAKE(d->driver, 4);
  TAKE(d->memory, 5);
  TAKE(d->why, 6);
}

static void read_fact(const char *key, char field[FIELDS][1024]) {
  if (strcmp(key, "os") == 0) {
    TAKE(machine.os, 0);
    TAKE(machine.ids, 1);
  } else if (strcmp(key, "kernel") == 0) {
    TAKE(machine.kernel, 0);
  } else if (strcmp(key, "container") == 0) {
    machine.container = strcmp(field[0], "yes") == 0;
  } else if (strcmp(key, "nvidia") == 0) {
    TAKE(machine.nvidia_version, 0);
  } else if (strcmp(key, "intel") == 0) {
    TAKE(machine.intel_version, 0);
  } else if (strcmp(key, "libOpenCL.so.1") == 0) {
    if (strcmp(field[0], "loads") != 0) TAKE(machine.loader_fault, 0);
  } else if (strcmp(key, "variable") == 0) {
    TAKE(machine.variables[machine.variable_count].name, 0);
    TAKE(machine.variables[machine.variable_count++].value, 1);
  } else if (strcmp(key, "gpu") == 0) {
    read_gpu(field);
  } else if (strcmp(key, "node") == 0) {
    read_node(field);
  } else if (strcmp(key, "icd") == 0) {
    read_icd(field);
  } else if (strcmp(key, "icd device") == 0) {
    read_icd_device(field);
  } else if (strcmp(key, "device") == 0) {
    read_device(field);
  } else {
    CHECK(false, "there is no fact '%s'", key);
  }
}

/* KEY: FIELD | FIELD ... */
static void read_line(char *line) {
  static char field[FIELDS][1024];
  char *rest = strstr(line, ": ");
  CHECK(rest, "no fact: %s", line);
  if (!rest) return;
  *rest = '\0';
  rest += 2;
  for (size_t i = 0; i < FIELDS; i++) {
    char *const end = rest ? strstr(rest, " | ") : NULL;
    if (end) *end = '\0';
    snprintf(field[i], sizeof field[i], "%s", rest ? rest : "-");
    rest = end ? end + 3 : NULL;
  }
  CHECK(!rest, "more than %d fields: %s", FIELDS, rest);
  read_fact(line, field);
}

/* Also collects the lines that are no comments. */
static void read_machine(const char *path, char facts[TEXT]) {
  char line[4096];
  FILE *const file = fopen(path, "re");
  machine = (bench_machine){.gpu_count = 0};
  facts[0] = '\0';
  CHECK(file, "%s cannot be read", path);
  while (file && fgets(line, sizeof line, file)) {
    if (*line == '#') continue;
    strcat(facts, line);
    line[strcspn(line, "\n")] = '\0';
    read_line(line);
  }
  if (file) fclose(file);
}

static void print_hints(char text[TEXT]) {
  size_t used = 0;
  for (size_t i = 0; i < hints.count; i++)
    used +=
        (size_t)snprintf(text + used, TEXT - used, "%s- %s\n", hints.hint[i].detail ? "  " : "", hints.hint[i].text);
  snprintf(text + used, TEXT - used, "exit status %d\n", hints.unusable ? BENCH_UNUSABLE : BENCH_OK);
}

static void read_all(const char *path, char text[TEXT]) {
  FILE *const file = fopen(path, "re");
  text[file ? fread(text, 1, TEXT - 1, file) : 0] = '\0';
  if (file) fclose(file);
}

static void write_all(const char *path, const char *text) {
  FILE *const file = fopen(path, "we");
  if (file && fputs(text, file) >= 0 && fclose(file) == 0) return;
  CHECK(false, "%s cannot be written", path);
}

/* What `info --report` prints of the machine is the file itself. */
static void test_text(const char *path, const char *facts) {
  char *written = NULL;
  size_t bytes = 0;
  FILE *const file = open_memstream(&written, &bytes);
  bench_machine_write(&machine, file);
  fclose(file);
  CHECK(strcmp(written, facts) == 0, "%s:\n%sbut these facts are written as\n%s", path, facts, written);
  free(written);
}

static void test_machine(const char *path, bool write) {
  static char facts[TEXT], text[TEXT], expected[TEXT];
  char golden[4096];
  read_machine(path, facts);
  test_text(path, facts);
  bench_hints_find(&machine, &hints);
  print_hints(text);
  CHECK(hints.count < BENCH_HINTS, "%s: hints are missing", path);
  snprintf(golden, sizeof golden, "%.*s.hints", (int)(strlen(path) - strlen(".machine")), path);
  if (write) {
    write_all(golden, text);
    return;
  }
  read_all(golden, expected);
  CHECK(strcmp(text, expected) == 0, "%s:\n%sexpected:\n%s", path, text, expected);
}

/* The edges of the table, and neighbours that are other chips. */
static void test_chips(void) {
  static const struct {
    unsigned device;
    const char *name; /* NULL: served by today's driver */
  } cases[] = {{0x0a2e, "Haswell, Gen7.5"},
               {0x0a84, "Apollo Lake, Gen9"},
               {0x1602, "Broadwell, Gen8"},
               {0x1916, "Skylake, Gen9"},
               {0x22b1, "Braswell, Gen8"},
               {0x3185, "Gemini Lake, Gen9"},
               {0x3ea9, "Coffee Lake, Gen9"},
               {0x4571, "Elkhart Lake, Gen11"},
               {0x4e55, "Jasper Lake, Gen11"},
               {0x5917, "Kaby Lake, Gen9"},
               {0x8a52, "Ice Lake, Gen11"},
               {0x9bf6, "Comet Lake, Gen9"},
               {0x4626, NULL},
               {0x46a6, NULL},
               {0x4905, NULL},
               {0x4c8a, NULL},
               {0x56a0, NULL},
               {0x5690, NULL},
               {0x64a0, NULL},
               {0x7d55, NULL},
               {0x9a49, NULL},
               {0xa7a0, NULL},
               {0xe20b, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const bench_intel_chip *const chip = bench_intel_chip_of(cases[i].device);
    CHECK(cases[i].name ? chip && strcmp(chip->name, cases[i].name) == 0 : !chip, "%04x is %s", cases[i].device,
          chip ? chip->name : "in no row");
  }
}

int main(int argc, char **argv) {
  const bool write = argc > 1 && strcmp(argv[1], "--write") == 0;
  int machines = 0;
  unsetenv("USER"); /* or a word of a machine that is also the user's name would be hidden */
  unsetenv("LOGNAME");
  unsetenv("HOME");
  test_chips();
  for (int i = 1 + write; i < argc; i++) {
    if (!strstr(argv[i], ".machine")) continue;
    test_machine(argv[i], write);
    machines++;
  }
  CHECK(machines >= 16, "%d machines", machines);
  return checks_end("doctor_test");
}
