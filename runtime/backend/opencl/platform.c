/* SPDX-License-Identifier: Apache-2.0
 * Lists every device of every platform that the ICD loader shows, with the platforms sorted by name. If there is no
 * platform, the list is empty. Only queries are made here: contexts are created when a kernel is requested. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/amd_chip.h"
#include "runtime/backend/opencl/maps.h"
#include "runtime/backend/opencl/driver_check.h"
#include "runtime/base/variable.h"

#define MAX_PLATFORMS 16
#define LEAST_MAX_ALLOC ((cl_ulong)32 << 20) /* the minimum that OpenCL requires; used if the query fails */
#define VENDOR_INTEL 0x8086u
#define VENDOR_AMD 0x1002u
#define VENDOR_NVIDIA 0x10deu

typedef struct platform {
  cl_platform_id id;
  char name[128];
} platform;

static int by_name(const void *a, const void *b) {
  return strcmp(((const platform *)a)->name, ((const platform *)b)->name);
}

static void device_text(cl_device_id id, cl_device_info what, char *text, size_t bytes) {
  char value[1024] = "";
  clGetDeviceInfo(id, what, sizeof value - 1, value, NULL);
  const char *from = value;
  while (*from == ' ') from++;
  snprintf(text, bytes, "%s", from);
}

/* The extensions of a device, which the caller frees. "" if the query fails, NULL if there is no memory. */
static char *extensions_of(cl_device_id id) {
  size_t bytes = 0;
  if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) != CL_SUCCESS) bytes = 0;
  char *text = calloc(bytes + 1, 1);
  if (text && bytes) clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, text, NULL);
  return text;
}

