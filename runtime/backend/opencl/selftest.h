/* SPDX-License-Identifier: Apache-2.0
 * What the self-test and the first timing of a kernel share. Private to this folder. */
#ifndef HX_OPENCL_SELFTEST_H
#define HX_OPENCL_SELFTEST_H

#include "runtime/backend/opencl/lane.h"

/* A lane as runs open it; from HX__FIRST_PRODUCT on, one that takes the product's program `need`. NULL: no queue. */
hx__lane *hx__cl_test_lane(hx__cl_device *d, unsigned need);

/* One request through a lane, from the first slice to the last. */
hx__outcome hx__cl_run_once(hx__lane *lane, const hx__request *request);

#endif
