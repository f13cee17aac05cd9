/* SPDX-License-Identifier: Apache-2.0
 * Declarations that the files of hx-bench share: options, the session (one context and its devices), rows of results
 * and the functions that print them. */
#ifndef HX_BENCH_BENCH_H
#define HX_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/hx.h"

/* Exit statuses. UNUSABLE is that of info alone: a GPU of this machine cannot be used. */
enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2, BENCH_UNUSABLE = 3 };

#define BENCH_MAX_SIZES 256
#define BENCH_MAX_FILES 16
#define BENCH_COLUMNS 120 /* the longest line of a printed table */
#define BENCH_LEAST_COLUMNS 60

/* One --size: a length, or the shape of a product. m == 0: a length. */
typedef struct bench_size {
  size_t m, n, k;
  bool trans_a, trans_b;
  unsigned file; /* 1 + its index in options->shapes; 0: from the command line or from a list of hx-bench */
} bench_size;

#define BENCH_MAX_PEERS 4
#define BENCH_MAX_TILES 16

/* One --tiles: the tile of C of a work-item, and how many steps of k of A's it keeps. */
typedef struct bench_tile {
  unsigned m, n, k;
} bench_tile;

/* --vs: one library, and the only core type that it may use; NULL: any of its core types. */
typedef struct bench_vs {
  const struct bench_peer *peer;
  const char *core;
} bench_vs;

typedef struct bench_options {
  const char *command; /* "" for the default job */
  const char *topic;   /* the word after `ladder` or `help`, or the library after `driver`; NULL: not given */
  bench_size sizes[BENCH_MAX_SIZES];
  size_t size_count; /* 0: the subcommand's own list */
  uint32_t ops;      /* bit i: the operation i of hx_op; bit 0: matmul; 0: the subcommand's own list */
  uint32_t types;    /* bit i: the type i of hx_type; 0: f32 */
  const char *devices, *threads, *json, *jsonl, *csv; /* NULL: not given */
  bool markdown;                                      /* the tables are printed as Markdown ... */
  const char *markdown_file;                          /* ... to this file; NULL: to the standard output */
  uint32_t given;                                     /* bit i: the option i of the table in options.c */
  const char *profile;                                /* for sim; NULL: all profiles */
  const char *from, *compare;                         /* for report: documents to read; NULL: not given */
  const char *out, *svg;  /* for report: the page, and the folder of charts; svg for ladder: a file; NULL: not given */
  const char *shape_list; /* the value of --shapes */
  char *shapes[BENCH_MAX_FILES]; /* the files that it names */
  size_t file_count;
  bench_vs vs[BENCH_MAX_PEERS];
  size_t vs_count;
  size_t reps;                       /* 0: as many as fit */
  double seconds;                    /* for the modes of one task together; 0: the subcommand's own time */
  unsigned step;                     /* for sweep and ladder offload, in percent */
  bench_tile tiles[BENCH_MAX_TILES]; /* for ladder offload */
  size_t tile_count;                 /* 0: the ladder's own */
  bool report;                       /* files without paths, which may name a user */
  bool quiet, use_malloc, help, version;
} bench_options;

#define BENCH_OP_MATMUL 0u

/* The options, as numbers of bits. */
enum {
  BENCH_SIZE_OPTION,
  BENCH_SHAPES,
  BENCH_VS,
  BENCH_THREADS,
  BENCH_DEVICES,
  BENCH_PROFILE,
  BENCH_OP,
  BENCH_TYPE,
  BENCH_REPS,
  BENCH_SECONDS,
  BENCH_STEP,
  BENCH_TILES,
  BENCH_MALLOC,
  BENCH_REPORT,
  BENCH_JSON,
  BENCH_JSONL,
  BENCH_CSV,
  BENCH_MD,
  BENCH_FROM,
  BENCH_COMPARE,
  BENCH_OUT,
  BENCH_SVG,
  BENCH_QUIET,
  BENCH_HELP,
  BENCH_VERSION
};

/* Adds the shapes in a comma-separated list of files to options->sizes. Returns false after printing one sentence to
 * stderr. */
bool bench_shapes_read(const char *list, bench_options *options);

