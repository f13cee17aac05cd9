/* SPDX-License-Identifier: Apache-2.0
 * profile FILE product TILE_M TILE_N LOCAL0 LOCAL1
 * profile FILE reduction LEAVES LOCAL0
 * How often each mnemonic of the kernel in FILE (clang's assembly text for a GPU of AMD's) is executed by the waves of
 * one work-group for 512 further steps of k of a full tile, or for one leaf of each of its parts. A product is executed
 * twice, with 1024 and with 512 steps, so that only the work of a panel is counted. Prints a line for
 * each mnemonic: times, name, and "pair" if the next one is executed at the same time. First line: waves, lanes. Exit
 * status: 0, 1 (the program is faulty), 2 (usage). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cases.h"
#include "tests/emulator/operation.h"
#include "tests/emulator/row_text.h"

typedef struct shape {
  uint32_t m, n, leaves, local[2]; /* leaves: 0 for a product */
} shape;

static uint64_t add_floats(memory *memory, const char *name, size_t count, bool filled) {
  float *const words = case_allocate(count * sizeof *words);
  for (size_t i = 0; i < count; i++) words[i] = (float)(i % 5) - 2.0f;
  return memory_add(memory, name, words, count, filled, filled);
}

static bool run_product(const program *program, const shape *shape, uint32_t k, char *why, size_t why_bytes) {
  memory memory = {.count = 0};
  const uint32_t m = shape->m, n = shape->n, local0 = shape->local[0], local1 = shape->local[1];
  const uint64_t a = add_floats(&memory, "A", m * k, true), b = add_floats(&memory, "B", k * n, true);
  const uint64_t t = add_floats(&memory, "t", m * n, false);
  const launch launch = {.kernel = "hx_matmul",
                         .groups = {1, 1},
                         .local = {local0, local1},
                         .arguments = {a, 0, k, 1, b, 0, n, 1, m, n, k, 0x3f800000, t, n, 0, 0, 0, 0},
                         .argument_count = 18};
  const bool good = launch_run(program, &memory, &launch, 0, why, why_bytes);
  for (unsigned i = 0; i < memory.count; i++) free(memory.ranges[i].bytes);
  memory_free(&memory);
  return good;
}

/* The arguments of a kernel, without those that the compiler adds. */
static unsigned arguments_of(const kernel *kernel) {
  unsigned count = 0;
  for (unsigned i = 0; kernel && i < kernel->argument_count; i++)
    count += strncmp(kernel->arguments[i].kind, "hidden_", 7) != 0;
  return count;
}

static bool run_reduction(const program *program, const shape *shape, char *why, size_t why_bytes) {
  memory memory = {.count = 0};
  const uint32_t n = shape->leaves * HX__LEAF, local = shape->local[0];
  const uint64_t x = add_floats(&memory, "x", n, true),
                 slots = add_floats(&memory, "the slots", 2 * shape->leaves, false);
  const launch launch = {.kernel = "hx_reduce",
                         .groups = {1, 1},
                         .local = {local, 1},
                         .arguments = {x, 0, x, 0, n, slots, 0, slots}, /* join: 0 */
                         .argument_count = arguments_of(program_kernel(program, "hx_reduce"))};
  const bool good = launch_run(program, &memory, &launch, 0, why, why_bytes);
  for (unsigned i = 0; i < memory.count; i++) free(memory.ranges[i].bytes);
  memory_free(&memory);
  return good;
}

/* executed: a product's counts with 1024 steps of k, less those with 512. */
static bool count(program *program, const shape *shape, uint64_t *executed, char *why, size_t why_bytes) {
  program->executed = executed;
  if (shape->leaves > 0) return run_reduction(program, shape, why, why_bytes);
  if (!run_product(program, shape, HX__PANEL, why, why_bytes)) return false;
  for (unsigned i = 0; i < program->code_count; i++) executed[i] = -executed[i];
  return run_product(program, shape, 2 * HX__PANEL, why, why_bytes);
}

static const char *name_of(const program *program, unsigned i) { return program->code[i].operation->name; }

static void print_counts(const program *program, const shape *shape, uint64_t *executed) {
  const unsigned lanes = program->kernels[0].wavefront_size32 ? 32 : 64;
  printf("%u waves %u lanes\n", (shape->local[0] * shape->local[1] + lanes - 1) / lanes, lanes);
  for (unsigned i = 0; i < program->code_count; i++) {
    const bool pair = program->code[i].pair_follows;
    for (unsigned j = i + 1; j < program->code_count; j++) {
      if (strcmp(name_of(program, i), name_of(program, j)) != 0 || pair != program->code[j].pair_follows) continue;
      executed[i] += executed[j];
      executed[j] = 0;
    }
    if ((int64_t)executed[i] > 0)
      printf("%llu %s%s\n", (unsigned long long)executed[i], name_of(program, i), pair ? " pair" : "");
  }
}

static bool read_shape(shape *shape, int argc, char **argv) {
  unsigned n[4] = {0, 0, 0, 1};
  const bool product = argc == 7 && strcmp(argv[2], "product") == 0;
  if (!product && (argc != 5 || strcmp(argv[2], "reduction") != 0)) return false;
  for (int i = 3; i < argc; i++) n[i - 3] = (unsigned)strtoul(argv[i], NULL, 10);
  *shape = product ? (struct shape){.m = n[0], .n = n[1], .local = {n[2], n[3]}}
                   : (struct shape){.leaves = n[0], .local = {n[1], 1}};
  return n[0] > 0 && n[1] > 0 && (!product || n[2] * n[3] > 0);
}

int main(int argc, char **argv) {
  shape shape;
  row_text text;
  if (!read_shape(&shape, argc, argv) || !row_text_read(&text, "probe", "f32", argv[1])) {
    fprintf(stderr, "usage: profile FILE product TILE_M TILE_N LOCAL0 LOCAL1, or FILE reduction LEAVES LOCAL0\n");
    return 2;
  }
  program program;
  char why[512];
  bool good = program_read(&program, text.text);
  if (!good) snprintf(why, sizeof why, "%s", program.why);
  uint64_t *const executed = case_allocate((program.code_count + 1) * sizeof *executed);
  memset(executed, 0, (program.code_count + 1) * sizeof *executed);
  good = good && count(&program, &shape, executed, why, sizeof why);
  if (good)
    print_counts(&program, &shape, executed);
  else
    printf("%s\n", why);
  free(executed);
  program_free(&program);
  return !good;
}
