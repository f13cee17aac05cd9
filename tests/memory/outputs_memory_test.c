/* SPDX-License-Identifier: Apache-2.0
 * Kernels with several outputs whose arrays are ordinary, allocated, registered or advised memory: each output, of
 * random expressions too, has the bits of a kernel of that output alone, in place and not, with rows and without, with
 * any share of the devices. Nothing else is written.
 * Usage: outputs_memory_test [DEVICES [MEMORY [CASES [SEED]]]] */
#include <stdio.h>
#include <stdlib.h>

#include "reference/data.h"
#include "runtime/hx_map.h"
#include "tests/check.h"
#include "tests/expr_tree.h"

enum { MOST = 40001, ROOM = MOST + 4096, ARRAYS = HX_MAX_INPUTS + HX_MAX_OUTPUTS, BYTES = 32768 };
#define UNTOUCHED 0xdeadbeefu

static uint64_t seed, drawn;
static hx_context *hx, *cpu;
static unsigned shared;
static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }
#define PICK(list) (list)[draw(sizeof(list) / sizeof((list)[0]))]

/* How memory of a case is known to hx. */
enum { PLAIN, ALLOCATED, REGISTERED, MEMORIES };

/* One block of memory, of which every array is a part, and what it should hold. */
static uint32_t *block, *want;
static unsigned memory;

static void memory_make(void) {
  static const unsigned advice[] = {0, 0, HX_READ_MOSTLY, HX_RESIDENT, HX_READ_MOSTLY | HX_RESIDENT};
  const size_t bytes = (size_t)ROOM * ARRAYS * sizeof *block;
  memory = (unsigned)draw(MEMORIES);
  block = memory == ALLOCATED ? hx_alloc(hx, bytes) : aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!block) abort();
  for (size_t i = 0; i < (size_t)ROOM * ARRAYS; i++) block[i] = UNTOUCHED;
  if (memory == REGISTERED) CHECK_OK(hx_register(hx, block, bytes));
  if (memory != PLAIN) CHECK_OK(hx_advise(hx, block, bytes, PICK(advice)));
}

static void memory_free(void) {
  if (memory == REGISTERED) CHECK_OK(hx_unregister(hx, block));
  if (memory == ALLOCATED)
    hx_free(hx, block);
  else
    free(block);
}

/* What a case computes: a kernel, and a kernel of each output alone. */
typedef struct kernels {
  char text[BYTES], outputs[512];
  unsigned inputs, count;
  const char *of_inputs, *of_parameters;
  hx_kernel *all, *one[HX_MAX_OUTPUTS];
  hx_type input_type[HX_MAX_INPUTS];
  bool per_row[HX_MAX_INPUTS];
} kernels;

static const char *const type_words[] = {[HX_F32] = "float", [HX_I32] = "int", [HX_U32] = "unsigned"};

static hx_status compile(const kernels *k, const char *text, const char *outputs, hx_kernel **out) {
  const hx_kernel_source source = {
      .text = text, .inputs = k->of_inputs, .parameters = k->of_parameters, .outputs = outputs};
  return hx_compile(hx, &source, out);
}

static void kernels_free(kernels *k) {
  hx_kernel_free(k->all);
  for (unsigned o = 0; o < k->count; o++) hx_kernel_free(k->one[o]);
}

/* The text of the kernel from those of its outputs. False: it exceeds a limit. */
static bool compile_all(kernels *k, const char *const *texts, const hx_type *types) {
  size_t at = 0, named = 0;
  for (unsigned o = 0; o < k->count; o++) {
    at += (size_t)snprintf(k->text + at, sizeof k->text - at, "%s o%u_ = %s;\n", type_words[types[o]], o, texts[o]);
    named += (size_t)snprintf(k->outputs + named, sizeof k->outputs - named, "%so%u_", o ? ", " : "", o);
  }
  if (at >= 16384) return false;
  const hx_status s = compile(k, k->text, k->outputs, &k->all);
  if (s != HX_OK && (strstr(hx_error_detail(), "the whole text") || strstr(hx_error_detail(), "more values")))
    return false;
  CHECK(s == HX_OK, "%s: %s; outputs %s; inputs %s", hx_error_detail(), k->text, k->outputs, k->of_inputs);
  for (unsigned o = 0; o < k->count && s == HX_OK; o++) {
    CHECK_OK(compile(k, texts[o], NULL, &k->one[o]));
    CHECK(hx_kernel_type(k->one[o]) == types[o] && hx_kernel_output_type(k->all, o) == types[o],
          "output %u is of type %d", o, hx_kernel_output_type(k->all, o));
  }
  return s == HX_OK;
}

/* The shape of a case, and where its arrays are. */
typedef struct shape {
  size_t rows, cols, ld[HX_MAX_INPUTS], ld_out;
  const void *inputs[HX_MAX_INPUTS];
  void *outputs[HX_MAX_OUTPUTS];
  bool rowed;
} shape;

