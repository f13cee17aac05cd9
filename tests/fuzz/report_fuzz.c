/* SPDX-License-Identifier: Apache-2.0
 * Documents that hx-bench report reads: whatever they are, they are refused with a line and a column, or the page and
 * the charts are whole and hold no tag that the document brought. */
#include "bench/report/chart.h"
#include "bench/report/page.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) { return (void)argc, (void)argv, 0; }

static void check_ends(const char *what, char *text, const char *end) {
  const size_t length = strlen(text), tail = strlen(end);
  FUZZ_CHECK(length > tail && strcmp(text + length - tail, end) == 0, "%s ends with '%s'", what,
             text + (length > 40 ? length - 40 : 0));
  FUZZ_CHECK(!strstr(text, "<script") && !strstr(text, "<SCRIPT"), "%s has a script", what);
  FUZZ_CHECK(!strstr(text, "=\"nan") && !strstr(text, "=\"inf") && !strstr(text, "=\"-nan"), "%s has no number", what);
  free(text);
}

static void draw_all(const facts *f) {
  for (size_t k = 0; chart_kinds[k]; k++) {
    size_t figures[CHART_FIGURES];
    const size_t count = chart_kinds[k]->list(f, figures);
    for (size_t i = 0; i < count; i++) {
      plot_words words;
      char *text = NULL;
      size_t bytes;
      FILE *const out = open_memstream(&text, &bytes);
      if (!out) abort();
      chart_name(chart_kinds[k], f, figures[i], &words);
      chart_kinds[k]->draw(f, figures[i], &words, out, true);
      if (fclose(out) != 0) abort();
      check_ends("a chart", text, "</svg>\n");
    }
  }
}

static void write_all(const facts *f) {
  changes c;
  char *text = NULL;
  size_t bytes;
  FILE *const out = open_memstream(&text, &bytes);
  if (!out) abort();
  FUZZ_CHECK(changes_find(f, f, &c), "no memory");
  FUZZ_CHECK(!c.faster && !c.slower && !c.bits, "a document differs from itself: %zu faster, %zu slower, %zu bits",
             c.faster, c.slower, c.bits);
  page_write(out, f, f, &c);
  changes_free(&c);
  if (fclose(out) != 0) abort();
  check_ends("the page", text, "</html>\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  json_document document;
  facts f;
  char why[JSON_WHY];
  if (!json_read((const char *)data, size, &document, why)) {
    FUZZ_CHECK(strncmp(why, "line ", 5) == 0 && strstr(why, ", column "), "refused without a place: %s", why);
    return 0;
  }
  if (facts_take(document.root, &f, why)) {
    draw_all(&f);
    write_all(&f);
    facts_free(&f);
  }
  json_free(&document);
  return 0;
}
