/* SPDX-License-Identifier: Apache-2.0
 * The report of a document: one HTML page that refers to nothing outside it, without a script. */
#ifndef HX_BENCH_REPORT_PAGE_H
#define HX_BENCH_REPORT_PAGE_H

#include <stdio.h>

#include "bench/report/changes.h"
#include "bench/report/facts.h"

/* changes, before: the comparison with another document; both NULL: none. */
void page_write(FILE *out, const facts *f, const facts *before, const changes *changes);

#endif
