/* SPDX-License-Identifier: Apache-2.0
 * Memory and threads that run out: what a program linked with --wrap asks of malloc and its kin and of pthread_create
 * is counted, refused at a chosen place, and every block is remembered until it is freed. */
#ifndef HX_TESTS_SCARCE_H
#define HX_TESTS_SCARCE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum scarce_kind { SCARCE_MEMORY, SCARCE_THREADS, SCARCE_KINDS } scarce_kind;

/* Counts requests from here on, on every thread. The nth of that kind is refused, and for_good: all of that kind that
 * follow, too. 0: none is. */
void scarce_begin(scarce_kind kind, unsigned long nth, bool for_good);
void scarce_end(void);
/* Requests of that kind since scarce_begin. */
unsigned long scarce_requests(scarce_kind kind);

/* Where blocks that are not freed were asked for, and how many of them; returns how many places there are. */
typedef struct scarce_site {
  const void *from;
  unsigned blocks;
} scarce_site;
size_t scarce_live(scarce_site *sites, size_t most);

#endif
