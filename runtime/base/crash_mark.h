/* SPDX-License-Identifier: Apache-2.0
 * Marks on a file of the cache: who has given its contents to a driver and has not yet said how that went. A mark is a
 * byte of the file with an advisory lock on that byte (an open-file-description lock), which the kernel gives back when
 * the process ends, however it ends. So a mark without a lock was left by a process that died, and no process number
 * is needed, which in a container would be the same each time. A process that ends in an orderly way takes its marks
 * back, and a forked child does not keep its parent's locks alive. */
#ifndef HX_BASE_CACHE_TRIAL_H
#define HX_BASE_CACHE_TRIAL_H

#include <stdbool.h>
#include <sys/types.h>

#define HX__CRASH_MARKS 64 /* processes that may try one file at the same time */

typedef struct hx__crash_marks {
  unsigned char mark[HX__CRASH_MARKS];
} hx__crash_marks;

/* Whether every byte is a mark or none; *any: whether one is. */
bool hx__crash_marks_are_valid(const hx__crash_marks *marks, bool *any);

/* Marks the file, whose marks begin at byte `at`. NULL, or why it may not be given to a driver; *error: the error
 * number that goes with it, or 0. */
const char *hx__crash_mark_begin(int fd, off_t at, int *error);

#endif
