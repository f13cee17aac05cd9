/* SPDX-License-Identifier: Apache-2.0
 * What the fuzz targets share. Each target is a file NAME_fuzz.c with the two functions that libFuzzer calls; replay.c
 * calls them too, so that the same inputs are tests under any compiler. */
#ifndef HX_TESTS_FUZZ_FUZZ_H
#define HX_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, so that the fuzzer keeps the input; the format says what was seen. It goes to the standard output,
 * because a target's standard error is closed while it is fuzzed. */
#define FUZZ_CHECK(condition, ...)                                  \
  do {                                                              \
    if (!(condition)) {                                             \
      printf("FAILED %s:%d: %s: ", __FILE__, __LINE__, #condition); \
      printf(__VA_ARGS__);                                          \
      printf("\n");                                                 \
      fflush(stdout);                                               \
      abort();                                                      \
    }                                                               \
  } while (0)

/* Reads the input as numbers, each of as many bytes as it needs; after the end of the input there are zeros. */
typedef struct fuzz_input {
  const uint8_t *at;
  size_t left;
} fuzz_input;

static inline uint64_t fuzz_number(fuzz_input *in, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes && in->left; i++, in->at++, in->left--) value |= (uint64_t)*in->at << 8 * i;
  return value;
}

/* A number in [0, below), from one byte, or from two if one is not enough. */
static inline size_t fuzz_below(fuzz_input *in, size_t below) {
  return (size_t)fuzz_number(in, below > 256 ? 2 : 1) % below;
}

/* Any double, including NaN and infinities. */
static inline double fuzz_double(fuzz_input *in) {
  const uint64_t bits = fuzz_number(in, 8);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The input as a string, which the caller frees. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
  char *const text = malloc(size + 1);
  if (!text) abort();
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  return text;
}

/* Makes a folder for this process, for targets that read files. It is removed only with the test's temporary folder. */
static inline void fuzz_folder(char *out, size_t bytes) {
  const char *const base = getenv("TEST_TMPDIR");
  snprintf(out, bytes, "%s/hx-fuzz-XXXXXX", base ? base : "/tmp");
  if (!mkdtemp(out)) abort();
}

/* Writes a complete file. */
static inline void fuzz_file(const char *path, const void *data, size_t size) {
  FILE *const f = fopen(path, "we");
  if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) abort();
}

#endif
