/* SPDX-License-Identifier: Apache-2.0
 * Tests which memory modes work on a device. A mode counts as in place only if the host stores to the memory after a
 * first kernel has read it, without a map, and the next kernel sees the new value. That two pointers are equal proves
 * nothing. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/cl.h"

#define PAGE 4096u
#define WORDS (4u * PAGE / 4u)
#define FIRST 1031u /* an element of no special alignment, beyond the first page */

typedef struct mode_test {
  hx__cl_device *device;
  cl_command_queue queue;
  cl_kernel touch;
  cl_mem out;
} mode_test;

/* How memory of one mode is allocated, given to a kernel and freed. */
typedef struct mode_row {
  hx__memory_mode mode;
  bool (*offered)(const hx__cl_device *d);
  uint32_t *(*get)(mode_test *t, cl_mem *mem);
  cl_int (*set)(mode_test *t, cl_mem mem, uint32_t *p);
  void (*put)(mode_test *t, cl_mem mem, uint32_t *p);
} mode_row;

static uint32_t *get_pages(mode_test *t, cl_mem *mem) {
  (void)t;
  (void)mem;
  return aligned_alloc(PAGE, WORDS * 4u);
}
static void put_pages(mode_test *t, cl_mem mem, uint32_t *p) {
  (void)t;
  if (mem) clReleaseMemObject(mem);
  free(p);
}
static cl_int set_svm(mode_test *t, cl_mem mem, uint32_t *p) {
  (void)mem;
  return clSetKernelArgSVMPointer(t->touch, 0, p);
}

