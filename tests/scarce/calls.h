/* SPDX-License-Identifier: Apache-2.0
 * The calls of alloc_test: one row each, as data. */
#ifndef HX_TESTS_SCARCE_CALLS_H
#define HX_TESTS_SCARCE_CALLS_H

#include <stdbool.h>

#include "runtime/hx.h"

enum { MOST_FIELDS = 40 };

typedef struct row row;

/* A row in its process. */
typedef struct world {
  const row *row;
  hx_settings settings;
  bool driver; /* devices are a driver's: preparing all their kernels takes too long to be done often */
  hx_context *hx;
  hx_task task;
  hx_field fields[MOST_FIELDS];
  hx_value values[MOST_FIELDS];
  float *a, *b, *c;
  size_t c_floats; /* with the gaps of its rows */
  void *block;
} world;

struct row {
  const char *name;
  hx_status (*call)(world *);   /* with memory, or threads, running out */
  bool (*prepare)(world *);     /* before that; NULL: nothing. False: the row makes no sense here */
  hx_status (*finish)(world *); /* after that, before outputs are looked at; NULL: nothing */
  const char *devices, *sim, *threads, *min_offload;
  float share;
  /* A reduction of n elements: of `fields` fields, if there are any. */
  size_t n, fields;
  hx_op op;
  hx_type type;
  /* A product; gap: floats between rows. */
  size_t m, cols, k, gap;
  bool trans_a, trans_b, on_drivers; /* on_drivers: also with a driver's devices, where a process takes much longer */
  float alpha, beta;
};

extern const row scarce_rows[];
extern const size_t scarce_row_count;

/* The row's task, as a call. */
hx_status call_offload(world *w);
/* Whether the row's call does that task, so that HX_OK means that its outputs are there. */
bool scarce_computes(const row *r);

#endif