static void draw_shape(shape *s) {
  static const size_t sizes[] = {1, 2, 63, 64, 65, 1000, 4095, 4096, 4097, 8193, 12289, 32768, 36865, MOST};
  static const size_t rows[] = {1, 2, 7, 64, 97}, cols[] = {1, 3, 16, 65, 400};
  *s = (shape){.rows = 1, .cols = PICK(sizes), .rowed = draw(2)};
  if (s->rowed) s->rows = PICK(rows), s->cols = PICK(cols);
  s->ld_out = s->rowed && draw(2) ? s->cols + draw(20) : s->cols;
}

/* Arrays in slots of the block, some outputs in place of an input. */
static void place(const kernels *k, shape *s) {
  bool replaced[HX_MAX_INPUTS] = {false};
  for (unsigned i = 0; i < k->inputs; i++) {
    uint32_t *const p = block + (size_t)ROOM * i + draw(40);
    s->inputs[i] = p;
    s->ld[i] = k->per_row[i] ? draw(3) : !s->rowed || draw(2) ? s->ld_out : s->cols + draw(20);
    data_fill(k->input_type[i], (data_kind)draw(DATA_KINDS), draw(1000), p, (s->rows - 1) * s->ld[i] + s->cols);
  }
  for (unsigned o = 0; o < k->count; o++) {
    const unsigned i = k->inputs ? (unsigned)draw(k->inputs) : 0;
    const bool able = k->inputs && !replaced[i] && !k->per_row[i] && (s->rows == 1 || s->ld[i] == s->ld_out);
    s->outputs[o] =
        able && draw(2) ? (void *)(uintptr_t)s->inputs[i] : block + (size_t)ROOM * (HX_MAX_INPUTS + o) + draw(40);
    if (k->inputs && s->outputs[o] == s->inputs[i]) replaced[i] = true;
  }
}

static hx_task task_of(const kernels *k, const shape *s, const hx_value *parameters) {
  return s->rowed ? hx_map_rows_outputs(k->all, s->inputs, s->ld, s->rows, s->cols, parameters, s->outputs, s->ld_out)
                  : hx_map_outputs(k->all, s->inputs, s->cols, parameters, s->outputs);
}

static void expect(const kernels *k, const shape *s, const hx_value *parameters) {
  memcpy(want, block, (size_t)ROOM * ARRAYS * sizeof *want);
  for (unsigned o = 0; o < k->count; o++) {
    void *const to = want + ((uint32_t *)s->outputs[o] - block);
    const hx_task t = s->rowed ? hx_map_rows(k->one[o], s->inputs, s->ld, s->rows, s->cols, parameters, to, s->ld_out)
                               : hx_map(k->one[o], s->inputs, s->cols, parameters, to);
    CHECK_OK(hx_offload(cpu, &t, NULL));
  }
}

static void offload(const hx_task *task, size_t elements) {
  hx_event *event;
  hx_report r = {.device_count = 0};
  uint64_t units = 0;
  const size_t how = draw(4);
  if (how == 0) {
    CHECK_OK(hx_offload_async(hx, task, &event));
    CHECK_OK(hx_wait(event, &r));
  } else if (how == 1) {
    CHECK_OK(hx_offload_many(hx, task, 1, &r));
  } else {
    CHECK_OK(hx_offload(hx, task, &r));
  }
  for (uint32_t i = 0; i < r.device_count; i++) units += r.device[i].units;
  CHECK(units == elements, "%llu units of %zu", (unsigned long long)units, elements);
  CHECK(task->gpu_share < 0 || r.recovered == 0, "%u chunks were recovered", r.recovered);
  shared += r.gpu_share > 0;
}

static void check_kernels(const kernels *k, const hx_value *parameters) {
  static const float shares[] = {-1, 0, 0.4f, 1};
  shape s;
  draw_shape(&s);
  memory_make();
  place(k, &s);
  expect(k, &s, parameters);
  hx_task task = task_of(k, &s, parameters);
  task.gpu_share = PICK(shares);
  offload(&task, s.rows * s.cols);
  if (memory != PLAIN) CHECK_OK(hx_sync(hx, block, (size_t)ROOM * ARRAYS * sizeof *block));
  for (size_t i = 0; i < (size_t)ROOM * ARRAYS; i++) {
    if (block[i] == want[i]) continue;
    CHECK(false, "array %zu [%zu] is %08x, not %08x: %zu x %zu, memory %u, share %g: %s; inputs %s", i / ROOM, i % ROOM,
          block[i], want[i], s.rows, s.cols, memory, (double)task.gpu_share, k->text, k->of_inputs);
    break;
  }
  memory_free();
}