static bool has_extension(const char *all, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = all; at && (at = strstr(at, name)) != NULL; at += length)
    if ((at == all || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

/* "OpenCL 3.0 PoCL ..." gives 30. Text that cannot be parsed gives 12, the lowest version that hx supports. */
static unsigned version_of(const char *text) {
  unsigned major = 1, minor = 2;
  if (sscanf(text, "OpenCL %u.%u", &major, &minor) != 2) return 12;
  return major * 10 + minor;
}

static uint32_t sub_group_families(cl_device_id id, const char *extensions) {
  if (!has_extension(extensions, "cl_intel_subgroups") || !has_extension(extensions, "cl_intel_required_subgroup_size"))
    return 0;
  size_t sizes[16], bytes = 0;
  if (clGetDeviceInfo(id, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) != CL_SUCCESS) return 0;
  uint32_t families = 0;
  for (size_t i = 0; i < bytes / sizeof sizes[0]; i++)
    families |= sizes[i] == 8 ? HX__FAMILY_SUBGROUP8 : sizes[i] == 16 ? HX__FAMILY_SUBGROUP16 : 0;
  return families;
}

/* The version has the architecture from bit 22 on and the release from bit 14 on: 9.3 is Apollo Lake, 12.55 is DG2.
 * Drivers with another numbering report smaller values. */
static uint32_t intel_registers(cl_device_id id, const char *extensions) {
  enum { APOLLO_LAKE = 9 << 8 | 3, DG2 = 12 << 8 | 55 };
  cl_version version = 0;
  if (has_extension(extensions, "cl_intel_device_attribute_query"))
    clGetDeviceInfo(id, CL_DEVICE_IP_VERSION_INTEL, sizeof version, &version, NULL);
  const cl_version release = version >> 14;
  return (release >= DG2 ? HX__FAMILY_LARGE_GRF : 0) |
         (release > 0 && release != APOLLO_LAKE ? HX__FAMILY_FOUR_STEPS : 0);
}

/* rusticl does not answer the query, so that the chip's name decides there. */
static uint32_t amd_family(cl_device_id id, hx__amd_chip chip) {
  cl_uint width = chip.rdna ? 32 : 64;
  clGetDeviceInfo(id, CL_DEVICE_WAVEFRONT_WIDTH_AMD, sizeof width, &width, NULL);
  return width == 32 ? HX__FAMILY_AMD_RDNA : HX__FAMILY_AMD_GCN;
}

/* Why products are refused on a chip on which Mesa computes fma in software, or NULL. With some 220 instructions for an
 * fma the GPU is slower than the CPU, and the kernel takes seconds to compile. The bits would be right. */
static const char *slow_fma(const platform *p, hx__amd_chip chip) {
  char asked[8];
  if (strcmp(p->name, "rusticl") != 0 || chip.mesa_fma == HX__FMA_INSTRUCTION) return NULL;
  if (chip.mesa_fma == HX__FMA_SOFTWARE) return "its driver computes fma in software";
  if (hx__variable("radeonsi_force_use_fma32", asked, sizeof asked) && strcmp(asked, "true") == 0) return NULL;
  return "its driver computes fma in software unless radeonsi_force_use_fma32=true is in the environment";
}

static const struct {
  cl_uint vendor;
  uint32_t word, family;
  bool reports_cancelled;
} vendors[] = {{VENDOR_INTEL, HX__DEV_INTEL, HX__FAMILY_INTEL, false},
               {VENDOR_AMD, HX__DEV_AMD, 0, false},
               {VENDOR_NVIDIA, HX__DEV_NVIDIA, HX__FAMILY_NVIDIA, true}};

static const struct {
  const char *platform;
  uint32_t word, family;
} implementations[] = {{"Portable Computing Language", HX__DEV_POCL, 0},
                       {"rusticl", HX__DEV_RUSTICL, HX__FAMILY_RUSTICL}};

static void classify(hx__cl_device *d, const platform *p, const char *extensions) {
  cl_device_type type = 0;
  cl_uint vendor = 0;
  cl_bool unified = CL_FALSE;
  clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  clGetDeviceInfo(d->id, CL_DEVICE_VENDOR_ID, sizeof vendor, &vendor, NULL);
  clGetDeviceInfo(d->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
  const bool cpu = (type & CL_DEVICE_TYPE_CPU) != 0, amd = !cpu && vendor == VENDOR_AMD;
  const hx__amd_chip chip = amd ? hx__amd_chip_of(d->base.name) : (hx__amd_chip){.known = false};
  if (chip.integrated) unified = CL_TRUE; /* rusticl on radeonsi says CL_FALSE for every chip */
  d->slow_fma = slow_fma(p, chip);
  d->unified = cpu || unified;
  d->base.never_times_out = cpu;
  d->base.uses_cpu_cores = cpu;
  d->base.is_discrete = !d->unified;
  d->base.kind = cpu ? HX_CPU_OPENCL : unified ? HX_IGPU : HX_GPU;
  d->base.words = HX__DEV_ALL | (cpu ? HX__DEV_OPENCL_CPU : unified ? HX__DEV_IGPU : HX__DEV_GPU);
  /* A driver without native vectors uses work-items as vector lanes: the rows for any device suit it better than those
   * for CPUs. */
  cl_uint lanes = 1;
  clGetDeviceInfo(d->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof lanes, &lanes, NULL);
  d->families = !cpu || lanes < 2 ? 0 : HX__FAMILY_CPU | (lanes < 16 ? 0 : HX__FAMILY_CPU16);
  for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
    if (!cpu && vendor == vendors[i].vendor) {
      d->base.words |= vendors[i].word;
      d->families |= vendors[i].family;
      d->base.reports_cancelled = vendors[i].reports_cancelled;
    }
  if (amd) d->families |= amd_family(d->id, chip);
  d->families |= sub_group_families(d->id, extensions);
  const uint32_t sizes = d->families & (HX__FAMILY_SUBGROUP8 | HX__FAMILY_SUBGROUP16);
  if (d->families & HX__FAMILY_INTEL)
    d->families |= sizes == HX__FAMILY_SUBGROUP16 ? HX__FAMILY_WIDE : intel_registers(d->id, extensions);
  for (size_t i = 0; i < sizeof implementations / sizeof implementations[0]; i++)
    if (strcmp(p->name, implementations[i].platform) == 0) {
      d->base.words |= implementations[i].word;
      d->families |= implementations[i].family;
    }
}

static void find_usm(hx__cl_device *d, const char *extensions) {
  if (!has_extension(extensions, "cl_intel_unified_shared_memory")) return;
  cl_device_unified_shared_memory_capabilities_intel host = 0;
  clGetDeviceInfo(d->id, CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, sizeof host, &host, NULL);
  d->usm_alloc = (clHostMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(d->platform, "clHostMemAllocINTEL");
  d->usm_free = (clMemFreeINTEL_fn)clGetExtensionFunctionAddressForPlatform(d->platform, "clMemFreeINTEL");
  d->usm_arg = (clSetKernelArgMemPointerINTEL_fn)clGetExtensionFunctionAddressForPlatform(
      d->platform, "clSetKernelArgMemPointerINTEL");
  d->usm = (host & CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL) && d->usm_alloc && d->usm_free && d->usm_arg;
}

static hx__device *describe(const platform *p, cl_device_id id) {
  hx__cl_device *d = calloc(1, sizeof *d);
  char *extensions = extensions_of(id);
  char version[128];
  if (!d || !extensions) {
    free(d);
    free(extensions);
    return NULL;
  }
  pthread_mutex_init(&d->lock, NULL);
  pthread_mutex_init(&d->opening, NULL);
  hx__memory_jobs_init(&d->jobs, &d->base);
  d->platform = p->id;
  d->id = id;
  d->base.backend = &hx__opencl_backend;
  atomic_store(&d->base.tile_count, 1);
  device_text(id, CL_DEVICE_NAME, d->base.name, sizeof d->base.name);
  device_text(id, CL_DEVICE_VENDOR, d->base.vendor, sizeof d->base.vendor);
  device_text(id, CL_DRIVER_VERSION, d->base.driver, sizeof d->base.driver);
  device_text(id, CL_DEVICE_VERSION, version, sizeof version);
  d->version = version_of(version);
  cl_ulong memory = 0;
  clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof d->base.compute_units, &d->base.compute_units, NULL);
  clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
  d->base.max_alloc = LEAST_MAX_ALLOC;
  clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof d->base.max_alloc, &d->base.max_alloc, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof d->max_local, &d->max_local, NULL);
  d->base.memory_bytes = memory;
  if (!d->base.compute_units) d->base.compute_units = 1; /* a failed query leaves the value unchanged */
  if (d->version >= 20) clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof d->svm, &d->svm, NULL);
  classify(d, p, extensions);
  find_usm(d, extensions);
  free(extensions);
  return &d->base;
}

static size_t devices_of(const platform *p, hx__device **list, size_t max) {
  cl_device_id ids[HX_MAX_DEVICES];
  cl_uint found = 0;
  if (clGetDeviceIDs(p->id, CL_DEVICE_TYPE_ALL, HX_MAX_DEVICES, ids, &found) != CL_SUCCESS) return 0;
  if (found > HX_MAX_DEVICES) found = HX_MAX_DEVICES;
  size_t count = 0;
  for (cl_uint i = 0; i < found && count < max; i++)
    if ((list[count] = describe(p, ids[i])) != NULL) count++;
  return count;
}

static size_t discover(const hx__config *config, hx__device **list, size_t max) {
  (void)config;
  cl_platform_id ids[MAX_PLATFORMS];
  platform platforms[MAX_PLATFORMS];
  cl_uint found = 0;
  if (!hx__cl_load()) return 0;
  hx__driver_check_all();
  const cl_int code = clGetPlatformIDs(MAX_PLATFORMS, ids, &found);
  if (code != CL_SUCCESS) {
    hx__log(HX__LOG_INFO, "no OpenCL platform: clGetPlatformIDs returned %s (%d)", hx__cl_code_name(code), code);
    return 0;
  }
  if (found > MAX_PLATFORMS) found = MAX_PLATFORMS;
  for (cl_uint i = 0; i < found; i++) {
    platforms[i] = (platform){.id = ids[i]};
    clGetPlatformInfo(ids[i], CL_PLATFORM_NAME, sizeof platforms[i].name - 1, platforms[i].name, NULL);
  }
  qsort(platforms, found, sizeof platforms[0], by_name);
  size_t count = 0;
  for (cl_uint i = 0; i < found; i++) count += devices_of(&platforms[i], list + count, max - count);
  return count;
}

static const hx__backend_chunking chunking = {.grain = hx__cl_grain, .most = hx__cl_most_slices};
static const hx__backend_recovery recovery = {
    .recovered = hx__cl_recovered, .retire = hx__cl_retire, .abandon = hx__cl_abandon};
static const hx__backend_memory memory = {
    .alloc = hx__cl_job_alloc, .free = hx__cl_job_free, .pin = hx__cl_job_pin, .settle = hx__cl_jobs_settle};
static const hx__backend_residency residency = {
    .create = hx__cl_mirror_create, .destroy = hx__cl_job_mirror_destroy, .fetch = hx__cl_fetch};

const hx__backend hx__opencl_backend = {.name = "opencl",
                                        .discovery = HX__DISCOVER_PROCESS,
                                        .discover = discover,
                                        .open = hx__cl_stream_open,
                                        .close = hx__cl_stream_close,
                                        .begin = hx__cl_begin,
                                        .end = hx__cl_end,
                                        .submit = hx__cl_submit,
                                        .wait = hx__cl_wait,
                                        .deliver = hx__cl_deliver,
                                        .prepare = hx__cl_prepare,
                                        .map = hx__cl_map_state,
                                        .chunking = &chunking,
                                        .recovery = &recovery,
                                        .memory = &memory,
                                        .residency = &residency};
