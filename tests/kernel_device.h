/* SPDX-License-Identifier: Apache-2.0
 * Kernels on a device by OpenCL 1.2 alone, without the runtime. */
#ifndef HX_TESTS_KERNEL_DEVICE_H
#define HX_TESTS_KERNEL_DEVICE_H

#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#endif
#include "runtime/backend/opencl/entries.h"

#include "kernels/kernels.h"

typedef struct kernel_device {
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  char name[128];
} kernel_device;

/* The devices of all platforms of this process, at most `most`; returns how many there are. */
cl_uint kernel_devices(cl_device_id *ids, cl_uint most);

/* Fills *d, whose context and queue are never released. False: the device gives none. */
bool kernel_device_open(kernel_device *d, cl_device_id id);

/* Builds the sources of a row after `first`. If they do not build, prints the log on stdout and returns NULL. */
cl_program kernel_program(const kernel_device *d, const hx__kernel_row *row, const char *first, const char *options);

/* A buffer with a copy of these bytes. */
cl_mem kernel_buffer(const kernel_device *d, const void *from, size_t bytes);

/* Arguments: 'm' a cl_mem, 'n' a ulong, 'f' a float, 'u' a uint. */
typedef union kernel_value {
  cl_mem m;
  cl_ulong n;
  cl_float f;
  cl_uint u;
} kernel_value;

/* Launches once and waits; prints an error on stdout. kinds: one letter for each argument. */
bool kernel_launch(const kernel_device *d, cl_program program, const char *name, const char *kinds,
                   const kernel_value *values, cl_uint dims, const size_t *groups, const uint32_t *local);

#endif
