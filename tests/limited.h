/* SPDX-License-Identifier: Apache-2.0
 * Functions for tests of processes in which the system refuses memory, threads or calls. Everything that they need is
 * allocated before the limit is set. */
#ifndef HX_TESTS_LIMITED_H
#define HX_TESTS_LIMITED_H

#include <stddef.h>

#include "runtime/hx.h"

/* Exit statuses of a child that limits itself; CHILD_VOID: the limit cannot be set here. */
enum { CHILD_RIGHT = 0, CHILD_VOID = 77, CHILD_WRONG_SUM = 4, CHILD_WRONG_PRODUCT = 5 };

/* Bytes of address space that this process uses. */
size_t address_space_bytes(void);

/* Prepares a sum of n ones and a product of matrices of side x side ones; n <= 2^22, side <= 640. Called once per
 * process. */
void limited_tasks_prepare(size_t n, size_t side);

/* Computes both with this share of devices; -1: hx decides. Returns CHILD_RIGHT if all bits are right; the sum, which
 * needs memory for slots, may also end with HX_OUT_OF_MEMORY. */
int limited_tasks_run(hx_context *hx, float share);

#endif
