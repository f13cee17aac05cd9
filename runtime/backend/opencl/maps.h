/* SPDX-License-Identifier: Apache-2.0
 * User kernels on a device: their text, their programs and their launches. Private to this folder. */
#ifndef HX_OPENCL_MAPS_H
#define HX_OPENCL_MAPS_H

#include "runtime/backend/opencl/stream.h"

/* The OpenCL C of an expression for a program of HX__KERNEL_MAP, or of HX__KERNEL_MAP_REDUCE (kernels.h says where it
 * belongs). NULL: no memory; freed by the caller. */
char *hx__cl_map_text(const hx__expr *expr, hx__kernel_kind kind);

/* The state of a work's user kernel (backend.h). */
hx__map_state hx__cl_map_state(hx__device *device, const hx__work *work, bool request, float *rate);

/* Builds and tests the kernels that were requested. */
void hx__cl_maps_prepare(hx__cl_device *device);

/* The number of a work's program among the device's maps; HX__CL_MAPS if it has none that can be launched. */
unsigned hx__cl_map_index(hx__cl_device *device, const hx__work *work);

/* Whether that program reduces the elements that it makes. */
bool hx__cl_map_reduces(hx__cl_device *device, const hx__work *work);

/* NULL if the program has hx's bits on this stream's device, otherwise the reason. *rate: units per nanosecond. */
const char *hx__cl_test_map(hx__stream *stream, const hx__cl_map *map, float *rate);

/* Enqueues the map or the map-reduce of a chunk, which writes to->out; map_to_view: the elements of a map-reduce, as a
 * view of a buffer of the stream, if they cannot be reduced in the same launch. Without `launch` they are there. */
hx__outcome hx__cl_launch_map(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, hx__cl_inflight *to);
hx__outcome hx__cl_launch_map_reduce(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                     hx__cl_inflight *to);
hx__outcome hx__cl_map_to_view(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, bool launch,
                               hx__cl_view *view);

#endif
