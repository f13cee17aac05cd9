/* SPDX-License-Identifier: Apache-2.0
 * The command line of hx-bench, one word per line, and its files of shapes: the input after its first zero byte. */
#include "bench/bench.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_WORDS = 40 };
static char shapes[300];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  char folder[280];
  fuzz_folder(folder, sizeof folder);
  snprintf(shapes, sizeof shapes, "%s/shapes", folder);
  return 0;
}

static void check_sizes(const bench_options *o) {
  FUZZ_CHECK(o->size_count <= BENCH_MAX_SIZES && o->file_count <= BENCH_MAX_FILES && o->vs_count <= BENCH_MAX_PEERS,
             "%zu sizes, %zu files", o->size_count, o->file_count);
  for (size_t i = 0; i < o->size_count; i++) {
    const bench_size *const s = &o->sizes[i];
    size_t cells;
    FUZZ_CHECK(
        !__builtin_mul_overflow(s->m ? s->m : 1, s->n, &cells) && !__builtin_mul_overflow(cells, sizeof(float), &cells),
        "size %zu: %zu x %zu x %zu", i, s->m, s->n, s->k);
    FUZZ_CHECK(!s->m == !s->k && s->file <= o->file_count, "size %zu is half a shape", i);
  }
}

static void free_names(bench_options *o) {
  for (size_t i = 0; i < o->file_count; i++) free(o->shapes[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bench_options options;
  char *const text = fuzz_text(data, size), *argv[MOST_WORDS] = {"hx-bench"}, *rest = text, *word;
  int argc = 1;
  bool files = false; /* files of other programs are not opened here */
  while ((word = strsep(&rest, "\n")) && argc < MOST_WORDS) {
    files = files || strncmp(word, "--shapes", 8) == 0;
    argv[argc++] = word;
  }
  if (!files && bench_options_parse(argc, argv, &options)) check_sizes(&options);
  const size_t head = strlen(text);
  if (head < size) {
    fuzz_file(shapes, data + head + 1, size - head - 1);
    options = (bench_options){.command = ""};
    if (bench_shapes_read(shapes, &options)) check_sizes(&options);
    free_names(&options);
  }
  free(text);
  return 0;
}
