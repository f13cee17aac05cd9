/* SPDX-License-Identifier: Apache-2.0
 * Memory and threads that run out: in a program linked with --wrap the calls of malloc and similar functions and of
 * pthread_create are counted, one of them is refused, and every block is noted until it is freed. */
#ifndef HX_TESTS_SCARCE_H
#define HX_TESTS_SCARCE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum scarce_kind { SCARCE_MEMORY, SCARCE_THREADS, SCARCE_KINDS } scarce_kind;

/* Counts requests from here on, on every thread. The nth request of this kind is refused, and if for_good, all later
 * ones of this kind, too. 0: none is refused. */
void scarce_begin(scarce_kind kind, unsigned long nth, bool for_good);
void scarce_end(void);
/* Requests of this kind since scarce_begin. */
unsigned long scarce_requests(scarce_kind kind);

/* The callers that allocated blocks that are not freed, and how many blocks of each; returns how many callers there
 * are. */
typedef struct scarce_site {
  const void *from;
  unsigned blocks;
} scarce_site;
size_t scarce_live(scarce_site *sites, size_t most);

#endif
