/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer that makes a CPU device look like another one. DRESS=igpu or gpu: a GPU of no known vendor, which
 * shares the host's memory or has its own, so that a GPU's timeouts and rules apply. DRESS_ALLOC=BYTES: its
 * CL_DEVICE_MAX_MEM_ALLOC_SIZE; what asks for more in one piece is refused, and logged as a violation. DRESS_NAME and
 * DRESS_VENDOR: its name, and the PCI identity of its vendor in hexadecimal. DRESS_PLATFORM: its platform's name.
 * DRESS_AS=LAPTOP: all that dress_layer_laptops.h says of a laptop's GPU; a launch that this GPU could not run, and
 * shared virtual memory of a kind that it lacks, are violations. */
#include <stdbool.h>

#include "tests/layers/dress_layer_laptops.h"
#include "tests/layers/layer.h"

static bool dressed, unified;
static const char *name, *platform_name; /* NULL: as they are */
static cl_uint vendor;                   /* 0: as it is */
static cl_ulong most;                    /* the largest allocation, in bytes */
static const laptop *as;                 /* NULL: none */

static cl_int answer(const void *value, size_t bytes, size_t size, void *out, size_t *size_out) {
  if (size_out) *size_out = bytes;
  if (out && size < bytes) return CL_INVALID_VALUE;
  if (out) memcpy(out, value, bytes);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                                        size_t *size_out) {
  if (platform_name && what == CL_PLATFORM_NAME)
    return answer(platform_name, strlen(platform_name) + 1, size, value, size_out);
  return next.clGetPlatformInfo(platform, what, size, value, size_out);
}

/* What a laptop's GPU answers. Returns false if that is what the driver below says. */
static bool laptop_info(cl_device_info what, const void **value, size_t *bytes) {
  static const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  const struct {
    cl_device_info what;
    const void *value;
    size_t bytes;
  } facts[] = {
      {CL_DEVICE_TYPE, &gpu, sizeof gpu},
      {CL_DEVICE_VENDOR, as->vendor, strlen(as->vendor) + 1},
      {CL_DRIVER_VERSION, as->driver, strlen(as->driver) + 1},
      {CL_DEVICE_VERSION, as->version, strlen(as->version) + 1},
      {CL_DEVICE_EXTENSIONS, as->extensions, as->extensions ? strlen(as->extensions) + 1 : 0},
      {CL_DEVICE_VENDOR_ID, &as->vendor_id, sizeof as->vendor_id},
      {CL_DEVICE_MAX_COMPUTE_UNITS, &as->units, sizeof as->units},
      {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, &as->lanes, sizeof as->lanes},
      {CL_DEVICE_HOST_UNIFIED_MEMORY, &as->unified, sizeof as->unified},
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, &as->max_local, sizeof as->max_local},
      {CL_DEVICE_LOCAL_MEM_SIZE, &as->local_bytes, sizeof as->local_bytes},
      {CL_DEVICE_GLOBAL_MEM_SIZE, &as->memory, sizeof as->memory},
      {CL_DEVICE_SVM_CAPABILITIES, &as->svm, sizeof as->svm},
  };
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    if (facts[i].what != what || !facts[i].value) continue;
    *value = facts[i].value;
    *bytes = facts[i].bytes;
    return true;
  }
  return false;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                      size_t *size_out) {
  const void *fact;
  size_t bytes;
  if (name && what == CL_DEVICE_NAME) return answer(name, strlen(name) + 1, size, value, size_out);
  if (as && laptop_info(what, &fact, &bytes)) return answer(fact, bytes, size, value, size_out);
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
  const bool fine = flags & CL_MEM_SVM_FINE_GRAIN_BUFFER;
  if (as && !(as->svm & (fine ? CL_DEVICE_SVM_FINE_GRAIN_BUFFER : CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))) {
    layer_log("VIOLATION: clSVMAlloc of a kind that %s lacks", as->name);
    return NULL;
  }
  return fits_limit("clSVMAlloc", bytes) ? next.clSVMAlloc(context, flags, bytes, alignment) : NULL;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint waits, const cl_event *wait_list,
                                 cl_event *event) {
  size_t items = 1;
  cl_ulong bytes = 0;
  cl_device_id device = NULL;
  for (cl_uint d = 0; local && d < dimensions; d++) items *= local[d];
  if (next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) == CL_SUCCESS)
    next.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
  if (items > as->max_local) layer_log("VIOLATION: a group of %zu items on %s", items, as->name);
  if (bytes > as->local_bytes) layer_log("VIOLATION: %zu bytes of local memory on %s", (size_t)bytes, as->name);
  return next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

static const char *layer_name(void) { return "hx dress"; }

static void become(const char *word) {
  for (size_t i = 0; word && i < sizeof laptops / sizeof laptops[0]; i++)
    if (strcmp(laptops[i].word, word) == 0) as = &laptops[i];
  if (word && !as) layer_log("VIOLATION: DRESS_AS=%s: no such laptop", word);
  if (!as) return;
  name = as->name;
  platform_name = as->platform;
  most = as->most;
  mine.clEnqueueNDRangeKernel = launch;
}

static void layer_fill(void) {
  const char *dress = getenv("DRESS"), *alloc = getenv("DRESS_ALLOC"), *id = getenv("DRESS_VENDOR");
  name = getenv("DRESS_NAME");
  platform_name = getenv("DRESS_PLATFORM");
  vendor = id ? (cl_uint)strtoul(id, NULL, 16) : 0;
  dressed = dress && *dress;
  unified = dressed && strcmp(dress, "igpu") == 0;
  most = alloc ? strtoull(alloc, NULL, 10) : 0;
  become(getenv("DRESS_AS"));
  mine.clGetDeviceInfo = device_info;
  mine.clGetPlatformInfo = platform_info;
  if (!most) return;
  mine.clCreateBuffer = create_buffer;
  mine.clSVMAlloc = svm_alloc;
}