static bool offers_system(const hx__cl_device *d) { return (d->svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0; }

static bool offers_fine(const hx__cl_device *d) { return (d->svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0; }
static uint32_t *get_fine(mode_test *t, cl_mem *mem) {
  (void)mem;
  return clSVMAlloc(t->device->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, WORDS * 4u, 0);
}
static void put_fine(mode_test *t, cl_mem mem, uint32_t *p) {
  (void)mem;
  clSVMFree(t->device->context, p);
}

static bool offers_usm(const hx__cl_device *d) { return d->usm; }
static uint32_t *get_usm(mode_test *t, cl_mem *mem) {
  (void)mem;
  return hx__cl_usm_alloc(t->device, WORDS * 4u);
}
static cl_int set_usm(mode_test *t, cl_mem mem, uint32_t *p) {
  (void)mem;
  return hx__cl_usm_arg(t->device, t->touch, 0, p);
}
static void put_usm(mode_test *t, cl_mem mem, uint32_t *p) {
  (void)mem;
  hx__cl_usm_free(t->device, p);
}

static bool offers_hostptr(const hx__cl_device *d) {
  (void)d;
  return true;
}
static uint32_t *get_hostptr(mode_test *t, cl_mem *mem) {
  uint32_t *p = aligned_alloc(PAGE, WORDS * 4u);
  cl_int code;
  if (p) *mem = clCreateBuffer(t->device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, WORDS * 4u, p, &code);
  if (p && *mem) return p;
  free(p);
  return NULL;
}
static cl_int set_hostptr(mode_test *t, cl_mem mem, uint32_t *p) {
  (void)p;
  return clSetKernelArg(t->touch, 0, sizeof mem, &mem);
}

static const mode_row mode_rows[] = {
    {HX__MEMORY_SVM_SYSTEM, offers_system, get_pages, set_svm, put_pages},
    {HX__MEMORY_SVM_FINE, offers_fine, get_fine, set_svm, put_fine},
    {HX__MEMORY_USM, offers_usm, get_usm, set_usm, put_usm},
    {HX__MEMORY_HOSTPTR, offers_hostptr, get_hostptr, set_hostptr, put_pages},
};

/* Runs hx_touch and returns the element that it read. */
static uint32_t read_by_kernel(mode_test *t) {
  const cl_ulong first = FIRST;
  const size_t one = 1;
  uint32_t seen = 0;
  if (clSetKernelArg(t->touch, 1, sizeof first, &first) != CL_SUCCESS ||
      clSetKernelArg(t->touch, 2, sizeof t->out, &t->out) != CL_SUCCESS ||
      clEnqueueNDRangeKernel(t->queue, t->touch, 1, NULL, &one, &one, 0, NULL, NULL) != CL_SUCCESS ||
      clEnqueueReadBuffer(t->queue, t->out, CL_TRUE, 0, sizeof seen, &seen, 0, NULL, NULL) != CL_SUCCESS)
    return 0;
  return seen;
}

static void test_mode(mode_test *t, const mode_row *w) {
  cl_mem mem = NULL;
  uint32_t *const p = w->get(t, &mem);
  if (!p) return;
  p[FIRST] = 0x5ca1ab1eu;
  if (w->set(t, mem, p) == CL_SUCCESS && read_by_kernel(t) == 0x5ca1ab1eu) {
    *(volatile uint32_t *)&p[FIRST] = 0x0ddba115u;
    const bool in_place = read_by_kernel(t) == 0x0ddba115u;
    /* Shared virtual memory that is not in place is broken. A host pointer may be copied and still give right
     * results. */
    if (in_place || w->mode == HX__MEMORY_HOSTPTR) t->device->base.modes |= 1u << w->mode;
    if (in_place) t->device->base.zero_copy |= 1u << w->mode;
  }
  w->put(t, mem, p);
}

/* Replaces the host's map. Returns false if that fails, or if the host cannot read the same values between the two
 * calls: threads of another call, or of the program, may read the memory just then. The kernel of the operating system
 * does the read, because it survives memory that is not there. */
static bool replace_map(mode_test *t, uint32_t *p, cl_map_flags flags) {
  static const size_t kBytes = WORDS * 4u;
  uint32_t *const before = malloc(2 * kBytes);
  if (!before) return false;
  uint32_t *const between = before + WORDS;
  memcpy(before, p, kBytes);
  const bool same = clEnqueueSVMUnmap(t->queue, p, 0, NULL, NULL) == CL_SUCCESS && clFinish(t->queue) == CL_SUCCESS &&
                    hx__cl_read_host(between, p, kBytes) == (ssize_t)kBytes && memcmp(before, between, kBytes) == 0;
  free(before);
  return clEnqueueSVMMap(t->queue, CL_TRUE, flags, p, kBytes, 0, NULL, NULL) == CL_SUCCESS && same;
}

/* Tests coarse SVM as runs use it: the host writes it under a writable map, and a kernel reads it while the host holds
 * a map for reading, a launch that one driver refuses. The maps keep the data right for this thread in any case; for
 * others see replace_map. The mode counts as in place if device and host share their memory. */
static void test_coarse_svm(mode_test *t) {
  hx__cl_device *const d = t->device;
  if (!(d->svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) return;
  uint32_t *const p = clSVMAlloc(d->context, CL_MEM_READ_WRITE, WORDS * 4u, 0);
  if (!p) return;
  bool right =
      clEnqueueSVMMap(t->queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, p, WORDS * 4u, 0, NULL, NULL) == CL_SUCCESS;
  for (uint32_t i = 1; i <= 2 && right; i++) {
    p[FIRST] = 0x5ca1ab1eu + i;
    right = replace_map(t, p, CL_MAP_READ) && clSetKernelArgSVMPointer(t->touch, 0, p) == CL_SUCCESS &&
            read_by_kernel(t) == 0x5ca1ab1eu + i && p[FIRST] == 0x5ca1ab1eu + i &&
            replace_map(t, p, CL_MAP_READ | CL_MAP_WRITE);
  }
  if (right) d->base.modes |= 1u << HX__MEMORY_SVM_COARSE;
  if (right && d->unified) d->base.zero_copy |= 1u << HX__MEMORY_SVM_COARSE;
  clEnqueueSVMUnmap(t->queue, p, 0, NULL, NULL);
  clFinish(t->queue);
  clSVMFree(d->context, p);
}

void hx__cl_find_modes(hx__cl_device *d, cl_command_queue queue, cl_kernel touch) {
  cl_int code;
  mode_test t = {.device = d, .queue = queue, .touch = touch};
  d->base.modes = 1u << HX__MEMORY_COPY;
  t.out = clCreateBuffer(d->context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &code);
  if (!t.out) return;
  for (size_t i = 0; i < sizeof mode_rows / sizeof mode_rows[0]; i++)
    if (mode_rows[i].offered(d)) test_mode(&t, &mode_rows[i]);
  test_coarse_svm(&t);
  clReleaseMemObject(t.out);
}
