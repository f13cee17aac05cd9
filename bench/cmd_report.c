/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `report`: a page with charts of what was measured, from a document (--from), or from what `share`
 * measures now. --compare adds what has changed since another document; --svg writes each chart as a file of its own.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "bench/emit.h"
#include "bench/part.h"
#include "bench/report/chart.h"
#include "bench/report/page.h"

#define FILE_NAME "hx-report.html"
#define MOST_BYTES ((size_t)16 << 20) /* of a document */
#define LONGEST_S (2 * 3600.0)        /* share ends by itself: this is for one that hangs */

/* A document that was read, with its records. */
typedef struct source {
  char *text;
  json_document json;
  facts facts;
} source;

static void close_source(source *s) {
  facts_free(&s->facts);
  json_free(&s->json);
  free(s->text);
  *s = (source){0};
}

static bool is_standard(const char *path) { return strcmp(path, "-") == 0; }

/* Reads a whole file. Returns NULL, with errno set, if that fails. */
static char *read_file(const char *path, size_t *bytes) {
  FILE *const in = is_standard(path) ? stdin : fopen(path, "rb");
  char *text = NULL;
  size_t room = 0;
  *bytes = 0;
  if (!in) return NULL;
  do {
    room = room ? 2 * room : (size_t)1 << 16;
    char *const more = realloc(text, room);
    if (!more) break;
    text = more;
    *bytes += fread(text + *bytes, 1, room - *bytes, in);
  } while (*bytes == room && room < MOST_BYTES);
  const bool fine = text && !ferror(in) && *bytes < room;
  const int error = fine || errno ? errno : EFBIG;
  if (in != stdin) fclose(in);
  errno = error;
  if (fine) return text;
  free(text);
  return NULL;
}

static bool take_source(const char *name, size_t bytes, source *s) {
  char why[JSON_WHY];
  if (json_read(s->text, bytes, &s->json, why) && facts_take(s->json.root, &s->facts, why)) return true;
  fprintf(stderr, "hx-bench: '%s': %s\n", name, why);
  close_source(s);
  return false;
}

static bool open_source(const char *path, source *s) {
  size_t bytes;
  *s = (source){0};
  errno = 0;
  s->text = read_file(path, &bytes);
  if (s->text) return take_source(path, bytes, s);
  fprintf(stderr, "hx-bench: cannot read '%s': %s\n", path, strerror(errno));
  return false;
}

/* Measures in a process of its own, which shows its progress on stderr. */
static bool measure(const bench_options *options, source *s) {
  char seconds[32];
  const char *arguments[BENCH_PART_ARGUMENTS] = {"share", "--json", "-"};
  size_t count = 3;
  bench_part_result result;
  if (options->quiet) arguments[count++] = "--quiet";
  if (options->devices) arguments[count++] = "--devices", arguments[count++] = options->devices;
  if (options->seconds > 0) {
    snprintf(seconds, sizeof seconds, "%.3f", options->seconds);
    arguments[count++] = "--seconds";
    arguments[count++] = seconds;
  }
  *s = (source){0};
  bench_part_run(arguments, LONGEST_S, NULL, NULL, &result);
  s->text = result.document;
  if (s->text) return take_source("hx-bench share", strlen(s->text), s);
  fputs("hx-bench: hx-bench share left no document to report on\n", stderr);
  return false;
}

static bool write_svg(const bench_options *options, const facts *f, const chart_kind *kind, size_t figure) {
  plot_words words;
  char path[PATH_MAX], *text = NULL;
  size_t bytes = 0;
  chart_name(kind, f, figure, &words);
  if ((size_t)snprintf(path, sizeof path, "%s/%s.svg", options->svg, words.id) >= sizeof path) {
    fprintf(stderr, "hx-bench: the path '%s' is too long\n", options->svg);
    return false;
  }
  FILE *const out = open_memstream(&text, &bytes);
  if (!out) return false;
  kind->draw(f, figure, &words, out, PLOT_ALONE);
  const bool fine = fclose(out) == 0 && bench_file_write(path, text, bytes);
  free(text);
  return fine;
}

