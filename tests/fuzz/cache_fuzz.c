/* SPDX-License-Identifier: Apache-2.0
 * A file of the cache with any bytes in it: the result is the data of a file with a right header and checksum, or
 * nothing. The first byte says which of the header's fields are corrected, so that the code behind their checks is
 * reached. */
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cache_dir.h"
#include "runtime/base/crash_mark.h"
#include "runtime/base/hash.h"
#include "tests/fuzz/fuzz.h"

enum { MOST = 1 << 14 };
static const char key[] = "a key";
static char path[400];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  char folder[300];
  fuzz_folder(folder, sizeof folder);
  hx__cache_dir_set(folder);
  snprintf(path, sizeof path, "%s/%016llx%s", folder, (unsigned long long)hx__hash(HX__HASH_START, key, sizeof key),
           HX__CACHE_SUFFIX);
  return 0;
}

/* The same constants as in cache_file.c. */
typedef struct header {
  char magic[8];
  uint32_t format, header_bytes;
  uint64_t key_bytes, data_bytes, checksum;
  hx__crash_marks marks;
} header;

static void put_right(uint8_t *file, size_t size, unsigned which) {
  header *const h = (header *)file;
  if (which & 1) memcpy(h->magic, "hxcache", 8), h->format = 2, h->header_bytes = sizeof *h;
  if (which & 2) h->key_bytes = sizeof key, memcpy(file + sizeof *h, key, sizeof key);
  if (which & 4) h->data_bytes = size - sizeof *h - sizeof key;
  if (which & 8) h->checksum = hx__hash(HX__HASH_START, file + sizeof *h + sizeof key, size - sizeof *h - sizeof key);
  if (which & 16) memset(&h->marks, 0, sizeof h->marks);
}

static void write_file(const uint8_t *file, size_t size, mode_t mode) {
  unlink(path);
  fuzz_file(path, file, size);
  if (chmod(path, mode) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static _Alignas(header) uint8_t file[MOST];
  if (size < 1 || size > MOST) return 0;
  const unsigned which = data[0];
  size--;
  memcpy(file, data + 1, size);
  const size_t contents = sizeof(header) + sizeof key;
  if (size >= contents) put_right(file, size, which);
  write_file(file, size, which & 32 ? 0622 : 0600);
  size_t bytes = 0;
  int crash_mark = -1;
  char *const got = hx__cache_get(key, sizeof key, &bytes, &crash_mark);
  if ((which & 31) == 31 && size >= contents && !(which & 32)) FUZZ_CHECK(got, "a file that is right is not taken");
  if (which & 32) FUZZ_CHECK(!got, "a file that others may write is taken");
  if (!got) return 0;
  FUZZ_CHECK(size == contents + bytes && memcmp(got, file + contents, bytes) == 0, "%zu bytes of others", bytes);
  hx__cache_crash_mark_end(crash_mark, which & 64);
  free(got);
  return 0;
}
