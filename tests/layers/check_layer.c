/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer that stops the program if it breaks a rule of memory that drivers do not check:
 *   - a plain pointer as an SVM argument on a device without system SVM
 *   - two live buffers of a context over overlapping host memory (CL_MEM_USE_HOST_PTR)
 *   - a kernel enqueued while the host holds a map for writing of memory that it uses (buffers, coarse-grain SVM)
 * and that overwrites host memory when a read into it is enqueued, because the driver may do so until the event of the
 * read: code that still needs what an earlier read stored there gets wrong bits. It writes a line `layer: VIOLATION
 * ...` and aborts. LAYER_CHECK=go-on makes it return an error instead, for the layer's own test. last_unmap.h adds a
 * rule for the end of the program. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/layers/last_unmap.h"
#include "tests/layers/layer.h"
#include "tests/layers/one_thread.h"

#define ARGS 24
#define SCRIBBLE 0xa5

/* A buffer, a sub-buffer (parent set) or an SVM allocation (mem NULL), until the program releases it for the last time;
 * the driver may hold it longer. */
typedef struct memory {
  struct memory *link, *parent;
  cl_context context;
  cl_mem mem;
  uintptr_t first, end; /* host addresses; 0 if there are none */
  bool coarse;          /* SVM that the host has to map */
  unsigned references, write_maps;
} memory;

/* A map of a memory object that is not unmapped yet. */
typedef struct map {
  struct map *link;
  memory *of;
  void *pointer;
  bool writes;
} map;

typedef struct kernel {
  struct kernel *link;
  cl_kernel kernel;
  unsigned references;
  cl_mem mem[ARGS]; /* of each argument */
  const void *svm[ARGS];
} kernel;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static memory *memories;
static map *maps;
static kernel *kernels;

static cl_int violation(const char *what) {
  const char *mode = getenv("LAYER_CHECK");
  layer_log("VIOLATION %s", what);
  if (!mode || strcmp(mode, "go-on") != 0) abort();
  return CL_INVALID_OPERATION;
}

static memory *find_mem(cl_mem mem) {
  memory *m = memories;
  while (m && m->mem != mem) m = m->link;
  return mem ? m : NULL;
}

static memory *find_svm(const void *pointer) {
  uintptr_t at = (uintptr_t)pointer;
  memory *m = memories;
  while (m && (m->mem || at < m->first || at >= m->end)) m = m->link;
  return m;
}

static kernel *find_kernel(cl_kernel handle) {
  kernel *k = kernels;
  while (k && k->kernel != handle) k = k->link;
  return k;
}

static memory *add_memory(memory from) {
  memory *m = malloc(sizeof *m);
  if (!m) abort();
  *m = from;
  m->references = 1;
  m->link = memories;
  memories = m;
  return m;
}

static void drop_memory(memory *m) {
  if (--m->references > 0) return;
  memory *parent = m->parent, **at = &memories;
  while (*at != m) at = &(*at)->link;
  *at = m->link;
  for (map **held = &maps; *held;) {
    map *h = *held;
    if (h->of == m) {
      *held = h->link;
      free(h);
    } else {
      held = &h->link;
    }
  }
  free(m);
  if (parent) drop_memory(parent);
}

static void add_map(memory *m, void *pointer, bool writes) {
  map *h = malloc(sizeof *h);
  if (!h) abort();
  *h = (map){maps, m, pointer, writes};
  maps = h;
  m->write_maps += writes;
}

static void drop_map(memory *m, const void *pointer) {
  for (map **at = &maps; *at; at = &(*at)->link) {
    map *h = *at;
    if (h->of != m || h->pointer != pointer) continue;
    m->write_maps -= h->writes;
    *at = h->link;
    free(h);
    return;
  }
}

static bool mapped_for_writing(const memory *m) {
  for (; m; m = m->parent)
    if (m->write_maps > 0) return true;
  return false;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *err) {
  char what[200] = "";
  bool in_place = (flags & CL_MEM_USE_HOST_PTR) != 0;
  uintptr_t first = in_place ? (uintptr_t)host : 0, end = in_place ? first + size : 0;
  pthread_mutex_lock(&lock);
  for (const memory *m = memories; m && in_place; m = m->link)
    if (m->mem && !m->parent && m->context == context && m->first < end && first < m->end)
      snprintf(what, sizeof what, "clCreateBuffer over %p+%zu overlaps a live buffer over %p+%zu", host, size,
               (void *)m->first, (size_t)(m->end - m->first));
  pthread_mutex_unlock(&lock);
  if (what[0]) {
    cl_int code = violation(what);
    if (err) *err = code;
    return NULL;
  }
  cl_mem mem = next.clCreateBuffer(context, flags, size, host, err);
  pthread_mutex_lock(&lock);
  if (mem) add_memory((memory){.context = context, .mem = mem, .first = first, .end = end});
  pthread_mutex_unlock(&lock);
  return mem;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type,
                                            const void *info, cl_int *err) {
  cl_mem mem = next.clCreateSubBuffer(parent, flags, type, info, err);
  pthread_mutex_lock(&lock);
  memory *p = find_mem(parent);
  if (mem && p) {
    p->references++;
    add_memory((memory){.context = p->context, .mem = mem, .parent = p});
  }
  pthread_mutex_unlock(&lock);
  return mem;
}

