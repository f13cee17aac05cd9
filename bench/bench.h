/* SPDX-License-Identifier: Apache-2.0
 * What the files of hx-bench share: options, the session (one context and its devices), rows and what prints them. */
#ifndef HX_BENCH_BENCH_H
#define HX_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/hx.h"

enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 }; /* exit statuses */

#define BENCH_MAX_SIZES 256
#define BENCH_MAX_FILES 16
#define BENCH_COLUMNS 120 /* no line of a human table is longer */

/* One --size: a length, or the shape of a product. m == 0: a length. */
typedef struct bench_size {
  size_t m, n, k;
  bool trans_a, trans_b;
  unsigned file; /* 1 + its index among options->shapes; 0: from the command line or a list of hx-bench's own */
} bench_size;

#define BENCH_MAX_PEERS 4

/* --vs: one library, and the one core type that it may take; NULL: all of its. */
typedef struct bench_vs {
  const struct bench_peer *peer;
  const char *core;
} bench_vs;

typedef struct bench_options {
  const char *command; /* "" for the default job */
  const char *topic;   /* the word after it, of `ladder` alone; NULL: not given */
  bench_size sizes[BENCH_MAX_SIZES];
  size_t size_count;                /* 0: the subcommand's own list */
  uint32_t ops;                     /* bit HX_SUM ..; 0: the subcommand's own; bit 0 stands for matmul */
  uint32_t types;                   /* bit HX_F32 ..; 0: f32 */
  const char *devices, *json, *csv; /* NULL: not given */
  const char *profile;              /* of sim; NULL: all of them */
  const char *shape_list;           /* --shapes, */
  char *shapes[BENCH_MAX_FILES];    /* and its files */
  size_t file_count;
  bench_vs vs[BENCH_MAX_PEERS];
  size_t vs_count;
  size_t reps;    /* 0: as many as fit */
  double seconds; /* for a row group; 0: the subcommand's own */
  unsigned step;  /* of sweep, in percent */
  bool quiet, use_malloc, help, version;
} bench_options;

#define BENCH_OP_MATMUL 0u

/* Adds the shapes of a comma list of files to options->sizes. False after one sentence to stderr. */
bool bench_shapes_read(const char *list, bench_options *options);

/* Fills *options; false after printing one sentence to stderr. */
bool bench_options_parse(int argc, char **argv, bench_options *options);
/* Whether a length is one of a task: of a reduction or, cube, of the product NxNxN. False after one sentence to stderr.
 */
bool bench_size_is_task(size_t n, bool cube, bool may_be_empty);
const char *bench_op_name(hx_op op);
const char *bench_type_name(hx_type type);

/* The context that all of a run's calls use, and what hx says of the devices. */
typedef struct bench_session {
  const bench_options *options;
  hx_context *hx;
  size_t device_count;
  hx_device_info device[HX_MAX_DEVICES];
  bool has_cpu, has_device; /* usable ones */
  bool stand_in;            /* PoCL was named because there is no GPU */
  unsigned threads;         /* that hx uses on the CPU */
  double deadline;          /* bench_now() at which only what is indispensable is still measured; 0: none */
} bench_session;

/* Opens the context. 0, or an exit status after one sentence to stderr. */
int bench_session_open(bench_session *session, const bench_options *options, bool want_device);
/* What a subcommand does in a session. Returns an exit status. */
typedef int bench_job(bench_session *session, const void *what);
/* Opens files and a session, does the job in it, and closes them. devices: instead of those of the options; or NULL. */
int bench_session_run(const bench_options *options, const char *devices, bool want_device, bench_job *job,
                      const void *what);
void bench_session_refresh(bench_session *session); /* reads the devices again: states change as kernels are built */
void bench_session_close(bench_session *session);
void *bench_session_alloc(bench_session *session, size_t bytes); /* NULL after one sentence to stderr */
void bench_session_free(bench_session *session, void *p);
void bench_print_devices(const bench_session *session);
unsigned bench_threads(void); /* what hx takes by its settings */
const char *bench_isa(void);  /* of hx's host kernels here */

/* A line of results: one mode of one task. */
typedef struct bench_row {
  const char *op, *type, *mode, *unit;
  size_t m, n, k; /* m == 0: a reduction of n elements */
  bool trans_a, trans_b;
  unsigned file;     /* of bench_size */
  float asked_share; /* of the GPUs; negative: hx decides */
  uint32_t devices;  /* bit i: device i had work in the last call */
  double median_s, min_s, max_s;
  size_t reps;
  double rate, ceiling, gpu_share; /* rate and ceiling in unit; gpu_share as done, median */
  double joules;                   /* of a call; NaN if that cannot be measured */
  uint64_t bytes_copied;           /* of the last call */
  uint32_t recovered;              /* most of any call */
  bool ran, verified;              /* ran: the call returned HX_OK */
  uint64_t bits;
} bench_row;

