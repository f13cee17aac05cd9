/* SPDX-License-Identifier: Apache-2.0
 * The type hx._native.Context, the default context, and calls that are made on a context. */
#include "native.h"

#include <stdarg.h>
#include <string.h>

static PyTypeObject *context_type;
static hxpy_context *default_context;       /* made by the first call that needs it, and never closed */
static _Thread_local PyObject *report_list; /* of hx.reports(); NULL outside of it */

void hxpy_context_type_set(PyObject *type) { context_type = (PyTypeObject *)type; }

/* Text of hx, which may end inside a character, or come from a driver. */
static PyObject *text_of(const char *text) { return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"); }

PyObject *hxpy_fail_detail(hx_status s, const char *detail) {
  PyObject *error = PyTuple_GetItem(hxpy_py.errors, s), *text = text_of(detail);
  if (error && text) PyErr_SetObject(error, text);
  Py_XDECREF(text);
  return NULL;
}

PyObject *hxpy_fail(hx_status s) { return hxpy_fail_detail(s, hx_error_detail()); }

PyObject *hxpy_refuse(const char *format, ...) {
  va_list values;
  va_start(values, format);
  PyErr_FormatV(PyTuple_GetItem(hxpy_py.errors, HX_INVALID_ARGUMENT), format, values);
  va_end(values);
  return NULL;
}

bool hxpy_no_memory(size_t count) {
  PyErr_Format(PyTuple_GetItem(hxpy_py.errors, HX_OUT_OF_MEMORY), "no memory for a copy of lines of %zu elements",
               count);
  return false;
}

static void close_if_unused(hxpy_context *c) {
  if (!c->closing || c->users || !c->hx) return;
  hx_context *hx = c->hx;
  c->hx = NULL;
  Py_BEGIN_ALLOW_THREADS;
  hx_close(hx);
  Py_END_ALLOW_THREADS;
}

static hxpy_context *default_made(void) {
  if (default_context) return default_context;
  PyObject *made = PyObject_CallNoArgs(hxpy_py.new_context);
  if (!made) return NULL;
  if (default_context) { /* another thread was faster */
    Py_DECREF(made);
  } else {
    default_context = (hxpy_context *)made;
  }
  return default_context;
}

hxpy_context *hxpy_context_enter(PyObject *value) {
  hxpy_context *c = NULL;
  if (!value) {
    c = default_made();
    if (!c) return NULL;
  } else if (PyObject_TypeCheck(value, context_type)) {
    c = (hxpy_context *)value;
  } else {
    PyErr_Format(PyExc_TypeError, "context is %R; it is an hx.Context", value);
    return NULL;
  }
  if (c->closing || !c->hx) return hxpy_refuse("the context is closed"), NULL;
  c->users++;
  Py_INCREF((PyObject *)c);
  return c;
}

void hxpy_context_leave(hxpy_context *c) {
  c->users--;
  close_if_unused(c);
  Py_DECREF(c);
}

/* Whether the task takes less time than handing the GIL over and waiting for it again, which can take as long as
 * another thread computes in Python. hx does such tasks at once on the calling thread. */
static bool brief(const hxpy_context *c, const hx_task *t) {
  const size_t elements = 8192, multiply_adds = 32768, mapped = 1024;
  if (!c->small_stay || t->gpu_share >= 0.0f) return false;
  switch (t->kind) {
    case HX_REDUCE:
      return t->reduce.n <= elements;
    case HX_REDUCE_SOA:
      return t->soa.n <= elements && t->soa.nfields * t->soa.n <= elements;
    case HX_REDUCE_LINES:
      return t->lines.n <= elements && t->lines.lines <= elements && t->lines.n * t->lines.lines <= elements;
    case HX_MATMUL: {
      const struct hx_matmul_args *p = &t->matmul;
      return p->m <= elements && p->n <= elements && p->k <= elements && p->m * p->n * p->k <= multiply_adds;
    }
    case HX_MAP:
      return t->map.rows <= mapped && t->map.n <= mapped && (t->map.rows ? t->map.rows : 1) * t->map.n <= mapped;
    case HX_MATMUL_BATCHED:
      return false;
  }
  return false;
}

static hx_status offload_without_gil(hx_context *hx, const hx_task *task, hx_report *report) {
  hx_status s;
  Py_BEGIN_ALLOW_THREADS;
  s = hx_offload(hx, task, report);
  Py_END_ALLOW_THREADS;
  return s;
}

static bool append_report(PyObject *list, const hx_report *report) {
  PyObject *tuple = hxpy_report_tuple(report);
  bool ok = tuple && PyList_Append(list, tuple) == 0;
  Py_XDECREF(tuple);
  return ok;
}

bool hxpy_run(hxpy_context *c, const hx_task *task) {
  if (report_list) {
    hx_report report;
    hx_status s = offload_without_gil(c->hx, task, &report);
    return s == HX_OK ? append_report(report_list, &report) : (bool)hxpy_fail(s);
  }
  hx_status s = brief(c, task) ? hx_offload(c->hx, task, NULL) : offload_without_gil(c->hx, task, NULL);
  return s == HX_OK || hxpy_fail(s);
}

PyObject *hxpy_report_tuple(const hx_report *r) {
  PyObject *devices = PyTuple_New((Py_ssize_t)r->device_count);
  if (!devices) return NULL;
  for (uint32_t i = 0; i < r->device_count; i++) {
    const hx_device_report *d = &r->device[i];
    PyObject *row =
        Py_BuildValue("(IIKd)", (unsigned)d->index, (unsigned)d->chunks, (unsigned long long)d->units, d->busy_seconds);
    if (!row) return Py_DECREF(devices), NULL;
    PyTuple_SetItem(devices, i, row);
  }
  return Py_BuildValue("(dddKIIN)", r->seconds, r->gpu_share, r->joules, (unsigned long long)r->bytes_copied,
                       (unsigned)r->chunks, (unsigned)r->recovered, devices);
}

/* Context(settings, small_stay, may_map): settings maps names of hx_settings to strings. */
static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
#define MEMBER(name) \
  { #name, &settings.name }
  const struct {
    const char *name, **member;
  } rows[] = {
      MEMBER(devices), MEMBER(split),       MEMBER(schedule),   MEMBER(chunk),     MEMBER(threads),   MEMBER(tile),
      MEMBER(memory),  MEMBER(min_offload), MEMBER(timeout_ms), MEMBER(cache_dir), MEMBER(objective), MEMBER(trace),
      MEMBER(isa),     MEMBER(offload),     MEMBER(sim),        MEMBER(log),
  };
  (void)keywords; /* those of a subclass */
  PyObject *map = NULL;
  int small_stay = 0, may_map = 0;
  if (!PyArg_ParseTuple(args, "O!pp", &PyDict_Type, &map, &small_stay, &may_map)) return NULL;
  for (Py_ssize_t i = 0; i < HXPY_COUNT(rows); i++) {
    PyObject *value = PyDict_GetItemString(map, rows[i].name);
    Py_ssize_t size;
    if (!value) continue;
    *rows[i].member = PyUnicode_AsUTF8AndSize(value, &size);
    if (!*rows[i].member) return NULL;
    if (strlen(*rows[i].member) != (size_t)size)
      return hxpy_refuse("%s is %R, with a null character", rows[i].name, value);
  }
  hxpy_context *c = (hxpy_context *)PyType_GenericAlloc(type, 0);
  if (!c) return NULL;
  c->small_stay = small_stay;
  c->may_map = may_map;
  hx_status s = hx_open(&c->hx, &settings);
  if (s != HX_OK) return Py_DECREF(c), hxpy_fail(s);
  return (PyObject *)c;
}

static PyObject *context_close(PyObject *self, PyObject *unused) {
  (void)unused;
  hxpy_context *c = (hxpy_context *)self;
  c->closing = true;
  close_if_unused(c);
  return Py_NewRef(Py_None);
}

static void context_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  hxpy_context *c = (hxpy_context *)self;
  c->closing = true;
  close_if_unused(c);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject *context_ready(PyObject *self, PyObject *unused) {
  (void)unused;
  hxpy_context *c = hxpy_context_enter(self);
  if (!c) return NULL;
  hx_status s;
  Py_BEGIN_ALLOW_THREADS;
  s = hx_ready(c->hx);
  Py_END_ALLOW_THREADS;
  if (s != HX_OK) hxpy_fail(s);
  hxpy_context_leave(c);
  if (s != HX_OK) return NULL;
  return Py_NewRef(Py_None);
}

/* One row of devices(), in the order of hx.Device. */
static PyObject *device_row(hx_context *hx, size_t index) {
  hx_device_info info;
  hx_status s;
  Py_BEGIN_ALLOW_THREADS;
  s = hx_device(hx, index, &info);
  Py_END_ALLOW_THREADS;
  if (s != HX_OK) return hxpy_fail(s);
  return Py_BuildValue("(nNNNNiiIKN)", (Py_ssize_t)index, text_of(info.name), text_of(info.vendor),
                       text_of(info.driver), text_of(info.memory), (int)info.kind, (int)info.state,
                       (unsigned)info.compute_units, (unsigned long long)info.memory_bytes, text_of(info.why));
}

static PyObject *context_devices(PyObject *self, PyObject *unused) {
  (void)unused;
  hxpy_context *c = hxpy_context_enter(self);
  if (!c) return NULL;
  size_t count;
  Py_BEGIN_ALLOW_THREADS;
  count = hx_device_count(c->hx);
  Py_END_ALLOW_THREADS;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *row = device_row(c->hx, i);
    if (!row || PyList_Append(list, row)) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  hxpy_context_leave(c);
  return list;
}

static PyObject *context_closed(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(((hxpy_context *)self)->closing);
}

static PyMethodDef context_methods[] = {
    {"close", context_close, METH_NOARGS,
     "close($self, /)\n--\n\n"
     "Refuse further calls, and free the context once the last call, task, array and registration that uses it has\n"
     "ended. May be called more than once."},
    {"_devices", context_devices, METH_NOARGS, NULL},
    {"_ready", context_ready, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef context_attributes[] = {
    {"closed", context_closed, NULL, "Whether close() has been called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot context_slots[] = {
    {Py_tp_new, context_new},
    {Py_tp_dealloc, context_dealloc},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_attributes},
    {0, NULL},
};

PyType_Spec hxpy_context_spec = {"hx._native.Context", sizeof(hxpy_context), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, context_slots};

static PyObject *default_get(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  PyObject *c = (PyObject *)default_made();
  Py_XINCREF(c);
  return c;
}

/* set_report_list(list or None): of this thread. */
static PyObject *report_list_set(PyObject *module, PyObject *list) {
  (void)module;
  PyObject *old = report_list;
  report_list = list == Py_None ? NULL : list;
  Py_XINCREF(report_list);
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

PyMethodDef hxpy_context_functions[] = {
    {"default_context", default_get, METH_NOARGS,
     "default_context()\n--\n\nThe context of calls that name none. It is made by the first of them, from the HX_ "
     "variables."},
    {"_set_report_list", report_list_set, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
