/* SPDX-License-Identifier: Apache-2.0
 * Rows of results. */
#include <stdlib.h>

#include "bench/bench.h"

bool bench_results_add(bench_results *results, const bench_row *row) {
  if (results->row_count == results->row_room) {
    size_t room = results->row_room ? 2 * results->row_room : 64;
    bench_row *grown = realloc(results->rows, room * sizeof *grown);
    if (!grown) return false;
    results->rows = grown;
    results->row_room = room;
  }
  results->rows[results->row_count++] = *row;
  bench_measured();
  return true;
}

bool bench_results_add_versus(bench_results *results, const bench_versus *versus) {
  if (results->versus_count == results->versus_room) {
    size_t room = results->versus_room ? 2 * results->versus_room : 64;
    bench_versus *grown = realloc(results->versus, room * sizeof *grown);
    if (!grown) return false;
    results->versus = grown;
    results->versus_room = room;
  }
  results->versus[results->versus_count++] = *versus;
  return true;
}

void bench_results_free(bench_results *results) {
  free(results->versus);
  free(results->rows);
  *results = (bench_results){0};
}

void bench_row_devices(const bench_session *session, uint32_t devices, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < session->device_count && used < bytes; i++) {
    if (!(devices & 1u << i)) continue;
    int length = snprintf(text + used, bytes - used, "%s%.60s", used ? " + " : "", session->device[i].name);
    used += length > 0 ? (size_t)length : 0;
  }
}
