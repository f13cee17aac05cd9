/* SPDX-License-Identifier: Apache-2.0
 * The known ranges beside a table of pages that says the same: ranges of one to four pages come and go at random, and
 * each query around their ends must find what the table says.
 *     known_test [--steps N] [--seed N] */
#include <stdlib.h>

#include "reference/data.h"
#include "runtime/memory/known.h"
#include "tests/check.h"

enum { PAGES = 400, PAGE = 4096, MOST_PAGES = 4 };

static char *const space = (char *)(uintptr_t)0x700000000000; /* an address; nothing is read there */
static hx__range *owner[PAGES];                               /* of each page; NULL: none */

static const hx__range *owner_at(ptrdiff_t byte) {
  return byte < 0 || byte >= (ptrdiff_t)PAGES * PAGE ? NULL : owner[byte / PAGE];
}

/* Queries `bytes` bytes from there. */
static void query(const hx__memory *m, ptrdiff_t at, size_t bytes) {
  const hx__range *const first = owner_at(at), *const last = bytes ? owner_at(at + (ptrdiff_t)bytes - 1) : first;
  const char *const p = space + at;
  if (bytes) { /* nothing is inside two ranges */
    const hx__range *const want = first == last ? first : NULL, *const got = hx__range_of(m, p, bytes);
    CHECK(got == want, "%zu bytes at %td: %p contains them, not %p", bytes, at, (const void *)got, (const void *)want);
  }
  const hx__range *touched = NULL;
  for (ptrdiff_t b = at; b < at + (ptrdiff_t)bytes && !touched; b = (b / PAGE + (b >= 0)) * PAGE) touched = owner_at(b);
  size_t count;
  hx__range *const *const found = hx__known_overlapping(m, p, bytes, &count);
  const hx__range *const got = count ? *found : NULL;
  CHECK(got == touched, "%zu bytes at %td: the first range is %p, not %p", bytes, at, (const void *)got,
        (const void *)touched);
  const hx__range *const begins = first && first->p == p ? first : NULL;
  for (unsigned allocated = 0; allocated < 2; allocated++)
    CHECK(hx__known_at(m, p, allocated) == (begins && begins->allocated == allocated ? begins : NULL),
          "the %s range at %td", allocated ? "allocated" : "registered", at);
}

static void query_around(const hx__memory *m, size_t page) {
  for (ptrdiff_t off = -1; off <= 1; off++) {
    const ptrdiff_t at = (ptrdiff_t)page * PAGE + off;
    static const size_t lengths[] = {0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 5 * PAGE};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
      if (at >= 0) query(m, at, lengths[i]);
  }
}

static void change(hx__memory *m, size_t page, size_t pages, bool allocated) {
  hx__range *const old = owner[page];
  if (old) {
    hx__known_remove(m, old);
    for (size_t i = 0; i < PAGES; i++) owner[i] = owner[i] == old ? NULL : owner[i];
    free(old);
    return;
  }
  while (page + pages > PAGES || owner[page + pages - 1]) pages--;
  for (size_t i = 0; i < pages; i++)
    if (owner[page + i]) return;
  hx__range *const r = calloc(1, sizeof *r);
  *r = (hx__range){.p = space + page * PAGE, .bytes = pages * PAGE, .allocated = allocated};
  CHECK(hx__known_reserve(m), "no memory");
  hx__known_add(m, r);
  for (size_t i = 0; i < pages; i++) owner[page + i] = r;
}

/* A program has freed memory that is still registered, and hx_alloc gives it a block there. */
static void check_freed_memory(hx__memory *m) {
  hx__range block = {.p = space, .bytes = 4 * PAGE, .allocated = true}, stale = {.p = space, .bytes = PAGE};
  for (int i = 0; i < 2; i++) {
    CHECK(hx__known_reserve(m), "no memory");
    hx__known_add(m, i ? &block : &stale);
    CHECK(hx__known_reserve(m), "no memory");
    hx__known_add(m, i ? &stale : &block);
    CHECK(hx__known_at(m, space, true) == &block && hx__known_at(m, space, false) == &stale, "order %d", i);
    hx__known_remove(m, i ? &block : &stale);
    CHECK(m->known_count == 1 && m->known[0] == (i ? &stale : &block), "order %d", i);
    hx__known_remove(m, i ? &stale : &block);
  }
}

int main(int argc, char **argv) {
  size_t steps = 3000;
  uint64_t seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--steps") == 0) steps = (size_t)atoll(argv[i + 1]);
    if (strcmp(argv[i], "--seed") == 0) seed = (uint64_t)atoll(argv[i + 1]);
  }
  printf("seed %llu\n", (unsigned long long)seed);
  hx__memory m = {.known = NULL};
  check_freed_memory(&m);
  for (size_t i = 0; i < steps; i++) {
    const uint64_t bits = data_u64(seed, i);
    const size_t page = bits % PAGES;
    change(&m, page, bits / PAGES % MOST_PAGES + 1, bits >> 62 & 1);
    query_around(&m, page);
    query_around(&m, (bits >> 32) % PAGES);
  }
  for (size_t i = 0; i < PAGES; i++)
    if (owner[i]) change(&m, i, 1, false);
  CHECK(m.known_count == 0, "%zu ranges are left", m.known_count);
  free(m.known);
  return checks_end("known_test");
}
