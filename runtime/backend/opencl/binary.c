/* SPDX-License-Identifier: Apache-2.0
 * Programs that passed their self-test, stored as binaries for later processes. The key is the text of all that the
 * binary depends on: hx, platform, device, driver, processor, options, source. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/backend/opencl/cl.h"
#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"

#define SELF_TEST 6u /* raised with each new case of the self-test, so that cached programs are tested again */

/* The header of a file, before the binary. */
typedef struct head {
  float seed;
  uint32_t reserved;
} head;

typedef struct key {
  char *text;
  size_t bytes;
} key;

static const cl_device_info device_facts[] = {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION,
                                              CL_DEVICE_OPENCL_C_VERSION};
static const cl_platform_info platform_facts[] = {CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, CL_PLATFORM_VERSION};

/* Drivers for the CPU may give different processors the same name. */
static void write_processor(FILE *f) {
  fprintf(f, "processor %lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#if defined(__x86_64__)
  for (unsigned leaf = 0; leaf <= 7; leaf += leaf ? 6 : 1) { /* 0: vendor, 1: model and features, 7: more features */
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(leaf, 0, &a, &b, &c, &d);
    fprintf(f, " %x %x %x %x", a, leaf == 1 ? 0 : b, c, d); /* EBX of leaf 1 contains the number of the current core */
  }
#endif
  fputc('\n', f);
}

/* Identifies the driver's file: a driver that was built anew may have the same version as the old one. */
static void write_library(FILE *f, const hx__cl_device *d) {
  Dl_info library;
  struct stat s;
  const void *const entry = clGetExtensionFunctionAddressForPlatform(d->platform, "clIcdGetPlatformIDsKHR");
  if (!entry || !dladdr(entry, &library) || !library.dli_fname || stat(library.dli_fname, &s) != 0) return;
  fprintf(f, "library %s %lld %lld.%09ld\n", library.dli_fname, (long long)s.st_size, (long long)s.st_mtim.tv_sec,
          s.st_mtim.tv_nsec);
}

void hx__cl_write_key(FILE *f, const hx__cl_device *d) {
  char text[1024];
  fprintf(f, "hx %s\nself-test %u\n", hx_version(), SELF_TEST);
  for (size_t i = 0; i < sizeof platform_facts / sizeof platform_facts[0]; i++) {
    text[0] = '\0';
    clGetPlatformInfo(d->platform, platform_facts[i], sizeof text - 1, text, NULL);
    fprintf(f, "platform %s\n", text);
  }
  for (size_t i = 0; i < sizeof device_facts / sizeof device_facts[0]; i++) {
    text[0] = '\0';
    clGetDeviceInfo(d->id, device_facts[i], sizeof text - 1, text, NULL);
    fprintf(f, "device %s\n", text);
  }
  fprintf(f, "compute units %u\n", d->base.compute_units); /* the cached rate depends on them */
  write_library(f, d);
  if (d->base.kind == HX_CPU_OPENCL) write_processor(f);
}

static key key_of(const hx__cl_device *d, hx__kernel_kind kind, const char *options) {
  key k = {NULL, 0};
  FILE *const f = open_memstream(&k.text, &k.bytes);
  if (!f) return k;
  hx__cl_write_key(f, d);
  fprintf(f, "options %s\n", options);
  for (const char *const *source = hx__kernel_sources(kind); *source; source++) fputs(*source, f);
  const bool complete = !ferror(f);
  if (fclose(f) == 0 && complete) return k;
  free(k.text);
  return (key){NULL, 0};
}

static cl_program program_of(hx__cl_device *d, const unsigned char *binary, size_t bytes, const char *options,
                             bool idle, cl_int *code) {
  cl_int status = CL_SUCCESS;
  cl_program program = clCreateProgramWithBinary(d->context, 1, &d->id, &bytes, &binary, &status, code);
  if (!program) return NULL;
  if (*code == CL_SUCCESS) *code = status;
  if (*code == CL_SUCCESS) *code = hx__cl_build(d, program, options, idle);
  if (*code == CL_SUCCESS) return program;
  if (!hx__cl_build_was_abandoned(*code)) clReleaseProgram(program); /* otherwise the build may still run: leaked */
  return NULL;
}

hx__cl_cached_program hx__cl_binary_load(hx__cl_device *d, hx__kernel_kind kind, const char *options, bool idle) {
  hx__cl_cached_program cached = {.program = NULL, .crash_mark = -1};
  if (!hx__cache_dir_is_enabled()) return cached;
  const key k = key_of(d, kind, options);
  if (!k.text) return cached;
  const uint64_t from = hx__now_ns();
  size_t bytes = 0;
  head h;
  char *const data = hx__cache_get(k.text, k.bytes, &bytes, &cached.crash_mark);
  free(k.text);
  if (!data) return cached;
  cl_int code = CL_INVALID_BINARY;
  if (bytes > sizeof h) {
    memcpy(&h, data, sizeof h);
    cached.program = program_of(d, (const unsigned char *)data + sizeof h, bytes - sizeof h, options, idle, &code);
    cached.seed = h.seed;
  }
  hx__log(HX__LOG_DEBUG, "%s: cached program of %zu bytes: %s in %.1f ms", d->base.name, bytes,
          cached.program ? "taken" : hx__cl_code_name(code), (double)(hx__now_ns() - from) * 1e-6);
  free(data);
  if (!cached.program) hx__cache_crash_mark_end(cached.crash_mark, false);
  return cached;
}

void hx__cl_binary_store(hx__cl_device *d, cl_program program, hx__kernel_kind kind, const char *options, float seed) {
  if (!hx__cache_dir_is_enabled()) return;
  const uint64_t from = hx__now_ns();
  const head h = {.seed = seed};
  size_t bytes = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS || !bytes) return;
  unsigned char *const data = calloc(sizeof h + bytes, 1), *binary = data ? data + sizeof h : NULL;
  const key k = key_of(d, kind, options);
  if (data && k.text && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS) {
    memcpy(data, &h, sizeof h);
    hx__cache_put(k.text, k.bytes, data, sizeof h + bytes);
    hx__log(HX__LOG_DEBUG, "%s: program of %zu bytes cached in %.1f ms", d->base.name, bytes,
            (double)(hx__now_ns() - from) * 1e-6);
  }
  free(k.text);
  free(data);
}
