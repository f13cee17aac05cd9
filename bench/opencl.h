/* SPDX-License-Identifier: Apache-2.0
 * The OpenCL devices that hx uses, for subcommands that go under hx_offload. */
#ifndef HX_BENCH_OPENCL_H
#define HX_BENCH_OPENCL_H

#include "bench/bench.h"

struct hx__cl_device;

/* What hx has under this number; NULL: no OpenCL device that is in use. */
struct hx__cl_device *bench_opencl_device(const bench_session *session, size_t index);

/* The text of hx_device_info.why, and where that has no room and only counts the kernels that a device refuses, their
 * names. */
#define BENCH_WHY 4096u
void bench_device_why(const bench_session *session, size_t index, char out[BENCH_WHY]);

/* Does a job on one device after the other, until the run is stopped. False: one failed, or there is none, which a
 * sentence on stderr says. */
typedef bool bench_device_job(bench_session *session, size_t index, const void *what);
bool bench_opencl_each(bench_session *session, bench_device_job *job, const void *what);

#endif