static bool write_svgs(const bench_options *options, const facts *f) {
  size_t figures[CHART_FIGURES], written = 0;
  if (mkdir(options->svg, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "hx-bench: cannot make the folder '%s': %s\n", options->svg, strerror(errno));
    return false;
  }
  for (size_t k = 0; chart_kinds[k]; k++) {
    const size_t count = chart_kinds[k]->list(f, figures);
    for (size_t i = 0; i < count; i++, written++)
      if (!write_svg(options, f, chart_kinds[k], figures[i])) return false;
  }
  bench_say("%zu charts are in %s\n", written, options->svg);
  return true;
}

static bool write_page(const char *path, const facts *f, const facts *before, const changes *c) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *const out = open_memstream(&text, &bytes);
  if (!out) return false;
  page_write(out, f, before, c);
  const bool fine = fclose(out) == 0 && bench_file_write(path, text, bytes);
  free(text);
  if (fine && !is_standard(path)) bench_say("%s: open it in a browser\n", path);
  return fine;
}

typedef struct change_record {
  const char *what;
  double before, after, speed;
  const char *change;
} change_record;

#define CHANGE(member, ...) BENCH_COLUMN(change_record, member, __VA_ARGS__)
static const bench_column change_columns[] = {
    CHANGE(what, .head = "what", .flags = BENCH_CUT, .width = -24),
    CHANGE(before, .head = "before", .kind = BENCH_TIME, .width = 8),
    CHANGE(after, .head = "now", .kind = BENCH_TIME, .width = 8),
    CHANGE(speed, .head = "speed", .kind = BENCH_NUMBER, .width = 5, .digits = 2),
    CHANGE(change, .head = "change", .width = -6),
};
static const bench_table change_table = BENCH_TABLE(change_columns);

static void print_changes(const changes *c) {
  bench_layout layout = {0};
  char text[400];
  for (size_t i = 0; i < c->count; i++) {
    const change *const from = &c->list[i];
    const change_record r = {from->what, from->before, from->after, from->before / from->after,
                             from->bits                   ? "OTHER BITS"
                             : from->after < from->before ? "faster"
                                                          : "slower"};
    bench_print_row(&layout, &change_table, &r);
  }
  changes_text(c, text, sizeof text);
  bench_say_wrapped(text, 0, 0);
}

static int write_report(const bench_options *options, const source *now, const source *before) {
  changes c = {0};
  if (options->json && !bench_file_write(options->json, now->text, strlen(now->text))) return BENCH_FAILED;
  const char *const path = options->out ? options->out : options->svg ? NULL : FILE_NAME;
  if (before && !changes_find(&before->facts, &now->facts, &c)) return BENCH_FAILED;
  if (before) print_changes(&c);
  bool fine = !options->svg || write_svgs(options, &now->facts);
  fine = fine && (!path || write_page(path, &now->facts, before ? &before->facts : NULL, before ? &c : NULL));
  const bool wrong = c.bits > 0;
  changes_free(&c);
  return fine && !wrong ? BENCH_OK : BENCH_FAILED;
}

/* A document that is read has no use for the options of measuring. */
static bool is_measuring_asked(const bench_options *options) {
  static const struct {
    uint32_t option;
    const char *name;
  } rows[] = {
      {BENCH_JSON, "--json"}, {BENCH_DEVICES, "--devices"}, {BENCH_THREADS, "--threads"}, {BENCH_SECONDS, "--seconds"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!(options->given & 1u << rows[i].option)) continue;
    fprintf(stderr, "hx-bench: report %s is for measuring, so it does not go with --from\n", rows[i].name);
    return true;
  }
  return false;
}

int bench_cmd_report(const bench_options *options) {
  source now = {0}, before = {0};
  const char *const path = options->out ? options->out : FILE_NAME;
  if (options->from && is_measuring_asked(options)) return BENCH_USAGE;
  bench_human_open(options);
  if ((options->out || !options->svg) && !bench_file_check(path)) return BENCH_USAGE;
  if (options->json && !bench_file_check(options->json)) return BENCH_USAGE;
  if (options->compare && !open_source(options->compare, &before)) return BENCH_USAGE;
  if (!options->from) bench_stop_watch(true);
  const bool read = options->from ? open_source(options->from, &now) : measure(options, &now);
  const int status = read            ? write_report(options, &now, options->compare ? &before : NULL)
                     : options->from ? BENCH_USAGE
                                     : BENCH_FAILED;
  close_source(&now);
  close_source(&before);
  return status;
}
