/* SPDX-License-Identifier: Apache-2.0
 * hx-bench: measures and explains what hx does on this machine. The table has one row per subcommand. */
#include <string.h>

#include "bench/icd.h"
#include "bench/process.h"
#include "bench/system.h"
#include "bench/terminal.h"
#include "bench/text.h"

#define BIT(option) (1u << BENCH_##option)
#define ALWAYS (BIT(QUIET) | BIT(HELP) | BIT(VERSION) | BIT(REPORT))
#define JSON_FILES (BIT(JSON) | BIT(JSONL) | BIT(MD))
#define FILES (JSON_FILES | BIT(CSV))
#define SIZES (BIT(SIZE_OPTION) | BIT(SHAPES))
#define TASKS (SIZES | BIT(OP) | BIT(TYPE))
#define TIMED (BIT(REPS) | BIT(SECONDS))
#define MACHINE (BIT(DEVICES) | BIT(THREADS))
#define COMPARED (TASKS | TIMED | MACHINE | FILES | BIT(MALLOC))

static const struct command {
  const char *name;
  int (*run)(const bench_options *options);
  uint32_t takes;      /* options, as bits */
  const char *help;    /* NULL: not for users */
  const char *details; /* for `help NAME` */
  const char *examples;
} commands[] = {
    {"", bench_cmd_compare, COMPARED,
     "the f32 sum and two products on CPU alone, device alone and both; under 3 minutes",
     "Prints the devices, one table per operation, and a sentence that says what the results mean. x CPU: the speed as "
     "a multiple of the CPU alone. ceiling: the part of the best rate of this CPU at the same kind of work. on GPU: "
     "the share that devices did. In a terminal the fastest row of each task is bold.",
     "hx-bench\nhx-bench --md > issue.md\nhx-bench --size 64K,1M,512x512x512 --json result.json\n"},
    {"info", bench_cmd_info, MACHINE | FILES,
     "devices and drivers, what each can do, what is missing and how to install it",
     "Waits until the kernels of every device are built. The numbers are those that --devices and HX_DEVICES accept. "
     "The exit status is 3 if a GPU of this machine cannot be used.",
     "hx-bench info\nhx-bench info --devices all\nhx-bench info --report\n"},
    {"env", bench_cmd_env, BIT(DEVICES) | BIT(THREADS) | FILES,
     "the environment variables of hx: accepted values, defaults, current values",
     "The exit status is 2 if a value is not accepted.", "hx-bench env\nHX_SPLIT=30% hx-bench env\n"},
    {"reduce", bench_cmd_compare, COMPARED | BIT(VS), "reductions (--op, --type, --size)",
     "The sum of f32, or the operations and types that are named, on CPU alone, device alone and both.",
     "hx-bench reduce --op sum,dot --type f32,i32 --size 1e6,64M\nhx-bench reduce --vs openblas --threads 1\n"},
    {"matmul", bench_cmd_compare, COMPARED | BIT(VS), "matrix products (--size MxNxK)",
     "Products of f32 on CPU alone, device alone and both; with --vs the CPU alone beside other libraries.",
     "hx-bench matmul --size 1024,2048x4096x2048\nhx-bench matmul --threads 1 --vs openblas,blis --size 1K\n"},
    {"sweep", bench_cmd_sweep, COMPARED | BIT(STEP),
     "every split of the work between CPU and GPU, and how close hx comes to the best",
     "Times every split in steps and hx's own choice in the same rounds. eta is the time of the best split over the "
     "time of hx's choice: 1 is as good as the best.",
     "hx-bench sweep --op sum --size 64M --step 5\nhx-bench sweep --op matmul --size 2K --csv sweep.csv\n"},
    {"peak", bench_cmd_peak, BIT(THREADS) | TIMED | FILES | BIT(MALLOC),
     "peak rates of this CPU: multiply-adds, and reading from each cache and memory",
     "With each instruction set, on one thread and on all threads that hx uses.", "hx-bench peak --threads 1\n"},
    {"call", bench_cmd_call, BIT(SIZE_OPTION) | BIT(OP) | BIT(TYPE) | TIMED | MACHINE | FILES | BIT(MALLOC),
     "the cost of a call on a few elements, beside that of the bare kernel",
     "The difference is the cost of checking the task and storing the result.", "hx-bench call --size 16,64,1K\n"},
    {"ladder", bench_cmd_ladder, SIZES | TIMED | MACHINE | FILES | BIT(STEP) | BIT(TILES) | BIT(SVG),
     "reduce, matmul, lds, addressing or offload: published steps from a naive kernel to a fast one, hx and others",
     "On every OpenCL device in use. event: time by the device's clock; wall: time by the host's clock. Rate and "
     "speed-up are by event if the device measures it. Bars show the rates below each table; --svg writes them and the "
     "published figures as a chart. --step and --tiles are for offload alone, whose sizes are MxNxK for the product "
     "and lengths for the sum, the dot product and the sums of a structure.",
     "hx-bench ladder reduce --size 16M\nhx-bench ladder matmul --devices gpu --svg chart.svg\nhx-bench ladder offload "
     "--step 5\nhx-bench ladder offload --size 1024x1024x1024 --tiles 8x16x8,16x32x16,32x32x16\n"},
    {"tune", bench_cmd_tune, MACHINE | FILES,
     "times interchangeable product kernels on each device and stores the fastest",
     "Half a minute on a GPU, a minute or two on a driver that runs on the CPU. Nothing else should run. The winners "
     "are stored in HX_CACHE_DIR and used by every later process.",
     "hx-bench tune\n"},
    {"explain", bench_cmd_explain, TASKS | MACHINE | FILES | BIT(MALLOC),
     "what hx expects of each choice for a task, which one it uses, and why",
     "Before the first call and after ten. With HX_CACHE_DIR the measurements of earlier processes count.",
     "hx-bench explain --op matmul --size 1024\nhx-bench explain --op sum --size 16M --devices cpu,pocl\n"},
    {"sim", bench_cmd_sim, SIZES | BIT(OP) | BIT(PROFILE) | FILES,
     "what hx would do on four laptops and on a machine with two cards, in virtual time (--profile)",
     "hx's own scheduler on simulated machines; nothing of this one is measured. x better: the speed of the tenth call "
     "as a multiple of the better device alone. HX_SPLIT: the part of each card.",
     "hx-bench sim --profile xe\nhx-bench sim --profile two-cards --size 4096x4096x4096\nhx-bench sim --op matmul "
     "--size 512,1K\n"},
    {"share", bench_cmd_share, MACHINE | BIT(SECONDS) | BIT(JSON),
     "measures for ten minutes into one file without names, to send to hx",
     "Runs info, reduce, matmul, sweep, peak, the ladders and tune. The file is hx-share.json, or that of --json, and "
     "has no host or user name and no path.",
     "hx-bench share\nhx-bench share --seconds 60 --json short.json\n"},
    {"report", bench_cmd_report, MACHINE | BIT(SECONDS) | BIT(JSON) | BIT(FROM) | BIT(COMPARE) | BIT(OUT) | BIT(SVG),
     "one HTML page of charts, of a document (--from) or of ten minutes of measuring",
     "Without --from it measures as share does, and --json keeps the document. With --svg the page is written only if "
     "--out is given. A time has changed (--compare) if the medians differ by more than 5 % and their intervals do not "
     "overlap; the exit status is 1 if the bits of a result have changed.",
     "hx-bench report\nhx-bench report --from hx-share.json --svg charts\n"
     "hx-bench report --from new.json --compare old.json\n"},
    {"driver", bench_cmd_driver, 0, NULL, NULL, NULL}, /* the main function of a process that loads an OpenCL driver */
    {"contestant", bench_cmd_contestant, BIT(VS), NULL, NULL,
     NULL}, /* the main function of processes that --vs starts */
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static const struct command *find_command(const char *name) {
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

static void print_wrapped(const char *text) { bench_wrap(stdout, text, 0, 0, bench_columns()); }

static void print_help(void) {
  puts("hx-bench [subcommand] [options]\n");
  for (size_t i = 0; i < COMMANDS; i++) {
    if (!commands[i].help) continue;
    printf("  %-9s ", *commands[i].name ? commands[i].name : "(none)");
    bench_wrap(stdout, commands[i].help, 12, 12, bench_columns());
  }
  puts("");
  bench_options_print(UINT32_MAX);
  puts("");
  print_wrapped(
      "Each subcommand takes some of these options: hx-bench help SUBCOMMAND names them and has examples. Every result "
      "is compared with the scalar definition before it is timed. Exit status: 0 all are right, 1 a result is wrong or "
      "a task did not run, 2 a wrong option or setting, 3 (info) a GPU of this machine cannot be used. Lines fit the "
      "terminal, or COLUMNS, or 80 columns; NO_COLOR turns bold and red text off. More: man hx-bench.");
}

static void print_command_help(const struct command *command) {
  char line[256];
  printf("hx-bench%s%s%s [options]\n\n", *command->name ? " " : "", command->name,
         strcmp(command->name, "ladder") == 0 ? " reduce|matmul|lds|addressing|offload" : "");
  snprintf(line, sizeof line, "%s.", command->help);
  print_wrapped(line);
  print_wrapped(command->details);
  puts("\noptions:");
  bench_options_print(command->takes | ALWAYS);
  puts("\nexamples:");
  for (const char *p = command->examples; *p; p += strcspn(p, "\n") + 1) printf("  %.*s\n", (int)strcspn(p, "\n"), p);
}

/* Refuses a word that is no subcommand, with the nearest one if that is what may have been meant. */
static int refuse_command(const char *name) {
  const char *names[COMMANDS + 1] = {"help"};
  size_t count = 1;
  for (size_t i = 0; i < COMMANDS; i++)
    if (commands[i].help && *commands[i].name) names[count++] = commands[i].name;
  const char *const near = bench_nearest(name, strlen(name), names, count);
  fprintf(stderr, "hx-bench: there is no subcommand '%s'%s%s%s (hx-bench help)\n", name, near ? ": did you mean " : "",
          near ? near : "", near ? "?" : "");
  return BENCH_USAGE;
}

static int show_help(const char *about) {
  const struct command *const command = about && *about ? find_command(about) : NULL;
  if (!about || !*about)
    print_help();
  else if (!command || !command->help)
    return refuse_command(about);
  else
    print_command_help(command);
  return BENCH_OK;
}

/* Whether everything was written to the standard output. */
static bool is_output_complete(void) {
  const bool fine = fflush(stdout) == 0 && !ferror(stdout);
  if (!fine) fputs("hx-bench: the standard output could not be written in full\n", stderr);
  return fine;
}

static int run_command(const bench_options *options) {
  if (strcmp(options->command, "help") == 0) return show_help(options->help && !options->topic ? NULL : options->topic);
  if (options->help) return show_help(options->command);
  const struct command *const command = find_command(options->command);
  if (!command) return refuse_command(options->command);
  if (!bench_options_are_taken(options, command->takes | ALWAYS)) return BENCH_USAGE;
  const int status = command->run(options);
  bench_stop_end();
  return status;
}

int main(int argc, char **argv) {
  bench_options options;
  bench_system_start();
  if (!bench_options_parse(argc, argv, &options)) return BENCH_USAGE;
  int status = BENCH_OK;
  if (options.version && !options.help)
    printf("hx-bench %s\n", hx_version());
  else
    status = run_command(&options);
  return is_output_complete() || status != BENCH_OK ? status : BENCH_FAILED;
}
