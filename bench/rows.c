/* SPDX-License-Identifier: Apache-2.0
 * Rows of results, and the table in which people read them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void bench_table_head(FILE *f, const bench_row *row) {
  fprintf(f, "\n%s %s; ceiling: %s\n", row->type, row->op,
          row->m ? "multiply-adds on the CPU's registers alone" : "reading the same bytes with a bare loop on the CPU");
  fprintf(f, "%-14s %-4s %5s %8s %8s %8s %4s %7s %7s %6s %8s %7s %-5s %s\n", "size", "mode", "asked", "median", "min",
          "max", "runs", row->unit, "ceiling", "on GPU", "copied", "energy", "check", "bits");
}

void bench_table_row(FILE *f, const bench_row *row) {
  char size[72], asked[16] = "auto", median[24], least[24], most[24], copied[24], share[16] = "-", rate[16] = "-",
                 ceiling[16] = "-", joules[16];
  bench_size_text(row, size, sizeof size);
  bench_time_text(row->median_s, median, sizeof median);
  bench_time_text(row->min_s, least, sizeof least);
  bench_time_text(row->max_s, most, sizeof most);
  bench_bytes_text(row->bytes_copied, copied, sizeof copied);
  bench_joules_text(row->joules, joules, sizeof joules);
  if (row->asked_share >= 0) snprintf(asked, sizeof asked, "%.0f %%", 100.0 * (double)row->asked_share);
  if (isfinite(row->gpu_share)) snprintf(share, sizeof share, "%.0f %%", 100 * row->gpu_share);
  if (isfinite(row->rate)) snprintf(rate, sizeof rate, row->rate < 100 ? "%.2f" : "%.0f", row->rate);
  if (isfinite(row->rate / row->ceiling)) snprintf(ceiling, sizeof ceiling, "%.0f %%", 100 * row->rate / row->ceiling);
  fprintf(f, "%-14s %-4s %5s %8s %8s %8s %4zu %7s %7s %6s %8s %7s %-5s %016llx\n", size, row->mode, asked, median,
          least, most, row->reps, rate, ceiling, share, copied, joules,
          row->verified ? "ok"
          : row->ran    ? "WRONG"
                        : "error",
          (unsigned long long)row->bits);
}
