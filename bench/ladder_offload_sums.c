/* SPDX-License-Identifier: Apache-2.0
 * `ladder offload` of a length: a sum, a dot product, and the sum of each field of a structure of arrays, by the same
 * rungs as the product. Between them stand what the Intel GFX study advises about data: their width, alignment and
 * order, and memory that is not copied. */
#include <stdlib.h>
#include <string.h>

#include "bench/ladder_arrays.h"
#include "reference/data.h"
#include "reference/ref.h"

#define SECONDS 4.0
#define SEED 13u
#define PAGE 4096u
#define LINE 16u /* elements; arrays begin at multiples of it */
#define MOST_VALUE 7u

static const struct sum_task {
  const char *name;
  ladder_sum_kind kind;
  size_t arrays, sums;
} tasks[] = {{"sum", LADDER_SUM, 1, 1}, {"dot", LADDER_DOT, 2, 1}, {"SoA", LADDER_SOA, 3, 3}};

_Static_assert(sizeof tasks / sizeof tasks[0] == LADDER_SUM_TASKS, "the progress bar counts them");

size_t ladder_copy_width(ladder_copy copy) {
  static const size_t width[LADDER_COPIES] = {4, 4, 2, 1, 4};
  return width[copy];
}

static void store(void *to, size_t width, size_t at, uint32_t value) {
  if (width == 1)
    ((uint8_t *)to)[at] = (uint8_t)value;
  else if (width == 2)
    ((uint16_t *)to)[at] = (uint16_t)value;
  else
    ((uint32_t *)to)[at] = value;
}

/* Fills a copy from the plain one. */
static void fill_copy(ladder_arrays *a, ladder_copy copy) {
  const uint32_t *const x = a->copy[LADDER_PLAIN];
  const size_t width = ladder_copy_width(copy);
  for (size_t f = 0; f < a->count; f++)
    for (size_t i = 0; i < a->n; i++)
      store(a->copy[copy], width, copy == LADDER_STRUCTS ? i * a->count + f : f * a->pitch + i, x[f * a->pitch + i]);
}

static bool add_copy(ladder_arrays *a, ladder_copy copy) {
  char *const p = aligned_alloc(PAGE, a->bytes + PAGE);
  if (!p) return false;
  memset(p, 0, a->bytes + PAGE);
  a->copy[copy] = p + (copy == LADDER_OFF ? sizeof(uint32_t) : 0);
  if (copy != LADDER_PLAIN) fill_copy(a, copy);
  return true;
}

static void close_arrays(ladder_arrays *a) {
  for (ladder_copy copy = 0; copy < LADDER_COPIES; copy++)
    if (a->copy[copy]) free((char *)a->copy[copy] - (copy == LADDER_OFF ? sizeof(uint32_t) : 0));
}

static hx_value unused[LADDER_MOST_SUMS]; /* rungs set outputs of their own */

/* The task of hx. fields: room for those of a structure. */
static hx_task task_of(const ladder_arrays *a, const uint32_t *x, hx_field *fields) {
  if (a->kind == LADDER_SUM) return hx_reduce(HX_SUM, HX_U32, x, a->n, unused);
  if (a->kind == LADDER_DOT) return hx_dot(HX_U32, x, x + a->pitch, a->n, unused);
  for (size_t f = 0; f < a->count; f++) fields[f] = (hx_field){HX_SUM, HX_U32, x + f * a->pitch, NULL};
  return hx_reduce_soa(fields, a->count, a->n, unused);
}

/* Computes the expected sums by the scalar definition. */
static void set_expected(ladder_arrays *a) {
  const uint32_t *const x = a->copy[LADDER_PLAIN];
  const hx_op op = a->kind == LADDER_DOT ? HX_DOT : HX_SUM;
  for (size_t f = 0; f < a->sums; f++)
    a->expected[f] = ref_reduce(op, HX_U32, x + f * a->pitch, x + a->pitch * (a->count - 1), a->n).u64;
}

