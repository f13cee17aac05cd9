/* SPDX-License-Identifier: Apache-2.0
 * Fields of a structure of arrays may share one array, so that the number of partials, unlike any other size of a task,
 * is not bounded by memory that the caller has: 2^29 fields of 2^44 elements need 2^64 bytes of them. The fields are
 * one small piece of memory, mapped over and over; their array is address space that cannot be read. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/task/task.h"
#include "tests/check.h"

#define FIELDS ((size_t)1 << 29)
#define ELEMENTS ((size_t)1 << 44)
#define PIECE ((size_t)3 << 20) /* a multiple of a page and of the 24 bytes of a field */

static void *address_space(size_t bytes, int protection) {
  void *const p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* Equal fields over x; NULL if the system has no room for the mappings. */
static const hx_field *many_fields(const void *x) {
  char *const all = address_space(FIELDS * sizeof(hx_field), PROT_NONE);
  const int piece = memfd_create("fields", MFD_CLOEXEC);
  if (!all || piece < 0 || ftruncate(piece, (off_t)PIECE) != 0) return NULL;
  for (size_t at = 0; at < FIELDS * sizeof(hx_field); at += PIECE)
    if (mmap(all + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, piece, 0) == MAP_FAILED) return NULL;
  close(piece);
  hx_field *const fields = (hx_field *)(void *)all;
  for (size_t i = 0; i < PIECE / sizeof *fields; i++) fields[i] = (hx_field){HX_SUM, HX_F32, x, NULL};
  return fields;
}

static void huge_reduction(void) {
  const void *const x = address_space(ELEMENTS * 4, PROT_NONE);
  hx_value *const out = address_space(FIELDS * sizeof *out, PROT_READ | PROT_WRITE);
  const hx_field *const fields = x ? many_fields(x) : NULL;
  if (!fields || !out) {
    perror("partials: skipped, no address space for 2^44 elements and 2^29 fields");
    return;
  }
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu,sim";
  settings.sim = "rate=1e12";
  settings.threads = "2";
  settings.cache_dir = "off";
  hx_context *const hx = open_or_exit(&settings);
  const hx_task t = hx_reduce_soa(fields, FIELDS, ELEMENTS, out);
  out[0].u64 = out[FIELDS - 1].u64 = 77;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_OUT_OF_MEMORY, "536870912 fields");
  CHECK(out[0].u64 == 77 && out[FIELDS - 1].u64 == 77, "an output was written");
  hx_close(hx);
}

/* Counts of units stay at the greatest 64-bit number. */
static void units_stay_at_the_maximum(void) {
  const hx__work w = {.slices = ELEMENTS / HX__LEAF, .n = ELEMENTS, .nfields = (size_t)1 << 21, .units = UINT64_MAX};
  const uint64_t most = hx__chunk_units(&w, (hx__chunk){0, w.slices - 1});
  CHECK(most == UINT64_MAX, "a chunk has %llu units", (unsigned long long)most);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* so that failures are printed before a crash */
  units_stay_at_the_maximum();
  huge_reduction();
  return checks_end("overflow_test");
}
