/* SPDX-License-Identifier: Apache-2.0
 * Code that the OpenCL layers of the tests share (OPENCL_LAYERS, ocl-icd 2.3.1 or newer): the log and the two entry
 * points by which the loader finds a layer. A layer includes this once; it is one file, so the functions are static. */
#ifndef HX_TESTS_LAYERS_LAYER_H
#define HX_TESTS_LAYERS_LAYER_H

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <string.h>

#include "tests/layers/layer_log.h"

#define LAYER_EXPORT __attribute__((visibility("default")))

static cl_icd_dispatch next; /* the driver, or the layer below */
static cl_icd_dispatch mine; /* the same entries, some replaced by this layer's */

static void layer_fill(void); /* stores the layer's entries in `mine` */
static const char *layer_name(void);

LAYER_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_out) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const void *from = what == CL_LAYER_API_VERSION ? (const void *)&version : layer_name();
  size_t bytes = what == CL_LAYER_API_VERSION ? sizeof version : strlen(layer_name()) + 1;
  if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) return CL_INVALID_VALUE;
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value) memcpy(value, from, bytes);
  if (size_out) *size_out = bytes;
  return CL_SUCCESS;
}

LAYER_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_out,
                                            const cl_icd_dispatch **dispatch_out) {
  if (!target || !entries_out || !dispatch_out) return CL_INVALID_VALUE;
  size_t bytes = entries * sizeof(void *);
  memcpy(&next, target, bytes < sizeof next ? bytes : sizeof next);
  mine = next;
  layer_fill();
  *entries_out = sizeof mine / sizeof(void *);
  *dispatch_out = &mine;
  layer_log("%s loaded", layer_name());
  return CL_SUCCESS;
}

#endif