/* Outputs that share values with one another, are inputs, parameters, constants or numbers, or need many steps. */
static void check_directed(void) {
  static const struct {
    const char *inputs, *text[HX_MAX_OUTPUTS + 1];
    hx_type type[HX_MAX_OUTPUTS];
  } cases[] = {
      {"float x, float y", {"y", "x"}, {HX_F32, HX_F32}},
      {"float x, float y, float z", {"z", "x", "y", "x"}, {HX_F32, HX_F32, HX_F32, HX_F32}},
      {"float x", {"sinf(x)", "cosf(x)"}, {HX_F32, HX_F32}},
      {"float x, int y",
       {"x * p", "y", "x * p", "(int)x + y", "p", "1", "index", "row"},
       {HX_F32, HX_I32, HX_F32, HX_I32, HX_F32, HX_I32, HX_U32, HX_U32}},
      {"float x, row float y", {"y", "x - y", "y"}, {HX_F32, HX_F32, HX_F32}},
      {"float x, unsigned y", {"x < p", "y", "x < p ? x : p"}, {HX_I32, HX_U32, HX_F32}},
      {NULL, {"index * 3u", "p", "(float)index * p"}, {HX_U32, HX_F32, HX_F32}},
      {"float m, float v, float w, float g",
       {"0.9f * m + 0.1f * g", "0.999f * v + 0.001f * (g * g)",
        "w - p * (0.9f * m + 0.1f * g) / (sqrtf(0.999f * v + 0.001f * (g * g)) + 1e-8f)"},
       {HX_F32, HX_F32, HX_F32}},
  };
  const hx_value p = {.f32 = 0.75f};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    kernels k = {.of_inputs = cases[c].inputs, .of_parameters = "float p"};
    for (const char *q = k.of_inputs; q && *q; q = strchr(q, ',') ? strchr(q, ',') + 2 : NULL) {
      k.per_row[k.inputs] = !strncmp(q, "row ", 4);
      const char *const type = q + 4 * k.per_row[k.inputs];
      k.input_type[k.inputs++] = *type == 'f' ? HX_F32 : *type == 'i' ? HX_I32 : HX_U32;
    }
    while (cases[c].text[k.count]) k.count++;
    if (compile_all(&k, cases[c].text, cases[c].type))
      for (int repeat = 0; repeat < 8 && checks_failed < 5; repeat++) check_kernels(&k, &p);
    kernels_free(&k);
  }
}

static void check_random(void) {
  tree *t[HX_MAX_OUTPUTS];
  const char *texts[HX_MAX_OUTPUTS];
  hx_type types[HX_MAX_OUTPUTS];
  kernels k = {.count = 1 + (unsigned)draw(draw(4) ? 3 : HX_MAX_OUTPUTS)};
  hx_value parameters[TREE_PARAMETERS];
  for (unsigned o = 0; o < k.count; o++) {
    const unsigned depth = (unsigned)draw(5);
    const uint64_t of = seed + 1000003 * drawn++;
    t[o] = o ? tree_beside(t[0], of, depth) : tree_new(of, depth);
    texts[o] = tree_text(t[o]);
    types[o] = tree_type(t[o]);
  }
  for (unsigned p = 0; p < TREE_PARAMETERS; p++)
    parameters[p] = (hx_value){.f32 = data_f32((data_kind)draw(DATA_KINDS), draw(1000), p)};
  k.of_inputs = tree_inputs(t[0]);
  k.of_parameters = tree_parameters(t[0]);
  k.inputs = tree_input_count(t[0]);
  for (unsigned i = 0; i < k.inputs; i++) {
    k.input_type[i] = tree_input_type(t[0], i);
    k.per_row[i] = tree_input_is_per_row(t[0], i);
  }
  if (compile_all(&k, texts, types)) check_kernels(&k, parameters);
  kernels_free(&k);
  for (unsigned o = 0; o < k.count; o++) tree_free(t[o]);
}

int main(int argc, char **argv) {
  const unsigned long cases = argc > 3 ? strtoul(argv[3], NULL, 10) : 120;
  hx_settings s = HX_SETTINGS_DEFAULT;
  seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 20261201;
  s.devices = "cpu";
  cpu = open_or_exit(&s);
  s.devices = argc > 1 ? argv[1] : "cpu";
  s.memory = argc > 2 ? argv[2] : NULL;
  hx = open_or_exit(&s);
  want = malloc((size_t)ROOM * ARRAYS * sizeof *want);
  if (!want) exit(1);
  check_directed();
  for (unsigned long c = 0; c < cases && checks_failed < 5; c++) check_random();
  printf("outputs_memory_test: devices took part in %u tasks\n", shared);
  CHECK(shared || !strcmp(s.devices, "cpu"), "devices did nothing");
  free(want);
  hx_close(hx);
  hx_close(cpu);
  return checks_end("outputs_memory_test");
}
