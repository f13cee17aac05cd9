/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer that makes a CPU device look like another one. DRESS=igpu or gpu: a GPU of no known vendor, which
 * shares the host's memory or has its own, so that a GPU's timeouts and rules apply. DRESS_ALLOC=BYTES: its
 * CL_DEVICE_MAX_MEM_ALLOC_SIZE; what asks for more in one piece is refused, and logged as a violation. DRESS_NAME and
 * DRESS_VENDOR: its name, and the PCI identity of its vendor in hexadecimal. DRESS_PLATFORM: its platform's name. */
#include <stdbool.h>

#include "tests/layers/layer.h"

static bool dressed, unified;
static const char *name, *platform_name; /* NULL: as they are */
static cl_uint vendor;                   /* 0: as it is */
static cl_ulong most;                    /* the largest allocation, in bytes */

static cl_int answer(const char *text, size_t size, void *value, size_t *size_out) {
  const size_t bytes = strlen(text) + 1;
  if (size_out) *size_out = bytes;
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value) memcpy(value, text, bytes);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                                        size_t *size_out) {
  return platform_name && what == CL_PLATFORM_NAME ? answer(platform_name, size, value, size_out)
                                                   : next.clGetPlatformInfo(platform, what, size, value, size_out);
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                      size_t *size_out) {
  if (name && what == CL_DEVICE_NAME) return answer(name, size, value, size_out);
  const cl_int code = next.clGetDeviceInfo(device, what, size, value, size_out);
  if (code != CL_SUCCESS || !value) return code;
  if (vendor && what == CL_DEVICE_VENDOR_ID) *(cl_uint *)value = vendor;
  if (dressed && what == CL_DEVICE_TYPE) *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
  if (dressed && what == CL_DEVICE_HOST_UNIFIED_MEMORY) *(cl_bool *)value = unified;
  if (most && what == CL_DEVICE_MAX_MEM_ALLOC_SIZE) *(cl_ulong *)value = most;
  return code;
}

static bool fits_limit(const char *call, size_t bytes) {
  if (bytes > most) layer_log("VIOLATION: %s of %zu bytes, which is more than %zu", call, bytes, (size_t)most);
  return bytes <= most;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void *p, cl_int *code) {
  if (fits_limit("clCreateBuffer", bytes)) return next.clCreateBuffer(context, flags, bytes, p, code);
  if (code) *code = CL_INVALID_BUFFER_SIZE;
  return NULL;
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment) {
  return fits_limit("clSVMAlloc", bytes) ? next.clSVMAlloc(context, flags, bytes, alignment) : NULL;
}

static const char *layer_name(void) { return "hx dress"; }

static void layer_fill(void) {
  const char *dress = getenv("DRESS"), *alloc = getenv("DRESS_ALLOC"), *id = getenv("DRESS_VENDOR");
  name = getenv("DRESS_NAME");
  platform_name = getenv("DRESS_PLATFORM");
  vendor = id ? (cl_uint)strtoul(id, NULL, 16) : 0;
  dressed = dress && *dress;
  unified = dressed && strcmp(dress, "igpu") == 0;
  most = alloc ? strtoull(alloc, NULL, 10) : 0;
  mine.clGetDeviceInfo = device_info;
  mine.clGetPlatformInfo = platform_info;
  if (!most) return;
  mine.clCreateBuffer = create_buffer;
  mine.clSVMAlloc = svm_alloc;
}
