/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `ladder`: published steps from a naive kernel to a fast one, compared with hx and other libraries on
 * every OpenCL device in use. Each step, hx and each library is a rung. The table has one row per ladder. */
#include <string.h>

#include "bench/emit.h"
#include "bench/ladder.h"
#include "bench/progress.h"
#include "bench/system.h"

static const bench_size sums[] = {{.n = 1u << 10}, {.n = 1u << 12}, {.n = 1u << 14}, {.n = 1u << 16}, {.n = 1u << 18},
                                  {.n = 1u << 20}, {.n = 1u << 22}, {.n = 1u << 24}, {.n = 1u << 26}, {.n = 1u << 28}};
static const bench_size squares[] = {{.m = 256, .n = 256, .k = 256},    {.m = 512, .n = 512, .k = 512},
                                     {.m = 1024, .n = 1024, .k = 1024}, {.m = 2048, .n = 2048, .k = 2048},
                                     {.m = 4096, .n = 4096, .k = 4096}, {.m = 8192, .n = 8192, .k = 8192}};
static const bench_size accesses[] = {{.n = 1u << 12}};
static const bench_size passes[] = {{.n = 1u << 8}};
static const bench_size study[] = {{.m = 2048, .n = 4096, .k = 2048}};
static const bench_size study_sums[] = {{.n = 1u << 24}};

#define USUAL_SECONDS 3.0
#define LENGTHS(list) .lengths = (list), .length_count = sizeof(list) / sizeof(list)[0]
#define SHAPES(list) .shapes = (list), .shape_count = sizeof(list) / sizeof(list)[0]

/* Either the function for each single device or the one for all devices together is set. */
static const struct ladder {
  bench_plan plan;    /* the word after `ladder` */
  size_t each_length; /* tasks of a length; 0: one */
  bench_device_job *on_device;
  bool (*on_all)(bench_session *session, const bench_tasks *tasks);
  const char *published;
} ladders[] = {
    {{"reduce", LENGTHS(sums)},
     0,
     ladder_reduce,
     NULL,
     "published (PCL-Reduction, u32, other machines): 2.97-20.24x over OpenCV on the CPU, 1.25-1.75x over OpenCV's "
     "OpenCL, 2.25-5.97x over OpenCV's CUDA; gap of the naive tree below 1 % from x32 (K20M) and x16 (W8000) on"},
    {{"matmul", SHAPES(squares)}, 0, ladder_matmul, NULL, NULL},
    {{"lds", LENGTHS(accesses)},
     0,
     ladder_lds,
     NULL,
     "published (how shared memory is accessed): 32 lanes that read 4, 8 or 16 bytes take 1, 2 or 4 transactions; "
     "8 and 16 bytes take half as many if, for all lanes, i and i^1 read the same or only one of them reads, or so "
     "for i^2; n words of one bank take n"},
    {{"addressing", LENGTHS(passes)}, 0, ladder_addressing, NULL, NULL},
    {{"offload", LENGTHS(study_sums), SHAPES(study)},
     LADDER_SUM_TASKS,
     NULL,
     ladder_offload,
     "published (Intel GFX study, 2048x4096x2048, two cores and their GPU): tiled C 5.12 s with SSE, 4.098 s with "
     "AVX; on both cores 2.689 s and 1.784 s; on the GPU the ordinary kernel 1.6 s, a tile per item 0.439 s, 11.7x"},
};

#define LADDERS (sizeof ladders / sizeof ladders[0])

static const struct ladder *find_ladder(const char *name) {
  for (size_t i = 0; name && i < LADDERS; i++)
    if (strcmp(ladders[i].plan.command, name) == 0) return &ladders[i];
  return NULL;
}

/* Of one size, for the progress bar. */
static double ladder_seconds(const bench_session *session) {
  return session->options->seconds > 0 ? session->options->seconds : USUAL_SECONDS;
}

static int run_ladder(bench_session *session, const void *what) {
  const bench_tasks *const tasks = what;
  const struct ladder *const ladder = find_ladder(tasks->plan->command);
  bench_print_system(session);
  bench_print_devices(session);
  bench_say("\n");
  bench_note(0,
             "event: time by the device's clock; wall: time by the host's. The rate and the speed-up (x) are by event, "
             "or by wall if there is no event.");
  bench_show_output();
  size_t devices = ladder->on_all != NULL, tables = 0;
  for (size_t i = 0; i < tasks->count; i++)
    tables += ladder->each_length && !tasks->task[i].size.m ? ladder->each_length : 1;
  for (size_t i = 0; !ladder->on_all && i < session->device_count; i++)
    devices += bench_opencl_device(session, i) != NULL;
  bench_progress_begin(devices * tables, (double)(devices * tables) * ladder_seconds(session));
  const bool fine =
      ladder->on_all ? ladder->on_all(session, tasks) : bench_opencl_each(session, ladder->on_device, tasks);
  if (!fine) ladder_fail();
  bench_progress_erase();
  ladder_rows_end();
  if (ladder->published) bench_say("\n"), bench_note(0, "%s", ladder->published);
  bench_session_refresh(session);
  ladder_rows_write(session, ladder->plan.command);
  ladder_rows_free();
  return ladder_failed() ? BENCH_FAILED : BENCH_OK;
}

static bool has_product(const bench_tasks *tasks) {
  for (size_t i = 0; i < tasks->count; i++)
    if (tasks->task[i].size.m) return true;
  return false;
}

/* Refuses an option that ladders on single devices would ignore. Returns whether there was one. */
static bool refuse_option(const bench_options *options) {
  static const struct {
    unsigned option;
    const char *name, *why;
  } rows[] = {{BENCH_STEP, "--step", "splits its work"}, {BENCH_TILES, "--tiles", "has a kernel for any tile"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!(options->given & 1u << rows[i].option)) continue;
    fprintf(stderr, "hx-bench: ladder %s takes no %s: only ladder offload %s\n", options->topic, rows[i].name,
            rows[i].why);
    return true;
  }
  return false;
}

int bench_cmd_ladder(const bench_options *options) {
  const struct ladder *const ladder = find_ladder(options->topic);
  if (!ladder) {
    fprintf(stderr, "hx-bench: ladder takes reduce, matmul, lds, addressing or offload%s%s (hx-bench --help)\n",
            options->topic ? ", not " : "", options->topic ? options->topic : "");
    return BENCH_USAGE;
  }
  if (!ladder->on_all && refuse_option(options)) return BENCH_USAGE;
  if (options->svg && !bench_file_check(options->svg)) return BENCH_USAGE;
  bench_tasks tasks;
  if (!bench_tasks_list(options, &ladder->plan, &tasks)) return BENCH_USAGE;
  if ((options->given & 1u << BENCH_TILES) && !has_product(&tasks)) {
    fputs("hx-bench: --tiles is for the product of ladder offload, and no --size is MxNxK\n", stderr);
    return BENCH_USAGE;
  }
  return bench_session_run(options, NULL, true, run_ladder, &tasks);
}
