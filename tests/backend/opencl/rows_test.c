/* SPDX-License-Identifier: Apache-2.0
 * rows_test EMULATION [--small]: every row of kernels/kernels.c, whatever device it is made for, on every device of
 * this process, by OpenCL 1.2 alone and without the runtime: results as integers against the host's kernels and the
 * scalar definition. Sub-groups are the device's own if it has those of the row, and else emulated by EMULATION
 * (emulation.cl). */
#include "tests/kernel_device.h"

#include <CL/cl_ext.h>

#include "cpu/cpu.h"
#include "kernels/cases.h"
#include "runtime/task/task.h"
#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

#ifndef CL_DEVICE_SUB_GROUP_SIZES_INTEL
#define CL_DEVICE_SUB_GROUP_SIZES_INTEL 0x4108
#endif

typedef struct device {
  kernel_device on;
  uint32_t sub_groups; /* the families of its sub-group sizes */
  bool small;
  const char *emulation;
} device;

static const char *emulation_read(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  if (!file) return NULL;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static uint32_t sub_groups_of(cl_device_id id) {
  char extensions[8192] = "";
  size_t sizes[32], bytes = 0;
  uint32_t families = 0;
  clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
  if (!has_words(extensions, "cl_intel_subgroups") || !has_words(extensions, "cl_intel_required_subgroup_size") ||
      clGetDeviceInfo(id, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) != CL_SUCCESS)
    return 0;
  for (size_t i = 0; i < bytes / sizeof sizes[0]; i++)
    families |= sizes[i] == 8 ? HX__FAMILY_SUBGROUP8 : sizes[i] == 16 ? HX__FAMILY_SUBGROUP16 : 0;
  return families;
}

/* Whether the row has to be emulated, because it uses sub-groups that the device does not have or operations of AMD's
 * GPUs. */
static bool emulated(const device *d, const hx__kernel_row *row) {
  const uint32_t wanted = row->family & (HX__FAMILY_SUBGROUP8 | HX__FAMILY_SUBGROUP16);
  return (wanted & d->sub_groups) != wanted || (row->family & (HX__FAMILY_AMD_GCN | HX__FAMILY_AMD_RDNA));
}

/* fields: rows of several fields only. */
static cl_program build_row(const device *d, const hx__kernel_row *row, hx_op op, hx_type type,
                            hx__kernel_fields fields, hx__arithmetic arithmetic) {
  static const uint32_t no_tile[3] = {0, 0, 0};
  char options[1024], of_fields[512] = "";
  hx__kernel_row anywhere = *row;
  anywhere.large_grf = false; /* an option for GPUs: the program is the same without it */
  if (!hx__kernel_options(options, sizeof options, &anywhere, op, type, no_tile, arithmetic)) return NULL;
  if (fields && !hx__kernel_fields_options(of_fields, sizeof of_fields, fields)) return NULL;
  strcat(options, of_fields);
  return kernel_program(&d->on, row, emulated(d, row) ? d->emulation : "/* the device's own */\n", options);
}

static bool same_slot(hx_op op, hx_type type, uint64_t got, uint64_t want) {
  const bool key = op == HX_MIN || op == HX_MAX || op == HX_ARGMIN || op == HX_ARGMAX;
  const bool both_nan = (got & 0x7fffffffu) > 0x7f800000u && (want & 0x7fffffffu) > 0x7f800000u;
  return got == want || (type == HX_F32 && !key && got >> 32 == 0 && both_nan); /* the join stores the canonical NaN */
}

/* The arrays of a reduction, and the slot of each leaf that is right. */
typedef struct reduction {
  hx_op op;
  hx_type type;
  size_t n, leaves;
  cl_mem x, y;
  size_t x_first, y_first;
  uint64_t *want;
} reduction;

/* Whether a kernel has also stored the slots that the host reads at `told`, each word beside the launch number. */
static bool is_told(const volatile uint64_t *told, const uint64_t *slots, uint32_t launch) {
  bool right = true;
  for (size_t s = 0; s < HX__JOINED_SLOTS; s++)
    for (unsigned half = 0; half < 2; half++)
      right = right && told[2 * s + half] == ((uint64_t)launch << 32 | (uint32_t)(slots[s] >> 32 * half));
  return right;
}

/* Computes the slot of each leaf; no other slot may be written. join: also of all leaves together; then the slots of
 * groups follow those that are checked, and the ticket becomes 0 again. */
static bool reduce_launch(const device *d, cl_program program, const hx__kernel_row *row, const reduction *r,
                          bool join) {
  enum { LAUNCH = 77 };
  const size_t groups = (r->leaves + row->leaves - 1) / row->leaves;
  const size_t count = join ? HX__JOINED_SLOTS + groups : r->leaves;
  uint64_t *const slots = malloc((count + 1) * sizeof *slots);
  uint32_t ticket = 0;
  memset(slots, 0xa5, (count + 1) * sizeof *slots);
  const uint64_t untouched = slots[count];
  const cl_mem out = kernel_buffer(&d->on, slots, (count + 1) * sizeof *slots);
  const cl_mem mt = kernel_buffer(&d->on, &ticket, sizeof ticket);
  uint64_t told[2 * HX__JOINED_SLOTS] = {0};
  const bool tells = join && !strstr(d->on.name, "Oclgrind"); /* whose memory has other addresses */
  const kernel_value values[] = {{.m = r->x},
                                 {.n = r->x_first},
                                 {.m = r->y},
                                 {.n = r->y_first},
                                 {.n = r->n},
                                 {.m = out},
                                 {.u = join ? LAUNCH : 0},
                                 {.m = mt},
                                 {.n = tells ? (uintptr_t)told : 0}};
  bool right = kernel_launch(&d->on, program, "hx_reduce", row->joins ? "mnmnnmumn" : "mnmnnm", values, 1, &groups,
                             row->local) &&
               clEnqueueReadBuffer(d->on.queue, out, CL_TRUE, 0, (count + 1) * sizeof *slots, slots, 0, NULL, NULL) ==
                   CL_SUCCESS &&
               clEnqueueReadBuffer(d->on.queue, mt, CL_TRUE, 0, sizeof ticket, &ticket, 0, NULL, NULL) == CL_SUCCESS &&
               slots[count] == untouched && ticket == 0 && (!join || slots[HX__JOINED_SLOTS - 1] == LAUNCH) &&
               (!tells || is_told(told, slots, LAUNCH));
  const size_t checked[HX__CHECKED_SLOTS] = {0, r->leaves / 2, r->leaves - 1};
  for (size_t l = 0; l < (join ? HX__CHECKED_SLOTS : r->leaves) && right; l++)
    right = join ? same_slot(r->op, r->type, slots[1 + l], r->want[checked[l]])
                 : same_slot(r->op, r->type, slots[l], r->want[l]);
  if (join && right) { /* hx__join changes what it joins */
    uint64_t *const copy = malloc(r->leaves * sizeof *copy);
    memcpy(copy, r->want, r->leaves * sizeof *copy);
    right = hx__join(r->op, r->type, slots, 1).u64 == hx__join(r->op, r->type, copy, r->leaves).u64;
    free(copy);
  }
  clReleaseMemObject(out);
  clReleaseMemObject(mt);
  free(slots);
  return right;
}

static bool reduce_case(const device *d, cl_program program, const hx__kernel_row *row, hx_op op, hx_type type,
                        data_kind kind, size_t n) {
  enum { X_FIRST = 1, Y_FIRST = 3 };
  const size_t leaves = (n + HX__LEAF - 1) / HX__LEAF;
  uint32_t *const x = malloc((X_FIRST + n) * 4), *const y = malloc((Y_FIRST + n) * 4);
  uint64_t *const want = malloc(leaves * sizeof *want);
  data_fill(type, kind, 1, x, X_FIRST + n);
  data_fill(type, kind, 2, y, Y_FIRST + n);
  const bool dot = op == HX_DOT;
  for (size_t l = 0; l < leaves; l++) {
    const size_t at = l * HX__LEAF, count = n - at < HX__LEAF ? n - at : HX__LEAF;
    hx__cpu_kernels_for(HX__ISA_AUTO)
        ->leaf[op][type](x + X_FIRST + at, dot ? y + Y_FIRST + at : NULL, count, HX__IN_L2, want + l);
  }
  const cl_mem mx = kernel_buffer(&d->on, x, (X_FIRST + n) * 4), my = kernel_buffer(&d->on, y, (Y_FIRST + n) * 4);
  const reduction r = {op, type, n, leaves, mx, dot ? my : mx, X_FIRST, dot ? Y_FIRST : X_FIRST, want};
  const bool right =
      reduce_launch(d, program, row, &r, false) && (!row->joins || reduce_launch(d, program, row, &r, true));
  clReleaseMemObject(mx);
  clReleaseMemObject(my);
  free(x);
  free(y);
  free(want);
  return right;
}

static bool reduce_cases(const device *d, cl_program program, const hx__kernel_row *row, hx_op op, hx_type type) {
  static const size_t sizes[] = {1, 130, HX__LEAF + 399, 41 * HX__LEAF + 77};
  static const data_kind kinds[] = {DATA_CANCEL, DATA_NAN};
  for (size_t i = 0; i < (d->small ? 3 : 4); i++)
    for (size_t k = 0; k < (type == HX_F32 && !d->small ? 2 : 1); k++)
      if (!reduce_case(d, program, row, op, type, kinds[(k + i) % 2], sizes[i])) return false;
  return true;
}

/* Several fields over arrays of their own, or the first one's, of which half begin at a multiple of 16 bytes. The slots
 * of each field are in a part of the buffer, and the field number 1 of a task is the program's first one. */
static bool fields_case(const device *d, cl_program program, const hx__kernel_row *row, hx__kernel_fields fields,
                        size_t n) {
  enum { FIRST = 1 };
  const size_t leaves = (n + HX__LEAF - 1) / HX__LEAF, all = (FIRST + row->fields) * leaves + 1;
  uint32_t *x[2 * HX__MOST_FIELDS];
  size_t x_first[2 * HX__MOST_FIELDS];
  kernel_value values[4 * HX__MOST_FIELDS + 4];
  char kinds[4 * HX__MOST_FIELDS + 5] = "";
  uint64_t *const slots = malloc(all * sizeof *slots);
  memset(slots, 0xa5, all * sizeof *slots);
  const uint64_t untouched = slots[0];
  for (unsigned i = 0; i < 2 * row->fields; i++) {
    const bool same = i >= 2 && i % 2 == 0 && hx__field_of(fields, i / 2) & HX__SAME_ARRAY;
    x_first[i] = same ? x_first[i - 2] : n % 2 * (1 + i);
    x[i] = same ? x[i - 2] : malloc((x_first[i] + n) * 4);
    if (!same) data_fill(hx__reduction_type(hx__field_reduction(fields, i / 2)), DATA_SIGNED, i, x[i], x_first[i] + n);
    values[2 * i].m = same ? values[2 * i - 4].m : kernel_buffer(&d->on, x[i], (x_first[i] + n) * 4);
    values[2 * i + 1].n = x_first[i];
    strcat(kinds, "mn");
  }
  kernel_value *const last = values + 4 * (size_t)row->fields;
  last[0].n = n, last[1].m = kernel_buffer(&d->on, slots, all * sizeof *slots), last[2].n = FIRST, last[3].n = leaves;
  strcat(kinds, "nmnn");
  const size_t groups = hx__kernel_groups(row, fields, leaves);
  bool right = kernel_launch(&d->on, program, "hx_reduce_fields", kinds, values, 1, &groups, row->local) &&
               clEnqueueReadBuffer(d->on.queue, last[1].m, CL_TRUE, 0, all * sizeof *slots, slots, 0, NULL, NULL) ==
                   CL_SUCCESS &&
               slots[0] == untouched && slots[all - 1] == untouched;
  for (unsigned f = 0; f < row->fields; f++)
    for (size_t l = 0; l < leaves && right; l++) {
      const hx_op op = hx__reduction_op(hx__field_reduction(fields, f));
      const hx_type type = hx__reduction_type(hx__field_reduction(fields, f));
      const size_t at = l * HX__LEAF, count = n - at < HX__LEAF ? n - at : HX__LEAF, i = 2 * (size_t)f;
      uint64_t want;
      hx__cpu_kernels_for(HX__ISA_AUTO)
          ->leaf[op][type](x[i] + x_first[i] + at, x[i + 1] + x_first[i + 1] + at, count, HX__IN_L2, &want);
      right = same_slot(op, type, slots[(FIRST + f) * leaves + l], want);
    }
  for (unsigned i = 2 * row->fields; i-- > 0;) {
    if (i >= 2 && i % 2 == 0 && hx__field_of(fields, i / 2) & HX__SAME_ARRAY) continue;
    clReleaseMemObject(values[2 * i].m);
    free(x[i]);
  }
  clReleaseMemObject(last[1].m);
  free(slots);
  return right;
}

static bool fields_right_somehow(const device *d, const hx__kernel_row *row, hx__kernel_fields fields) {
  static const size_t sizes[] = {130, HX__LEAF + 399, 9 * HX__LEAF};
  for (int a = HX__ARITHMETIC_PLAIN; a <= HX__ARITHMETIC_FMA_ADD; a++) {
    cl_program program = build_row(d, row, HX_SUM, HX_F32, fields, (hx__arithmetic)a);
    if (!program) return false;
    bool right = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      right = right && fields_case(d, program, row, fields, sizes[i]);
    clReleaseProgram(program);
    if (right) return true;
  }
  return false;
}

static void test_fields(const device *d, const hx__kernel_row *row) {
  const unsigned failed = checks_failed;
  for (unsigned first = 0; first < HX__REDUCTIONS; first += row->fields) {
    const unsigned form = 1 + first / row->fields % (HX__FIELDS_CASES - 1);
    const hx__kernel_fields fields = hx__case_fields((hx__fields_case)form, first, row->fields);
    CHECK(fields_right_somehow(d, row, fields), "%s on %s: fields %llx", row->name, d->on.name,
          (unsigned long long)fields);
  }
  printf("%s: %s%s: %s\n", d->on.name, row->name, emulated(d, row) ? " (emulated lanes)" : "",
         checks_failed == failed ? "right" : "WRONG");
  fflush(stdout);
}

typedef struct product {
  size_t m, n, k;
  bool trans_a, trans_b;
  float alpha;
  size_t stack; /* tiles of a group, for rows whose groups compute several */
} product;

static bool product_case(const device *d, cl_program program, const hx__kernel_row *row, const product *p) {
  const size_t lda = (p->trans_a ? p->m : p->k) + 2, ldb = (p->trans_b ? p->k : p->n) + 1, ldt = (p->n + 15) / 16 * 16;
  const size_t a_count = (p->trans_a ? p->k : p->m) * lda, b_count = (p->trans_b ? p->n : p->k) * ldb;
  float *const a = malloc((a_count + 1) * 4), *const b = malloc((b_count + 3) * 4);
  float *const t = malloc(p->m * ldt * 4), *const want = malloc(p->m * ldt * 4);
  data_fill(HX_F32, DATA_EXPONENTS, 3, a, a_count + 1);
  data_fill(HX_F32, DATA_SIGNED, 4, b, b_count + 3);
  memset(t, 0xa5, p->m * ldt * 4);
  memset(want, 0xa5, p->m * ldt * 4);
  const struct hx_matmul_args args = {.trans_a = p->trans_a,
                                      .trans_b = p->trans_b,
                                      .m = p->m,
                                      .n = p->n,
                                      .k = p->k,
                                      .alpha = p->alpha,
                                      .a = a + 1,
                                      .lda = lda,
                                      .b = b + 3,
                                      .ldb = ldb,
                                      .beta = 0.0f,
                                      .c = want,
                                      .ldc = ldt};
  ref_matmul(&args);
  const cl_ulong a_rs = p->trans_a ? 1 : lda, a_cs = p->trans_a ? lda : 1;
  const cl_ulong b_rs = p->trans_b ? 1 : ldb, b_cs = p->trans_b ? ldb : 1;
  const size_t tiles_m = (p->m + row->tile_m - 1) / row->tile_m, tiles_n = (p->n + row->tile_n - 1) / row->tile_n;
  const size_t stack = row->stacks ? p->stack : 1, groups[2] = {tiles_n, (tiles_m + stack - 1) / stack};
  const cl_mem ma = kernel_buffer(&d->on, a, (a_count + 1) * 4), mb = kernel_buffer(&d->on, b, (b_count + 3) * 4);
  const cl_mem mt = kernel_buffer(&d->on, t, p->m * ldt * 4);
  bool right = true;
  if (row->pack) {
    const size_t parts = (p->k + row->pack - 1) / row->pack;
    const cl_mem pa = clCreateBuffer(d->on.context, CL_MEM_READ_WRITE, tiles_m * row->tile_m * p->k * 4, NULL, NULL);
    const cl_mem pb = clCreateBuffer(d->on.context, CL_MEM_READ_WRITE, tiles_n * row->tile_n * p->k * 4, NULL, NULL);
    const kernel_value va[] = {{.m = ma},   {.n = 1},    {.n = a_rs}, {.n = a_cs},
                               {.n = p->m}, {.n = p->k}, {.m = pa},   {.n = 0}};
    const kernel_value vb[] = {{.m = mb},   {.n = 3},    {.n = b_rs}, {.n = b_cs},
                               {.n = p->k}, {.n = p->n}, {.m = pb},   {.n = 0}};
    const kernel_value v[] = {{.m = pa},   {.m = pb},   {.n = p->m},
                              {.n = p->n}, {.n = p->k}, {.f = p->alpha},
                              {.m = mt},   {.n = ldt},  {.u = (cl_uint)(stack - 1) << 2},
                              {.n = 0}};
    right = kernel_launch(&d->on, program, "hx_pack_a", "mnnnnnmn", va, 2, (size_t[2]){tiles_m, parts}, row->local) &&
            kernel_launch(&d->on, program, "hx_pack_b", "mnnnnnmn", vb, 2, (size_t[2]){tiles_n, parts}, row->local) &&
            kernel_launch(&d->on, program, "hx_matmul", "mmnnnfmnun", v, 2, groups, row->local);
    clReleaseMemObject(pa);
    clReleaseMemObject(pb);
  } else {
    const kernel_value v[] = {{.m = ma},   {.n = 1},    {.n = a_rs}, {.n = a_cs}, {.m = mb},   {.n = 3},
                              {.n = b_rs}, {.n = b_cs}, {.n = p->m}, {.n = p->n}, {.n = p->k}, {.f = p->alpha},
                              {.m = mt},   {.n = ldt},  {.u = 0},    {.n = 0},    {.n = 0},    {.n = 0}};
    right = kernel_launch(&d->on, program, "hx_matmul", "mnnnmnnnnnnfmnunnn", v, 2, groups, row->local);
  }
  right = right && clEnqueueReadBuffer(d->on.queue, mt, CL_TRUE, 0, p->m * ldt * 4, t, 0, NULL, NULL) == CL_SUCCESS;
  for (size_t i = 0; i < p->m && right; i++) right = memcmp(t + i * ldt, want + i * ldt, p->n * 4) == 0;
  clReleaseMemObject(ma);
  clReleaseMemObject(mb);
  clReleaseMemObject(mt);
  free(a);
  free(b);
  free(t);
  free(want);
  return right;
}

static bool product_cases(const device *d, cl_program program, const hx__kernel_row *row) {
  const size_t m = row->tile_m, n = row->tile_n;
  const product products[] = {{m, n, 32, false, false, 1.0f, 1},
                              {m + 3, n + 5, 19, false, false, -0.75f, 2},
                              {m + 1, n + 2, 17, true, true, 1.0f, 1},
                              {row->stacks ? 2 * m + 5 : 5, n + 7, 515, false, true, 1.0f, 2},
                              {m + 3, 7, 1030, true, false, 2.0f, 9}};
  for (size_t i = 0; i < (d->small ? 4 : 5); i++)
    if (!product_case(d, program, row, &products[i])) return false;
  return true;
}

/* Tries each kind of arithmetic in order, as the runtime does, until one gives hx's bits. */
static bool right_somehow(const device *d, const hx__kernel_row *row, hx_op op, hx_type type) {
  for (int a = 0; a < HX__ARITHMETICS; a++) {
    if (row->kind == HX__KERNEL_MATMUL ? a == HX__ARITHMETIC_FMA_ADD : a == HX__ARITHMETIC_SOFT_FMA) continue;
    cl_program program = build_row(d, row, op, type, 0, (hx__arithmetic)a);
    if (!program) return false;
    const bool right =
        row->kind == HX__KERNEL_MATMUL ? product_cases(d, program, row) : reduce_cases(d, program, row, op, type);
    clReleaseProgram(program);
    if (right) return true;
  }
  return false;
}

/* Whether the row is the one before it without the joining of leaves. */
static bool row_follows_joining(const hx__kernel_row *row) {
  const size_t length = strlen(row->name), tail = strlen("-slots");
  return length > tail && strcmp(row->name + length - tail, "-slots") == 0;
}

static void test_row(const device *d, const hx__kernel_row *row) {
  const bool product = row->kind == HX__KERNEL_MATMUL;
  const unsigned failed = checks_failed;
  if (row_follows_joining(row)) printf("%s: only sums, because the row before it differs in nothing else\n", row->name);
  for (int op = HX_SUM; op <= (product || row_follows_joining(row) ? HX_SUM : HX_PROD); op++)
    for (int type = HX_F32; type <= (product ? HX_F32 : HX_U32); type++)
      CHECK(right_somehow(d, row, (hx_op)op, (hx_type)type), "%s on %s: op %d, type %d", row->name, d->on.name, op,
            type);
  printf("%s: %s%s: %s\n", d->on.name, row->name, emulated(d, row) ? " (emulated lanes)" : "",
         checks_failed == failed ? "right" : "WRONG");
  fflush(stdout);
}

static void test_device(device *d, cl_device_id id) {
  size_t count, max_local = 0;
  const hx__kernel_row *const rows = hx__kernel_rows(&count);
  CHECK(kernel_device_open(&d->on, id), "%s: no queue", d->on.name);
  clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof max_local, &max_local, NULL);
  d->sub_groups = sub_groups_of(id);
  for (size_t i = 0; i < count && d->on.queue; i++)
    if (rows[i].kind != HX__KERNEL_PROBE && rows[i].kind != HX__KERNEL_LINES &&
        /* lines_test */ (size_t)rows[i].local[0] * rows[i].local[1] <= max_local && !hx__kernel_of_set(&rows[i]) &&
        rows[i].large_from == 0) /* those rows use instructions of one vendor's GPUs */
      (rows[i].kind == HX__KERNEL_FIELDS ? test_fields : test_row)(d, &rows[i]);
}

int main(int argc, char **argv) {
  cl_device_id ids[16];
  device d = {.small = argc > 2, .emulation = argc > 1 ? emulation_read(argv[1]) : NULL};
  const cl_uint found = kernel_devices(ids, 16);
  CHECK(d.emulation, "usage: rows_test EMULATION [--small]");
  CHECK(found > 0, "no device");
  for (cl_uint i = 0; d.emulation && i < found; i++) test_device(&d, ids[i]);
  return checks_end("rows_test");
}
