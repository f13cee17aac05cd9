/* SPDX-License-Identifier: Apache-2.0
 * The power source, from sysfs. Reading a supply asks its driver, which asks the firmware: that takes milliseconds on
 * some laptops, and may hang. So a thread of its own does it, and a call goes on with what the last look has found. */
#define _GNU_SOURCE
#include "runtime/base/power.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"

#define LOOK_S 10u
#define FIRST_NS 20000000u /* what the first call waits, so that it is not taken for one on mains */

const char *hx__power_folder = "/sys/class/power_supply";

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
hx__power hx__power_by(const char *folder) {
  DIR *const dir = opendir(folder);
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

/* Desktops and servers have none. This lists names and asks no driver. */
static bool has_supplies(void) {
  DIR *const dir = opendir(hx__power_folder);
  bool any = false;
  if (!dir) return false;
  for (const struct dirent *e; !any && (e = readdir(dir)) != NULL;) any = e->d_name[0] != '.';
  closedir(dir);
  return any;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t seen;
static bool known; /* under the lock */
static _Atomic int source = HX__POWER_MAINS;
static _Atomic uint64_t looked_s;
static atomic_bool looking = true; /* somebody is, or nobody ever needs to */

static void end_look(void) {
  atomic_store_explicit(&looked_s, hx__date_s(), memory_order_relaxed);
  atomic_store_explicit(&looking, false, memory_order_release);
}

static void *look_once(void *unused) {
  (void)unused;
  atomic_store_explicit(&source, (int)hx__power_by(hx__power_folder), memory_order_relaxed);
  end_look();
  pthread_mutex_lock(&lock);
  known = true;
  pthread_cond_broadcast(&seen);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static bool start_look(void) {
  pthread_t thread;
  const bool started = hx__thread_start(&thread, look_once, NULL) == 0;
  if (started)
    pthread_detach(thread);
  else
    end_look();
  return started;
}

static void first_look(void) {
  hx__cond_init(&seen);
  if (!has_supplies()) return;
  const uint64_t until = hx__now_ns() + FIRST_NS;
  if (!start_look()) return;
  pthread_mutex_lock(&lock);
  while (!known && hx__cond_wait_until(&seen, &lock, until)) continue;
  pthread_mutex_unlock(&lock);
}

/* Whether the last look is too old; a date that was set back makes it so. */
static bool is_due(void) {
  return !atomic_load_explicit(&looking, memory_order_acquire) &&
         hx__date_s() - atomic_load_explicit(&looked_s, memory_order_relaxed) > LOOK_S;
}

hx__power hx__power_source(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!hx__in_forked_child()) {
    pthread_once(&once, first_look);
    if (is_due() && !atomic_exchange(&looking, true)) start_look();
  }
  return (hx__power)atomic_load_explicit(&source, memory_order_relaxed);
}
