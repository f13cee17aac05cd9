/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `env`: prints the library's table of environment variables. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/emit.h"
#include "bench/text.h"
#include "runtime/base/config.h"

#define INDENT 30

typedef struct variable {
  hx__config_row row;
  const char *current, *shown; /* shown: as printed */
} variable;

#define VARIABLE(member, ...) BENCH_COLUMN(variable, member, __VA_ARGS__)
static const bench_column columns[] = {
    VARIABLE(row.name, .name = "name", .head = "variable", .width = -14),
    VARIABLE(shown, .head = "current", .width = -14),
    VARIABLE(row.help, .head = "what it does", .width = -1),
    VARIABLE(row.values, .name = "values", .head = "accepts", .width = -1),
    VARIABLE(row.deflt, .name = "default", .head = "default", .width = -1),
    VARIABLE(row.help, .name = "help", .flags = BENCH_NOT_CSV),
    VARIABLE(current, .name = "current"),
};
static const bench_table table = BENCH_TABLE(columns);

/* Prints the name and the value, and next to them the description. The table is for Markdown, whose lines have room. */
static void print_variable(const variable *v) {
  static bench_layout layout;
  char shown[BENCH_COLUMNS];
  if (bench_is_markdown()) {
    bench_print_row(&layout, &table, v);
    return;
  }
  bench_plain(v->shown, shown, sizeof shown);
  const int length = (int)bench_text_width(shown), name = (int)strlen(v->row.name), gap = name < 14 ? 15 - name : 1;
  const bool fits = name + gap + length < INDENT;
  bench_say("%s%*s", v->row.name, gap, "");
  if (fits)
    bench_say("%s%*s", shown, INDENT - name - gap - length, "");
  else
    bench_say_wrapped(shown, (size_t)name + (size_t)gap, 15), bench_say("%*s", INDENT, "");
  bench_say_wrapped(v->row.help, INDENT, INDENT);
  const char *const rest[][2] = {{"accepts: ", v->row.values}, {"default: ", v->row.deflt}};
  for (size_t r = 0; r < 2; r++) {
    bench_say("%*s%s", INDENT, "", rest[r][0]);
    bench_say_wrapped(rest[r][1], INDENT + 9, INDENT + 9);
  }
}

/* Prints to stderr each variable or option whose value hx does not accept. Returns how many there are. */
static size_t report_bad_values(const bench_options *options, size_t most) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = options->devices;
  size_t bad = 0;
  for (hx__config config; hx__config_read(&config, &settings) != HX_OK && bad < most; bad++) {
    char name[64] = "";
    bench_print_setting_error(options);
    sscanf(hx_error_detail(), "%63[A-Z_]", name);
    unsetenv(name); /* so that the next wrong value is found */
    if (strcmp(name, "HX_DEVICES") == 0) settings.devices = NULL;
  }
  return bad;
}

int bench_cmd_env(const bench_options *options) {
  if (!bench_files_open(options)) return BENCH_USAGE;
  size_t count;
  const hx__config_row *rows = hx__config_rows(&count);
  bench_note(0, "Read once, by hx_open. A member of hx_settings overrides the variable of the same name.");
  if (!bench_is_markdown()) bench_say("\n%-14s %-14s %s\n", "variable", "current", "what it does, accepts, default");
  bench_json_begin("env");
  bench_json_open("variables", '[');
  for (size_t i = 0; i < count; i++) {
    const char *const current = getenv(rows[i].name);
    const variable v = {rows[i], current, current ? current : "(not set)"};
    print_variable(&v);
    bench_store_row(&table, &v);
  }
  bench_json_close(']');
  bench_json_end();
  const bool written = bench_files_close();
  return report_bad_values(options, count) ? BENCH_USAGE : written ? BENCH_OK : BENCH_FAILED;
}
