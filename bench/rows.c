/* SPDX-License-Identifier: Apache-2.0
 * Rows of results. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

void *bench_grow(void *items, size_t count, size_t *room, size_t bytes) {
  if (count < *room) return items;
  const size_t more = *room ? 2 * *room : 64;
  void *const grown = realloc(items, more * bytes);
  if (grown) *room = more;
  return grown;
}

bool bench_results_add(bench_results *results, const bench_row *row) {
  bench_row *grown = bench_grow(results->rows, results->row_count, &results->row_room, sizeof *grown);
  if (!grown) return false;
  results->rows = grown;
  results->rows[results->row_count++] = *row;
  bench_measured();
  return true;
}

bool bench_results_add_versus(bench_results *results, const bench_versus *versus) {
  bench_versus *grown = bench_grow(results->versus, results->versus_count, &results->versus_room, sizeof *grown);
  if (!grown) return false;
  results->versus = grown;
  results->versus[results->versus_count++] = *versus;
  return true;
}

void bench_results_free(bench_results *results) {
  free(results->versus);
  free(results->rows);
  *results = (bench_results){0};
}

bool bench_same_operation(const bench_row *a, const bench_row *b) {
  return strcmp(a->op, b->op) == 0 && strcmp(a->type, b->type) == 0;
}
