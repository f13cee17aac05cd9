/* SPDX-License-Identifier: Apache-2.0
 * A kernel's self-test: small cases that reach its remainder paths, on a stream like those of runs, compared as
 * integers with the results of the CPU's kernels. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cases.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/opencl/selftest.h"
#include "runtime/base/clock.h"

#define LIMIT_NS 30000000000u /* for one small launch on a device that may hang */
#define SLOW_NS 50000000u     /* a device that takes longer for one small launch does not get several */

static const char *const wrong_bits = "its bits differ on a small case";
static const char *const nothing_written = "it ended a small case without an error and wrote nothing";
static const char *const no_answer = "it gave no answer on a small case";

static uint32_t *case_elements(hx_op op, hx_type type, size_t first, size_t n, bool special) {
  uint32_t *x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; x && i <= n; i++) x[i] = hx__case_element(op, type, first + i, special);
  return x;
}

static uint32_t *matrix_elements(size_t n) {
  uint32_t *x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; x && i <= n; i++) x[i] = hx__case_matrix_element(i);
  return x;
}

#define PATTERN 0xa5a5a5a5u /* no result of a case has this value */
#define PATTERN_BYTES 4096u /* no fewer than the first case writes */

/* Fills the buffer that the stream's first case writes with a pattern, to distinguish a device that writes nothing from
 * one with wrong bits. An error here is ignored, because it will occur again in the case. */
static void fill_with_pattern(hx__cl_stream *stream) {
  static uint32_t pattern[PATTERN_BYTES / sizeof(uint32_t)];
  hx__cl_buffer *const out = &stream->inflight[stream->next].out;
  memset(pattern, PATTERN & 0xff, sizeof pattern);
  if (hx__cl_buffer_reserve(stream->device, out, sizeof pattern, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR) == HX__DONE)
    clEnqueueWriteBuffer(stream->queue, out->mem, CL_TRUE, 0, sizeof pattern, pattern, 0, NULL, NULL);
}

/* The reason why a result is wrong. */
static const char *fault_of(const void *result, size_t bytes) {
  const unsigned char *const at = result;
  for (size_t i = 0; i < bytes; i++)
    if (at[i] != (PATTERN & 0xff)) return wrong_bits;
  return nothing_written;
}

hx__outcome hx__cl_run_once(hx__stream *stream, const hx__request *request, bool *joined) {
  hx__outcome outcome = hx__cl_begin(stream, request);
  const size_t slices = request->work->slices, most = hx__stream_most(stream, request);
  uint64_t copied;
  *joined = false;
  for (size_t first = 0; first < slices && outcome == HX__DONE; first += most) {
    const hx__chunk chunk = {first, slices - first < most ? slices - first : most};
    hx__inflight *ticket = NULL;
    outcome = hx__cl_submit(stream, request, chunk, &ticket);
    const _Atomic uint64_t deadline = stream->device->never_times_out ? UINT64_MAX : hx__now_ns() + LIMIT_NS;
    if (outcome == HX__DONE) outcome = hx__cl_wait(stream, ticket, &deadline);
    if (outcome == HX__DONE) hx__cl_deliver(stream, request, ticket, chunk);
    if (outcome == HX__DONE) hx__cl_retire(stream, ticket);
    if (ticket) *joined = *joined || ((const hx__cl_inflight *)ticket)->joined;
  }
  if (outcome == HX__TIMED_OUT) hx__device_lost(stream->device, "a small kernel did not end in 30 s");
  hx__cl_end(stream, &copied);
  return outcome;
}

/* The memory modes that runs use for memory of the caller. The cases are computed in each of them. */
static const hx__memory_mode test_modes[] = {HX__MEMORY_COPY, HX__MEMORY_HOSTPTR};

bool hx__cl_same_slot(hx_op op, hx_type type, uint64_t got, uint64_t want) {
  const bool rounds = type == HX_F32 && op != HX_MIN && op != HX_MAX && op != HX_ARGMIN && op != HX_ARGMAX;
  float a, b;
  memcpy(&a, &got, sizeof a);
  memcpy(&b, &want, sizeof b);
  return got == want || (rounds && a != a && b != b);
}

