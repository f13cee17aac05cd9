/* SPDX-License-Identifier: Apache-2.0
 * The steps of `ladder lds`: patterns of reads from local memory, and copies into it. */
#ifndef HX_BENCH_LADDER_LDS_H
#define HX_BENCH_LADDER_LDS_H

#include "bench/ladder.h"

#define LDS_WORDS 4096u /* as in ladder_lds.cl */
#define LDS_UNROLL 16u
#define LDS_LANES 32u /* of a warp */
#define LDS_MOST_LOCAL 256u
#define LDS_NONE UINT32_MAX /* the lane reads nothing */

/* Reads of `width` words each. */
typedef struct lds_pattern {
  const char *name;
  unsigned width, rule;                         /* rule: transactions of a warp's access, by the text's rules */
  uint32_t (*place)(unsigned lane, unsigned n); /* the element that a lane reads, or LDS_NONE */
  unsigned n;                                   /* its second argument */
  bool is_conflict;                             /* of n lanes on one bank */
} lds_pattern;
extern const lds_pattern lds_patterns[];
extern const size_t lds_pattern_count;

/* Copies of `width` words each from global to local memory. */
typedef struct lds_copy {
  const char *name, *against; /* against: the copy that the gap is counted from; NULL: none */
  unsigned width, stages;
  int method;     /* as in ladder_lds.cl */
  int fill;       /* bytes that odd items copy, zeros being the rest; negative: all */
  unsigned fetch; /* bytes that the L2 cache reads at once; 0: nothing is said */
} lds_copy;
extern const lds_copy lds_copies[];
#define LDS_COPIES 18
#define LDS_REGISTERS 0 /* a method that every device has */

/* The sum that a lane, or an item of a group, has after so many accesses of each item. words: LDS_WORDS of them. */
uint32_t lds_expected_read(const lds_pattern *pattern, const uint32_t *words, unsigned lane, size_t accesses);
uint32_t lds_expected_copy(const lds_copy *copy, const uint32_t *words, unsigned item, unsigned local, size_t accesses);

#endif
