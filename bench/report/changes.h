/* SPDX-License-Identifier: Apache-2.0
 * Compares two documents, of one machine or of two. A time has changed if the medians differ by more than 5 % and
 * their 95 % intervals do not overlap; what differs by less is noise. A result has changed
 * if its bits differ: hx promises the same bits everywhere. */
#ifndef HX_BENCH_REPORT_CHANGES_H
#define HX_BENCH_REPORT_CHANGES_H

#include "bench/report/facts.h"

typedef struct change {
  char what[160];       /* "f32 sum 2^24, both" */
  double before, after; /* medians in seconds */
  double before_low, before_high, after_low, after_high;
  bool bits; /* the bits differ; the times may be the same */
} change;

typedef struct changes {
  change *list; /* what has changed, in the order of the new document */
  size_t count, room;
  size_t compared, faster, slower, bits, only_before, only_after;
} changes;

/* Returns false if there is no memory. */
bool changes_find(const facts *before, const facts *after, changes *c);
void changes_free(changes *c);
/* A sentence: how many times were compared, and how many differ. */
void changes_text(const changes *c, char *text, size_t bytes);

#endif
