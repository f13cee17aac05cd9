/* SPDX-License-Identifier: Apache-2.0
 * What a comparison leaves in --json and --csv. */
#include "bench/bench.h"

bool bench_files_write(const bench_session *session, const bench_results *results) {
  FILE *const json = bench_json_file(), *const csv = bench_csv_file();
  if (json) bench_write_json(json, session, results);
  if (csv) bench_write_csv(csv, session, results);
  return bench_files_close();
}