/* first: elements of the case that are left out. */
static const char *test_reduce(hx__stream *stream, hx_op op, hx_type type, size_t first, size_t n, bool special,
                               hx__memory_mode mode) {
  uint32_t *const x = case_elements(op, type, first, n, special);
  uint32_t *const y = case_elements(op, type, first, n + 7, special);
  const size_t leaves = (n + HX__LEAF - 1) / HX__LEAF;
  uint64_t *const slots = malloc(2 * leaves * sizeof *slots);
  const char *why = "no host memory";
  if (x && y && slots) {
    hx_value unused;
    const hx_field field = {op, type, x + 1, op == HX_DOT ? y + 3 : NULL};
    const hx__work work = {.slices = leaves, .n = n, .nfields = 1, .fields = &field, .out = &unused};
    const hx__array xa = {.p = field.x, .rows = 1, .cols = n, .ld = n, .mode = mode};
    hx__array arrays[2] = {xa, xa};
    if (op == HX_DOT) arrays[1].p = field.y;
    const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(HX__ISA_AUTO);
    const hx__request request = {.work = &work, .kernels = cpu, .arrays = arrays, .slots = slots};
    for (size_t l = 0; l < leaves; l++) { /* leaf by leaf, because one call of argmin or argmax only gives the index of
                                           * the overall winner */
      const size_t at = l * HX__LEAF, part = n - at < HX__LEAF ? n - at : HX__LEAF;
      cpu->leaf[op][type](x + 1 + at, op == HX_DOT ? y + 3 + at : NULL, part, HX__IN_L2, slots + leaves + l);
    }
    memset(slots, 0xa5, leaves * sizeof *slots);
    bool joined;
    const hx__outcome outcome = hx__cl_run_once(stream, &request, &joined);
    bool same = outcome == HX__DONE;
    if (same && joined)
      same = hx__join(op, type, slots, leaves).u64 == hx__join(op, type, slots + leaves, leaves).u64;
    else
      for (size_t l = 0; l < leaves && same; l++) same = hx__cl_same_slot(op, type, slots[l], slots[leaves + l]);
    why = outcome != HX__DONE ? no_answer : same ? NULL : fault_of(slots, sizeof *slots);
  }
  free(x);
  free(y);
  free(slots);
  return why;
}

/* Groups of leaves that the device joins itself, which run at once and in any order. Each launch has other elements,
 * and the ticket and the slots that the one before it left. A slow device (a simulator) has three groups in one launch.
 */
static const char *test_groups(hx__stream *stream, hx_op op, hx_type type) {
  enum { LAUNCHES = 8, FEW = 17 * HX__LEAF + 77, MANY = 57 * HX__LEAF + 77 };
  const hx__cl_program *const p =
      &((hx__cl_stream *)stream)->device->program[hx__need_index(hx__need_reduce(op, type))];
  if (!p->row->joins) return NULL;
  ((hx__cl_stream *)stream)->joins = true;
  const uint64_t from = hx__now_ns();
  const char *why = test_reduce(stream, op, type, 0, FEW, false, HX__MEMORY_COPY);
  const bool slow = hx__now_ns() - from > SLOW_NS;
  for (size_t i = 1; i < LAUNCHES && !slow && !why; i++)
    why = test_reduce(stream, op, type, i, MANY - i % 2 * 9 * HX__LEAF, false, HX__MEMORY_COPY);
  return why;
}

static const char *test_reduce_all(hx__stream *stream, hx_op op, hx_type type) {
  for (size_t m = 0; m < sizeof test_modes / sizeof test_modes[0]; m++) {
    if (!(stream->device->modes & 1u << test_modes[m])) continue;
    ((hx__cl_stream *)stream)->joins = m == 0;
    for (size_t i = 0; i < HX__CASE_SIZES; i++)
      for (int special = 0; special <= (type == HX_F32); special++) {
        const char *why = test_reduce(stream, op, type, 0, hx__case_sizes[i], special, test_modes[m]);
        if (why) return why;
      }
  }
  return test_groups(stream, op, type);
}

/* Makes a batch of a product, whose arrays are one row each. */
static void make_batch(hx__work *work, hx__array arrays[2], struct hx_batch batch) {
  work->by_products = true;
  work->by_columns = false;
  work->slices = batch.count;
  work->batch = batch;
  for (unsigned which = HX__BATCH_A; which <= HX__BATCH_B; which++) {
    const hx__matrices x = hx__batch_matrices(work, which);
    arrays[which].rows = 1;
    arrays[which].cols = arrays[which].ld = hx__matrices_extent(&x, x.count);
  }
}

