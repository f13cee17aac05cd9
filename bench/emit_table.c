/* SPDX-License-Identifier: Apache-2.0
 * Printed tables. A group of rows is formatted twice: to find the width of each column, and to print it. What does not
 * fit into the terminal's line is left out; files have everything. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/progress.h"
#include "bench/terminal.h"
#include "bench/text.h"
#include "bench/values.h"

#define CELL 288u
#define LEAST_CUT 8u /* characters that remain of a cut text */

/* The unit of all values of one kind in a group. */
typedef struct scale {
  bench_value_kind kind;
  const bench_unit *units, *unit;
  double least, most;
  int digits;
} scale;

enum { SCALES = 3 };

static double magnitude(bench_value_kind kind, const void *value) {
  double number;
  if (!bench_value_real(kind, value, &number)) number = (double)bench_value_integer(kind, value);
  return isfinite(number) && number > 0 ? number : NAN;
}

static void choose_units(const bench_group *g, scale scales[SCALES]) {
  const scale none[SCALES] = {{.kind = BENCH_TIME, .units = bench_time_units},
                              {.kind = BENCH_JOULES, .units = bench_joule_units},
                              {.kind = BENCH_BYTES, .units = bench_byte_units}};
  memcpy(scales, none, sizeof none);
  for (size_t s = 0; s < SCALES; s++) {
    scale *const x = &scales[s];
    x->least = INFINITY;
    for (size_t c = 0; c < g->table->count; c++) {
      const bench_column *const column = &g->table->columns[c];
      for (size_t r = 0; column->head && column->kind == x->kind && r < g->count; r++) {
        const double v = magnitude(column->kind, (const char *)g->records + r * g->bytes + column->offset);
        x->least = fmin(x->least, v);
        x->most = fmax(x->most, v);
      }
    }
    if (!isfinite(x->least)) x->least = x->most = 0;
    x->unit = bench_unit_for(x->units, x->least, x->most);
    x->digits = bench_unit_digits(x->unit, x->least);
  }
}

static void scaled_cell(const scale *s, const void *value, char *text) {
  double number;
  if (!bench_value_real(s->kind, value, &number)) number = (double)bench_value_integer(s->kind, value);
  if (isfinite(number))
    snprintf(text, CELL, "%.*f %s", number > 0 ? s->digits : 0, number * s->unit->factor, s->unit->name);
  else
    snprintf(text, CELL, "%s", s->kind == BENCH_JOULES ? "n/a" : "-");
}

static void format_cell(const bench_column *column, const void *value, const scale scales[SCALES], char text[CELL]) {
  double number = NAN;
  if ((column->flags & BENCH_OPTIONAL) && bench_value_is_empty(column->kind, value)) {
    snprintf(text, CELL, "-");
    return;
  }
  for (size_t s = 0; s < SCALES; s++)
    if (scales[s].kind == column->kind) {
      scaled_cell(&scales[s], value, text);
      return;
    }
  if (bench_value_is_text(column->kind)) {
    const char *const plain = bench_value_text(column->kind, value);
    bench_plain(plain ? plain : "-", text, CELL);
  } else if (!bench_value_real(column->kind, value, &number)) {
    bench_value_print(column->kind, value, text, CELL);
  } else if (!isfinite(number)) {
    snprintf(text, CELL, "%s", column->flags & BENCH_UNKNOWN ? "?" : "-");
  } else if (column->kind == BENCH_PERCENT) {
    snprintf(text, CELL, "%.*f %%", column->digits, 100 * number);
  } else {
    snprintf(text, CELL, "%.*f", column->digits, number);
  }
}

static const void *value_at(const bench_group *g, size_t row, const bench_column *column) {
  return (const char *)g->records + row * g->bytes + column->offset;
}

static size_t size_max(size_t a, size_t b) { return a > b ? a : b; }

/* Whether the table has the column: it has a head, and a value in this group or, if it was shown before, in that one.
 */
static bool is_eligible(const bench_group *g, const bench_layout *layout, size_t c) {
  const bench_column *const column = &g->table->columns[c];
  if (!column->head) return false;
  if (!(column->flags & BENCH_SPARE) || (layout->shown >> c & 1u)) return true;
  for (size_t r = 0; r < g->count; r++)
    if (!bench_value_is_empty(column->kind, value_at(g, r, column))) return true;
  return false;
}

static void head_text(const bench_group *g, size_t *title, const bench_column *column, char text[CELL]) {
  const bool replaced = column->head && !*column->head && g->titles;
  snprintf(text, CELL, "%s", replaced ? g->titles[(*title)++] : column->head ? column->head : "");
}

static size_t line_width(const bench_layout *layout, size_t count, uint64_t shown) {
  size_t width = 0;
  for (size_t c = 0; c < count; c++)
    if (shown >> c & 1u) width += layout->width[c] + (width != 0);
  return width;
}

/* The last shown column of the highest rank; SIZE_MAX: all of them are indispensable. */
static size_t least_wanted(const bench_table *table, uint64_t shown) {
  size_t found = SIZE_MAX;
  for (size_t c = 0; c < table->count; c++) {
    if (!(shown >> c & 1u) || !table->columns[c].rank) continue;
    if (found == SIZE_MAX || table->columns[c].rank >= table->columns[found].rank) found = c;
  }
  return found;
}

/* The least width of a column. */
static size_t least_width(const bench_column *column) {
  return (size_t)(column->width < 0 ? -column->width : column->width);
}

