/* SPDX-License-Identifier: Apache-2.0
 * The model on disk: one file of the cache (base/cache_dir.h: replaced at once, with a checksum), under a key that
 * names the format of an entry and the CPU. If the file is not valid, the table starts empty. */
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

static hx__model process_model = HX__MODEL_INIT;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static pthread_mutex_t save_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t saved_changes; /* under save_lock */

typedef struct file_key {
  char text[192];
} file_key;

static file_key make_file_key(void) {
  file_key n = {""};
  snprintf(n.text, sizeof n.text, "hx model %u, %zu bytes, %s", FORMAT, sizeof(hx__model_entry),
           hx__topo_get()->cpu_name);
  return n;
}

/* Merges the entries of the file into the table. Returns how many were used. */
static size_t merge_file(void) {
  if (!hx__cache_dir_is_enabled()) return 0;
  const file_key key = make_file_key();
  size_t bytes = 0, taken = 0;
  char *const data = hx__cache_get(key.text, sizeof key.text, &bytes, NULL);
  if (!data) return 0;
  const uint64_t now = hx__date_s();
  const bool whole = bytes % sizeof(hx__model_entry) == 0 && bytes / sizeof(hx__model_entry) <= HX__MODEL_ENTRIES;
  for (size_t at = 0; whole && at < bytes; at += sizeof(hx__model_entry)) {
    hx__model_entry e;
    memcpy(&e, data + at, sizeof e);
    taken += hx__model_merge(&process_model, &e, now);
  }
  free(data);
  return taken;
}

static void load_model(void) {
  const size_t taken = merge_file();
  if (hx__cache_dir_is_enabled()) atexit(hx__model_save); /* for programs that end without hx_close */
  if (taken) hx__log(HX__LOG_DEBUG, "the model has %zu entries from earlier processes", taken);
}

hx__model *hx__model_of_process(void) {
  if (!hx__in_forked_child()) pthread_once(&loaded, load_model);
  return &process_model;
}

void hx__model_save(void) {
  if (hx__in_forked_child() || !hx__cache_dir_is_enabled()) return;
  pthread_mutex_lock(&save_lock);
  hx__lock(&process_model.lock);
  const bool changed = process_model.changes != saved_changes;
  hx__unlock(&process_model.lock);
  hx__model_entry *const list = changed ? malloc(sizeof process_model.entry) : NULL;
  if (list) {
    merge_file();
    size_t count = 0;
    hx__lock(&process_model.lock);
    for (size_t i = 0; i < HX__MODEL_ENTRIES; i++)
      if (process_model.entry[i].samples) list[count++] = process_model.entry[i];
    saved_changes = process_model.changes;
    hx__unlock(&process_model.lock);
    const file_key key = make_file_key();
    hx__cache_put(key.text, sizeof key.text, list, count * sizeof *list);
    free(list);
  }
  pthread_mutex_unlock(&save_lock);
}
