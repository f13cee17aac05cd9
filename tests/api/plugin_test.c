/* SPDX-License-Identifier: Apache-2.0
 * A plugin that is linked with hx is loaded, used and closed repeatedly, by threads that are not the main one and end
 * afterwards. Threads of hx must not run in unmapped memory then, and memory must not grow.
 *     plugin_test PLUGIN  */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/check.h"

enum { WARM = 3, CYCLES = 20, LIVES_MS = 300 };

static const char *path, *devices;

static void *load_and_unload_plugin(void *unused) {
  void *const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK(plugin != NULL, "%s", dlerror());
  if (!plugin) return unused;
  int (*const go)(const char *, float) = (int (*)(const char *, float))dlsym(plugin, "plugin_go");
  const int found = go(devices, 0.5f);
  CHECK(found == 0, "it returns %d", found);
  CHECK(dlclose(plugin) == 0, "%s", dlerror());
  return unused;
}

static size_t count_entries(const char *folder) {
  size_t count = 0;
  DIR *const d = opendir(folder);
  while (d && readdir(d)) count++;
  if (d) closedir(d);
  return count;
}

static void load_many_times(const char *list) {
  size_t threads = 0, descriptors = 0;
  devices = list;
  for (int i = 0; i < WARM + CYCLES; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, load_and_unload_plugin, NULL) != 0) exit(1);
    pthread_join(thread, NULL);
    if (i == WARM) threads = count_entries("/proc/self/task"), descriptors = count_entries("/proc/self/fd");
  }
  nanosleep(&(struct timespec){0, LIVES_MS * 1000000L},
            NULL); /* A thread that was left behind would wake in this time. */
  printf("  %s: threads %zu to %zu, descriptors %zu to %zu\n", list, threads, count_entries("/proc/self/task"),
         descriptors, count_entries("/proc/self/fd"));
  CHECK(count_entries("/proc/self/task") <= threads + 1, "threads grow");
  CHECK(count_entries("/proc/self/fd") <= descriptors + 1, "descriptors grow");
}

int main(int argc, char **argv) {
  if (argc != 2) return puts("usage: plugin_test PLUGIN"), 2;
  path = argv[1];
  load_many_times("cpu");
  load_many_times("cpu,pocl");
  return checks_end("plugin_test");
}
