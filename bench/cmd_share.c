/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `share`: runs the other subcommands for some minutes and writes one file of what they found, with
 * nothing in it that says whose machine it was; then says where to send it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/emit.h"
#include "bench/measure.h"
#include "bench/names.h"
#include "bench/part.h"

#define TOTAL_S 600.0
/* The part of its time that a subcommand's --seconds add up to: verifying, building and warming up take the rest. */
#define USED 0.5
#define LEAST_S 0.05 /* of --seconds */
#define FILE_NAME "hx-share.json"

/* The time is divided by weight. What a part does not use goes to the later ones. */
static const struct part {
  const char *name;
  const char *arguments[4];
  double weight, least_s; /* least_s: a first start builds every kernel */
  unsigned tasks;         /* that --seconds is for; 0: it is not passed */
  bool cpu_alone;         /* it takes no --devices */
} parts[] = {
    {"info", {"info"}, 1, 60, 0, false},
    {"reduce", {"reduce", "--op", "sum,dot,argmin"}, 3, 1, 27, false},
    {"matmul", {"matmul"}, 3, 1, 4, false},
    {"sweep", {"sweep"}, 3, 1, 2, false},
    {"peak", {"peak"}, 1, 8, 1, true},
    {"ladder reduce", {"ladder", "reduce", "--size", "2^20,2^24"}, 1, 4, 2, false},
    {"ladder matmul", {"ladder", "matmul", "--size", "1024x1024x1024"}, 1, 4, 1, false},
    {"ladder offload", {"ladder", "offload", "--size", "1024x1024x1024"}, 2, 1, 1, false},
    {"tune", {"tune"}, 3, 1, 0, false},
};
#define PARTS (sizeof parts / sizeof parts[0])

typedef struct progress {
  size_t part;
  double limit, left; /* of the part, and of the whole when the part begins */
} progress;

static void show_progress(void *self, double seconds) {
  const progress *const p = self;
  if (!bench_human_file() || !isatty(STDERR_FILENO)) return;
  fprintf(stderr, "\r\033[K[%zu/%zu] %s: %.0f s of at most %.0f; %.0f s are left in all ", p->part + 1, PARTS,
          parts[p->part].name, seconds, p->limit, p->left > seconds ? p->left - seconds : 0.0);
}

static double limit_of(size_t part, double left) {
  double weights = 0;
  for (size_t i = part; i < PARTS; i++) weights += parts[i].weight;
  const double fair = left * parts[part].weight / weights;
  return fair > parts[part].least_s ? fair : parts[part].least_s;
}

static void add_argument(const char **arguments, const char *word) {
  size_t count = 0;
  while (arguments[count]) count++;
  if (count + 1 < BENCH_PART_ARGUMENTS) arguments[count] = word;
}

static void run_part(const bench_options *options, size_t i, double limit, progress *p, bench_part_result *result) {
  const char *arguments[BENCH_PART_ARGUMENTS] = {NULL};
  char seconds[32];
  for (size_t a = 0; a < 4 && parts[i].arguments[a]; a++) add_argument(arguments, parts[i].arguments[a]);
  static const char *const always[] = {"--report", "--quiet", "--json", "-"};
  for (size_t a = 0; a < 4; a++) add_argument(arguments, always[a]);
  if (options->devices && !parts[i].cpu_alone)
    add_argument(arguments, "--devices"), add_argument(arguments, options->devices);
  if (parts[i].tasks) {
    const double each = limit * USED / parts[i].tasks;
    snprintf(seconds, sizeof seconds, "%.3f", each > LEAST_S ? each : LEAST_S);
    add_argument(arguments, "--seconds");
    add_argument(arguments, seconds);
  }
  bench_part_run(arguments, limit, show_progress, p, result);
}

static void write_part(size_t i, const bench_part_result *result) {
  bench_json_open(NULL, '{');
  bench_json_text("name", parts[i].name);
  const double status = result->status;
  bench_json_value("status", BENCH_NUMBER, &status);
  bench_json_flag("timed_out", result->timed_out);
  bench_json_value("seconds", BENCH_NUMBER, &result->seconds);
  const char *const document = result->document ? result->document : "null";
  bench_json_value("document", BENCH_LITERAL, &document);
  bench_json_close('}');
}

static void say_what_to_do(const char *file) {
  static const char whole[] =
      "Please send it: open an issue of hx with the file, or a pull request that adds it to results/, under a name "
      "such as results/ryzen-7840u-mesa-25.json. results/README.md says what is in it.";
  static const char interrupted[] = "Parts are missing, because the run was interrupted: please send a whole one.";
  char text[512];
  snprintf(text, sizeof text,
           "%s has what was measured, and nothing of whose machine it was: no host or user name, no path. %s", file,
           bench_stopped() ? interrupted : whole);
  bench_say("\n");
  bench_say_wrapped(text, 0, 0);
}

static bool share(const bench_options *options) {
  const double total = options->seconds > 0 ? options->seconds : TOTAL_S, from = bench_now();
  bool fine = true;
  bench_json_begin("share");
  bench_json_text("hx_version", hx_version());
  bench_json_value("asked_seconds", BENCH_NUMBER, &total);
  bench_json_open("parts", '[');
  for (size_t i = 0; i < PARTS && !bench_stopped(); i++) {
    const double left = from + total - bench_now();
    progress p = {i, limit_of(i, left), left};
    bench_part_result result;
    if (!isatty(STDERR_FILENO))
      bench_say("[%zu/%zu] %s: at most %.0f s; %.0f s are left in all\n", i + 1, PARTS, parts[i].name, p.limit,
                left > 0 ? left : 0.0);
    bench_show_output();
    run_part(options, i, p.limit, &p, &result);
    if (bench_human_file() && isatty(STDERR_FILENO)) fputs("\n", stderr);
    write_part(i, &result);
    if (result.document) {
      bench_measured();
      bench_names_warn(result.document); /* a driver may have put anything into its name */
    }
    if (!result.document)
      bench_say("%s: no result: %s\n", parts[i].name,
                result.timed_out ? "it did not stop when its time was over" : "it failed, or a driver ended it");
    fine =
        fine && (result.status == BENCH_OK || result.status == BENCH_UNUSABLE || result.timed_out || bench_stopped());
    free(result.document);
  }
  bench_json_close(']');
  bench_json_end();
  return fine;
}

int bench_cmd_share(const bench_options *options) {
  bench_options own = *options;
  if (!own.json) own.json = FILE_NAME;
  if (!bench_files_open(&own)) return BENCH_USAGE;
  const bool fine = share(&own), written = bench_files_close();
  if (written && strcmp(own.json, "-") != 0) say_what_to_do(own.json);
  return fine && written ? BENCH_OK : BENCH_FAILED;
}
