/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer that makes a CPU device look like a GPU of no known vendor, so that a GPU's timeouts and rules apply:
 * DRESS=igpu shares the host's memory, DRESS=gpu has memory of its own. */
#include <stdbool.h>

#include "tests/layers/layer.h"

static bool unified;

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                      size_t *size_out) {
  const cl_int code = next.clGetDeviceInfo(device, what, size, value, size_out);
  if (code != CL_SUCCESS || !value) return code;
  if (what == CL_DEVICE_TYPE) *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
  if (what == CL_DEVICE_HOST_UNIFIED_MEMORY) *(cl_bool *)value = unified;
  return code;
}

static const char *layer_name(void) { return "hx dress"; }

static void layer_fill(void) {
  const char *dress = getenv("DRESS");
  unified = dress && strcmp(dress, "igpu") == 0;
  mine.clGetDeviceInfo = device_info;
}
