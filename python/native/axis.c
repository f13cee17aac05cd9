/* SPDX-License-Identifier: Apache-2.0
 * Reductions along axes: the elements that the reduced axes span are one line, and the axes that are left number the
 * lines. Axes that are left are joined where their strides allow it; the longest of them is given to hx in one call,
 * and the others are loops around it. */
#include "native.h"

#include <stdlib.h>

enum { MOST_AXES = 64 }; /* PyBUF_MAX_NDIM */

int hxpy_axes(PyObject *axis, int ndim, bool single, int *axes) {
  bool listed[MOST_AXES] = {false};
  Py_ssize_t count = PyTuple_Check(axis) ? PyTuple_Size(axis) : 1;
  if (single && PyTuple_Check(axis)) return hxpy_refuse("axis is %R; this operation takes one integer", axis), -1;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PyTuple_Check(axis) ? PyTuple_GetItem(axis, i) : axis;
    Py_ssize_t number = PyNumber_AsSsize_t(item, PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred()) return -1;
    Py_ssize_t at = number < 0 ? number + ndim : number;
    if (at < 0 || at >= ndim) return hxpy_refuse("axis is %zd; a has %d dimensions", number, ndim), -1;
    if (listed[at]) return hxpy_refuse("axis is %R; it names an axis twice", axis), -1;
    listed[at] = true;
  }
  int used = 0;
  for (int i = 0; i < ndim; i++) {
    if (listed[i]) axes[used++] = i;
  }
  return used;
}

/* The axes of an operand: those that are reduced span a line of elements `stride` apart. Axes may be turned: then they
 * are read from their last element on. */
struct split {
  int kept[MOST_AXES], reduced[MOST_AXES];
  int kept_count, reduced_count;
  Py_ssize_t stride;
  char *first;
  Py_ssize_t strides[MOST_AXES];
};

static void turn(const Py_buffer *v, int axis, struct split *s) {
  s->first += (v->shape[axis] - 1) * s->strides[axis];
  s->strides[axis] = -s->strides[axis];
}

/* Whether the reduced axes span a line, if no axis is turned. */
static bool is_line(const Py_buffer *v, struct split *s) {
  s->first = v->buf;
  for (int i = 0; i < v->ndim; i++) s->strides[i] = v->strides[i];
  return hxpy_flat(v, s->reduced, s->reduced_count, &s->stride);
}

/* The same if reduced axes with negative steps are turned. */
static bool is_turned_line(const Py_buffer *v, struct split *s) {
  for (int i = 0; i < s->reduced_count; i++) {
    const int axis = s->reduced[i];
    if (s->strides[axis] < 0 && v->shape[axis] > 1) turn(v, axis, s);
  }
  Py_buffer turned = *v;
  turned.strides = s->strides;
  return hxpy_flat(&turned, s->reduced, s->reduced_count, &s->stride);
}

/* Copies if the elements of a line are not at one positive distance: in the order of memory if negative steps alone are
 * in the way, which takes less time, and otherwise with the elements of each line side by side. any_order: elements
 * of a line may be read backwards. */
static bool split_axes(hxpy_operand *o, const int *axes, int count, bool any_order, struct split *s) {
  s->kept_count = s->reduced_count = 0;
  for (int i = 0; i < o->view.ndim; i++) {
    bool reduce = s->reduced_count < count && axes[s->reduced_count] == i;
    if (reduce)
      s->reduced[s->reduced_count++] = i;
    else
      s->kept[s->kept_count++] = i;
  }
  if (is_line(&o->view, s)) return true;
  if (is_turned_line(&o->view, s)) {
    if (any_order) return true;
    if (!hxpy_operand_copy(o, 'K')) return false;
    if (is_line(&o->view, s)) return true;
  }
  if (!hxpy_operand_gather(o, axes, count)) return false;
  for (int i = 0; i < o->view.ndim; i++) {
    if (i < s->kept_count)
      s->kept[i] = i;
    else
      s->reduced[i - s->kept_count] = i;
  }
  return is_line(&o->view, s);
}

/* Axes that are left, joined: `extent` lines, from one to the next `a`, `b` bytes and `out` results. */
struct group {
  Py_ssize_t extent, a, b, out;
};

/* Turns axes with negative steps, because hx takes lines at positive distances. *first: the result of the first line.
 */
static int join_axes(const Py_buffer *a, struct split *sa, const Py_buffer *b, struct split *sb, struct group *groups,
                     Py_ssize_t *first) {
  int count = 0;
  Py_ssize_t out = 1;
  *first = 0;
  for (int i = sa->kept_count; i-- > 0;) { /* groups[0] is the innermost one */
    const int axis = sa->kept[i];
    const Py_ssize_t extent = a->shape[axis];
    const bool turned = extent > 1 && sa->strides[axis] < 0;
    if (turned) turn(a, axis, sa);
    if (turned && b) turn(b, sb->kept[i], sb);
    if (turned) *first += (extent - 1) * out;
    struct group g = {extent, sa->strides[axis], b ? sb->strides[sb->kept[i]] : 0, turned ? -out : out};
    out *= extent;
    if (extent == 1) continue;
    struct group *inner = count ? &groups[count - 1] : NULL;
    if (inner && g.a == inner->a * inner->extent && g.b == inner->b * inner->extent &&
        g.out == inner->out * inner->extent)
      inner->extent *= extent;
    else
      groups[count++] = g;
  }
  return count;
}

