/* SPDX-License-Identifier: Apache-2.0
 * Rows of results. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

bool bench_append(void *list, size_t *count, size_t *room, const void *item, size_t bytes) {
  char *items;
  memcpy(&items, list, sizeof items);
  if (*count == *room) {
    const size_t more = *room ? 2 * *room : 64;
    char *const larger = realloc(items, more * bytes);
    if (!larger) return false;
    items = larger;
    *room = more;
    memcpy(list, &items, sizeof items);
  }
  memcpy(items + (*count)++ * bytes, item, bytes);
  return true;
}

bool bench_results_add(bench_results *results, const bench_row *row) {
  bench_measured();
  return bench_append(&results->rows, &results->row_count, &results->row_room, row, sizeof *row);
}

bool bench_results_add_versus(bench_results *results, const bench_versus *versus) {
  return bench_append(&results->versus, &results->versus_count, &results->versus_room, versus, sizeof *versus);
}

void bench_results_free(bench_results *results) {
  free(results->versus);
  free(results->rows);
  *results = (bench_results){0};
}

double bench_row_amount(const bench_row *row) {
  if (row->m) return 2e-9 * (double)row->m * (double)row->n * (double)row->k;
  return 1e-9 * sizeof(float) * (double)row->n * (strcmp(row->op, bench_op_name(HX_DOT)) == 0 ? 2 : 1);
}

bool bench_same_task(const bench_row *a, const bench_row *b) {
  return bench_same_operation(a, b) && a->m == b->m && a->n == b->n && a->k == b->k && a->trans_a == b->trans_a &&
         a->trans_b == b->trans_b;
}

bool bench_same_operation(const bench_row *a, const bench_row *b) {
  return strcmp(a->op, b->op) == 0 && strcmp(a->type, b->type) == 0;
}
