/* SPDX-License-Identifier: Apache-2.0
 * Products as subjects. */
#include <stdlib.h>
#include <string.h>

#include "bench/ceiling.h"
#include "bench/subject.h"
#include "runtime/base/hash.h"
#include "reference/data.h"
#include "reference/ref.h"

#define SEED 3u
#define ALL_UP_TO 25         /* log2 of the multiply-adds up to which every element is compared */
#define SOME 23              /* log2 of the multiply-adds spent on comparing larger products */
#define FEWEST_PLACES 256u   /* but at least this many elements are compared, */
#define MOST_PLACES 4096u    /* and at most this many */
#define POISON 0xffaa5500u   /* bits of a NaN that hx never stores */
#define CEILING_MILLIONS 50u /* millions of multiply-adds per thread, which take a few milliseconds */

static void poison_product(bench_subject *subject, bool whole) {
  static const uint32_t bits = POISON;
  size_t count = whole ? subject->row.m * subject->row.n : subject->places;
  for (size_t i = 0; i < count; i++) memcpy(&subject->c[whole ? i : subject->place[i]], &bits, sizeof bits);
}

static bool check_product(bench_subject *subject, bool whole) {
  bool right = true;
  for (size_t i = 0; i < subject->places; i++)
    right &= ref_bits(subject->c[subject->place[i]]) == ref_bits(subject->wanted[i]);
  if (!whole) return right;
  size_t count = subject->row.m * subject->row.n;
  for (size_t i = 0; i < count; i++) right &= ref_bits(subject->c[i]) != POISON;
  subject->bits = hx__hash(HX__HASH_START, subject->c, count * sizeof(float));
  return right;
}

static double product_ceiling(bench_subject *subject, size_t loop, unsigned threads) {
  (void)subject;
  return bench_ceiling_fma(loop, threads, CEILING_MILLIONS);
}

static const bench_kind matmul_kind = {poison_product, check_product, product_ceiling};

/* Chooses the elements to compare: all, or the corners and pseudo-random others. */
static size_t choose_places(size_t m, size_t n, size_t k, size_t **place) {
  size_t all = m * n, count = ((size_t)1 << SOME) / k;
  bool every = all <= ((size_t)1 << ALL_UP_TO) / k;
  if (count < FEWEST_PLACES) count = FEWEST_PLACES;
  if (count > MOST_PLACES) count = MOST_PLACES;
  if (every) count = all;
  *place = malloc(count * sizeof **place);
  if (!*place) return 0;
  const size_t corners[] = {0, n - 1, (m - 1) * n, all - 1};
  for (size_t i = 0; i < count; i++)
    (*place)[i] = every ? i : i < sizeof corners / sizeof corners[0] ? corners[i] : (size_t)(data_u64(SEED, i) % all);
  return count;
}

bool bench_subject_matmul(bench_session *session, const bench_task *task, bench_subject *subject) {
  const bench_size *const size = &task->size;
  const size_t m = size->m, n = size->n, k = size->k;
  *subject = (bench_subject){.kind = &matmul_kind, .row = bench_row_of_task(task)};
  subject->x = bench_operand(session, HX_F32, SEED, false, m * k);
  subject->y = subject->x ? bench_operand(session, HX_F32, SEED + 1, false, k * n) : NULL;
  subject->c = subject->y ? bench_session_alloc(session, m * n * sizeof(float)) : NULL;
  if (!subject->c) return false;
  subject->task = hx_matmul(m, n, k, subject->x, subject->y, subject->c);
  subject->task.matmul.trans_a = size->trans_a;
  subject->task.matmul.trans_b = size->trans_b;
  subject->places = choose_places(m, n, k, &subject->place);
  subject->wanted = malloc(subject->places * sizeof *subject->wanted);
  if (!subject->places || !subject->wanted) {
    fputs("hx-bench: there is no memory for the elements to compare\n", stderr);
    return false;
  }
  for (size_t i = 0; i < subject->places; i++)
    subject->wanted[i] = ref_matmul_element(&subject->task.matmul, subject->place[i] / n, subject->place[i] % n);
  return true;
}
