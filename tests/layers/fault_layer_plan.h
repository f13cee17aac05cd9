/* SPDX-License-Identifier: Apache-2.0
 * Which call of the fault layer fails, and how. */
#ifndef HX_TESTS_LAYERS_FAULT_LAYER_PLAN_H
#define HX_TESTS_LAYERS_FAULT_LAYER_PLAN_H

typedef enum fault_verdict { FAULT_PASS, FAULT_FAIL, FAULT_SILENT } fault_verdict;

/* The kernel that this thread enqueues next only copies an operand. If it is left out, the copy of an earlier call may
 * still be there and nothing changes, so it does not count as a chunk (layer_fault_t.chunks). */
extern _Thread_local int fault_plan_copies;

/* Reads the environment; if something in it is wrong, logs that and aborts. */
void fault_plan_read(void);

/* Counts a call of an entry. PASS: the call goes to the driver, perhaps after a delay. FAIL: it returns fault_code().
 * For a call that hangs this function does not return. */
fault_verdict fault_plan_call(int entry);
int fault_code(void);

/* Notes that a call of the entry succeeded, or pretended to, and changes the count of references that the program
 * holds; event: the call returned an event. */
void fault_live(int entry, int event);

#endif
