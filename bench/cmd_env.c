/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `env`: the table of hx's environment, straight from the library's own. */
#include <stdlib.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/bench.h"
#include "bench/text.h"
#include "runtime/base/config.h"

#define INDENT 30

static void print_table(FILE *f, const hx__config_row *rows, size_t count) {
  char text[BENCH_COLUMNS];
  fputs("Read once, by hx_open. A member of hx_settings stands before the variable of the same name.\n\n", f);
  fprintf(f, "%-14s %-14s %s\n", "variable", "current", "what it sets, what it accepts, default");
  for (size_t i = 0; i < count; i++) {
    const char *value = getenv(rows[i].name);
    size_t column =
        (size_t)fprintf(f, "%-14s %-14s ", rows[i].name, value ? bench_plain(value, text, sizeof text) : "(not set)");
    if (column > INDENT) fprintf(f, "\n%*s", INDENT, "");
    bench_wrap(f, rows[i].help, INDENT, INDENT, BENCH_COLUMNS);
    const char *const rest[][2] = {{"accepts: ", rows[i].values}, {"default: ", rows[i].deflt}};
    for (size_t r = 0; r < 2; r++) {
      fprintf(f, "%*s%s", INDENT, "", rest[r][0]);
      bench_wrap(f, rest[r][1], INDENT + 9, INDENT + 9, BENCH_COLUMNS);
    }
  }
}

typedef struct variable {
  hx__config_row row;
  const char *current;
} variable;

#define VARIABLE(member, ...) BENCH_COLUMN(variable, member, __VA_ARGS__)
static const bench_column columns[] = {
    VARIABLE(row.name, .name = "name"),     VARIABLE(row.values, .name = "values"),
    VARIABLE(row.deflt, .name = "default"), VARIABLE(row.help, .name = "help", .flags = BENCH_NOT_CSV),
    VARIABLE(current, .name = "current"),
};
static const bench_table table = BENCH_TABLE(columns);

int bench_cmd_env(const bench_options *options) {
  if (!bench_files_open(options)) return BENCH_USAGE;
  size_t count;
  const hx__config_row *rows = hx__config_rows(&count);
  FILE *human = bench_human_file(options);
  if (human) print_table(human, rows, count);
  bench_measured();
  bench_json_begin("env");
  bench_json_open("variables", '[');
  for (size_t i = 0; i < count; i++) {
    const variable v = {rows[i], getenv(rows[i].name)};
    bench_emit_row(&table, &v);
  }
  bench_json_close(']');
  bench_json_end();
  bool written = bench_files_close();
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = options->devices;
  size_t bad = 0;
  for (hx__config config; hx__config_read(&config, &settings) != HX_OK && bad < count; bad++) {
    char name[64] = "";
    fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
    sscanf(hx_error_detail(), "%63[A-Z_]", name);
    unsetenv(name); /* on to the next one */
    if (strcmp(name, "HX_DEVICES") == 0) settings.devices = NULL;
  }
  return bad ? BENCH_USAGE : written ? BENCH_OK : BENCH_FAILED;
}