/* resident: C has a beta, stays on the device and is fetched. */
static const char *test_product(hx__stream *stream, const hx__cl_program *p, const hx__case_product *c,
                                hx__memory_mode mode, bool resident) {
  const size_t m = c->tiles_m * p->tile_m + c->rest_m, n = c->tiles_n * p->tile_n + c->rest_n, k = c->k;
  const size_t pad_b = c->vec4_b ? 4 : 1, lda = (c->trans_a ? m : k) + 4, ldb = (c->trans_b ? k : n) + pad_b;
  const size_t a_rows = c->trans_a ? k : m, b_rows = c->trans_b ? n : k;
  const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(HX__ISA_AUTO);
  const hx__gemm_blocking blocking = cpu->gemm_blocking(0);
  size_t scratch_bytes = cpu->gemm_scratch_bytes(blocking, m, n, k);
  scratch_bytes = (scratch_bytes + 64) & ~(size_t)63;
  const size_t products = c->products ? c->products : 1, a_step = a_rows * lda, b_step = b_rows * ldb, cells = m * n;
  uint32_t *const a = matrix_elements(products * a_step), *const b = matrix_elements(products * b_step);
  float *const got = calloc(products * cells, sizeof *got), *const want = calloc(products * cells, sizeof *want);
  void *const scratch = aligned_alloc(64, scratch_bytes);
  const char *why = "no host memory";
  if (a && b && got && want && scratch) {
    hx__gemm g = {.m = m, .n = n, .k = k, .a = (const float *)(a + 1), .b = (const float *)(b + 1)};
    g.a_rs = c->trans_a ? 1 : lda;
    g.a_cs = c->trans_a ? lda : 1;
    g.b_rs = c->trans_b ? 1 : ldb;
    g.b_cs = c->trans_b ? ldb : 1;
    g.ldc = n;
    for (size_t i = 0; m > 1 && i < k; i++) { /* makes a sum -0, which zeros filled in beyond the last k must not
                                               * change */
      a[1 + (m - 1) * g.a_rs + i * g.a_cs] = 0x0d800000u; /* 2^-100 */
      b[1 + i * g.b_rs] = 0x8d800000u;
    }
    g.alpha = c->alpha;
    g.beta = resident ? -0.5f : 0.0f;
    for (size_t i = 0; resident && i < products * cells; i++) got[i] = want[i] = (float)(i % 7) - 3.0f;
    g.c = want;
    hx__work work = {.matmul = true,
                     .by_columns = c->trans_b,
                     .slices = c->trans_b ? n : m,
                     .gemm = g,
                     .trans_a = c->trans_a,
                     .trans_b = c->trans_b};
    hx__array arrays[2] = {{.p = g.a, .rows = a_rows, .cols = lda - 4, .ld = lda, .mode = mode},
                           {.p = g.b, .rows = b_rows, .cols = ldb - pad_b, .ld = ldb, .mode = mode}};
    if (c->products) make_batch(&work, arrays, (struct hx_batch){products, a_step, b_step, cells});
    for (size_t i = 0; i < products; i++) {
      const hx__gemm one = hx__batch_gemm(&work, i);
      cpu->gemm(&one, blocking, NULL, NULL, scratch);
    }
    work.gemm.c = got;
    hx__resident_output output = {
        .mirror = resident ? hx__cl_mirror_create(stream->device, got, products * cells * sizeof *got) : NULL};
    const hx__request request = {
        .work = &work, .kernels = cpu, .arrays = arrays, .resident = output.mirror ? &output : NULL};
    bool unused;
    hx__outcome outcome = hx__cl_run_once(stream, &request, &unused);
    if (output.mirror) {
      const hx__array result = {.p = got, .rows = products * m, .cols = n, .ld = n, .mirror = output.mirror};
      if (outcome == HX__DONE && output.complete) outcome = hx__cl_fetch(stream, &result);
      hx__cl_mirror_destroy(stream->device, output.mirror);
    }
    const bool same = memcmp(got, want, products * cells * sizeof *got) == 0;
    why = outcome != HX__DONE ? no_answer : same ? NULL : fault_of(got, products * cells * sizeof *got);
  }
  free(a);
  free(b);
  free(got);
  free(want);
  free(scratch);
  return why;
}

/* A case that reaches the program: a variant of a set is reached only by operands of its layout. */
static const hx__case_product *case_reaching(const hx__cl_stream *stream, const hx__cl_program *p) {
  static const unsigned tiles[HX__LAYOUTS] = {HX__CASE_ANY_LAYOUT, HX__CASE_TN, HX__CASE_NT};
  static const unsigned vec4[HX__LAYOUTS] = {HX__CASE_VEC4_NN, HX__CASE_TN, HX__CASE_VEC4_NT};
  static const unsigned few_rows[HX__LAYOUTS] = {HX__CASE_FEW_ROWS_NN, HX__CASE_TN, HX__CASE_FEW_ROWS_NT};
  const hx__layout layout = stream->self_test.program ? p->layout : HX__LAYOUT_NN;
  if (p->row->shape == HX__SHAPE_BATCH) return &hx__case_products[HX__CASE_BATCH];
  return &hx__case_products[(p->row->shape == HX__SHAPE_FEW_ROWS ? few_rows : p->row->vec4 ? vec4 : tiles)[layout]];
}

static const char *test_products(hx__stream *stream, const hx__cl_program *p) {
  const hx__cl_stream *const own = (const hx__cl_stream *)stream;
  for (size_t i = 0; i < HX__CASE_PRODUCTS; i++) {
    const hx__memory_mode mode = stream->device->modes & 1u << test_modes[i & 1] ? test_modes[i & 1] : HX__MEMORY_COPY;
    const char *why = test_product(stream, p, &hx__case_products[i], mode, false);
    if (why) return why;
  }
  if (own->self_test.program && !own->self_test.reached) return "no small case reaches it";
  return test_product(stream, p, case_reaching(own, p), HX__MEMORY_COPY, true);
}

