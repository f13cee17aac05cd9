/* SPDX-License-Identifier: Apache-2.0
 * The power source of machines that the test describes. A power supply whose driver does not answer delays no call. */
#include <fcntl.h>
#include <sys/stat.h>

#include "runtime/base/power.h"
#include "tests/scenario.h"

enum { MOST_FILES = 6 };

static char folder[64];

static void make_folder(void) {
  snprintf(folder, sizeof folder, "/tmp/hx-power-XXXXXX");
  if (!mkdtemp(folder)) exit(1);
  hx__power_folder = folder;
}

static void remove_folder(void) {
  char command[100];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0, "%s", command);
}

/* text NULL: makes a pipe, which a reader never reads to its end. */
static void write_supply_file(const char *supply, const char *file, const char *text) {
  char path[160];
  snprintf(path, sizeof path, "%s/%s", folder, supply);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/%s/%s", folder, supply, file);
  if (!text) {
    if (mkfifo(path, 0600) != 0) exit(1);
    return;
  }
  FILE *const f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) exit(1);
}

static const struct {
  const char *what;
  struct {
    const char *supply, *file, *text;
  } file[MOST_FILES];
  hx__power source;
} rows[] = {
    {"no supplies", {{0}}, HX__POWER_MAINS},
    {"mains alone", {{"AC", "type", "Mains\n"}, {"AC", "online", "1\n"}}, HX__POWER_MAINS},
    {"a battery that is charged",
     {{"AC", "type", "Mains\n"}, {"AC", "online", "1\n"}, {"BAT0", "type", "Battery\n"}, {"BAT0", "status", "Full\n"}},
     HX__POWER_MAINS},
    {"on battery",
     {{"AC", "type", "Mains\n"},
      {"AC", "online", "0\n"},
      {"BAT0", "type", "Battery\n"},
      {"BAT0", "status", "Discharging\n"}},
     HX__POWER_BATTERY},
    {"a battery that helps mains out",
     {{"AC", "type", "USB\n"},
      {"AC", "online", "1\n"},
      {"BAT0", "type", "Battery\n"},
      {"BAT0", "status", "Discharging\n"}},
     HX__POWER_MAINS},
    {"a mouse's battery",
     {{"hid", "type", "Battery\n"}, {"hid", "scope", "Device\n"}, {"hid", "status", "Discharging\n"}},
     HX__POWER_MAINS},
    {"a file that is empty", {{"BAT0", "type", ""}, {"BAT0", "status", "Discharging\n"}}, HX__POWER_MAINS},
};

/* Each row has its own process, because the first read of a process counts. */
static void supplies_of_the_table(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    make_folder();
    for (int j = 0; j < MOST_FILES && rows[i].file[j].supply; j++)
      write_supply_file(rows[i].file[j].supply, rows[i].file[j].file, rows[i].file[j].text);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) { /* on a busy machine the read may take longer than the first call waits */
      const double until = seconds_now() + 20;
      while (hx__power_source() != rows[i].source && seconds_now() < until) usleep(1000);
      _exit((int)hx__power_source());
    }
    CHECK(child_wait(child) == (int)rows[i].source, "%s", rows[i].what);
    remove_folder();
  }
}

/* The cable is pulled, which hx notices about ten seconds later. */
static void supply_changes(void) {
  make_folder();
  write_supply_file("BAT0", "type", "Battery\n");
  write_supply_file("BAT0", "status", "Charging\n");
  const double from = seconds_now();
  CHECK(hx__power_source() == HX__POWER_MAINS, "not mains while the battery charges");
  usleep(500000); /* the first read has ended */
  write_supply_file("BAT0", "status", "Discharging\n");
  while (hx__power_source() == HX__POWER_MAINS && seconds_now() < from + 60) usleep(100000);
  CHECK(hx__power_source() == HX__POWER_BATTERY, "not noticed in %.0f s", seconds_now() - from);
  remove_folder();
}

static void no_folder(void) {
  hx__power_folder = "/nowhere";
  CHECK(hx__power_source() == HX__POWER_MAINS, "not mains without a folder");
}

static void supply_that_hangs(void) {
  make_folder();
  write_supply_file("BAT0", "type", "Battery\n");
  write_supply_file("BAT0", "status", NULL);
  const double from = seconds_now();
  for (int i = 0; i < 1000; i++)
    CHECK(hx__power_source() == HX__POWER_MAINS, "not mains although the supply does not answer");
  const double took = seconds_now() - from;
  printf("1000 calls beside a supply that does not answer: %.1f ms\n", 1e3 * took);
  CHECK(took < 5, "%.1f s", took);
  remove_folder();
}

int main(int argc, char **argv) {
  static const scenario table[] = {{"supplies_of_the_table", supplies_of_the_table},
                                   {"supply_changes", supply_changes},
                                   {"no_folder", no_folder},
                                   {"supply_that_hangs", supply_that_hangs}};
  return scenarios_main(argc, argv, "power_test", table, sizeof table / sizeof table[0]);
}