/* Shortens texts that may be cut, the widest first: to the column's least width, or even further. */
static void cut_texts(const bench_table *table, bench_layout *layout, uint64_t shown, size_t columns, bool further) {
  while (line_width(layout, table->count, shown) > columns) {
    size_t widest = SIZE_MAX;
    for (size_t c = 0; c < table->count; c++)
      if ((shown >> c & 1u) && (table->columns[c].flags & BENCH_CUT) &&
          layout->width[c] > (further ? LEAST_CUT : least_width(&table->columns[c])) &&
          (widest == SIZE_MAX || layout->width[c] > layout->width[widest]))
        widest = c;
    if (widest == SIZE_MAX) return;
    layout->width[widest]--;
  }
}

/* Chooses the columns and their widths. Returns the columns as bits. */
static uint64_t fit(bench_layout *layout, const bench_group *g, const scale scales[SCALES], size_t columns) {
  const bench_table *const table = g->table;
  uint64_t shown = 0;
  size_t title = 0;
  char text[CELL];
  for (size_t c = 0; c < table->count; c++) {
    const bench_column *const column = &table->columns[c];
    head_text(g, &title, column, text);
    if (!is_eligible(g, layout, c)) continue;
    shown |= (uint64_t)1 << c;
    layout->width[c] = size_max(layout->width[c], size_max(least_width(column), bench_text_width(text)));
    for (size_t r = 0; r < g->count; r++) {
      format_cell(column, value_at(g, r, column), scales, text);
      layout->width[c] = size_max(layout->width[c], bench_text_width(text));
    }
  }
  cut_texts(table, layout, shown, columns, false);
  for (size_t c; line_width(layout, table->count, shown) > columns; shown &= ~((uint64_t)1 << c)) {
    c = least_wanted(table, shown);
    if (c == SIZE_MAX) break;
  }
  cut_texts(table, layout, shown, columns, true);
  return shown;
}

/* Prints a cell in its width. The last cell of a line has no blanks after it. */
static void put_cell(FILE *f, const char *text, size_t width, bool left, bool last) {
  const size_t length = bench_text_cut(text, width);
  const size_t used = size_max(bench_text_width(text), 0);
  const size_t blanks = used < width ? width - used : 0;
  if (!left) fprintf(f, "%*s", (int)blanks, "");
  fwrite(text, 1, length, f);
  if (left && !last) fprintf(f, "%*s", (int)blanks, "");
}

static bool is_alarm(const bench_column *column, const char *text) {
  return (column->flags & BENCH_ALARM) && strcmp(text, "ok") != 0 && strcmp(text, "-") != 0;
}

/* Prints the heads (row SIZE_MAX) or a row as text. */
static void put_line(FILE *f, const bench_layout *layout, const bench_group *g, const scale scales[SCALES],
                     size_t row) {
  const bool heads = row == SIZE_MAX, winner = !heads && g->winner && g->winner[row];
  size_t title = 0, at = 0;
  char text[CELL];
  if (winner) bench_set_style(BENCH_BOLD);
  for (size_t c = 0; c < g->table->count; c++) {
    const bench_column *const column = &g->table->columns[c];
    head_text(g, &title, column, text);
    if (!(layout->shown >> c & 1u)) continue;
    if (!heads) format_cell(column, value_at(g, row, column), scales, text);
    const bool alarm = !heads && is_alarm(column, text);
    if (at++) fputc(' ', f);
    if (alarm) bench_set_style(BENCH_RED);
    put_cell(f, text, layout->width[c], column->width < 0, layout->shown >> c == 1);
    if (alarm) bench_set_style(BENCH_PLAIN);
  }
  if (winner) bench_set_style(BENCH_PLAIN);
  fputc('\n', f);
}

/* The same as Markdown, which has no limit to the length of a line. */
static void put_markdown(FILE *f, const bench_layout *layout, const bench_group *g, const scale scales[SCALES],
                         size_t row) {
  const bool heads = row == SIZE_MAX, winner = !heads && g->winner && g->winner[row];
  size_t title = 0;
  char text[CELL];
  fputc('|', f);
  for (size_t c = 0; c < g->table->count; c++) {
    const bench_column *const column = &g->table->columns[c];
    head_text(g, &title, column, text);
    if (!(layout->shown >> c & 1u)) continue;
    if (!heads) format_cell(column, value_at(g, row, column), scales, text);
    const char *const bold = (winner || (!heads && is_alarm(column, text))) && *text ? "**" : "";
    fprintf(f, " %s", bold);
    bench_markdown(f, text);
    fprintf(f, "%s |", bold);
  }
  fputc('\n', f);
  if (!heads) return;
  fputc('|', f);
  for (size_t c = 0; c < g->table->count; c++)
    if (layout->shown >> c & 1u) fputs(g->table->columns[c].width < 0 ? ":---|" : "---:|", f);
  fputc('\n', f);
}

void bench_print_group(bench_layout *layout, const bench_group *g) {
  FILE *const f = bench_human_file();
  scale scales[SCALES];
  if (!f) return;
  bench_progress_erase();
  choose_units(g, scales);
  const bool markdown = bench_is_markdown();
  const uint64_t shown = fit(layout, g, scales, markdown ? SIZE_MAX : bench_columns());
  const bool heads = shown != layout->shown;
  layout->shown = shown;
  bench_table_begins(heads);
  for (size_t r = heads ? SIZE_MAX : 0; r == SIZE_MAX || r < g->count; r++)
    (markdown ? put_markdown : put_line)(f, layout, g, scales, r);
}

void bench_print_row(bench_layout *layout, const bench_table *table, const void *record) {
  const bench_group g = {.table = table, .records = record, .count = 1};
  bench_print_group(layout, &g);
}
