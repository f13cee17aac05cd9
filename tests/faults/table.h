/* SPDX-License-Identifier: Apache-2.0
 * The printed table of the fault matrix: entry points x kinds x modes. */
#ifndef HX_TESTS_FAULTS_TABLE_H
#define HX_TESTS_FAULTS_TABLE_H

#include "tests/faults/run.h"

/* Counts a cell. A cell that failed is printed at once, with the options that run it alone. */
void table_add(const cell *at, const outcome *o);

/* Prints the table and, last, a line `fault_matrix: ...`. Returns whether no cell failed. */
bool table_print(void);

#endif
