/* SPDX-License-Identifier: Apache-2.0
 * What a ladder shows of itself: bars under its table, and the file of --svg. Both are drawn from the records that
 * `report` draws from. */
#ifndef HX_BENCH_LADDER_CHARTS_H
#define HX_BENCH_LADDER_CHARTS_H

#include "bench/report/facts.h"

/* Prints bars of the rungs, and for those that differ in one number a table of bars over it. Nothing in Markdown. */
void ladder_bars_print(const facts *f);
/* Prints the speed-ups of every split of several tasks beside each other, likewise. */
void ladder_shares_print(const facts *f);
/* Writes all charts below each other. Returns false after printing one sentence to stderr. */
bool ladder_svg_write(const char *path, const facts *f, const char *ladder);

#endif
