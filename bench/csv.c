/* SPDX-License-Identifier: Apache-2.0
 * The CSV table. Its columns and their order are fixed, and new ones come last: results of different versions are
 * compared by them. A value that does not exist is an empty field. */
#include <math.h>

#include "bench/bench.h"
#include "bench/text.h"

static void field_size(FILE *f, size_t value) {
  if (value) fprintf(f, "%zu", value);
  fputc(',', f);
}

void bench_write_csv(FILE *f, const bench_session *session, const bench_results *results) {
  fputs(
      "op,type,m,n,k,mode,devices,asked_share,median_s,min_s,max_s,reps,rate,unit,ceiling,gpu_share,bytes_copied,"
      "recovered,verified,bits,joules\n",
      f);
  for (size_t i = 0; i < results->row_count; i++) {
    const bench_row *row = &results->rows[i];
    char devices[HX_MAX_DEVICES * 64];
    bench_row_devices(session, row->devices, devices, sizeof devices);
    bench_csv_field(f, row->op);
    bench_csv_field(f, row->type);
    field_size(f, row->m);
    field_size(f, row->n);
    field_size(f, row->k);
    bench_csv_field(f, row->mode);
    bench_csv_field(f, devices);
    bench_csv_number(f, row->asked_share < 0 ? NAN : (double)row->asked_share);
    bench_csv_number(f, row->median_s);
    bench_csv_number(f, row->min_s);
    bench_csv_number(f, row->max_s);
    fprintf(f, "%zu,", row->reps);
    bench_csv_number(f, row->rate);
    bench_csv_field(f, row->unit);
    bench_csv_number(f, row->ceiling);
    bench_csv_number(f, row->gpu_share);
    fprintf(f, "%llu,%u,%s,%016llx,", (unsigned long long)row->bytes_copied, row->recovered,
            row->verified ? "true" : "false", (unsigned long long)row->bits);
    if (isfinite(row->joules)) fprintf(f, "%.9g", row->joules);
    fputc('\n', f);
  }
}
