/* SPDX-License-Identifier: Apache-2.0
 * The check of a task: every error that hx.h names, with the value that is wrong. The arrays are not read. */
#include <stdio.h>

#include "runtime/task/check.h"

#define ENUMERATOR(enumerator, name) [enumerator] = #enumerator,
static const char *const enumerators[HX__OPS] = {HX__OPERATIONS(ENUMERATOR)};

__attribute__((cold, noinline)) hx__index_text hx__field_text(size_t index) {
  hx__index_text p = {""};
  if (index != HX__NO_INDEX) snprintf(p.text, sizeof p.text, " of field %zu", index);
  return p;
}

static hx_status check_array(const void *p, size_t n, const char *name, size_t index) {
  if (!p) REFUSE("%s%s is NULL with n = %zu", name, hx__field_text(index).text, n);
  if (misaligned(p, ELEMENT)) REFUSE("%s%s is %p: not aligned to 4 bytes", name, hx__field_text(index).text, p);
  if ((uintptr_t)p > UINTPTR_MAX - n * ELEMENT)
    REFUSE("%s%s is %p: wraps the address space with n = %zu", name, hx__field_text(index).text, p, n);
  return HX_OK;
}

static inline hx_status check_operation(const hx_field *f, size_t index) {
  if ((unsigned)f->op < HX_SUM || (unsigned)f->op > HX__OP_COUNT)
    REFUSE("op%s is %d: HX_SUM to %s (1 to %u) are known", hx__field_text(index).text, (int)f->op,
           enumerators[HX__OP_COUNT], HX__OP_COUNT);
  if ((unsigned)f->type < HX_F32 || (unsigned)f->type > HX__TYPE_COUNT)
    REFUSE("type%s is %d: HX_F32, HX_I32, HX_U32 (1 to 3) are known", hx__field_text(index).text, (int)f->type);
  return HX_OK;
}

hx_status hx__check_op(const hx_field *field, size_t index) { return check_operation(field, index); }
const char *hx__op_enumerator(hx_op op) { return enumerators[op]; }

static hx_status check_field(const hx_field *f, size_t index, size_t n) {
  hx_status s = check_operation(f, index);
  if (s != HX_OK) return s;
  if (n == 0) {
    if (hx__needs_an_element(f->op))
      REFUSE("n is 0: %s%s has no value", enumerators[f->op], hx__field_text(index).text);
    return HX_OK;
  }
  s = check_array(f->x, n, "x", index);
  return s == HX_OK && f->op == HX_DOT ? check_array(f->y, n, "y", index) : s;
}

static hx_status check_reduce(hx__work *w) {
  if (w->nfields > SIZE_MAX / sizeof(hx_field)) REFUSE("nfields is %zu: its fields overflow size_t", w->nfields);
  if (w->n > SIZE_MAX / ELEMENT) REFUSE("n is %zu: its bytes overflow size_t", w->n);
  if (w->nfields == 0) {
    w->slices = 0;
    w->units = w->needs = 0;
    return HX_OK;
  }
  if (!w->fields) REFUSE("fields is NULL with nfields = %zu", w->nfields);
  if (!w->out) REFUSE("out is NULL");
  if (misaligned(w->out, 8)) REFUSE("out is %p: not aligned to 8 bytes", (void *)w->out);
  const size_t out_bytes = w->nfields * sizeof(hx_value);
  if (w->fields != &w->single && hx__ranges_share(w->out, out_bytes, w->fields, w->nfields * sizeof *w->fields))
    REFUSE("out at %p shares an element with fields at %p", (void *)w->out, (const void *)w->fields);
  w->needs = 0;
  for (size_t i = 0; i < w->nfields; i++) {
    const hx_field *f = &w->fields[i];
    const size_t index = f == &w->single ? HX__NO_INDEX : i;
    const hx_status s = check_field(f, index, w->n);
    if (s != HX_OK) return s;
    if (w->n && (hx__ranges_share(w->out, out_bytes, f->x, w->n * ELEMENT) ||
                 (f->op == HX_DOT && hx__ranges_share(w->out, out_bytes, f->y, w->n * ELEMENT))))
      REFUSE("out at %p shares an element with an input%s", (void *)w->out, hx__field_text(index).text);
    w->needs |= hx__need_reduce(f->op, f->type);
  }
  w->slices = w->n / HX__LEAF + (w->n % HX__LEAF != 0);
  if (__builtin_mul_overflow(w->n, w->nfields, &w->units)) w->units = UINT64_MAX;
  return HX_OK;
}

