/* SPDX-License-Identifier: Apache-2.0
 * Compares a few results of a device's chunk with the CPU before the chunk is delivered. A driver may report success
 * for work that was never done: Linux's i915 cancels a batch that hangs, and signals its end as if it had run. Old
 * contents of a buffer would then be taken for results. Because the arithmetic gives the same bits everywhere, a few
 * results computed from the caller's arrays show that the operands arrived, the kernels ran and the results came back.
 */
#ifndef HX_BACKEND_SPOT_CHECK_H
#define HX_BACKEND_SPOT_CHECK_H

#include "runtime/backend/backend.h"

/* The expected corners of a product's chunk: the first and last of its rows and columns. */
typedef struct hx__spot_check {
  bool active;       /* false: nothing is compared */
  size_t rows, cols; /* 1 or 2 of each */
  float corner[4];
} hx__spot_check;

/* Whether results of this request can be compared. Those of operands that only the device has cannot. Those of operands
 * in mirrors are not if the driver is known to report what it cancels: nothing is copied for such a call, so computing
 * the corners could take longer than the call does. */
bool hx__spot_check_is_possible(const hx__request *request, const hx__device *device);
/* Computes the corners of a product's chunk on the CPU, while the device computes the chunk: of its block t, or of C
 * itself if C stays on the device. */
void hx__spot_check_expect(hx__spot_check *spot, const hx__request *request, hx__chunk chunk);
/* Whether the block t of a product, with ldt floats from row to row, has the expected corners. */
bool hx__spot_check_product(const hx__spot_check *spot, const hx__request *request, hx__chunk chunk, const float *t,
                            size_t ldt);
/* Whether the first and the last element of a product's chunk are as expected. */
bool hx__spot_check_ends(const hx__spot_check *spot, const float ends[2]);
/* Whether three slots of each field of a reduction's chunk are right: of its first, middle and last leaf. slots:
 * field after field, each with the slots of all leaves; joined: as a launch that
 * joins its leaves stores them (kernels.h). */
bool hx__spot_check_slots(const hx__request *request, hx__chunk chunk, const uint64_t *slots, bool joined);

/* Of a map: the first element of a part of a chunk, one in the middle and the last. results: the first output of that
 * part; the others are `step` elements apart. */
bool hx__spot_check_map(const hx__request *request, hx__chunk part, const uint32_t *results, size_t step);

#endif