static cl_int CL_API_CALL retain_mem(cl_mem mem) {
  cl_int s = next.clRetainMemObject(mem);
  pthread_mutex_lock(&lock);
  memory *m = find_mem(mem);
  if (s == CL_SUCCESS && m) m->references++;
  pthread_mutex_unlock(&lock);
  return s;
}

static cl_int CL_API_CALL release_mem(cl_mem mem) {
  pthread_mutex_lock(&lock); /* before the driver can reuse the handle */
  memory *m = find_mem(mem);
  if (m) drop_memory(m);
  pthread_mutex_unlock(&lock);
  return next.clReleaseMemObject(mem);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint waits, const cl_event *wait, cl_event *event,
                                    cl_int *err) {
  begin_running();
  void *p = next.clEnqueueMapBuffer(queue, mem, blocking, flags, offset, size, waits, wait, event, err);
  end_running();
  pthread_mutex_lock(&lock);
  memory *m = find_mem(mem);
  if (p && m) add_map(m, p, (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0);
  pthread_mutex_unlock(&lock);
  return p;
}

static cl_int CL_API_CALL unmap_buffer(cl_command_queue queue, cl_mem mem, void *pointer, cl_uint waits,
                                       const cl_event *wait, cl_event *event) {
  cl_int s = next.clEnqueueUnmapMemObject(queue, mem, pointer, waits, wait, event);
  if (s == CL_SUCCESS) unmap_was_last = true;
  pthread_mutex_lock(&lock);
  memory *m = find_mem(mem);
  if (s == CL_SUCCESS && m) drop_map(m, pointer);
  pthread_mutex_unlock(&lock);
  return s;
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  void *p = next.clSVMAlloc(context, flags, size, alignment);
  pthread_mutex_lock(&lock);
  if (p)
    add_memory((memory){.context = context,
                        .first = (uintptr_t)p,
                        .end = (uintptr_t)p + size,
                        .coarse = !(flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)});
  pthread_mutex_unlock(&lock);
  return p;
}

static void CL_API_CALL svm_free(cl_context context, void *p) {
  pthread_mutex_lock(&lock);
  memory *m = p ? find_svm(p) : NULL;
  if (m) drop_memory(m);
  pthread_mutex_unlock(&lock);
  next.clSVMFree(context, p);
}

static cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *p, size_t size,
                                  cl_uint waits, const cl_event *wait, cl_event *event) {
  cl_int s = next.clEnqueueSVMMap(queue, blocking, flags, p, size, waits, wait, event);
  pthread_mutex_lock(&lock);
  memory *m = find_svm(p);
  if (s == CL_SUCCESS && m) add_map(m, p, m->coarse && (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)));
  pthread_mutex_unlock(&lock);
  return s;
}

static cl_int CL_API_CALL svm_unmap(cl_command_queue queue, void *p, cl_uint waits, const cl_event *wait,
                                    cl_event *event) {
  cl_int s = next.clEnqueueSVMUnmap(queue, p, waits, wait, event);
  if (s == CL_SUCCESS) unmap_was_last = true;
  pthread_mutex_lock(&lock);
  memory *m = find_svm(p);
  if (s == CL_SUCCESS && m) drop_map(m, p);
  pthread_mutex_unlock(&lock);
  return s;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *err) {
  cl_kernel handle = next.clCreateKernel(program, name, err);
  kernel *k = handle ? calloc(1, sizeof *k) : NULL;
  if (!k) return handle;
  pthread_mutex_lock(&lock);
  k->kernel = handle;
  k->references = 1;
  k->link = kernels;
  kernels = k;
  pthread_mutex_unlock(&lock);
  return handle;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel handle) {
  cl_int s = next.clRetainKernel(handle);
  pthread_mutex_lock(&lock);
  kernel *k = find_kernel(handle);
  if (s == CL_SUCCESS && k) k->references++;
  pthread_mutex_unlock(&lock);
  return s;
}

