/* SPDX-License-Identifier: Apache-2.0
 * Which call of the fault layer is the one, and what becomes of it. */
#ifndef HX_TESTS_LAYERS_FAULT_LAYER_PLAN_H
#define HX_TESTS_LAYERS_FAULT_LAYER_PLAN_H

typedef enum fault_verdict { FAULT_PASS, FAULT_FAIL, FAULT_SILENT } fault_verdict;

/* The kernel that this thread enqueues next only copies an operand. Left out it may change nothing, because the copy of
 * the call before is still there: it does not count as a chunk then (layer_fault_t.chunks). */
extern _Thread_local int fault_plan_copies;

/* Reads the environment; says what is wrong with it and aborts. */
void fault_plan_read(void);

/* Counts a call of an entry. PASS: to the driver with it, late perhaps. FAIL: it returns fault_code(). One that hangs
 * does not come back. */
fault_verdict fault_plan_call(int entry);
int fault_code(void);

/* A call of the entry went well, or was made to look so: what the program holds now. With an event, where it got one.
 */
void fault_live(int entry, int event);

#endif