/* The elements from the first to the last of all lines. False if they or their bytes overflow size_t. */
static bool lines_extent(size_t lines, size_t line_stride, size_t n, size_t stride, size_t *elements) {
  size_t lines_span, span, bytes;
  return !__builtin_mul_overflow(lines - 1, line_stride, &lines_span) &&
         !__builtin_mul_overflow(n - 1, stride, &span) && !__builtin_add_overflow(lines_span, span, elements) &&
         !__builtin_add_overflow(*elements, (size_t)1, elements) &&
         !__builtin_mul_overflow(*elements, (size_t)ELEMENT, &bytes);
}

/* A stride of one line, or of one element a line, is not used. */
static hx_status check_lines_array(hx__work *w, bool of_y) {
  hx__lines *const l = &w->lines;
  const char *const name = of_y ? "y" : "x", *const prefix = of_y ? "y_" : "";
  const size_t line_stride = of_y ? l->y_line_stride : l->line_stride, stride = of_y ? l->y_stride : l->stride;
  size_t elements;
  if (line_stride == 0 && l->count > 1) REFUSE("%sline_stride is 0 with %zu lines", prefix, l->count);
  if (stride == 0 && w->n > 1) REFUSE("%sstride is 0 with n = %zu", prefix, w->n);
  if (!lines_extent(l->count, line_stride, w->n, stride, &elements))
    REFUSE("%s of %zu lines of %zu elements with %sline_stride = %zu and %sstride = %zu: its bytes overflow size_t",
           name, l->count, w->n, prefix, line_stride, prefix, stride);
  l->sparse = l->sparse || elements / 2 > w->units;
  return check_array(of_y ? w->single.y : w->single.x, elements, name, HX__NO_INDEX);
}

/* The elements as a matrix: exactly, if they are adjacent in one direction or there is only one line; otherwise one row
 * from the first element to the last. Not hx__lines_matrix: that has the layout of x for y too. */
static hx__matrix elements_of(const hx__work *w, bool of_y) {
  const hx__lines *const l = &w->lines;
  const float *const p = of_y ? w->single.y : w->single.x;
  const size_t line = of_y ? l->y_line_stride : l->line_stride, one = of_y ? l->y_stride : l->stride;
  if (w->n == 1) return (hx__matrix){p, l->count, 1, line};
  if (l->count == 1) return (hx__matrix){p, w->n, 1, one};
  if (one == 1 && line >= w->n) return (hx__matrix){p, l->count, w->n, line};
  if (line == 1 && one >= l->count) return (hx__matrix){p, w->n, l->count, one};
  return hx__lines_matrix(w, of_y);
}

/* Whether an element of the array, or of a row that contains all of its elements, is in out. */
static hx_status check_lines_overlap(const hx__work *w, bool of_y) {
  const hx__matrix elements = elements_of(w, of_y);
  const hx__matrix out = {(const float *)(const void *)w->out, 1, 2 * w->lines.count, 2 * w->lines.count};
  if (!hx__matrices_share(&elements, &out)) return HX_OK;
  REFUSE("out at %p shares an element with %c at %p, or lies between its elements", (void *)w->out, of_y ? 'y' : 'x',
         (const void *)elements.base);
}

void hx__order_lines(hx__work *w) {
  hx__lines *const l = &w->lines;
  l->leaves = w->n / HX__LEAF + (w->n % HX__LEAF != 0);
  l->together = w->n < HX__LEAF ? HX__LEAF / w->n : 1;
  l->across = l->count > 1 && w->n > 1 && l->line_stride < l->stride;
  w->slices = l->leaves == 1 ? l->count / l->together + (l->count % l->together != 0) : l->leaves * l->count;
}