static cl_int CL_API_CALL release_kernel(cl_kernel handle) {
  pthread_mutex_lock(&lock);
  kernel *k = find_kernel(handle);
  if (k && --k->references == 0) {
    kernel **at = &kernels;
    while (*at != k) at = &(*at)->link;
    *at = k->link;
    free(k);
  }
  pthread_mutex_unlock(&lock);
  return next.clReleaseKernel(handle);
}

static cl_int CL_API_CALL set_arg(cl_kernel handle, cl_uint index, size_t size, const void *value) {
  pthread_mutex_lock(&lock);
  kernel *k = find_kernel(handle);
  if (k && index < ARGS) {
    cl_mem mem = NULL;
    if (size == sizeof mem && value) memcpy(&mem, value, sizeof mem); /* find_mem ignores a scalar of that size */
    k->mem[index] = find_mem(mem) ? mem : NULL;
    k->svm[index] = NULL;
  }
  pthread_mutex_unlock(&lock);
  return next.clSetKernelArg(handle, index, size, value);
}

/* Whether every device of the kernel's context accepts any pointer of the host. */
static bool system_svm(cl_kernel handle) {
  cl_context context;
  cl_device_id devices[16];
  size_t bytes = 0;
  if (next.clGetKernelInfo(handle, CL_KERNEL_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS) return false;
  if (next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS) return false;
  for (size_t i = 0; i < bytes / sizeof *devices; i++) {
    cl_device_svm_capabilities can = 0;
    next.clGetDeviceInfo(devices[i], CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL);
    if (!(can & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM)) return false;
  }
  return true;
}

static cl_int CL_API_CALL set_svm_arg(cl_kernel handle, cl_uint index, const void *p) {
  pthread_mutex_lock(&lock);
  bool known = !p || find_svm(p);
  kernel *k = find_kernel(handle);
  if (k && index < ARGS) {
    k->svm[index] = p;
    k->mem[index] = NULL;
  }
  pthread_mutex_unlock(&lock);
  if (!known && !system_svm(handle)) {
    char what[120];
    snprintf(what, sizeof what, "clSetKernelArgSVMPointer of argument %u: %p is not SVM", index, p);
    return violation(what);
  }
  return next.clSetKernelArgSVMPointer(handle, index, p);
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel handle, cl_uint dimensions, const size_t *offset,
                                  const size_t *global, const size_t *local, cl_uint waits, const cl_event *wait,
                                  cl_event *event) {
  char what[120] = "";
  pthread_mutex_lock(&lock);
  const kernel *k = find_kernel(handle);
  for (unsigned i = 0; k && i < ARGS; i++)
    if (mapped_for_writing(find_mem(k->mem[i])) || (k->svm[i] && mapped_for_writing(find_svm(k->svm[i]))))
      snprintf(what, sizeof what, "clEnqueueNDRangeKernel: the host holds a map for writing of argument %u", i);
  pthread_mutex_unlock(&lock);
  if (what[0]) return violation(what);
  return next.clEnqueueNDRangeKernel(queue, handle, dimensions, offset, global, local, waits, wait, event);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t size,
                                      void *to, cl_uint waits, const cl_event *wait, cl_event *event) {
  if (to) memset(to, SCRIBBLE, size);
  begin_running();
  const cl_int s = next.clEnqueueReadBuffer(queue, mem, blocking, offset, size, to, waits, wait, event);
  end_running();
  return s;
}

static const char *layer_name(void) { return "hx memory checks"; }

static void layer_fill(void) {
  mine.clCreateBuffer = create_buffer;
  mine.clCreateSubBuffer = create_sub_buffer;
  mine.clRetainMemObject = retain_mem;
  mine.clReleaseMemObject = release_mem;
  mine.clEnqueueReadBuffer = read_buffer;
  mine.clEnqueueMapBuffer = map_buffer;
  mine.clEnqueueUnmapMemObject = unmap_buffer;
  mine.clSVMAlloc = svm_alloc;
  mine.clSVMFree = svm_free;
  mine.clEnqueueSVMMap = svm_map;
  mine.clEnqueueSVMUnmap = svm_unmap;
  mine.clCreateKernel = create_kernel;
  mine.clRetainKernel = retain_kernel;
  mine.clReleaseKernel = release_kernel;
  mine.clSetKernelArg = set_arg;
  mine.clSetKernelArgSVMPointer = set_svm_arg;
  mine.clEnqueueNDRangeKernel = enqueue;
  one_thread_fill();
  last_unmap_fill();
}
