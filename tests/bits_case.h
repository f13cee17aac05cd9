/* SPDX-License-Identifier: Apache-2.0
 * A random case of the conformance test: a task, its arrays, and the right value of every byte of them after the call.
 * A case is a function of its seed, the context's memory and the limits. */
#ifndef HX_TESTS_BITS_CASE_H
#define HX_TESTS_BITS_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/hx.h"

#define BITS_BLOCKS 16
#define BITS_FIELDS 6

typedef struct bits_limits {
  size_t max_n;        /* elements of a reduction */
  uint64_t max_mnk;    /* multiply-adds of a product */
  uint64_t lines;      /* 0: no reductions of lines */
  uint64_t structures; /* different lists of fields, because a device has a program for each; 0: no lists */
} bits_limits;

/* Random numbers from a seed, in sequence. */
typedef struct bits_rng {
  uint64_t seed, next;
} bits_rng;

uint64_t bits_random(bits_rng *rng, uint64_t below); /* in [0, below) */

typedef enum bits_source { BITS_MALLOC, BITS_REGISTERED, BITS_HX_ALLOC, BITS_SOURCES } bits_source;

/* Memory with one array in it, shifted by a multiple of 4 bytes, with 0xff (NaN, -1) on both sides. `want` has the
 * right bytes after the call: inputs unchanged, outputs as the scalar definition gives them. */
typedef struct bits_block {
  const char *name;
  bits_source source;
  unsigned char *base, *want;
  size_t bytes, offset;
} bits_block;

typedef struct bits_case {
  uint64_t seed;
  hx_task task;
  hx_field fields[BITS_FIELDS];
  bits_block block[BITS_BLOCKS];
  size_t blocks;
  uint64_t units, slices; /* units and slices of the whole call */
  bool idle;              /* no device is needed: nothing to do, or alpha == 0 or k == 0 */
  unsigned mxcsr;         /* the caller's floating-point state */
  bool async;
  char text[512];
} bits_case;

/* Prints a line and returns false if hx_alloc or hx_register fails. bits_case_free frees the case in both cases. */
bool bits_case_make(bits_case *c, hx_context *hx, uint64_t seed, const bits_limits *limits);
bool bits_case_free(bits_case *c, hx_context *hx);

/* Units of the last `slices` slices of the call, which is what devices compute for a share that rounds to so many
 * slices. */
uint64_t bits_case_tail_units(const bits_case *c, uint64_t slices);

/* Whether every byte has the right value; if not, text says where. */
bool bits_case_equal(const bits_case *c, char *text, size_t bytes);

#endif
