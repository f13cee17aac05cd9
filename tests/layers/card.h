/* SPDX-License-Identifier: Apache-2.0
 * For layers that make a CPU device look like a discrete card: what such a card says of itself. */
#ifndef HX_TESTS_LAYERS_CARD_H
#define HX_TESTS_LAYERS_CARD_H

#include "tests/layers/layer.h"

/* clGetDeviceInfo of a GPU that has memory of its own. */
static cl_int CL_API_CALL card_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                    size_t *size_out) {
  const cl_int code = next.clGetDeviceInfo(device, what, size, value, size_out);
  if (code != CL_SUCCESS || !value) return code;
  if (what == CL_DEVICE_TYPE) *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
  if (what == CL_DEVICE_HOST_UNIFIED_MEMORY) *(cl_bool *)value = CL_FALSE;
  return code;
}

#endif
