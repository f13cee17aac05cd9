/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/chart.h"

#include <string.h>

const chart_kind *const chart_kinds[] = {&chart_rate,   &chart_modes, &chart_split,    &chart_ladder, &chart_lines,
                                         &chart_shares, &chart_sizes, &chart_roofline, NULL};

void chart_name(const chart_kind *kind, const facts *f, size_t figure, plot_words *words) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  *words = (plot_words){.id = ""};
  kind->name(f, figure, words);
  for (char *c = words->id; *c; c++)
    if (!strchr(letters, *c)) *c = '_';
}
