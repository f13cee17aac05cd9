/* SPDX-License-Identifier: Apache-2.0
 * Blocks of hx_alloc: memory that a device and the host share. The mode determines how it is allocated. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "runtime/backend/gate.h"
#include "runtime/backend/opencl/cl.h"

static void *svm_alloc(hx__cl_device *d, size_t bytes, hx__memory_mode mode) {
  const cl_svm_mem_flags fine = mode == HX__MEMORY_SVM_FINE ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0;
  return clSVMAlloc(d->context, CL_MEM_READ_WRITE | fine, bytes, 0);
}

/* Rounds up to a page. Drivers refuse alignments above that of their largest type, so each block is allocated with one
 * page more than needed. */
static void *to_page(void *p) { return (void *)(((uintptr_t)p + HX__CL_PAGE - 1) & ~(uintptr_t)(HX__CL_PAGE - 1)); }

/* The queue on which blocks of coarse-grained SVM are mapped, because hx_alloc is called outside any stream. There is
 * one for all of them, because a driver may have a thread and megabytes for each queue, and it is kept, so that no call
 * that frees a block can fail. NULL: it cannot be created. */
static cl_command_queue queue_of_blocks(hx__cl_device *d) {
  cl_int code;
  cl_command_queue known = atomic_load(&d->blocks);
  if (known) return known;
  cl_command_queue const made = clCreateCommandQueue(d->context, d->id, 0, &code);
  if (!made || atomic_compare_exchange_strong(&d->blocks, &known, made)) return made;
  clReleaseCommandQueue(made); /* another thread was faster */
  return known;
}

/* Mode copy: pages of the host that the driver pins for as long as a buffer over them exists. No kernel uses it, and
 * the device only copies between these pages and another buffer. Buffers that the driver allocates itself
 * (CL_MEM_ALLOC_HOST_PTR) are no faster. On an NVIDIA card each of them also takes as much of the card's memory, and
 * takes ten times as long to create (docs/measurements/memory-card.tsv). */
static void *pinned_alloc(hx__cl_device *d, hx__cl_block *b) {
  cl_int code;
  b->bytes = (b->bytes - 1) & ~(size_t)(HX__CL_PAGE - 1); /* whole pages, without the one for alignment */
  void *const p = aligned_alloc(HX__CL_PAGE, b->bytes);
  if (p) b->mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, b->bytes, p, &code);
  if (b->mem) return p;
  free(p);
  return NULL;
}

static void pinned_free(const hx__cl_block *b) {
  clReleaseMemObject(b->mem);
  free(b->p);
}

static bool map_for_host(hx__cl_device *d, void *p, size_t bytes) {
  cl_command_queue const queue = queue_of_blocks(d);
  return queue && clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, p, bytes, 0, NULL, NULL) == CL_SUCCESS;
}

void *hx__cl_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, void **block) {
  hx__cl_device *const d = (hx__cl_device *)device;
  if (bytes > SIZE_MAX - HX__CL_PAGE || !hx__cl_device_is_open(d) || !(d->base.modes & 1u << mode) ||
      bytes + HX__CL_PAGE > d->base.max_alloc)
    return NULL;
  bytes += HX__CL_PAGE;
  hx__cl_block *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  b->bytes = bytes;
  b->mode = mode;
  switch (mode) {
    case HX__MEMORY_SVM_FINE:
    case HX__MEMORY_SVM_COARSE:
      b->p = svm_alloc(d, bytes, mode);
      break;
    case HX__MEMORY_USM:
      b->p = hx__cl_usm_alloc(d, bytes);
      break;
    case HX__MEMORY_COPY:
      b->p = pinned_alloc(d, b);
      break;
    default: /* the other modes use plain pages */
      break;
  }
  if (b->p && mode == HX__MEMORY_SVM_COARSE && !map_for_host(d, b->p, bytes)) {
    clSVMFree(d->context, b->p);
    b->p = NULL;
  }
  if (!b->p) {
    free(b);
    return NULL;
  }
  *block = b;
  return to_page(b->p);
}

void hx__cl_free(hx__device *device, void *block) {
  hx__cl_device *const d = (hx__cl_device *)device;
  hx__cl_block *const b = block;
  if (b->piece) {
    hx__cl_unpin(d, b);
  } else if (!atomic_load(&d->base.lost)) {
    if (b->mode == HX__MEMORY_USM)
      hx__cl_usm_free(d, b->p);
    else if (b->mode == HX__MEMORY_COPY)
      pinned_free(b);
    else
      clSVMFree(d->context, b->p);
  }
  free(b);
}

