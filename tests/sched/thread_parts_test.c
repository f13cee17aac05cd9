/* SPDX-License-Identifier: Apache-2.0
 * Parts of slices for threads: each slice is handed out once, a thread gets its own part in order before anything else,
 * and a part whose thread never comes goes to the others, from its end. */
#include <pthread.h>

#include "runtime/sched/thread_parts.h"
#include "tests/check.h"

enum { MOST_SLICES = 5000, THREADS = 6 };

static unsigned char taken[MOST_SLICES];

/* Notes a chunk. False: nothing was left. */
static bool note(hx__chunk c, hx__chunk all, const char *what) {
  for (size_t i = c.first; i < c.first + c.count; i++) {
    const bool inside = i >= all.first && i < all.first + all.count;
    CHECK(inside && !taken[i - all.first], "%s: slice %zu is %s", what, i,
          inside ? "handed out twice" : "not one of all");
    if (inside) taken[i - all.first] = 1;
  }
  return c.count != 0;
}

static void check_all_taken(hx__chunk all, const char *what) {
  size_t missing = 0;
  for (size_t i = 0; i < all.count; i++) missing += !taken[i];
  CHECK(missing == 0, "%s: %zu of %zu slices were not handed out", what, missing, all.count);
  memset(taken, 0, sizeof taken);
}

/* One thread after the other takes all it can get in one go: its own part, whole. */
static void check_whole_parts(size_t count, unsigned threads) {
  const hx__chunk all = {17, count};
  hx__thread_parts p;
  char what[64];
  snprintf(what, sizeof what, "%zu slices, %u threads", count, threads);
  hx__thread_parts_init(&p, all, threads, (hx__take_size){1, 1, count});
  size_t next = all.first;
  for (unsigned t = 0; t < threads && t < HX__MOST_PARTS; t++) {
    const hx__chunk c = hx__thread_parts_take(&p, t);
    if (c.count == 0 || count < threads) { /* a thread without a part has taken that of another */
      note(c, all, what);
      continue;
    }
    CHECK(c.first == next, "%s: thread %u begins at %zu, not %zu", what, t, c.first, next);
    const size_t parts = p.parts, least = count / parts, most = (count + parts - 1) / parts;
    CHECK(c.count >= least && c.count <= most, "%s: thread %u has %zu slices", what, t, c.count);
    note(c, all, what);
    next += c.count;
  }
  CHECK(hx__thread_parts_take(&p, 0).count == 0, "%s: slices are left", what);
  check_all_taken(all, what);
}

/* The sizes of chunks: a quarter of what is left of a part, at least 3 and at most 10; a part whose thread does not
 * come is taken from its end. */
static void check_sizes(void) {
  const hx__chunk all = {0, 200};
  hx__thread_parts p;
  hx__thread_parts_init(&p, all, 2, (hx__take_size){4, 3, 10});
  static const size_t own[] = {10, 10, 10, 10, 10, 10, 10, 7, 5, 4, 3, 3, 3, 3, 2};
  size_t first = 0;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    const hx__chunk c = hx__thread_parts_take(&p, 0);
    CHECK(c.first == first && c.count == own[i], "own chunk %zu is %zu+%zu, not %zu+%zu", i, c.first, c.count, first,
          own[i]);
    first += c.count;
    note(c, all, "own part");
  }
  const hx__chunk last = hx__thread_parts_take(&p, 0), begin = hx__thread_parts_take(&p, 1);
  CHECK(last.first == 190 && last.count == 10, "the first chunk from another part is %zu+%zu", last.first, last.count);
  CHECK(begin.first == 100 && begin.count == 10, "its own thread then gets %zu+%zu", begin.first, begin.count);
  note(last, all, "other part"), note(begin, all, "other part");
  while (note(hx__thread_parts_take(&p, 0), all, "the rest")) continue;
  check_all_taken(all, "two parts of 100");
}

/* More slices than units fit into a word. */
static void check_huge(void) {
  const hx__chunk all = {5, (size_t)1 << 60};
  hx__thread_parts p;
  hx__thread_parts_init(&p, all, 3, (hx__take_size){1, 1, SIZE_MAX});
  size_t next = all.first;
  for (unsigned t = 0; t < 3; t++) {
    const hx__chunk c = hx__thread_parts_take(&p, t);
    CHECK(c.first == next, "part %u of 2^60 begins at %zu, not %zu", t, c.first, next);
    next += c.count;
  }
  CHECK(next == all.first + all.count, "three parts of 2^60 end at %zu", next);
}

typedef struct worker {
  hx__thread_parts *parts;
  unsigned number;
  size_t chunks;
  hx__chunk chunk[MOST_SLICES];
} worker;

static void *take_chunks(void *arg) {
  worker *const w = arg;
  for (hx__chunk c; (c = hx__thread_parts_take(w->parts, w->number)).count;) w->chunk[w->chunks++] = c;
  return NULL;
}

/* Threads at once, of which two have the same number and one number has no thread. */
static void check_at_once(hx__take_size size) {
  static worker w[THREADS];
  pthread_t thread[THREADS];
  const hx__chunk all = {3, MOST_SLICES};
  hx__thread_parts p;
  hx__thread_parts_init(&p, all, THREADS, size);
  for (unsigned t = 0; t < THREADS; t++) {
    w[t].parts = &p;
    w[t].number = t == 2 ? 1 : t;
    w[t].chunks = 0;
    pthread_create(&thread[t], NULL, take_chunks, &w[t]);
  }
  for (unsigned t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
  for (unsigned t = 0; t < THREADS; t++)
    for (size_t i = 0; i < w[t].chunks; i++) note(w[t].chunk[i], all, "at once");
  check_all_taken(all, "at once");
}

int main(void) {
  static const size_t counts[] = {0, 1, 2, 5, 63, 64, 65, 1000, MOST_SLICES};
  static const unsigned threads[] = {1, 2, 3, 16, 63, 64, 65, 200};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (size_t j = 0; j < sizeof threads / sizeof *threads; j++) check_whole_parts(counts[i], threads[j]);
  check_sizes();
  check_huge();
  for (int i = 0; i < 50; i++) check_at_once((hx__take_size){8, 1, 64});
  for (int i = 0; i < 50; i++) check_at_once((hx__take_size){1, 1, MOST_SLICES});
  return checks_end("thread_parts_test");
}
