/* SPDX-License-Identifier: Apache-2.0
 * What the self-test and the first timing of a kernel share. Private to this folder. */
#ifndef HX_OPENCL_SELFTEST_H
#define HX_OPENCL_SELFTEST_H

#include "runtime/backend/opencl/stream.h"

/* A stream as runs open it; from HX__FIRST_PRODUCT on, one that takes the product's program `need`. NULL: no queue. */
hx__stream *hx__cl_test_stream(hx__cl_device *d, unsigned need);

/* One request through a stream, from the first slice to the last. *joined: the device joined the slots of a chunk. */
hx__outcome hx__cl_run_once(hx__stream *stream, const hx__request *request, bool *joined);

#endif
