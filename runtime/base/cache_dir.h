/* SPDX-License-Identifier: Apache-2.0
 * What hx stores for later processes: files in one folder (HX_CACHE_DIR), each found by its whole key. No function here
 * fails: a folder or file that cannot be used, or that another user could have written, counts as missing. */
#ifndef HX_BASE_CACHE_DIR_H
#define HX_BASE_CACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets the folder of the process; "" means no cache. Nothing is created before the first file is written. */
void hx__cache_dir_set(const char *path);
/* Called when a context with this folder opens. Because programs and the model belong to the process, the folder of the
 * first context is used as long as any context is open. If a later context names another folder, a message at level
 * info says that it is not used. */
void hx__cache_dir_join(const char *path);
void hx__cache_dir_leave(void); /* called when such a context ends */
/* Whether there is a cache; if not, keys need not be computed. */
bool hx__cache_dir_is_enabled(void);

/* Opens the folder and returns its descriptor, or -1. create: makes it, with mode 0700, if it does not exist. The
 * folder is used only if it belongs to this user and no other user may write to it. */
int hx__cache_dir_open(bool create);
/* Logs at level info why there is no cache, once for each folder that is set. */
void hx__cache_dir_log_disabled(const char *what, int error);

/* Removes the least recently used files until the rest takes at most HX__CACHE_BYTES. */
void hx__cache_trim(int folder);
#define HX__CACHE_BYTES ((uint64_t)256 << 20)
#define HX__CACHE_SUFFIX ".hxc" /* of files; one being written begins with a dot */

/* The contents stored under a key, which the caller frees. NULL if there are none that can be used; the reason is then
 * logged at level info. Contents that crashed a driver once would crash it again. So contents that go to a driver are
 * read with a crash_mark, to which the caller passes a pointer: the file is marked as in use until
 * hx__cache_crash_mark_end(*crash_mark). A file with the mark of a process that crashed is never used or replaced, and
 * a file that cannot be marked is not used. crash_mark is NULL for contents that only hx reads. */
void *hx__cache_get(const void *key, size_t key_bytes, size_t *bytes, int *crash_mark);
/* Removes the mark. Contents that did not pass are removed from the cache. */
void hx__cache_crash_mark_end(int crash_mark, bool passed);
/* Stores data under a key and replaces what was stored there, unless that file has a crash mark. */
void hx__cache_put(const void *key, size_t key_bytes, const void *data, size_t bytes);

#endif
