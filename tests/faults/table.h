/* SPDX-License-Identifier: Apache-2.0
 * The printed table of the fault matrix: entry points x kinds x modes. */
#ifndef HX_TESTS_FAULTS_TABLE_H
#define HX_TESTS_FAULTS_TABLE_H

#include "tests/faults/run.h"

/* Counts a cell; a red one is printed at once, with what runs it alone. */
void table_add(const cell *at, const outcome *o);

/* The table and, last, a line `fault_matrix: ...`; whether nothing was red. */
bool table_print(void);

#endif