/* Fills *options. Returns false after printing one sentence to stderr. */
bool bench_options_parse(int argc, char **argv, bench_options *options);
/* Whether a subcommand takes all options that were given, as bits. If not, prints one sentence to stderr. */
bool bench_options_are_taken(const bench_options *options, uint32_t taken);
void bench_options_print(uint32_t options); /* for --help */
/* The name that a mistyped word may have meant; NULL: none. */
const char *bench_nearest(const char *word, size_t length, const char *const *names, size_t count);
/* Whether a task of this length is possible: a reduction, or with `cube` the product NxNxN. If not, prints one sentence
 * to stderr. */
bool bench_size_is_task(size_t n, bool cube, bool may_be_empty);
const char *bench_kind_name(hx_device_kind kind);    /* cpu, igpu, gpu, opencl-cpu, sim */
const char *bench_state_name(hx_device_state state); /* building, usable, refused, lost */
const char *bench_op_name(hx_op op);
const char *bench_type_name(hx_type type);

/* The context that all calls of a run use, and its devices as hx describes them. */
typedef struct bench_session {
  const bench_options *options;
  hx_context *hx;
  size_t device_count;
  hx_device_info device[HX_MAX_DEVICES];
  struct bench_device_name {
    char platform[64]; /* of OpenCL; "PoCL" is short for Portable Computing Language; "": no OpenCL device */
    char label[160];   /* the name in tables and sentences, with the platform if the device runs on the CPU */
    char brief[100];   /* the same where there is little room */
  } name[HX_MAX_DEVICES];
  float split;              /* HX_SPLIT, all devices together; negative: it is not set */
  bool has_cpu, has_device; /* which kinds can be used */
  bool abandoned;           /* a thread still waits for devices: the context is left open */
  bool stand_in;            /* PoCL was named because there is no GPU */
  unsigned threads;         /* CPU threads that hx uses */
  double deadline;          /* the bench_now() after which only the least number of rounds is measured; 0: none */
} bench_session;

/* Opens the context. Returns 0, or an exit status after printing one sentence to stderr. */
int bench_session_open(bench_session *session, const bench_options *options, bool want_device);
/* A subcommand's work in an open session. Returns an exit status. */
typedef int bench_job(bench_session *session, const void *what);
/* Opens the files and a session, runs the job, and closes them. devices: replaces the devices of the options, unless it
 * is NULL. */
int bench_session_run(const bench_options *options, const char *devices, bool want_device, bench_job *job,
                      const void *what);
void bench_session_refresh(
    bench_session *session); /* reads the devices again, because their states change while kernels are built */
/* Waits until every device is prepared, or the run is stopped. Returns false after printing one
 * sentence to stderr. */
bool bench_session_ready(bench_session *session);
void bench_session_close(bench_session *session);
/* Prints a sentence of hx that names a setting. If an option gave its value, it names the option. */
void bench_print_setting_error(const bench_options *options);
void *bench_session_alloc(bench_session *session, size_t bytes); /* NULL after printing one sentence to stderr */
void bench_session_free(bench_session *session, void *p);
void bench_print_devices(const bench_session *session);
unsigned bench_threads(void); /* the number of CPU threads by the settings */
const char *bench_isa(void);  /* the instruction set of hx's CPU kernels */

/* One row of results: one mode of one task. */
typedef struct bench_row {
  const char *op, *type, *mode, *unit;
  size_t m, n, k; /* m == 0: a reduction of n elements */
  bool trans_a, trans_b;
  unsigned file;     /* as in bench_size */
  float asked_share; /* requested for the GPUs by hx-bench; negative: hx decides */
  float set_share;   /* if hx decides: the share that HX_SPLIT sets; negative: none */
  uint32_t devices;  /* bit i: device i took part in the last call */
  double median_s, min_s, max_s;
  double low_s, high_s; /* the 95 % interval of the median */
  size_t reps;
  double rate, ceiling,
      gpu_share;         /* rate and ceiling in `unit`; gpu_share: the median of the shares that calls reported */
  double joules;         /* per call; NaN if energy cannot be measured */
  uint64_t bytes_copied; /* of the last call */
  uint32_t recovered;    /* the most in one call */
  bool ran, verified;    /* ran: the call returned HX_OK */
  uint64_t bits;
} bench_row;

typedef struct bench_sweep {
  size_t first_row; /* index of its first row; the splits come in order, then hx's own choice */
  size_t row_count, rounds;
  double best_split;               /* chosen by the even rounds */
  double best_s, own_s, own_share; /* measured in the odd rounds */
  double eta, eta_low, eta_high;   /* median and quartiles of best_s / own_s within a round */
} bench_sweep;

