/* SPDX-License-Identifier: Apache-2.0
 * How much static thread-local storage libhx.so uses. Libraries that are loaded late share little more than a kilobyte
 * of it, and dlopen fails if that is not enough. static_tls_test libhx.so.0  */
#include <elf.h>

#include "tests/check.h"

enum { MOST = 128 }; /* of about 1,500 that a process has for all libraries loaded later */

int main(int argc, char **argv) {
  FILE *const f = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!f) return puts("usage: static_tls_test libhx.so.0"), 2;
  Elf64_Ehdr header;
  CHECK(fread(&header, sizeof header, 1, f) == 1 && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0, "no ELF file");
  size_t bytes = 0, segments = 0;
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    CHECK(fseek(f, (long)(header.e_phoff + i * sizeof segment), SEEK_SET) == 0 &&
              fread(&segment, sizeof segment, 1, f) == 1,
          "cut short");
    if (segment.p_type == PT_TLS) bytes += segment.p_memsz, segments++;
  }
  fclose(f);
  printf("  %zu bytes of each thread's storage\n", bytes);
  CHECK(segments == 1 && bytes <= MOST, "%zu segments, %zu bytes", segments, bytes);
  return checks_end("static_tls_test");
}
