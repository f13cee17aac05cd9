/* SPDX-License-Identifier: Apache-2.0
 * Reductions along axes: the elements that the reduced axes span are one line, and the axes that are left number the
 * lines. Axes that are left are joined where their strides allow it; the longest of them is given to hx in one call,
 * and the others are loops around it. Lines whose elements are not at one positive distance are copied, some at a
 * time. */
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

/* The axes of an operand: those that are reduced span a line of elements `stride` apart, unless it is packed. Axes may
 * be turned: then they are read from their last element on. */
struct split {
  int kept[MOST_AXES], reduced[MOST_AXES];
  int kept_count, reduced_count;
  Py_ssize_t stride;
  char *first;
  Py_ssize_t strides[MOST_AXES];
  bool packed; /* lines are copied */
  hxpy_pack pack;
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

/* any_order: elements of a line may be read backwards. */
static void split_axes(const Py_buffer *v, const int *axes, int count, bool any_order, struct split *s) {
  s->kept_count = s->reduced_count = 0;
  for (int i = 0; i < v->ndim; i++) {
    bool reduce = s->reduced_count < count && axes[s->reduced_count] == i;
    if (reduce)
      s->reduced[s->reduced_count++] = i;
    else
      s->kept[s->kept_count++] = i;
  }
  s->packed = !is_line(v, s) && !(any_order && is_turned_line(v, s));
  if (!s->packed) return;
  is_line(v, s); /* no axis is turned */
  hxpy_pack_set(&s->pack, v, axes, count);
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

static void exchange(struct group *a, struct group *b) {
  const struct group other = *a;
  *a = *b;
  *b = other;
}

/* Moves the group that is given to hx in one call to groups[0]: one whose lines are nearer to each other than the
 * elements of a line, so that memory is read in its order, or else the longest one. Without any, a group of one line is
 * put there. */
static int best_first(struct group *groups, int count, bool pairs, Py_ssize_t apart) {
  const Py_ssize_t enough = 16;
  int best = -1;
  bool near = false;
  for (int i = 0; i < count; i++) {
    const struct group *g = &groups[i];
    if (g->a <= 0 || (pairs && g->b <= 0)) continue;
    const bool is_near = g->a < apart && g->extent >= enough;
    if (best < 0 || is_near > near || (is_near == near && g->extent > groups[best].extent)) best = i, near = is_near;
  }
  if (best < 0) {
    best = count++;
    groups[best] = (struct group){1, 4, 4, 1};
  }
  exchange(&groups[0], &groups[best]);
  return count;
}

/* Whether lines of n elements are computed by a user kernel: few elements, and many lines that are side by side and
 * whose results are, too. Moves these to groups[0], and to groups[1] one by which they make matrices, of one row if
 * there is none. */
static bool columns_first(struct group *groups, int *count, size_t n) {
  const Py_ssize_t enough = 256;
  int columns = -1, rows = -1;
  if (n < 1 || n > HX_MAX_INPUTS) return false;
  for (int i = 0; i < *count; i++) {
    if (groups[i].a == 4 && groups[i].out == 1) columns = i;
  }
  if (columns < 0 || groups[columns].extent < enough) return false;
  exchange(&groups[0], &groups[columns]);
  for (int i = 1; i < *count; i++) {
    const bool usable = groups[i].a >= 4 * groups[0].extent && groups[i].out > 0;
    if (usable && (rows < 0 || groups[i].extent > groups[rows].extent)) rows = i;
  }
  if (rows < 0) groups[rows = (*count)++] = (struct group){1, 4 * groups[0].extent, 0, groups[0].extent};
  exchange(&groups[1], &groups[rows]);
  return true;
}

/* What a reduction computes, besides where its lines begin. */
struct job {
  hxpy_context *context;
  const hx_kernel *kernel;            /* NULL: `task` reduces the lines */
  Py_ssize_t elements[HX_MAX_INPUTS]; /* bytes from a line's first element to each of them, if there is a kernel */
  hx_task task;                       /* of `most` lines */
  const struct split *x, *y;
  bool any_order;            /* of the elements of a line */
  char *packed_x, *packed_y; /* room for the lines that are copied; NULL: they are not */
  bool in_blocks;            /* lines are copied a block at a time */
  size_t most;
  hx_value *values; /* NULL: hx stores its values in the results itself */
  void *results;
  hxpy_cell cell;
};

/* Copies lines, and says where their elements are. Lines are side by side if they are so already: then the copy reads
 * the array in the order of memory. */
static void pack(const struct split *s, const char *first, hxpy_steps lines, size_t n, char *to, size_t *stride,
                 size_t *line_stride) {
  const Py_ssize_t apart = s->pack.run[s->pack.count - 1].stride;
  const bool side_by_side = lines.extent > 1 && lines.stride < (apart < 0 ? -apart : apart);
  hxpy_pack_lines(&s->pack, first, lines, n, side_by_side, to);
  *stride = side_by_side ? (size_t)lines.extent : 1;
  *line_stride = side_by_side ? 1 : n;
}

/* Does the lines of rows and columns, which are as many matrices as lines have elements. */
static bool run_kernel(const struct job *j, const struct group *columns, const struct group *rows, const char *x,
                       Py_ssize_t first) {
  const void *inputs[HX_MAX_INPUTS];
  size_t ld[HX_MAX_INPUTS];
  for (size_t i = 0; i < j->task.lines.n; i++) inputs[i] = x + j->elements[i], ld[i] = (size_t)rows->a / 4;
  const hx_task task = hx_map_rows(j->kernel, inputs, ld, (size_t)rows->extent, (size_t)columns->extent, NULL,
                                   (uint32_t *)j->results + first, (size_t)rows->out);
  return hxpy_run(j->context, &task) && !PyErr_CheckSignals();
}

/* Does the lines of groups[0]. first: their first result. */
static bool run_lines(struct job *j, const struct group *g, const char *x, const char *y, Py_ssize_t first) {
  struct hx_lines_args *l = &j->task.lines;
  const Py_ssize_t most = (Py_ssize_t)j->most;
  for (Py_ssize_t at = 0; at < g->extent; at += most, x += most * g->a, y += most * g->b) {
    const Py_ssize_t left = g->extent - at, count = left < most ? left : most;
    l->lines = (size_t)count;
    l->x = j->packed_x ? j->packed_x : x;
    if (j->y) l->y = j->packed_y ? j->packed_y : y;
    if (j->packed_x) pack(j->x, x, (hxpy_steps){count, g->a}, l->n, j->packed_x, &l->stride, &l->line_stride);
    if (j->packed_y) pack(j->y, y, (hxpy_steps){count, g->b}, l->n, j->packed_y, &l->y_stride, &l->y_line_stride);
    l->out = j->values ? j->values : (hx_value *)j->results + first + at;
    const bool ok = j->in_blocks
                        ? hxpy_reduce_in_blocks(j->context, l->op, &j->x->pack, x, l->n, j->task.gpu_share, l->out)
                        : hxpy_run(j->context, &j->task);
    if (!ok || PyErr_CheckSignals()) return false;
    if (j->values) hxpy_store(j->cell, j->results, first + at * g->out, g->out, l->out, l->lines);
  }
  return true;
}

/* Does them for each combination of the groups from number `inner` on. first_result: of the first line. */
static bool run_groups(struct job *j, const struct group *groups, int count, Py_ssize_t first_result) {
  const int inner = j->kernel ? 2 : 1;
  Py_ssize_t at[MOST_AXES + 2] = {0};
  for (;;) {
    Py_ssize_t x_offset = 0, y_offset = 0, first = first_result;
    for (int g = inner; g < count; g++) {
      x_offset += at[g] * groups[g].a;
      y_offset += at[g] * groups[g].b;
      first += at[g] * groups[g].out;
    }
    const char *const x = j->x->first + x_offset, *const y = j->y ? j->y->first + y_offset : NULL;
    if (j->kernel ? !run_kernel(j, &groups[0], &groups[1], x, first) : !run_lines(j, &groups[0], x, y, first))
      return false;
    int g = inner;
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

/* Room for the values and for lines that are copied: as many as fit in a cache, or one. */
static bool get_room(struct job *j, const struct group *lines) {
  const size_t enough = (size_t)1 << 20, n = j->task.lines.n;
  const bool stores = lines->out == 1 && hxpy_stores_values(j->cell);
  const bool packs = j->x->packed || (j->y && j->y->packed);
  j->most = (size_t)lines->extent;
  j->in_blocks = j->x->packed && !j->y && n > HXPY_BLOCK && !j->any_order && j->cell == HXPY_FLOAT32;
  if (packs && j->most > enough / n) j->most = n < enough ? enough / n : 1;
  if (!stores) j->values = malloc(j->most * sizeof *j->values);
  if (j->in_blocks) return j->most = 1, j->values;
  if (j->x->packed) j->packed_x = malloc(j->most * n * 4);
  if (j->y && j->y->packed) j->packed_y = malloc(j->most * n * 4);
  return (stores || j->values) && (!j->x->packed || j->packed_x) && (!j->y || !j->y->packed || j->packed_y);
}

/* Where the elements of a line are. */
static void find_elements(const Py_buffer *v, const struct split *s, size_t n, Py_ssize_t *elements) {
  for (size_t e = 0; e < n; e++) {
    Py_ssize_t left = (Py_ssize_t)e;
    elements[e] = 0;
    for (int i = s->reduced_count; i-- > 0; left /= v->shape[s->reduced[i]])
      elements[e] += left % v->shape[s->reduced[i]] * s->strides[s->reduced[i]];
  }
}

/* Finds the kernel, if one is used. */
static bool get_kernel(struct job *j, hx_op op, const hxpy_operand *a, size_t n) {
  find_elements(&a->view, j->x, n, j->elements);
  j->kernel = hxpy_columns_kernel(j->context, op, a->type, (int)n);
  return j->kernel;
}

/* Fills the memory of the result. */
static bool fill(hxpy_context *c, hx_op op, const hxpy_operand *a, const hxpy_operand *b, const int *axes, int count,
                 hxpy_cell cell, void *results, float share) {
  struct split x, y; /* large: only what is used is written */
  struct group groups[MOST_AXES + 2];
  const bool turns = hxpy_any_order(op, a->type);
  split_axes(&a->view, axes, count, turns, &x);
  if (b) split_axes(&b->view, axes, count, turns, &y);
  size_t n = 1;
  for (int i = 0; i < count; i++) n *= (size_t)a->view.shape[axes[i]];
  if (!hxpy_has_value(op, a, n)) return false;
  Py_ssize_t first;
  int used = join_axes(&a->view, &x, b ? &b->view : NULL, &y, groups, &first);
  const bool in_columns = !b && share < 0 && c->may_map && !hxpy_stores_values(cell) && columns_first(groups, &used, n);
  if (!in_columns) used = best_first(groups, used, b != NULL, x.stride * 4);
  struct job j = {.context = c, .x = &x, .y = b ? &y : NULL, .any_order = turns, .results = results, .cell = cell};
  j.task = hx_reduce_strided(op, a->type, x.first, (size_t)x.stride, n, NULL);
  j.task.gpu_share = share;
  j.task.lines.line_stride = (size_t)groups[0].a / 4;
  if (b) j.task.lines.y_stride = (size_t)y.stride;
  j.task.lines.y_line_stride = (size_t)groups[0].b / 4;
  if (in_columns) return get_kernel(&j, op, a, n) && run_groups(&j, groups, used, first);
  bool ok = get_room(&j, &groups[0]) ? run_groups(&j, groups, used, first) : hxpy_no_memory(n);
  free(j.values);
  free(j.packed_x);
  free(j.packed_y);
  return ok;
}

/* The number of the first of the axes from which on they span a line. */
static int first_of_line(const Py_buffer *v, const int *axes, int count) {
  struct split s;
  for (int first = 0; first < count; first++) {
    split_axes(v, axes + first, count - first, true, &s);
    if (!s.packed) return first;
  }
  return count;
}

/* Minima and maxima along axes that span no line: of the last axes, which do, and then of these values. */
static PyObject *reduce_twice(hxpy_context *c, hx_op op, hxpy_operand *a, const int *axes, int count, int first,
                              bool keepdims, float share) {
  hxpy_operand part = {0};
  PyObject *values = hxpy_reduce_axes(c, op, a, NULL, axes + first, count - first, true, share);
  const bool held = values && hxpy_operand_get(&part, values, a->name);
  PyObject *result = held ? hxpy_reduce_axes(c, op, &part, NULL, axes, count, keepdims, share) : NULL;
  hxpy_operand_release(&part);
  Py_XDECREF(values);
  return result;
}

PyObject *hxpy_reduce_axes(hxpy_context *c, hx_op op, hxpy_operand *a, hxpy_operand *b, const int *axes, int count,
                           bool keepdims, float share) {
  if (b && a->type != b->type) return hxpy_refuse("a and b have different dtypes");
  if (b && !same_shape(&a->view, &b->view)) {
    return hxpy_refuse("a has shape %s and b has shape %s", hxpy_shape_text(&a->view), hxpy_shape_text(&b->view));
  }
  const int part = op == HX_MIN || op == HX_MAX ? first_of_line(&a->view, axes, count) : 0;
  if (part > 0 && part < count) return reduce_twice(c, op, a, axes, count, part, keepdims, share);
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
