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
  const char *current;
  char shown[BENCH_COLUMNS]; /* the current value, as printed */
} variable;

#define VARIABLE(member, ...) BENCH_COLUMN(variable, member, __VA_ARGS__)
static const bench_column columns[] = {
    VARIABLE(row.name, .name = "name", .head = "variable", .width = -14),
    VARIABLE(shown, .head = "current", .kind = BENCH_CHARS, .width = -14),
    VARIABLE(row.values, .name = "values"),
    VARIABLE(row.deflt, .name = "default"),
    VARIABLE(row.help, .name = "help", .flags = BENCH_NOT_CSV),
    VARIABLE(current, .name = "current"),
};
static const bench_table table = BENCH_TABLE(columns);

/* Prints the name and the value, and next to them the description. */
static void print_variable(const variable *v) {
  const size_t column = 1 + bench_print_cells(&table, v);
  bench_say(column > INDENT ? "\n%*s" : " ", INDENT, "");
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
    fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
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
  bench_say("Read once, by hx_open. A member of hx_settings overrides the variable of the same name.\n\n");
  bench_say("%-14s %-14s %s\n", "variable", "current", "what it sets, what it accepts, default");
  bench_json_begin("env");
  bench_json_open("variables", '[');
  for (size_t i = 0; i < count; i++) {
    variable v = {rows[i], getenv(rows[i].name), "(not set)"};
    if (v.current) bench_plain(v.current, v.shown, sizeof v.shown);
    print_variable(&v);
    bench_store_row(&table, &v);
  }
  bench_json_close(']');
  bench_json_end();
  const bool written = bench_files_close();
  return report_bad_values(options, count) ? BENCH_USAGE : written ? BENCH_OK : BENCH_FAILED;
}