/* Returns false after printing one sentence to stderr. What was opened is closed by close_arrays as well. */
static bool open_arrays(ladder_arrays *a, const ladder_device *device, const struct sum_task *task, size_t n) {
  *a = (ladder_arrays){.device = device, .kind = task->kind, .n = n, .count = task->arrays, .sums = task->sums};
  a->pitch = (n + LINE - 1) / LINE * LINE;
  a->bytes = (a->count * a->pitch * sizeof(uint32_t) + PAGE - 1) / PAGE * PAGE;
  bool fine = add_copy(a, LADDER_PLAIN);
  for (size_t f = 0; fine && f < a->count; f++)
    for (size_t i = 0; i < n; i++)
      ((uint32_t *)a->copy[LADDER_PLAIN])[f * a->pitch + i] = 1 + data_u(SEED + f, i) % MOST_VALUE;
  if (a->kind == LADDER_SUM)
    fine = fine && add_copy(a, LADDER_OFF) && add_copy(a, LADDER_2_BYTES) && add_copy(a, LADDER_1_BYTE);
  if (a->kind == LADDER_SOA) fine = fine && add_copy(a, LADDER_STRUCTS);
  if (!fine) fprintf(stderr, "hx-bench: there is no memory for ladder offload %s of %zu elements\n", task->name, n);
  if (fine) set_expected(a);
  return fine;
}

/* The last rung, and the one from which its gap is counted. */
static void count_from(ladder_case *c, const char *against) { c->rung[c->rungs - 1].against = against; }

/* hx on data that is not aligned, and on an array of structures, by the CPU alone. */
static void add_other_data(const bench_session *session, ladder_case *c, const ladder_arrays *a) {
  static const char alone[] = "CPU 100 % (CPU alone)";
  if (a->copy[LADDER_OFF]) {
    const hx_task task = task_of(a, a->copy[LADDER_OFF], NULL);
    ladder_hx_call_rung(session->hx, c, "hx, CPU, not aligned", &task, 0);
    count_from(c, alone);
  }
  if (a->copy[LADDER_STRUCTS]) {
    const hx_task task = hx_reduce_columns(HX_SUM, HX_U32, a->copy[LADDER_STRUCTS], a->n, a->count, 0, unused);
    ladder_hx_call_rung(session->hx, c, "hx, CPU, AoS", &task, 0);
    count_from(c, alone);
  }
}

/* hx on memory of hx_alloc, by devices alone. Returns that memory; NULL: there is none. */
static uint32_t *add_pinned(const bench_session *session, ladder_case *c, const ladder_arrays *a, hx_field *fields) {
  static const char name[] = "hx, devices, pinned";
  uint32_t *const x = session->has_device ? hx_alloc(session->hx, a->bytes) : NULL;
  if (x) {
    memcpy(x, a->copy[LADDER_PLAIN], a->bytes);
    const hx_task task = task_of(a, x, fields);
    ladder_hx_call_rung(session->hx, c, name, &task, 1);
  } else {
    ladder_out(ladder_add(c, name, NULL, NULL), session->has_device ? "there is no memory" : "no device is in use");
  }
  count_from(c, "CPU 0 % (devices alone)");
  return x;
}

static bool run_task(bench_session *session, const ladder_arrays *a, const char *name) {
  static ladder_case c;
  hx_field fields[LADDER_MOST_SUMS], pinned_fields[LADDER_MOST_SUMS];
  ladder_sum_kernels kernels;
  ladder_forms forms;
  c = (ladder_case){.ladder = "offload",
                    .task = name,
                    .unit = "M/s",
                    .base = LADDER_SUM_BASE,
                    .n = a->n,
                    .sum = a->expected,
                    .sums = a->sums};
  c.work = 1e-6 * (double)a->count * (double)a->n;
  const hx_task task = task_of(a, a->copy[LADDER_PLAIN], fields);
  ladder_sum_loop_rungs(&c, a, session->threads);
  ladder_sum_gpu_rungs(&c, a, &kernels);
  ladder_form_rungs(&c, &task, &forms);
  ladder_split_rungs(session, &c, &task);
  uint32_t *const pinned = add_pinned(session, &c, a, pinned_fields);
  add_other_data(session, &c, a);
  const bool fine = ladder_run(session, &c, SECONDS);
  ladder_print_gain(&c);
  if (pinned) hx_free(session->hx, pinned);
  ladder_forms_close(&forms);
  ladder_sum_kernels_close(&kernels);
  return fine;
}

bool ladder_offload_sums(bench_session *session, const ladder_device *device, size_t n) {
  bool fine = n <= INT32_MAX;
  if (!fine) fprintf(stderr, "hx-bench: ladder offload takes reductions of less than 2^31 elements, not %zu\n", n);
  for (size_t i = 0; fine && i < LADDER_SUM_TASKS && !bench_stopped(); i++) {
    ladder_arrays a;
    fine = open_arrays(&a, device, &tasks[i], n) && run_task(session, &a, tasks[i].name);
    close_arrays(&a);
  }
  return fine;
}