static hx_status check_lines(const struct hx_lines_args *t, hx__work *w) {
  w->single = (hx_field){t->op, t->type, t->x, t->y};
  w->fields = &w->single;
  w->nfields = 1;
  w->n = t->n;
  w->out = t->out;
  w->lines = (hx__lines){.count = t->lines,
                         .line_stride = t->line_stride,
                         .stride = t->stride,
                         .y_line_stride = t->op == HX_DOT ? t->y_line_stride : t->line_stride,
                         .y_stride = t->op == HX_DOT ? t->y_stride : t->stride};
  w->slices = 0;
  w->units = w->needs = 0;
  hx_status s = check_operation(&w->single, HX__NO_INDEX);
  if (s != HX_OK || t->lines == 0) return s;
  if (t->n == 0 && hx__needs_an_element(t->op)) REFUSE("n is 0: %s has no value", enumerators[t->op]);
  if (!t->out) REFUSE("out is NULL with lines = %zu", t->lines);
  if (misaligned(t->out, 8)) REFUSE("out is %p: not aligned to 8 bytes", (void *)t->out);
  if (t->lines > SIZE_MAX / sizeof(hx_value) || (uintptr_t)t->out > UINTPTR_MAX - t->lines * sizeof(hx_value))
    REFUSE("lines is %zu: their results overflow the address space", t->lines);
  if (t->n == 0) return HX_OK;
  hx__order_lines(w);
  if (__builtin_mul_overflow(t->lines, t->n, &w->units)) w->units = UINT64_MAX;
  const int arrays = t->op == HX_DOT ? 2 : 1;
  for (int of_y = 0; of_y < arrays; of_y++) {
    if ((s = check_lines_array(w, of_y)) != HX_OK) return s;
    if ((s = check_lines_overlap(w, of_y)) != HX_OK) return s;
  }
  w->needs = hx__need_lines(t->op, t->type);
  return HX_OK;
}

static __attribute__((cold)) hx_status refuse_reserved(const hx_task *task) {
  size_t i = task->kind == HX_MATMUL_BATCHED ? HX__BATCH_WORDS : 0;
  while (!task->reserved[i]) i++;
  REFUSE("reserved[%zu] of the task is %llu: start from a builder such as hx_reduce%s", i,
         (unsigned long long)task->reserved[i], i < HX__BATCH_WORDS ? "; only hx_matmul_batched has a batch" : "");
}

hx_status hx__task_check(const hx_task *task, hx__work *w) {
  if (!task) REFUSE("task is NULL");
  if (!(task->gpu_share <= 1.0f))
    REFUSE("gpu_share is %g: it must be at most 1; negative means that hx decides", (double)task->gpu_share);
  if (hx__reserved_bits(task) || (task->kind != HX_MATMUL_BATCHED && hx__batch_bits(task)))
    return refuse_reserved(task);
  w->gpu_share = task->gpu_share;
  w->placement = 0;
  w->matmul = w->by_columns = w->by_products = w->by_lines = w->map = false;
  w->kernel = NULL;
  w->batch.count = 0;
  switch (task->kind) {
    case HX_REDUCE:
      w->single = (hx_field){task->reduce.op, task->reduce.type, task->reduce.x, task->reduce.y};
      w->fields = &w->single;
      w->nfields = 1;
      w->n = task->reduce.n;
      w->out = task->reduce.out;
      return check_reduce(w);
    case HX_REDUCE_SOA:
      w->fields = task->soa.fields;
      w->nfields = task->soa.nfields;
      w->n = task->soa.n;
      w->out = task->soa.out;
      return check_reduce(w);
    case HX_REDUCE_LINES:
      w->by_lines = true;
      return check_lines(&task->lines, w);
    case HX_MATMUL:
      return hx__check_matmul(&task->matmul, w);
    case HX_MATMUL_BATCHED:
      return hx__check_batch(task, w);
    case HX_MAP:
      return hx__check_map(&task->map, w);
  }
  REFUSE(
      "kind is %d: HX_REDUCE, HX_REDUCE_SOA, HX_MATMUL, HX_REDUCE_LINES, HX_MATMUL_BATCHED, HX_MAP (1 to 6) are known",
      (int)task->kind);
}
