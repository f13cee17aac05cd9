/* SPDX-License-Identifier: Apache-2.0
 * Reads RAPL counters from sysfs. Zones are folders intel-rapl:N, and intel-rapl:N:M in them (intel-rapl-mmio:N shows
 * the same registers again). */
#define _GNU_SOURCE
#include "runtime/base/energy.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"

#define MOST_ZONES 64u /* packages or their dies, and a DRAM zone for each */
#define WORD 32
#define STUCK_NS 1000000000u

typedef struct zone {
  int fd;
  uint64_t range, last, total; /* microjoules; range: the counter's largest value */
} zone;

struct hx__energy {
  pthread_mutex_t lock;
  uint64_t sum, moved_ns; /* microjoules at the last reading, and when the sum last changed */
  unsigned zones;
  zone zone[MOST_ZONES];
};

const char *hx__energy_folder = "/sys/class/powercap";

typedef enum kind { OTHER, PACKAGE, DRAM, PSYS } kind;

static bool read_at(int fd, char word[WORD]) {
  const ssize_t got = fd >= 0 ? pread(fd, word, WORD - 1, 0) : -1;
  if (got <= 0) return false;
  word[got] = '\0';
  word[strcspn(word, "\n")] = '\0';
  return true;
}

static int open_in(int folder, const char *name, const char *file) {
  char path[300];
  const int length = snprintf(path, sizeof path, "%s/%s", name, file);
  return length > 0 && (size_t)length < sizeof path ? openat(folder, path, O_RDONLY | O_CLOEXEC) : -1;
}

static bool read_in(int folder, const char *name, const char *file, char word[WORD]) {
  const int fd = open_in(folder, name, file);
  const bool ok = read_at(fd, word);
  if (fd >= 0) close(fd);
  return ok;
}

/* A whole number of microjoules and nothing else. */
static bool parse_number(const char *word, uint64_t *value) {
  int end = 0;
  return word[0] >= '0' && word[0] <= '9' && sscanf(word, "%" SCNu64 "%n", value, &end) == 1 && word[end] == '\0';
}

static bool read_counter(const zone *z, uint64_t *value) {
  char word[WORD];
  return read_at(z->fd, word) && parse_number(word, value);
}

/* The kind of counter in a folder, from the folder's name (intel-rapl:N or intel-rapl:N:M) and the counter's own name.
 */
static kind counter_kind(int folder, const char *name) {
  unsigned zone_number, part;
  int top = 0, sub = 0;
  char word[WORD];
  if (sscanf(name, "intel-rapl:%u%n:%u%n", &zone_number, &top, &part, &sub) < 1 || !read_in(folder, name, "name", word))
    return OTHER;
  if (name[top] == '\0') return strncmp(word, "package", 7) == 0 ? PACKAGE : strcmp(word, "psys") == 0 ? PSYS : OTHER;
  return sub && name[sub] == '\0' && strcmp(word, "dram") == 0 ? DRAM : OTHER;
}

static bool add_zone(hx__energy *e, int folder, const char *name) {
  char word[WORD];
  zone z = {.fd = open_in(folder, name, "energy_uj")};
  const bool ok = e->zones < MOST_ZONES && read_counter(&z, &z.last) &&
                  read_in(folder, name, "max_energy_range_uj", word) && parse_number(word, &z.range);
  if (ok)
    e->zone[e->zones++] = z;
  else if (z.fd >= 0)
    close(z.fd);
  return ok;
}

/* Adds all counters of a kind; returns false if one cannot be read. */
static bool add_kind(hx__energy *e, DIR *dir, kind wanted) {
  bool all = true;
  rewinddir(dir);
  for (const struct dirent *d; (d = readdir(dir)) != NULL;)
    if (strncmp(d->d_name, "intel-rapl:", 11) == 0 && counter_kind(dirfd(dir), d->d_name) == wanted)
      all = add_zone(e, dirfd(dir), d->d_name) && all;
  return all;
}

hx__energy *hx__energy_open(const char *folder) {
  DIR *const dir = opendir(folder);
  hx__energy *const e = dir ? calloc(1, sizeof *e) : NULL;
  bool ok = e != NULL;
  if (ok) {
    pthread_mutex_init(&e->lock, NULL);
    ok = add_kind(e, dir, PACKAGE);
    if (ok && e->zones)
      add_kind(e, dir, DRAM); /* a zone that cannot be read is left out */
    else if (ok)
      add_kind(e, dir, PSYS);
    ok = ok && e->zones;
  }
  if (dir) closedir(dir);
  if (ok) return e;
  hx__energy_close(e);
  return NULL;
}

void hx__energy_close(hx__energy *e) {
  if (!e) return;
  for (unsigned i = 0; i < e->zones; i++) close(e->zone[i].fd);
  pthread_mutex_destroy(&e->lock);
  free(e);
}

double hx__energy_joules(hx__energy *e) {
  if (!e) return NAN;
  uint64_t sum = 0;
  bool ok = true;
  hx__lock(&e->lock);
  for (unsigned i = 0; i < e->zones; i++) {
    zone *const z = &e->zone[i];
    uint64_t now;
    if (!read_counter(z, &now)) {
      ok = false; /* for example a package that is asleep; the next reading includes what this one lacks */
      continue;
    }
    z->total += now >= z->last ? now - z->last : z->range >= z->last ? z->range - z->last + now : now;
    z->last = now;
    sum += z->total;
  }
  const uint64_t now_ns = hx__now_ns();
  if (sum != e->sum || !e->moved_ns) e->moved_ns = now_ns;
  e->sum = sum;
  ok = ok && now_ns - e->moved_ns < STUCK_NS;
  hx__unlock(&e->lock);
  return ok ? (double)sum * 1e-6 : NAN;
}

static hx__energy *process;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void open_process(void) {
  process = hx__energy_open(hx__energy_folder);
  hx__log(HX__LOG_DEBUG, "energy: %u counters under %s", process ? process->zones : 0u, hx__energy_folder);
}

hx__energy *hx__energy_of_process(void) {
  if (hx__in_forked_child()) return NULL;
  pthread_once(&opened, open_process);
  return process;
}
