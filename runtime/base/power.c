/* SPDX-License-Identifier: Apache-2.0
 * The power source, read from sysfs. Reading a supply makes its driver ask the firmware, which takes milliseconds on
 * some laptops and may hang. So a separate thread reads it, and calls use the last known value. */
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

#define READING_INTERVAL_S 10u
#define FIRST_WAIT_NS 20000000u /* for a reading: without one, a laptop on battery would count as on mains */

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

/* The machine is on battery if one of its own batteries is discharging and no mains supply is online. */
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

/* Desktops and servers have no supplies. Listing the names does not involve a driver. */
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
static _Atomic uint64_t last_reading_s;
static atomic_bool reading = true; /* a thread is reading, or there is nothing to read */

static void end_reading(void) {
  atomic_store_explicit(&last_reading_s, hx__date_s(), memory_order_relaxed);
  atomic_store_explicit(&reading, false, memory_order_release);
}

static void *read_supplies(void *unused) {
  (void)unused;
  atomic_store_explicit(&source, (int)hx__power_by(hx__power_folder), memory_order_relaxed);
  end_reading();
  pthread_mutex_lock(&lock);
  known = true;
  pthread_cond_broadcast(&seen);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static bool start_reading(void) {
  pthread_t thread;
  const bool started = hx__thread_start(&thread, read_supplies, NULL) == 0;
  if (started)
    pthread_detach(thread);
  else
    end_reading();
  return started;
}

static void first_reading(void) {
  hx__cond_init(&seen);
  if (!has_supplies()) return;
  const uint64_t until = hx__now_ns() + FIRST_WAIT_NS;
  if (!start_reading()) return;
  pthread_mutex_lock(&lock);
  while (!known && hx__cond_wait_until(&seen, &lock, until)) continue;
  pthread_mutex_unlock(&lock);
}

/* Whether the last reading is too old. Setting the clock back makes it count as old. */
static bool is_due(void) {
  return !atomic_load_explicit(&reading, memory_order_acquire) &&
         hx__date_s() - atomic_load_explicit(&last_reading_s, memory_order_relaxed) > READING_INTERVAL_S;
}

hx__power hx__power_source(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!hx__in_forked_child()) {
    pthread_once(&once, first_reading);
    if (is_due() && !atomic_exchange(&reading, true)) start_reading();
  }
  return (hx__power)atomic_load_explicit(&source, memory_order_relaxed);
}