static cl_int replace_map(hx__cl_block *b, cl_command_queue queue, cl_map_flags flags) {
  atomic_store(&b->broken, true); /* until the host holds a map again */
  cl_int code = clEnqueueSVMUnmap(queue, b->p, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = clEnqueueSVMMap(queue, CL_TRUE, flags, b->p, b->bytes, 0, NULL, NULL);
  if (code != CL_SUCCESS) return code;
  hx__gate_has_finished(queue); /* the map has waited for the unmap */
  atomic_store(&b->broken, false);
  return code;
}

hx__outcome hx__cl_block_begin(hx__cl_device *d, hx__cl_block *b, cl_command_queue queue) {
  const cl_int code = b->mapped_to_read ? CL_SUCCESS : replace_map(b, queue, CL_MAP_READ);
  if (code == CL_SUCCESS) b->mapped_to_read = true;
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(d, "mapping shared memory", code);
}

hx__outcome hx__cl_block_end(hx__cl_device *d, hx__cl_block *b, cl_command_queue queue) {
  const cl_int code = b->mapped_to_read ? replace_map(b, queue, CL_MAP_READ | CL_MAP_WRITE) : CL_SUCCESS;
  if (code == CL_SUCCESS) b->mapped_to_read = false;
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(d, "mapping shared memory", code);
}

/* A request for the device's memory thread: to allocate a block, or to pin the caller's memory at p. */
typedef struct block_job {
  hx__awaited_job job;
  hx__device *device;
  void *(*make)(struct block_job *block_job);
  void *p;
  size_t bytes;
  hx__memory_mode mode;
  void *made, *block;
} block_job;

static void *allocate_block(block_job *a) { return hx__cl_alloc(a->device, a->bytes, a->mode, &a->block); }
static void *pin_memory(block_job *a) { return a->block = hx__cl_pin(a->device, a->p, a->bytes, &a->job); }

static void run_block_job(hx__awaited_job *job) {
  block_job *const a = (block_job *)job;
  a->made = a->make(a);
}

static void undo_block_job(hx__awaited_job *job) {
  block_job *const a = (block_job *)job;
  if (a->made) hx__cl_free(a->device, a->block);
}

static void *run_and_wait(hx__device *device, block_job what, uint64_t limit_ns, void **block) {
  block_job *const a = malloc(sizeof *a);
  if (!a) return NULL;
  *a = what;
  a->device = device;
  a->job = (hx__awaited_job){.run = run_block_job, .undo = undo_block_job};
  if (!hx__memory_jobs_run(&((hx__cl_device *)device)->jobs, &a->job, limit_ns)) return NULL;
  void *const made = a->made;
  *block = a->block;
  free(a);
  return made;
}

void *hx__cl_job_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, uint64_t limit_ns, void **block) {
  if (hx__gate_of_this_thread()) return hx__cl_alloc(device, bytes, mode, block);
  return run_and_wait(device, (block_job){.make = allocate_block, .bytes = bytes, .mode = mode}, limit_ns, block);
}

void *hx__cl_job_pin(hx__device *device, void *p, size_t bytes, uint64_t limit_ns) {
  void *block;
  if (hx__gate_of_this_thread()) return hx__cl_pin(device, p, bytes, NULL);
  return run_and_wait(device, (block_job){.make = pin_memory, .p = p, .bytes = bytes}, limit_ns, &block);
}

static void free_block(hx__memory_job *job) {
  hx__cl_block *const b = (hx__cl_block *)job;
  hx__cl_free(b->device, b);
}

void hx__cl_job_free(hx__device *device, uint64_t limit_ns, void *block) {
  hx__cl_block *const b = block;
  if (hx__gate_of_this_thread()) {
    hx__cl_free(device, block);
    return;
  }
  const bool is_pin = b->piece;
  hx__memory_jobs *const jobs = &((hx__cl_device *)device)->jobs;
  b->job.run = free_block;
  b->device = device;
  hx__memory_jobs_post(jobs, &b->job);
  /* The caller may use its memory for something else after hx_unregister, and pin it again. If the thread hangs, the
   * buffers over the old memory are released before it pins anything. */
  if (is_pin) hx__memory_jobs_drain(jobs, limit_ns);
}

void hx__cl_jobs_settle(hx__device *device, uint64_t limit_ns) {
  hx__memory_jobs_drain(&((hx__cl_device *)device)->jobs, limit_ns);
}
