/* SPDX-License-Identifier: Apache-2.0
 * The OpenCL calls of a child of the fault matrix without a fault. */
#ifndef HX_TESTS_FAULTS_PROFILE_H
#define HX_TESTS_FAULTS_PROFILE_H

#include "tests/faults/run.h"

typedef struct entry {
  char name[48];
  bool fails, silent;
  unsigned long calls[ARMS];
} entry;

/* The calls of a child without a fault, with one workload, memory mode and dress. */
typedef struct profile {
  entry entries[ENTRIES_MAX];
  int count;
  long live[LAYER_OBJECTS];
  bool served;
} profile;

/* Measures and prints a profile of a workload, memory mode and dress, and fills the cache for later children. Ends the
 * matrix if a child without a fault fails. s: a free slot, number 0. */
void profile_make(const matrix *m, slot *s, profile *p, cell of);

#endif