typedef struct bench_sweep {
  size_t first_row; /* its rows, splits in order and hx's own choice last */
  size_t row_count, rounds;
  double best_split;               /* picked on the even rounds */
  double best_s, own_s, own_share; /* on the odd rounds */
  double eta, eta_low, eta_high;   /* median and quartiles of best_s / own_s within a round */
} bench_sweep;

/* hx beside another library: ratios of speed, above 1 where hx is faster, paired within a round. */
typedef struct bench_versus {
  size_t row;  /* hx's */
  size_t peer; /* of options->vs */
  bool best;   /* at its best core type; or as installed */
  char core[32];
  double median_s, rate, ratio, low, high; /* low, high: 95 % */
  unsigned runs;                           /* 2: once more, because the first fell too low */
} bench_versus;

typedef struct bench_results {
  bench_row *rows;
  size_t row_count, row_room;
  bench_sweep sweeps[BENCH_MAX_SIZES];
  size_t sweep_count;
  bench_versus *versus;
  size_t versus_count, versus_room;
  char verdict[2048];
  size_t findings_left_out; /* of the verdict, for lack of room */
  size_t missing;           /* sizes that there was no memory for */
  bool failed;              /* something did not run, or did not verify */
} bench_results;

/* Adds an item of so many bytes to a list that grows. list: the address of the pointer to its items. False: there is no
 * memory, and the list is as it was. */
bool bench_append(void *list, size_t *count, size_t *room, const void *item, size_t bytes);
bool bench_results_add(bench_results *results, const bench_row *row);
bool bench_results_add_versus(bench_results *results, const bench_versus *versus);
void bench_results_free(bench_results *results);
double bench_row_amount(const bench_row *row);                        /* of a call, in 1e-9 of what rates count */
bool bench_same_operation(const bench_row *a, const bench_row *b);    /* and type */
void bench_size_text(const bench_row *row, char *text, size_t bytes); /* "2^20", "1000", "2x3x4", "2x3x4 tn" */
void bench_task_text(const bench_row *row, char *text, size_t bytes); /* "f32 sum 2^20" */
/* Of names that a NULL ends: "CPU + GPU". */
void bench_join_names(const char *const *names, char *text, size_t bytes);

/* The table of results that people read: a head for each operation, a line for each row. */
void bench_print_result_head(const bench_row *row);
void bench_print_result(const bench_row *row);
void bench_time_text(double seconds, char *text, size_t bytes);
void bench_joules_text(double joules, char *text, size_t bytes); /* "n/a": not measured */
void bench_bytes_text(uint64_t value, char *text, size_t bytes);

/* Files. Opened before anything is measured, so that a bad path costs nothing; their old contents stay until the new
 * ones are complete, and if nothing was written, or a run was stopped before it measured anything. */
bool bench_files_open(const bench_options *options);
void bench_measured(void); /* there is something worth a file */
/* To both. devices: the CSV table has the devices, not the rows of results. */
void bench_results_write(const bench_session *session, const bench_results *results, bool devices);
FILE *bench_json_file(void); /* NULL: not asked for */
FILE *bench_csv_file(void);
FILE *bench_human_file(void); /* what people read; NULL: --quiet */
bool bench_files_close(void);

/* Signals that end a run early, from when files are asked for on. Stopped: measuring ends with what has been measured.
 * bench_stop_end: the program ends by the signal, if there was one. */
void bench_stop_watch(void);
bool bench_stopped(void);
void bench_stop_end(void);

/* The sentence at the end, which begins with what sweeps have added. */
void bench_verdict_add_sweep(bench_results *results, const bench_sweep *sweep);
void bench_verdict(const bench_session *session, bench_results *results);

/* Subcommands: exit statuses. */
int bench_cmd_compare(const bench_options *options); /* reduce, matmul and the default job */
int bench_cmd_info(const bench_options *options);
int bench_cmd_env(const bench_options *options);
int bench_cmd_sweep(const bench_options *options);
int bench_cmd_peak(const bench_options *options);
int bench_cmd_call(const bench_options *options);
int bench_cmd_ladder(const bench_options *options);
int bench_cmd_explain(const bench_options *options);
int bench_cmd_sim(const bench_options *options);
int bench_cmd_tune(const bench_options *options);

#endif
