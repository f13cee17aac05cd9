/* SPDX-License-Identifier: Apache-2.0
 * Tests whose parts each need a fresh process (drivers, lost devices and programs belong to the process): a table of
 * scenarios; the program starts itself once for each.
 *     test [--devices LIST] [--only NAME]  */
#ifndef HX_TESTS_SCENARIO_H
#define HX_TESTS_SCENARIO_H

#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/child.h"

typedef struct scenario {
  const char *name;
  void (*run)(void);
} scenario;

/* The LIST of --devices; NULL: none. */
static const char *scenario_devices;

enum { SCENARIO_SECONDS = 120 };

static inline int scenario_spawn(const char *name) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(SCENARIO_SECONDS); /* a hang is a failure */
    execl("/proc/self/exe", "test", "--only", name, scenario_devices ? "--devices" : NULL, scenario_devices,
          (char *)NULL);
    _exit(127);
  }
  return child_wait(child);
}

static inline int scenarios_main(int argc, char **argv, const char *title, const scenario *table, size_t count) {
  const char *only = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--devices") == 0) scenario_devices = argv[i + 1];
    if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  unsigned passed = 0, failed = 0;
  for (size_t i = 0; i < count; i++) {
    if (only && strcmp(only, table[i].name) == 0) {
      table[i].run();
      return checks_end(table[i].name);
    }
    if (only) continue;
    double start = seconds_now();
    int status = scenario_spawn(table[i].name);
    *(status == 0 || status == SKIPPED ? &passed : &failed) += 1;
    if (status != 0) printf("%s: exit status %d (%.1f s)\n", table[i].name, status, seconds_now() - start);
  }
  if (only) printf("%s: no such scenario\n", only);
  printf("%s: %u scenarios passed, %u failed\n", title, passed, failed);
  return failed > 0 || passed == 0;
}

#endif
