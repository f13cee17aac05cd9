/* SPDX-License-Identifier: Apache-2.0
 * hx-bench: measures and explains what hx does on this machine. The table has one row per subcommand. */
#include <string.h>

#include "bench/icd.h"
#include "bench/process.h"
#include "bench/system.h"

static const struct command {
  const char *name;
  int (*run)(const bench_options *options);
  const char *help;
} commands[] = {
    {"", bench_cmd_compare, "the f32 sum and two products on CPU alone, device alone and both; under 3 minutes"},
    {"info", bench_cmd_info, "devices and drivers, what each can do, what is missing and how to install it"},
    {"env", bench_cmd_env, "the environment variables of hx: accepted values, defaults, current values"},
    {"reduce", bench_cmd_compare, "reductions (--op, --type, --size)"},
    {"matmul", bench_cmd_compare, "matrix products (--size MxNxK)"},
    {"sweep", bench_cmd_sweep, "every split of the work between CPU and GPU, and how close hx comes to the best"},
    {"peak", bench_cmd_peak, "peak rates of this CPU: multiply-adds, and reading from each cache and memory"},
    {"call", bench_cmd_call, "the cost of a call on a few elements, beside that of the bare kernel"},
    {"ladder", bench_cmd_ladder,
     "reduce, matmul or offload: published steps from a naive kernel to a fast one, hx and others"},
    {"tune", bench_cmd_tune, "times interchangeable product kernels on each device and stores the fastest"},
    {"explain", bench_cmd_explain, "what hx expects of each choice for a task, which one it uses, and why"},
    {"sim", bench_cmd_sim, "what hx would do on laptops of four kinds, in virtual time (--profile)"},
    {"share", bench_cmd_share, "measures for ten minutes into one file without names, to send to hx"},
    {"driver", bench_cmd_driver, NULL},         /* the main function of a process that loads an OpenCL driver */
    {"contestant", bench_cmd_contestant, NULL}, /* the main function of processes that --vs starts */
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(void) {
  puts("hx-bench [subcommand] [options]\n");
  for (size_t i = 0; i < COMMANDS; i++)
    if (commands[i].help) printf("  %-12s %s\n", *commands[i].name ? commands[i].name : "(none)", commands[i].help);
  puts(
      "\n"
      "  --size LIST      numbers, 2^k, or MxNxK for products; N means NxNxN for matmul\n"
      "  --shapes LIST    files with one shape per line for matmul: m n k, or m n k ta tb (0 or 1)\n"
      "  --vs LIST        reduce, matmul: beside openblas, blis, opencv, mkl, as installed and at their best core "
      "type\n"
      "  --threads N      number of CPU threads (HX_THREADS)\n"
      "  --op LIST        sum min max argmin argmax dot sum_abs sum_squares prod, all of these, or matmul\n"
      "  --type LIST      f32 i32 u32 all\n"
      "  --devices LIST   what HX_DEVICES accepts; default without a GPU: cpu,igpu,gpu,pocl\n"
      "  --reps N         number of rounds (default: as many as fit the time)\n"
      "  --seconds S      time for each operation and size, all modes together\n"
      "  --step P         step of sweep and ladder offload, in percent (default 10)\n"
      "  --profile NAME   laptop for sim: gen9, xe, vega or rdna3 (default: all)\n"
      "  --report         leaves paths out of the variables in files, because they may name you;\n"
      "                   info: a text for bug reports, without names\n"
      "  --malloc         arrays from malloc, not hx_alloc\n"
      "  --json FILE      writes results as JSON; -: to the standard output, and the table to stderr\n"
      "  --csv FILE       writes results as CSV, likewise\n"
      "  --quiet          no table, no progress bar\n"
      "  --help, --version\n\n"
      "Every result is compared with the scalar definition before it is timed. Exit status: 0 all are right,\n"
      "1 a result is wrong or a task did not run, 2 a wrong option or setting, 3 (info) a GPU of this machine\n"
      "cannot be used. More: man hx-bench.");
}

/* Whether everything was written to the standard output. */
static bool is_output_complete(void) {
  const bool fine = fflush(stdout) == 0 && !ferror(stdout);
  if (!fine) fputs("hx-bench: the standard output could not be written in full\n", stderr);
  return fine;
}

int main(int argc, char **argv) {
  bench_options options;
  bench_system_start();
  if (!bench_options_parse(argc, argv, &options)) return BENCH_USAGE;
  if (options.help) print_help();
  if (options.version && !options.help) printf("hx-bench %s\n", hx_version());
  if (options.help || options.version) return is_output_complete() ? BENCH_OK : BENCH_FAILED;
  for (size_t i = 0; i < COMMANDS; i++) {
    if (strcmp(commands[i].name, options.command) != 0) continue;
    int status = commands[i].run(&options);
    bench_stop_end();
    return is_output_complete() || status != BENCH_OK ? status : BENCH_FAILED;
  }
  fprintf(stderr, "hx-bench: there is no subcommand '%s' (hx-bench --help)\n", options.command);
  return BENCH_USAGE;
}
