/* SPDX-License-Identifier: Apache-2.0
 * What hx keeps between processes: files in one folder (HX_CACHE_DIR), each found by its whole key. Nothing here fails
 * a caller: a folder or a file that cannot be used, or that others could have written, is as good as none. */
#ifndef HX_BASE_CACHE_DIR_H
#define HX_BASE_CACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The folder of the process from now on; "": none. Nothing is created before the first file. */
void hx__cache_dir_set(const char *path);
/* A context begins, with the folder that it would have: the process has that of the first one for as long as any is
 * open, because programs and the model are the process's. At level info it says whose folder is not taken. */
void hx__cache_dir_join(const char *path);
void hx__cache_dir_leave(void); /* it ends */
/* Whether there is one: else keys need not be made. */
bool hx__cache_dir_is_enabled(void);

/* A descriptor of the folder, or -1. create: makes it where it is missing, for its owner alone. Used only where it
 * belongs to this user and nobody else may write to it. */
int hx__cache_dir_open(bool create);
/* Says once for each folder that is set, at level info, why there is no cache. */
void hx__cache_dir_log_disabled(const char *what, int error);

/* Removes the files that were used longest ago until the rest keeps within HX__CACHE_BYTES. */
void hx__cache_trim(int folder);
#define HX__CACHE_BYTES ((uint64_t)256 << 20)
#define HX__CACHE_SUFFIX ".hxc" /* of files; one being written begins with a dot */

/* What is kept under a key, to be freed; NULL if nothing is, or nothing that may be used, and HX_LOG=info says why.
 * What a driver crashed of once it would crash of again. So what goes to a driver is got with a trial, which marks the
 * file as in use until hx__cache_crash_mark_end: a file with the mark of a process that died is never used again, nor
 * replaced, and a file that cannot be marked is not used. trial is NULL for what only hx itself reads. */
void *hx__cache_get(const void *key, size_t key_bytes, size_t *bytes, int *trial);
/* Ends the trial of a get that gave something. What did not pass is discarded. */
void hx__cache_crash_mark_end(int trial, bool passed);
/* Keeps it, in the place of what was there, unless that has the mark of a trial. */
void hx__cache_put(const void *key, size_t key_bytes, const void *data, size_t bytes);

#endif
