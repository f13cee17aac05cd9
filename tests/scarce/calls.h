/* SPDX-License-Identifier: Apache-2.0
 * The calls of alloc_test: one row each, as data. */
#ifndef HX_TESTS_SCARCE_CALLS_H
#define HX_TESTS_SCARCE_CALLS_H

#include <stdbool.h>

#include "runtime/hx.h"

enum { MOST_FIELDS = 40 };

typedef struct row row;

/* The data of one row in one process. */
typedef struct world {
  const row *row;
  hx_settings settings;
  bool driver; /* the devices are those of a driver: preparing all kernels takes too long to be done for each call */
  hx_context *hx;
  hx_task task;
  hx_field fields[MOST_FIELDS];
  hx_value values[MOST_FIELDS];
  float *a, *b, *c;
  size_t c_floats; /* with the gaps between its rows */
  void *block;
} world;

struct row {
  const char *name;
  hx_status (*call)(world *);   /* called while memory or threads are refused */
  bool (*prepare)(world *);     /* called before that; NULL: nothing. False: the row cannot be tested here */
  hx_status (*finish)(world *); /* called after that, before the outputs are checked; NULL: nothing */
  const char *devices, *sim, *threads, *min_offload;
  float share;
  /* A reduction of n elements, of `fields` fields if that is not 0. */
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

/* Offloads the row's task. */
hx_status call_offload(world *w);
/* Whether the row's call computes that task, so that its outputs have to be right after HX_OK. */
bool scarce_computes(const row *r);

#endif
