/* SPDX-License-Identifier: Apache-2.0
 * Marks in a file of the cache that say which processes are giving its contents to a driver at the moment. A mark is
 * one byte of the file with an advisory lock on that byte (an open-file-description lock), which the kernel releases
 * when the process ends, however it ends. So a mark without a lock was left by a process that crashed. No process
 * number is needed, which in a container could be the same each time. A process that exits normally removes its marks,
 * and a forked child does not keep its parent's locks alive. */
#ifndef HX_BASE_CRASH_MARK_H
#define HX_BASE_CRASH_MARK_H

#include <stdbool.h>
#include <sys/types.h>

#define HX__CRASH_MARKS 64 /* processes that may try one file at the same time */

typedef struct hx__crash_marks {
  unsigned char mark[HX__CRASH_MARKS];
} hx__crash_marks;

/* Whether every byte is either a mark or zero; *any tells whether there is a mark. */
bool hx__crash_marks_are_valid(const hx__crash_marks *marks, bool *any);

/* Marks the file; its marks begin at byte `at`. Returns NULL, or the reason why its contents must not be given to a
 * driver, with the error number that belongs to it, or 0, in *error. */
const char *hx__crash_mark_begin(int fd, off_t at, int *error);

#endif