static bool is_lines(unsigned need) { return need >= HX__FIRST_LINES && need < HX__NEEDS; }
static bool is_fields(unsigned need) { return need >= HX__FIRST_FIELDS; }
static bool is_product(unsigned need) { return need >= HX__FIRST_PRODUCT && !is_lines(need) && !is_fields(need); }
static bool is_variant(unsigned need) { return need >= HX__NEEDS && need < HX__TUNED_PROGRAM; }

/* Makes the stream use the program `need` for products. A variant uses the copy and join kernels of the set's first
 * program, and is chosen for every product that it can compute. */
static void use_product(hx__cl_stream *stream, unsigned need) {
  stream->product = is_variant(need) ? HX__FIRST_PRODUCT : need;
  stream->self_test.program = is_variant(need) ? need : 0;
  stream->self_test.reached = false;
}

hx__stream *hx__cl_test_stream(hx__cl_device *d, unsigned need) {
  static const hx__config plain = {.timeout_ms = HX__TIMEOUT_AUTO};
  hx__stream *const stream = hx__cl_stream_open(&d->base, &plain);
  if (stream) ((hx__cl_stream *)stream)->self_test.active = true;
  if (stream && is_product(need)) use_product((hx__cl_stream *)stream, need);
  if (stream && is_fields(need)) ((hx__cl_stream *)stream)->self_test.program = need;
  return stream;
}

const char *hx__cl_self_test(hx__cl_device *d, unsigned need) {
  hx__stream *const stream = hx__cl_test_stream(d, need);
  if (!stream) return "it has no queue";
  fill_with_pattern((hx__cl_stream *)stream);
  const unsigned of_lines = need - HX__FIRST_LINES;
  const char *const why =
      is_lines(need)     ? hx__cl_test_lines(stream, hx__reduction_op(of_lines), hx__reduction_type(of_lines), false)
      : is_fields(need)  ? hx__cl_test_fields(stream, d->fields[need - HX__FIRST_FIELDS], false)
      : is_product(need) ? test_products(stream, &d->program[need])
                         : test_reduce_all(stream, hx__reduction_op(need), hx__reduction_type(need));
  hx__cl_stream_close(stream);
  return why;
}

/* One case of the product. In mode copy, unless the program can read the case's operands in place at any address. */
static const char *test_product_once(hx__stream *stream, const hx__cl_program *p, hx__memory_mode mode) {
  const hx__cl_stream *const own = (const hx__cl_stream *)stream;
  const hx__case_product *const c = case_reaching(own, p);
  const bool any_place =
      p->row->shape == HX__SHAPE_FEW_ROWS ? p->layout == HX__LAYOUT_NN : c == &hx__case_products[HX__CASE_ANY_LAYOUT];
  const char *const why = test_product(stream, p, c, any_place ? mode : HX__MEMORY_COPY, false);
  return why ? why : own->self_test.program && !own->self_test.reached ? "no small case reaches it" : NULL;
}

/* Uses one stream for all programs, and host memory in place if possible: opening streams, or the staging buffers of
 * mode copy, would take most of the time. */
const char *hx__cl_self_test_once(hx__cl_device *d, unsigned need) {
  if (!d->tester) d->tester = hx__cl_test_stream(d, need);
  if (!d->tester) return "it has no queue";
  const hx__memory_mode mode = d->base.modes & 1u << HX__MEMORY_HOSTPTR ? HX__MEMORY_HOSTPTR : HX__MEMORY_COPY;
  const unsigned of_lines = need - HX__FIRST_LINES;
  if (is_product(need)) use_product((hx__cl_stream *)d->tester, need);
  if (is_fields(need)) ((hx__cl_stream *)d->tester)->self_test.program = need;
  const char *const why =
      is_lines(need)    ? hx__cl_test_lines(d->tester, hx__reduction_op(of_lines), hx__reduction_type(of_lines), true)
      : is_fields(need) ? hx__cl_test_fields(d->tester, d->fields[need - HX__FIRST_FIELDS], true)
      : is_product(need)
          ? test_product_once(d->tester, &d->program[need], mode)
          : test_reduce(d->tester, hx__reduction_op(need), hx__reduction_type(need), 0, HX__LEAF + 1, false, mode);
  if (why) hx__cl_tester_close(d); /* it has kernel objects of a program that will be replaced */
  return why;
}

void hx__cl_tester_close(hx__cl_device *d) {
  if (d->tester) hx__cl_stream_close(d->tester);
  d->tester = NULL;
}
