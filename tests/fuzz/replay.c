/* SPDX-License-Identifier: Apache-2.0
 * A fuzz target as a test that needs no fuzzer: every file given, then `--random N` inputs made from them by a seed,
 * which `--seed N` repeats. */
#include <time.h>

#include "tests/fuzz/fuzz.h"

enum { MOST_FILES = 256, MOST_BYTES = 1 << 16 };

typedef struct input {
  uint8_t *data;
  size_t size;
} input;

static uint64_t state;

static size_t random_below(size_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)((state >> 33) % n);
}

static input read_file(const char *path) {
  input in = {malloc(MOST_BYTES), 0};
  FILE *const f = fopen(path, "re");
  if (!f || !in.data) {
    fprintf(stderr, "replay: cannot read %s\n", path);
    exit(1);
  }
  in.size = fread(in.data, 1, MOST_BYTES, f);
  fclose(f);
  return in;
}

/* A copy of one file with up to four bytes changed, or with a part of another file in its middle. */
static void mutate(const input *files, size_t count) {
  const input *const from = &files[random_below(count)], *const other = &files[random_below(count)];
  uint8_t data[MOST_BYTES];
  size_t size = from->size;
  memcpy(data, from->data, size);
  if (size && random_below(2)) size = random_below(size);
  const size_t more = other->size ? random_below(other->size) : 0;
  if (random_below(2) && size + more <= sizeof data) {
    memcpy(data + size, other->data + other->size - more, more);
    size += more;
  }
  for (size_t i = random_below(5); size && i > 0; i--) data[random_below(size)] = (uint8_t)random_below(256);
  /* The buffer has the exact size, so that a sanitizer sees a byte that is read past its end. */
  uint8_t *const exact = malloc(size ? size : 1);
  if (!exact) abort();
  memcpy(exact, data, size);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
}

int main(int argc, char **argv) {
  static input files[MOST_FILES] = {{(uint8_t *)"", 0}};
  size_t count = 1, random = 0;
  state = (uint64_t)time(NULL);
  LLVMFuzzerInitialize(&argc, &argv);
  for (int i = 1; i < argc; i++) {
    if (i + 1 < argc && strcmp(argv[i], "--random") == 0)
      random = strtoull(argv[++i], NULL, 0);
    else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
      state = strtoull(argv[++i], NULL, 0);
    else if (count < MOST_FILES)
      files[count++] = read_file(argv[i]);
  }
  printf("replay: %zu files, %zu random inputs, --seed %llu\n", count - 1, random, (unsigned long long)state);
  fflush(stdout);
  for (size_t i = 0; i < count; i++) LLVMFuzzerTestOneInput(files[i].data, files[i].size);
  for (size_t i = 0; i < random; i++) mutate(files, count);
  for (size_t i = 1; i < count; i++) free(files[i].data);
  return 0;
}
