/* SPDX-License-Identifier: Apache-2.0
 * Functions that the self-test and the first timing of a kernel (seed.c) share. Private to this folder. */
#ifndef HX_OPENCL_SELFTEST_H
#define HX_OPENCL_SELFTEST_H

#include "runtime/backend/opencl/stream.h"

/* A stream like those of runs. Its products, or its reductions of several fields, use the program `need` if that is one
 * of them. NULL if no queue could be created. */
hx__stream *hx__cl_test_stream(hx__cl_device *d, unsigned need);

/* Carries out one request on a stream, from the first slice to the last. *joined: the device joined the slots of a
 * chunk. */
hx__outcome hx__cl_run_once(hx__stream *stream, const hx__request *request, bool *joined);

/* Whether a device's slot of a leaf is right. All NaNs of sums and products are equal: the join stores the same one. */
bool hx__cl_same_slot(hx_op op, hx_type type, uint64_t got, uint64_t want);

/* The cases of several fields in one launch: NULL, or the reason why the program is refused. once: a single case. */
const char *hx__cl_test_fields(hx__stream *stream, hx__kernel_fields fields, bool once);
/* The cases of a reduction of lines: NULL, or the reason why it is refused. once: in one memory mode only. */
const char *hx__cl_test_lines(hx__stream *stream, hx_op op, hx_type type, bool once);
/* Nanoseconds of a reduction of lines of one leaf each; 0 after an error. */
float hx__cl_time_lines(hx__cl_device *device, hx__stream *stream, const hx_field *field, size_t elements);
/* Nanoseconds of the second of two equal requests; 0 after an error. */
uint64_t hx__cl_time_second(hx__stream *stream, const hx__request *request);

#endif
