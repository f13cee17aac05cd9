/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/threads.h"

#include "runtime/base/thresholds.h"

#define READ_UNITS 4u /* multiply-adds in the time in which an element of A or B is read from memory */

/* Effort of what a thread takes at a time of many small products or tasks: some ten microseconds, so that taking it
 * costs nothing. */
#define TAKEN_EFFORT (1u << 18)

#define LEAST_WOKEN 4u /* threads that a task must be worth to wake a pool of eight or more: cpu-teams.tsv */

#define THREADS_A_COPIER 4u /* threads of the CPU's part, at least, for each thread that copies */

/* An element of a user kernel in elements of a reduction: by the arrays that are read and written, and by the steps of
 * its evaluator, of which two take about as long as reading an array from a cache. */
#define STEPS_AN_ARRAY 2u
static uint64_t effort_of_map(const hx__work *w) {
  const uint64_t each = hx__expr_element_inputs(&w->kernel->expr) + (w->map ? hx__work_outputs(w) : 0) +
                        w->kernel->effort / STEPS_AN_ARRAY;
  uint64_t effort;
  return __builtin_mul_overflow(w->units, each, &effort) ? UINT64_MAX : effort;
}

uint64_t hx__effort_of(const hx__work *w) {
  if (w->kernel) return effort_of_map(w);
  if (!w->matmul) return w->fields[0].op == HX_DOT ? 2 * w->units : w->units; /* a dot product reads two arrays */
  const uint64_t products = w->by_products ? w->slices : 1;
  return w->units + READ_UNITS * products * ((uint64_t)w->gemm.m * w->gemm.k + (uint64_t)w->gemm.k * w->gemm.n);
}

static uint64_t least_part(const hx__work *w, bool awake) {
  if (awake) return w->matmul ? HX__AWAKE_UNITS : HX__AWAKE_ELEMENTS;
  return w->matmul ? HX__ASLEEP_UNITS : HX__ASLEEP_ELEMENTS;
}

/* Whether one thread computes a task because to start the others would take longer, or because other programs use the
 * cores. */
static bool stays_alone(uint64_t effort, bool product, hx__pool_state pool) {
  if (pool == HX__POOL_MISSING) return effort < (product ? HX__MISSING_UNITS : HX__MISSING_ELEMENTS);
  return pool == HX__POOL_CROWDED && effort <= (product ? HX__CROWDED_UNITS : HX__CROWDED_ELEMENTS);
}

/* The least work that is shared if the pool has `most` threads and is awake. */
static uint64_t least_shared(const hx__work *w, unsigned most) {
  if (most > 2) return w->matmul ? HX__TEAM_UNITS : HX__TEAM_ELEMENTS;
  return 2 * least_part(w, true);
}

bool hx__may_use_threads(const hx__work *w, unsigned most) {
  return most >= 2 && w->slices >= 2 && hx__effort_of(w) >= least_shared(w, most);
}

/* The number of threads for a task: parts is how many of them its work is worth. A pool that is asleep is woken as a
 * whole, and its threads spin for milliseconds afterwards. A task that is not worth that gets one thread. */
static unsigned at_most(uint64_t parts, size_t pieces, unsigned most, bool asleep) {
  const unsigned half = most / 2, least = asleep ? (half < LEAST_WOKEN ? half : LEAST_WOKEN) : 1;
  const uint64_t useful = parts < pieces ? parts : pieces;
  return useful < 1 || parts < least ? 1 : useful < most ? (unsigned)useful : most;
}

unsigned hx__threads_for(const hx__work *w, unsigned most, hx__pool_state pool) {
  const uint64_t effort = hx__effort_of(w);
  if (stays_alone(effort, w->matmul, pool)) return 1;
  const bool awake = pool == HX__POOL_AWAKE;
  return at_most(effort / least_part(w, awake), w->slices, most, !awake);
}

unsigned hx__threads_for_pieces(uint64_t effort, size_t count, unsigned most, hx__pool_state pool) {
  if (stays_alone(effort, true, pool)) return 1;
  const bool awake = pool == HX__POOL_AWAKE;
  return at_most(effort / (awake ? HX__AWAKE_UNITS : HX__ASLEEP_UNITS), count, most, !awake);
}

size_t hx__taken_at_once(uint64_t effort, size_t count, unsigned threads) {
  const size_t part = (count + threads - 1) / threads;
  const uint64_t one = effort / count + 1, few = TAKEN_EFFORT / one + 1;
  return few < part ? (size_t)few : part;
}

size_t hx__products_at_once(const hx__work *w, size_t count, unsigned threads) {
  return count ? hx__taken_at_once(hx__effort_of(w) / w->slices * count, count, threads) : 0;
}

/* If the CPU's threads use all cores, a worker that stores a device's results waits for one. That made an H200 with
 * sixteen Xeon cores five to twenty times slower. */
unsigned hx__copy_threads_of(const hx__plan_snapshot *s) {
  unsigned copiers = 0;
  for (size_t i = 0; i < s->inputs.devices; i++) copiers += s->device[i].link_ns > 0.0;
  return copiers < s->threads / THREADS_A_COPIER ? copiers : s->threads / THREADS_A_COPIER;
}

bool hx__shares_by_panels(const hx__work *w, unsigned threads) {
  const hx__gemm *const g = &w->gemm;
  const bool fits = w->matmul && !w->by_products && threads >= 2 && g->m <= HX__SMALL_SIDE && g->n <= HX__SMALL_SIDE;
  if (!fits || g->m * g->n == 0 || g->alpha == 0) return false;
  const size_t panels = (g->k + HX__PANEL - 1) / HX__PANEL;
  return panels >= HX__LONG_K / HX__PANEL && panels >= threads;
}

/* Products with so few rows, or columns, whose k is cut if a thread's part of the long side of C would have fewer than
 * `wanted` elements: docs/measurements/cpu-parts-of-k.tsv. */
typedef struct few_rows {
  size_t most;
  unsigned threads; /* at least */
  size_t wanted;
} few_rows;
static const few_rows cut_along_k[] = {{4, 2, 1024}, {8, 2, 224}, {16, 12, 224}};

#define MOST_SUMS ((size_t)1 << 20) /* floats of all panels of C: 4 MiB */
#define LEAST_EVEN 7u               /* eighths of the longest part of k that the average part has, at least */

/* Whether whole panels can be shared out so evenly. */
static bool is_even(size_t k, size_t panels, size_t parts) {
  const size_t longest = (panels + parts - 1) / parts * HX__PANEL;
  return 8 * (k / parts) >= LEAST_EVEN * longest;
}

unsigned hx__parts_of_k(const hx__work *w, unsigned threads) {
  const hx__gemm *const g = &w->gemm;
  const size_t few = w->by_columns ? g->m : g->n, panels = (g->k + HX__PANEL - 1) / HX__PANEL;
  const bool contiguous = w->by_columns ? g->b_cs == 1 : g->a_rs == 1;
  if (!w->matmul || w->by_products || !contiguous || panels < 2 || few == 0 || g->alpha == 0) return 1;
  const few_rows *row = cut_along_k, *const end = row + sizeof cut_along_k / sizeof *row;
  while (row < end && few > row->most) row++;
  if (row == end || threads < row->threads || w->slices > MOST_SUMS / few / panels) return 1;
  unsigned parts = 1;
  for (unsigned p = 2; p <= threads && p <= panels && w->slices * parts < row->wanted * threads; p++)
    if (threads % p == 0 && is_even(g->k, panels, p)) parts = p;
  return parts;
}