/* Moves the longest group that may be given to hx to groups[0]. Without one, a group of one line is put there. */
static int longest_first(struct group *groups, int count, bool pairs) {
  int best = -1;
  for (int i = 0; i < count; i++) {
    bool usable = groups[i].a > 0 && (!pairs || groups[i].b > 0);
    if (usable && (best < 0 || groups[i].extent > groups[best].extent)) best = i;
  }
  if (best < 0) {
    best = count++;
    groups[best] = (struct group){1, 4, 4, 1};
  }
  struct group first = groups[best];
  groups[best] = groups[0];
  groups[0] = first;
  return count;
}

/* Calls hx for each combination of the groups from the second on, and stores the results. lines.out NULL: hx stores its
 * values in the results itself. first_result: of the first line. */
static bool run_groups(hxpy_context *c, hx_task *task, const struct group *groups, int count, hxpy_cell cell,
                       void *results, Py_ssize_t first_result) {
  struct hx_lines_args *l = &task->lines;
  const char *x = l->x, *y = l->y;
  const bool direct = !l->out;
  Py_ssize_t at[MOST_AXES + 1] = {0};
  for (;;) {
    Py_ssize_t x_offset = 0, y_offset = 0, first = first_result;
    for (int g = 1; g < count; g++) {
      x_offset += at[g] * groups[g].a;
      y_offset += at[g] * groups[g].b;
      first += at[g] * groups[g].out;
    }
    l->x = x + x_offset;
    if (y) l->y = y + y_offset;
    if (direct) l->out = (hx_value *)results + first;
    if (!hxpy_run(c, task)) return false;
    if (!direct) hxpy_store(cell, results, first, groups[0].out, l->out, l->lines);
    int g = 1;
    while (g < count && ++at[g] == groups[g].extent) at[g++] = 0;
    if (g >= count) return true;
  }
}

/* An array for the results, of the shape of `a` without the reduced axes, or with 1 for each. */
static PyObject *empty_result(const Py_buffer *a, const int *axes, int count, hxpy_cell cell, bool keepdims) {
  Py_ssize_t shape[MOST_AXES];
  int ndim = 0, seen = 0;
  for (int i = 0; i < a->ndim; i++) {
    bool reduced = seen < count && axes[seen] == i;
    seen += reduced;
    if (!reduced)
      shape[ndim++] = a->shape[i];
    else if (keepdims)
      shape[ndim++] = 1;
  }
  return hxpy_array(cell, ndim, shape);
}

static bool same_shape(const Py_buffer *a, const Py_buffer *b) {
  bool same = a->ndim == b->ndim;
  for (int i = 0; same && i < a->ndim; i++) same = a->shape[i] == b->shape[i];
  return same;
}

/* Whether the value of a line does not depend on the order of its elements. Lines of pairs are not turned, because both
 * of them would have to be. */
static bool any_order(hx_op op, hx_type type) {
  return op == HX_MIN || op == HX_MAX || (type != HX_F32 && op != HX_ARGMIN && op != HX_ARGMAX && op != HX_DOT);
}

/* Fills the memory of the result. */
static bool fill(hxpy_context *c, hx_op op, hxpy_operand *a, hxpy_operand *b, const int *axes, int count,
                 hxpy_cell cell, void *results, float share) {
  struct split sa, sb = {0};
  struct group groups[MOST_AXES + 1];
  const bool turns = any_order(op, a->type);
  if (!split_axes(a, axes, count, turns, &sa) || (b && !split_axes(b, axes, count, turns, &sb))) return false;
  size_t n = 1;
  for (int i = 0; i < count; i++) n *= (size_t)a->view.shape[sa.reduced[i]];
  if (!hxpy_has_value(op, a, n)) return false;
  Py_ssize_t first;
  int used = join_axes(&a->view, &sa, b ? &b->view : NULL, &sb, groups, &first);
  used = longest_first(groups, used, b != NULL);
  size_t lines = (size_t)groups[0].extent;
  const bool direct = groups[0].out == 1 && hxpy_stores_values(cell);
  hx_value *out = direct ? NULL : malloc(lines * sizeof *out);
  if (!direct && !out) return PyErr_NoMemory();
  hx_task task = hx_reduce_strided(op, a->type, sa.first, (size_t)sa.stride, n, out);
  task.gpu_share = share;
  task.lines.lines = lines;
  task.lines.line_stride = (size_t)groups[0].a / 4;
  if (b) {
    task.lines.y = sb.first;
    task.lines.y_stride = (size_t)sb.stride;
    task.lines.y_line_stride = (size_t)groups[0].b / 4;
  }
  bool ok = run_groups(c, &task, groups, used, cell, results, first);
  free(out);
  return ok;
}

PyObject *hxpy_reduce_axes(hxpy_context *c, hx_op op, hxpy_operand *a, hxpy_operand *b, const int *axes, int count,
                           bool keepdims, float share) {
  if (b && a->type != b->type) return hxpy_refuse("a and b have different dtypes");
  if (b && !same_shape(&a->view, &b->view)) {
    return hxpy_refuse("a has shape %s and b has shape %s", hxpy_shape_text(&a->view), hxpy_shape_text(&b->view));
  }
  hxpy_cell cell = hxpy_cell_of(op, a->type);
  PyObject *result = empty_result(&a->view, axes, count, cell, keepdims);
  Py_buffer memory;
  if (!result || PyObject_GetBuffer(result, &memory, PyBUF_STRIDES | PyBUF_WRITABLE)) return Py_XDECREF(result), NULL;
  bool scalar = memory.ndim == 0, ok = memory.len == 0 || fill(c, op, a, b, axes, count, cell, memory.buf, share);
  PyBuffer_Release(&memory);
  if (ok && !scalar) return result;
  PyObject *value = ok ? PyObject_GetItem(result, hxpy_py.no_indices) : NULL; /* the only element, as a scalar */
  Py_DECREF(result);
  return value;
}
