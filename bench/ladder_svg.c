/* SPDX-License-Identifier: Apache-2.0
 * The charts of a ladder as one SVG file: lines and bars below each other. */
#include <stdlib.h>
#include <string.h>

#include "bench/ladder_charts.h"
#include "bench/bench.h"
#include "bench/report/chart.h"

static const chart_kind *const kinds[] = {&chart_ladder, &chart_lines, &chart_shares, &chart_sizes};

/* Draws all charts, each moved down by those before it. Returns the height of all. */
static double draw_all(const facts *f, FILE *out) {
  double height = 0;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    size_t figures[CHART_FIGURES];
    const size_t count = kinds[k]->list(f, figures);
    for (size_t i = 0; i < count; i++) {
      plot_words words;
      chart_name(kinds[k], f, figures[i], &words);
      fprintf(out, "<g transform=\"translate(0 %.0f)\">\n", height);
      height += kinds[k]->draw(f, figures[i], &words, out, PLOT_IN_SHEET);
      fputs("</g>\n", out);
    }
  }
  return height;
}

static bool compose(const facts *f, const char *ladder, FILE *out) {
  char *charts = NULL;
  size_t bytes = 0;
  FILE *const inner = open_memstream(&charts, &bytes);
  if (!inner) return false;
  plot_words words = {.id = "ladder"};
  snprintf(words.title, sizeof words.title, "hx-bench ladder %s", ladder);
  facts_machine_text(f, words.subtitle, sizeof words.subtitle);
  const double height = draw_all(f, inner);
  const bool fine = fclose(inner) == 0;
  if (fine) {
    plot_sheet_open(out, &words, height);
    fwrite(charts, 1, bytes, out);
    plot_sheet_close(out);
  }
  free(charts);
  return fine;
}

bool ladder_svg_write(const char *path, const facts *f, const char *ladder) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *const out = open_memstream(&text, &bytes);
  bool fine = out && compose(f, ladder, out);
  if (out) fine &= fclose(out) == 0;
  if (!fine) fputs("hx-bench: there is no memory for the charts\n", stderr);
  fine = fine && bench_file_write(path, text, bytes);
  free(text);
  return fine;
}
