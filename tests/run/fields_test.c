/* SPDX-License-Identifier: Apache-2.0
 * Several fields in one launch: every operation and type, beside others and beside itself, over the same and different
 * arrays, from one field to more than a program has, around every boundary of a leaf, at any 4-byte alignment, with any
 * share of the device: every value has the bits of the definition, before the program is ready and after it. Launches
 * are counted, so that one launch is what was tested.
 *     fields_test [--devices LIST] [--memory MODE] [--seed S]      LIST: one OpenCL device (default: pocl) */
#include "runtime/backend/opencl/cl.h"
#include "runtime/backend/registry.h"
#include "reference/data.h"
#include "reference/ref.h"
#include "tests/check.h"

enum { MOST_N = 40 * HX__LEAF, MOST = HX__MOST_FIELDS + 2, PAD = 16 };

static hx_context *hx;
static hx__cl_device *device;
static uint64_t seed = 1, drawn;
static _Atomic unsigned launches;

cl_int __real_hx__clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                         cl_event *event);
cl_int __wrap_hx__clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                         cl_event *event);
cl_int __wrap_hx__clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                         cl_event *event) {
  launches++;
  return __real_hx__clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n, waits, event);
}

static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }

static const hx__kernel_row *row_of_device(void) {
  static const uint32_t none[3] = {0, 0, 0};
  return hx__kernel_row_for(HX__KERNEL_FIELDS, HX_F32, device->families, none, device->max_local);
}

/* Whether the device joins the leaves of a field itself, rather than those of several fields in one launch. */
static bool device_joins(const hx_field *f) {
  return device->program[hx__need_index(hx__need_reduce(f->op, f->type))].row->joins && !device->unified;
}

/* The launches that a chunk needs if the programs are ready; 0: several numbers are right. */
static unsigned launches_of(const hx_field *fields, unsigned count) {
  const unsigned most = row_of_device()->fields;
  bool shared = false;
  for (unsigned f = 1; f < count; f++) shared = shared || fields[f].x == fields[f - 1].x;
  return count > 1 && !shared && device_joins(fields) ? 0 : count / most + (count % most != 0);
}

/* Memory for one array: hx_alloc and malloc in turn, with NaNs before and after it. */
typedef struct memory {
  uint32_t *block, *x;
  bool of_hx;
} memory;

static memory memory_of(unsigned i) {
  memory m = {.of_hx = i % 3 == 2};
  const size_t bytes = (MOST_N + 2 * PAD) * sizeof *m.block;
  m.block = m.of_hx ? hx_alloc(hx, bytes) : malloc(bytes);
  if (!m.block) exit(1);
  memset(m.block, 0xff, bytes);
  m.x = m.block + draw(2) * (1 + draw(PAD - 1)); /* half of them are aligned to vectors */
  return m;
}

static void memory_free(const memory *m) {
  if (m->of_hx)
    hx_free(hx, m->block);
  else
    free(m->block);
}

static hx_report run(const hx_field *fields, unsigned count, size_t n, float share, const hx_value *want) {
  hx_value out[MOST + 1];
  hx_report report = {.device_count = 0};
  memset(out, 0x5a, sizeof out);
  hx_task t = hx_reduce_soa(fields, count, n, out);
  t.gpu_share = share;
  launches = 0;
  CHECK_OK(hx_offload(hx, &t, &report));
  for (unsigned f = 0; f < count; f++)
    CHECK(out[f].u64 == want[f].u64,
          "seed %llu: n %zu, share %g: field %u of %u, op %d type %d: %016llx instead of %016llx",
          (unsigned long long)seed, n, (double)share, f, count, (int)fields[f].op, (int)fields[f].type,
          (unsigned long long)out[f].u64, (unsigned long long)want[f].u64);
  CHECK(out[count].u64 == 0x5a5a5a5a5a5a5a5aull, "written behind the values");
  return report;
}

/* Waits until the programs that chunks have asked for are built. */
static void wait_for_programs(void) { hx__prepare_wait(&device->base, HX__NEED_TILES, UINT64_MAX, UINT64_MAX); }

