/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer whose host does not see coarse-grained shared memory between clEnqueueSVMUnmap and the next
 * clEnqueueSVMMap, as OpenCL 2.0 (section 5.6.1) allows: each word reads as its complement there. VIEW=kept: it does
 * see the memory. A kernel that runs in between would read the complements, too; hx maps the memory before every
 * kernel. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/layers/layer.h"

#define BLOCKS 64

typedef struct view {
  uint32_t *p;
  size_t words;
  bool hidden;
} view;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static view views[BLOCKS];

static view *view_of(const void *p) {
  for (view *v = views; v < views + BLOCKS; v++)
    if (v->p == p) return v;
  return NULL;
}

static void set_hidden(const void *p, bool hidden) {
  pthread_mutex_lock(&lock);
  view *const v = view_of(p);
  for (size_t i = 0; v && v->hidden != hidden && i < v->words; i++) v->p[i] = ~v->p[i];
  if (v) v->hidden = hidden;
  pthread_mutex_unlock(&lock);
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  void *const p = next.clSVMAlloc(context, flags, size, alignment);
  if (!p || (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)) return p;
  pthread_mutex_lock(&lock);
  view *const v = view_of(NULL); /* a test with more blocks crashes here */
  *v = (view){.p = p, .words = size / 4};
  pthread_mutex_unlock(&lock);
  return p;
}

static void CL_API_CALL svm_free(cl_context context, void *p) {
  pthread_mutex_lock(&lock);
  view *const v = view_of(p);
  if (p && v) *v = (view){0};
  pthread_mutex_unlock(&lock);
  next.clSVMFree(context, p);
}

static cl_int CL_API_CALL svm_unmap(cl_command_queue queue, void *p, cl_uint waits, const cl_event *wait,
                                    cl_event *event) {
  const cl_int code = next.clEnqueueSVMUnmap(queue, p, waits, wait, event);
  if (code == CL_SUCCESS) next.clFinish(queue);
  if (code == CL_SUCCESS) set_hidden(p, true);
  return code;
}

static cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *p, size_t size,
                                  cl_uint waits, const cl_event *wait, cl_event *event) {
  set_hidden(p, false);
  return next.clEnqueueSVMMap(queue, blocking, flags, p, size, waits, wait, event);
}

static const char *layer_name(void) { return "hx view"; }

static void layer_fill(void) {
  const char *const word = getenv("VIEW");
  if (word && strcmp(word, "kept") == 0) return;
  mine.clSVMAlloc = svm_alloc;
  mine.clSVMFree = svm_free;
  mine.clEnqueueSVMUnmap = svm_unmap;
  mine.clEnqueueSVMMap = svm_map;
}
