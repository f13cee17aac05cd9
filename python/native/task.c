/* SPDX-License-Identifier: Apache-2.0
 * The type hx._native.Task: a product or a reduction in the background. It holds the arrays until it has ended. */
#include "native.h"

#include <string.h>
#include <unistd.h>

typedef struct task_object {
  PyObject_HEAD hxpy_context *context;
  hx_event *event;         /* NULL: no thread may wait for it any more */
  PyThread_type_lock lock; /* held by the thread that waits for the event */
  pid_t process;           /* of the last such thread: a forked child has the lock and not the thread */
  hxpy_product product;    /* one of the two is used */
  hxpy_reduction reduction;
  hx_status status; /* from here on: of the task, once it has ended */
  hx_report report;
  char detail[512];
} task_object;

static PyTypeObject *task_type;

void hxpy_task_type_set(PyObject *type) { task_type = (PyTypeObject *)type; }

static task_object *task_make(hxpy_context *c) {
  task_object *t = (task_object *)PyType_GenericAlloc(task_type, 0);
  if (!t) return NULL;
  t->context = c;
  t->process = getpid();
  t->lock = PyThread_allocate_lock();
  if (t->lock) return t;
  t->context = NULL; /* the caller leaves it */
  Py_DECREF(t);
  PyErr_NoMemory();
  return NULL;
}

/* Releases what only a running task needs. */
static void release(task_object *t) {
  hxpy_operand_release(&t->product.a);
  hxpy_operand_release(&t->product.b);
  hxpy_operand_release(&t->product.c);
  hxpy_reduction_release(&t->reduction);
  if (t->context) hxpy_context_leave(t->context);
  t->context = NULL;
}

/* Waits for the event unless another thread has; that one is waited for. In a forked child it would never end. */
static void wait_for(task_object *t) {
  if (!PyThread_acquire_lock(t->lock, NOWAIT_LOCK)) {
    if (getpid() != t->process) {
      t->status = HX_UNSUPPORTED;
      strcpy(t->detail, "the task runs in the parent of this forked process");
      return;
    }
    Py_BEGIN_ALLOW_THREADS;
    PyThread_acquire_lock(t->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS;
  }
  t->process = getpid();
  hx_event *event = t->event;
  t->event = NULL;
  if (event) {
    Py_BEGIN_ALLOW_THREADS;
    t->status = hx_wait(event, &t->report);
    if (t->status != HX_OK) strncpy(t->detail, hx_error_detail(), sizeof t->detail - 1);
    Py_END_ALLOW_THREADS;
    release(t);
  }
  PyThread_release_lock(t->lock);
}

static PyObject *task_wait(PyObject *self, PyObject *unused) {
  task_object *t = (task_object *)self;
  (void)unused;
  wait_for(t);
  if (t->status != HX_OK) return hxpy_fail_detail(t->status, t->detail);
  if (!t->product.out) return hxpy_scalar(hxpy_cell_of(t->reduction.op, t->reduction.a.type), &t->reduction.value);
  return hxpy_product_result(&t->product);
}

static PyObject *task_done(PyObject *self, PyObject *unused) {
  task_object *t = (task_object *)self;
  (void)unused;
  if (t->event) return PyBool_FromLong(hx_done(t->event));
  bool waiting = !PyThread_acquire_lock(t->lock, NOWAIT_LOCK);
  if (!waiting) PyThread_release_lock(t->lock);
  return PyBool_FromLong(!waiting || getpid() != t->process); /* wait() then fails at once */
}

static PyObject *task_report(PyObject *self, PyObject *unused) {
  wait_for((task_object *)self);
  task_object *t = (task_object *)self;
  (void)unused;
  return t->status == HX_OK ? hxpy_report_tuple(&t->report) : hxpy_fail_detail(t->status, t->detail);
}

/* No other thread has the task any more. Arrays may be freed only after it has ended. */
static void task_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  task_object *t = (task_object *)self;
  if (t->event) wait_for(t);
  release(t);
  Py_CLEAR(t->product.out);
  if (t->lock) PyThread_free_lock(t->lock);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyMethodDef task_methods[] = {
    {"done", task_done, METH_NOARGS, NULL},
    {"wait", task_wait, METH_NOARGS, NULL},
    {"report", task_report, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot task_slots[] = {{Py_tp_dealloc, task_dealloc}, {Py_tp_methods, task_methods}, {0, NULL}};

/* hx._native.Task() would be a task that no call has prepared. */
PyType_Spec hxpy_task_spec = {"hx._native.Task", sizeof(task_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, task_slots};

/* Starts the task of t, which was prepared if `prepared`. Takes the reference to t. */
static PyObject *start(task_object *t, const hx_task *task, bool prepared) {
  hx_status s = prepared ? hx_offload_async(t->context->hx, task, &t->event) : HX_OK;
  if (prepared && s == HX_OK) return (PyObject *)t;
  if (prepared) hxpy_fail(s);
  if (prepared && t->product.out) hxpy_product_explain(&t->product);
  Py_DECREF(t);
  return NULL;
}

static PyObject *py_matmul_async(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  PyObject *v[7];
  (void)module;
  if (!hxpy_arguments(&hxpy_product_signature, args, nargs, kwnames, v)) return NULL;
  hxpy_context *c = hxpy_context_enter(v[6]);
  task_object *t = c ? task_make(c) : NULL;
  if (!t) return c ? hxpy_context_leave(c), NULL : NULL;
  bool prepared = hxpy_product_prepare(&t->product, v);
  return start(t, &t->product.task, prepared);
}

static PyObject *py_reduce_async(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"operation", "a", "b", "gpu_share", "context"};
  PyObject *v[HXPY_COUNT(names)];
  hx_op op;
  float share;
  (void)module;
  if (!hxpy_arguments(&(hxpy_signature){"reduce_async", names, 5, 3, 2}, args, nargs, kwnames, v)) return NULL;
  if (!hxpy_op_named(v[0], &op) || !hxpy_share(v[3], &share)) return NULL;
  if ((op == HX_DOT) != (v[2] != NULL)) return hxpy_refuse("b is for 'dot' alone, which needs it");
  hxpy_context *c = hxpy_context_enter(v[4]);
  task_object *t = c ? task_make(c) : NULL;
  if (!t) return c ? hxpy_context_leave(c), NULL : NULL;
  bool prepared = hxpy_reduction_prepare(&t->reduction, op, v[1], v[2]);
  hx_task task = hxpy_reduction_task(&t->reduction, share);
  return start(t, &task, prepared);
}

PyMethodDef hxpy_task_functions[] = {
    HXPY_FUNCTION("matmul_async", py_matmul_async, NULL),
    HXPY_FUNCTION("reduce_async", py_reduce_async, NULL),
    {NULL, NULL, 0, NULL},
};
