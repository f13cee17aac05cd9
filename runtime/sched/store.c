/* SPDX-License-Identifier: Apache-2.0
 * The model on disk: one file of the cache (base/cache_dir.h: replaced at once, with a checksum), under a key that
 * names the format of an entry and the CPU. Anything about it that makes no sense, and the table starts afresh. */
#include "runtime/sched/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/topo/topo.h"

#define FORMAT 5u /* of an entry, and of what its numbers mean */

static hx__model process = HX__MODEL_INIT;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static pthread_mutex_t saving = PTHREAD_MUTEX_INITIALIZER;
static uint64_t saved_changes; /* under the lock `saving` */

typedef struct name {
  char text[192];
} name;

static name key_of_file(void) {
  name n = {""};
  snprintf(n.text, sizeof n.text, "hx model %u, %zu bytes, %s", FORMAT, sizeof(hx__model_entry),
           hx__topo_get()->cpu_name);
  return n;
}

/* Takes over what the file holds; how many entries that were. */
static size_t merge_file(void) {
  if (!hx__cache_dir_is_enabled()) return 0;
  const name key = key_of_file();
  size_t bytes = 0, taken = 0;
  char *const data = hx__cache_get(key.text, sizeof key.text, &bytes, NULL);
  if (!data) return 0;
  const uint64_t now = hx__date_s();
  const bool whole = bytes % sizeof(hx__model_entry) == 0 && bytes / sizeof(hx__model_entry) <= HX__MODEL_ENTRIES;
  for (size_t at = 0; whole && at < bytes; at += sizeof(hx__model_entry)) {
    hx__model_entry e;
    memcpy(&e, data + at, sizeof e);
    taken += hx__model_merge(&process, &e, now);
  }
  free(data);
  return taken;
}

static void load(void) {
  const size_t taken = merge_file();
  if (hx__cache_dir_is_enabled()) atexit(hx__model_save); /* for programs that end without hx_close */
  if (taken) hx__log(HX__LOG_DEBUG, "the model has %zu entries from earlier processes", taken);
}

hx__model *hx__model_of_process(void) {
  if (!hx__in_forked_child()) pthread_once(&loaded, load);
  return &process;
}

void hx__model_save(void) {
  if (hx__in_forked_child() || !hx__cache_dir_is_enabled()) return;
  pthread_mutex_lock(&saving);
  hx__lock(&process.lock);
  const bool changed = process.changes != saved_changes;
  hx__unlock(&process.lock);
  hx__model_entry *const list = changed ? malloc(sizeof process.entry) : NULL;
  if (list) {
    merge_file();
    size_t count = 0;
    hx__lock(&process.lock);
    for (size_t i = 0; i < HX__MODEL_ENTRIES; i++)
      if (process.entry[i].samples) list[count++] = process.entry[i];
    saved_changes = process.changes;
    hx__unlock(&process.lock);
    const name key = key_of_file();
    hx__cache_put(key.text, sizeof key.text, list, count * sizeof *list);
    free(list);
  }
  pthread_mutex_unlock(&saving);
}