/* A list of fields by their reductions, over arrays of their own or all over the same two. */
static void check_fields(const unsigned *reductions, unsigned count, bool same) {
  static const size_t sizes[] = {HX__LEAF + 399,
                                 1,
                                 127,
                                 128,
                                 129,
                                 HX__LEAF - 1,
                                 HX__LEAF,
                                 HX__LEAF + 1,
                                 8 * HX__LEAF - 1,
                                 8 * HX__LEAF + 1,
                                 33 * HX__LEAF,
                                 MOST_N - 77};
  static const float shares[] = {1, 0.25f, 0.5f, 1};
  memory m[2 * MOST];
  hx_field fields[MOST];
  hx_value want[MOST];
  for (unsigned i = 0; i < 2 * count; i++) m[i] = memory_of(i);
  for (unsigned f = 0; f < count; f++) {
    const unsigned x = same ? 0 : 2 * f, y = same ? 1 : 2 * f + 1;
    fields[f] = (hx_field){hx__reduction_op(reductions[f]), hx__reduction_type(reductions[f]), m[x].x, NULL};
    if (fields[f].op == HX_DOT) fields[f].y = m[y].x;
  }
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const size_t n = sizes[s];
    for (unsigned i = 0; i < 2 * count; i++)
      data_fill(fields[i / 2].type, (data_kind)draw(DATA_KINDS), drawn, m[i].x, n);
    for (unsigned f = 0; f < count; f++)
      want[f] = ref_reduce(fields[f].op, fields[f].type, fields[f].x, fields[f].y, n);
    const float share = shares[s % (sizeof shares / sizeof *shares)];
    run(fields, count, n, share, want);
    wait_for_programs();
    const hx_report report = run(fields, count, n, share, want);
    const unsigned each = launches_of(fields, count);
    /* A device may have a launch more, which brings the result of an only chunk (backend/opencl/completion.c). */
    const unsigned more = count > 1 && report.chunks == 1 && atomic_load(&device->completion);
    if (share == 1)
      CHECK(!each || launches == each * report.chunks + more, "%u launches for %u chunks of %u fields, not %u each",
            launches, report.chunks, count, each);
  }
  for (unsigned i = 0; i < 2 * count; i++) memory_free(&m[i]);
}

/* All reductions, as many at once as a program has, in an order that depends on the seed; every second list over the
 * same arrays. */
static void check_reductions(void) {
  const unsigned most = row_of_device()->fields;
  unsigned list[HX__REDUCTIONS + MOST];
  for (unsigned i = 0; i < HX__REDUCTIONS; i++) list[i] = i;
  for (unsigned i = HX__REDUCTIONS - 1; i > 0; i--) {
    const unsigned j = (unsigned)draw(i + 1), was = list[i];
    list[i] = list[j];
    list[j] = was;
  }
  for (unsigned i = 0; i < MOST; i++) list[HX__REDUCTIONS + i] = list[i];
  for (unsigned i = 0; i < HX__REDUCTIONS; i += most) check_fields(list + i, most, (i / most + seed) % 2);
}

/* From one field to two more than a program has, which are another one. */
static void check_counts(void) {
  const unsigned most = row_of_device()->fields;
  static const unsigned list[MOST] = {0, 9, 0, 12, 21, 4}; /* sums beside the widest and narrowest lanes */
  for (unsigned count = 1; count <= most + 2 && count <= MOST; count++) check_fields(list, count, count % 2);
}

static bool find_device(void) {
  hx__device *const *list;
  const size_t count = hx__registry_devices(&list);
  hx_device_info info;
  if (hx_device_count(hx) < 2) return false;
  for (size_t i = 1; i < hx_device_count(hx); i++)
    for (size_t j = 0; j < count && hx_device(hx, i, &info) == HX_OK; j++)
      if (list[j]->backend == &hx__opencl_backend && strcmp(list[j]->name, info.name) == 0)
        device = (hx__cl_device *)list[j];
  return device != NULL;
}

/* Builds every reduction's kernel, so that the device has its rows. */
static bool build_reductions(void) {
  static const uint32_t one = 1;
  hx_value out;
  for (unsigned i = 0; i < HX__REDUCTIONS; i++) {
    const hx_field f = {hx__reduction_op(i), hx__reduction_type(i), &one, &one};
    hx_task t = hx_reduce_soa(&f, 1, 1, &out);
    t.gpu_share = 1;
    CHECK_OK(hx_offload(hx, &t, NULL));
  }
  return find_device();
}

int main(int argc, char **argv) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  const char *devices = "pocl";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--devices") == 0) devices = argv[i + 1];
    if (strcmp(argv[i], "--memory") == 0) s.memory = argv[i + 1];
    if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 0);
  }
  char list[256];
  snprintf(list, sizeof list, "cpu,%s", devices);
  s.devices = list;
  const char *const scratch = getenv("TEST_TMPDIR"); /* set by Bazel */
  s.cache_dir = scratch ? scratch : "off";
  hx = open_or_exit(&s);
  if (!build_reductions()) {
    printf("fields_test: skipped: no usable device among %s\n", devices);
    return SKIPPED;
  }
  printf("fields_test: %s, %s, up to %u fields, seed %llu\n", device->base.name, row_of_device()->name,
         row_of_device()->fields, (unsigned long long)seed);
  check_reductions();
  check_counts();
  hx_close(hx);
  return checks_end("fields_test");
}
