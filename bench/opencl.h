/* SPDX-License-Identifier: Apache-2.0
 * The OpenCL devices that hx uses, for subcommands that bypass hx_offload. */
#ifndef HX_BENCH_OPENCL_H
#define HX_BENCH_OPENCL_H

#include "bench/bench.h"

struct hx__cl_device;

/* The device with this number; NULL: it is not an OpenCL device, or not in use. */
struct hx__cl_device *bench_opencl_device(const bench_session *session, size_t index);

/* The text of hx_device_info.why. If that only counts the kernels that a device refuses, for lack of room, this one
 * names them. */
#define BENCH_WHY 4096u
void bench_device_why(const bench_session *session, size_t index, char out[BENCH_WHY]);

/* Runs the job for one device after another until the run is stopped. Returns false if a job failed, or, after printing
 * one sentence to stderr, if there is no device. */
typedef bool bench_device_job(bench_session *session, size_t index, const void *what);
bool bench_opencl_each(bench_session *session, bench_device_job *job, const void *what);

/* Names a device for tables and sentences. */
void bench_name_device(const hx_device_info *device, size_t index, struct bench_device_name *name);

#endif
