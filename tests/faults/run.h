/* SPDX-License-Identifier: Apache-2.0
 * Children of the fault matrix: started, watched and judged, a few at a time. */
#ifndef HX_TESTS_FAULTS_RUN_H
#define HX_TESTS_FAULTS_RUN_H

#include <stddef.h>
#include <sys/types.h>

#include "tests/faults/cell.h"
#include "tests/faults/starved.h"

enum { SLOTS = 8, ENTRIES_MAX = 100 };

/* What all children of a run share. */
typedef struct matrix {
  const char *program; /* argv[0] */
  const char *fault_layer, *dress_layer, *scratch;
  int jobs;
} matrix;

typedef enum verdict { RIGHT, RED, NOT_REACHED } verdict;

typedef struct outcome {
  verdict verdict;
  bool late; /* failed only by the clock: a call did not end in time, or began too long after a loss */
  unsigned long faults;
  double slowest_ms;
  char slowest[32];
  char why[320];
} outcome;

/* What the matrix and a child share: memory whose descriptor is the child's argument. */
typedef struct shared {
  cell at;
  cell_result result;
  long live[LAYER_OBJECTS]; /* objects that a child without a fault holds, if has_live */
  bool has_live;
  char fault_layer[512];
} shared;

typedef struct slot {
  pid_t pid; /* 0: free */
  int fd;
  shared *memory;
  char log[512], text[512];
  const cell *at;
  int64_t call_ns; /* when the call began that `starved` measures */
  starved starved;
} slot;

/* Starts a child in a free slot: number 0 ... jobs-1. live: as child_main's. */
void run_start(const matrix *m, slot *s, int number, const cell *at, const long *live);

/* Whether the child has ended, by itself or because a call took longer than it may. */
bool run_ended(slot *s, outcome *o);

/* Keeps the cache of a slot's child; every later child with this workload begins with a copy of it. */
void run_keep_cache(const matrix *m, int number, fault_work work);

/* The child's side: runs the cell. */
int run_child(int fd);

#endif
