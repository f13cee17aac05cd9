/* SPDX-License-Identifier: Apache-2.0
 * A device's chunk compared with the CPU in a few places before it is delivered. A driver may report success for work
 * that was never done (Linux's i915 cancels a batch that hung and signals its end all the same); then old contents of a
 * buffer would pass for results. The arithmetic gives the same bits everywhere, so a few results of each chunk, taken
 * from the caller's own arrays, show that operands arrived, kernels ran and results came back. */
#ifndef HX_BACKEND_SPOT_H
#define HX_BACKEND_SPOT_H

#include "runtime/backend/backend.h"

/* The corners of a product's chunk: the first and last of its rows and columns. */
typedef struct hx__spot_check {
  bool taken;
  size_t rows, cols; /* 1 or 2 of each */
  float corner[4];
} hx__spot_check;

/* Computes what the chunk's corners are to be, while the device is at work. Not taken, or not compared: what stays on
 * the device, or is there already, so that the host may not have the same. */
void hx__spot_check_expect(hx__spot_check *spot, const hx__request *request, hx__chunk chunk);
/* Whether a product's block `t`, with ldt floats from row to row, has these corners. */
bool hx__spot_check_product(const hx__spot_check *spot, const hx__request *request, hx__chunk chunk, const float *t,
                            size_t ldt);
/* Whether slots of a reduction's chunk, field after field, are right: the first and last leaf of each field, and one
 * between them. */
bool hx__spot_check_slots(const hx__request *request, hx__chunk chunk, const uint64_t *slots);

#endif
