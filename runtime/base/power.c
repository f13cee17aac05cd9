/* SPDX-License-Identifier: Apache-2.0
 * The power source, from sysfs. */
#define _GNU_SOURCE
#include "runtime/base/power.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"

#define FOLDER "/sys/class/power_supply"
#define LOOK_S 10u

/* The first word of a file of a supply. */
static bool read_word(int folder, const char *supply, const char *file, char *word, size_t bytes) {
  const int at = openat(folder, supply, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int fd = at >= 0 ? openat(at, file, O_RDONLY | O_CLOEXEC) : -1;
  const ssize_t got = fd >= 0 ? read(fd, word, bytes - 1) : -1;
  if (fd >= 0) close(fd);
  if (at >= 0) close(at);
  if (got <= 0) return false;
  word[got] = '\0';
  word[strcspn(word, " \n")] = '\0';
  return true;
}

/* On battery: one of the system's own discharges, and no mains is online. */
static hx__power look(void) {
  DIR *const dir = opendir(FOLDER);
  if (!dir) return HX__POWER_MAINS;
  bool discharging = false, online = false;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    char type[32], state[32];
    if (e->d_name[0] == '.' || !read_word(dirfd(dir), e->d_name, "type", type, sizeof type)) continue;
    if (strcmp(type, "Mains") == 0 || strcmp(type, "USB") == 0)
      online = online || (read_word(dirfd(dir), e->d_name, "online", state, sizeof state) && state[0] == '1');
    if (strcmp(type, "Battery") == 0 && !read_word(dirfd(dir), e->d_name, "scope", state, sizeof state))
      discharging = discharging || (read_word(dirfd(dir), e->d_name, "status", state, sizeof state) &&
                                    strcmp(state, "Discharging") == 0);
  }
  closedir(dir);
  return discharging && !online ? HX__POWER_BATTERY : HX__POWER_MAINS;
}

hx__power hx__power_source(void) {
  static _Atomic uint64_t looked_s;
  static _Atomic int source;
  const uint64_t now = hx__date_s(), last = atomic_load_explicit(&looked_s, memory_order_relaxed);
  if (now - last > LOOK_S) { /* or the date was set back */
    atomic_store_explicit(&looked_s, now, memory_order_relaxed);
    atomic_store_explicit(&source, (int)look(), memory_order_relaxed);
  }
  return (hx__power)atomic_load_explicit(&source, memory_order_relaxed);
}
