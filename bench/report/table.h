/* SPDX-License-Identifier: Apache-2.0
 * HTML tables of the lists in a document. A table is a list of columns: a head, the member that it shows, and its form.
 */
#ifndef HX_BENCH_REPORT_TABLE_H
#define HX_BENCH_REPORT_TABLE_H

#include <stdio.h>

#include "bench/report/json.h"

/* The device's list, as a table. Nothing is written if there are no rows. */
void table_devices(FILE *out, const json_value *first);
/* All lists of measurements in the document of a part: rows, ladders, peaks, calls, trials of tune. */
void table_measurements(FILE *out, const char *part, const json_value *document);

#endif