/* hx compared with another library: ratios of speed within a round, above 1 if hx is faster. */
typedef struct bench_versus {
  size_t row;  /* index of hx's row */
  size_t peer; /* index in options->vs */
  bool best;   /* at its best core type; otherwise as installed */
  char core[32];
  double median_s, rate, ratio, low, high; /* low, high: the 95 % interval of ratio */
  unsigned runs;                           /* 2: measured a second time, because hx was too slow in the first run */
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
  size_t missing;           /* sizes that were left out for lack of memory */
  bool failed;              /* a task did not run, or its result was wrong */
} bench_results;

/* Appends an item of the given size to a list that grows. list: the address of the pointer to the items. False: there
 * is no memory, and the list is unchanged. */
bool bench_append(void *list, size_t *count, size_t *room, const void *item, size_t bytes);
bool bench_results_add(bench_results *results, const bench_row *row);
bool bench_results_add_versus(bench_results *results, const bench_versus *versus);
void bench_results_free(bench_results *results);
double bench_row_amount(const bench_row *row);                        /* the work of a call, in 1e9 units of the rate */
bool bench_same_operation(const bench_row *a, const bench_row *b);    /* and the same type */
bool bench_same_task(const bench_row *a, const bench_row *b);         /* and the same size */
void bench_size_text(const bench_row *row, char *text, size_t bytes); /* "2^20", "1000", "2x3x4", "2x3x4 tn" */
void bench_task_text(const bench_row *row, char *text, size_t bytes); /* "f32 sum 2^20" */
/* Joins the names of a NULL-terminated list: "CPU + GPU". */
void bench_join_names(const char *const *names, char *text, size_t bytes);

/* Prints the rows that belong to one task, the last `count` of the results. */
void bench_print_results(const bench_session *session, const bench_results *results, size_t count);

/* A unit applies to values below `below`, which are multiplied by `factor`. The last unit of a list applies to all. */
typedef struct bench_unit {
  double below, factor;
  const char *name;
} bench_unit;
extern const bench_unit bench_time_units[], bench_joule_units[], bench_byte_units[];
/* The unit in which values from `least` to `most` are printed below each other: that of the least, or a larger one if
 * the numbers would become too long. */
const bench_unit *bench_unit_for(const bench_unit *units, double least, double most);
int bench_unit_digits(const bench_unit *unit, double least); /* decimals, for three digits of the least value */
void bench_time_text(double seconds, char *text, size_t bytes);
void bench_bytes_text(uint64_t value, char *text, size_t bytes);

/* The files of --json, --jsonl, --csv and --md. They are opened before anything is measured, so that a wrong path costs
 * no time. Their old contents are replaced only when the new document is complete, and remain if nothing was measured.
 */
bool bench_files_open(const bench_options *options);
void bench_measured(void); /* from now on a stopped run writes its files */
/* Writes all files. devices: the rows are those of the table of devices, not results. */
void bench_results_write(const bench_session *session, const bench_results *results, bool devices);
FILE *bench_json_file(void); /* NULL: not requested */
FILE *bench_jsonl_file(void);
FILE *bench_csv_file(void);
FILE *bench_human_file(void); /* where tables are printed; NULL: --quiet */
bool bench_is_quiet(void);    /* whether only files are written */
bool bench_is_markdown(void); /* whether they are printed as Markdown */
bool bench_files_close(void);
/* Tables go to stderr if a file goes to the standard output. bench_files_open does this, too. */
void bench_human_open(const bench_options *options);
/* For other files, in the same way: whether one can be written, and writing it whole. Each prints one sentence to
 * stderr if not. "-" is the standard output. */
bool bench_file_check(const char *path);
bool bench_file_write(const char *path, const char *text, size_t bytes);

/* Signals that end a run early. bench_stop_watch installs the handlers; files: what has been measured is written to
 * files, too. If bench_stopped, no further measurement
 * begins. bench_stop_end ends the program by the signal that was received, if any. */
void bench_stop_watch(bool files);
bool bench_stopped(void);
void bench_stop_end(void);

/* Composes the sentence that is printed at the end. It begins with what the sweeps have added. */
void bench_verdict_add_sweep(bench_results *results, const bench_sweep *sweep);
void bench_verdict(const bench_session *session, bench_results *results);

/* The subcommands. Each returns an exit status. */
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
int bench_cmd_share(const bench_options *options);
int bench_cmd_report(const bench_options *options);

#endif
