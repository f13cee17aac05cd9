/* SPDX-License-Identifier: Apache-2.0
 * The records that charts and tables are made from, taken from a document of hx-bench: either one that `share` wrote,
 * with a document per part, or the document of one subcommand. Texts belong to the JSON document. */
#ifndef HX_BENCH_REPORT_FACTS_H
#define HX_BENCH_REPORT_FACTS_H

#include <stdint.h>

#include "bench/report/json.h"

#define FACTS_MOST_PARTS 16
#define FACTS_TASK 112 /* bytes of the text of a task */

typedef struct facts_part {
  const char *name;
  const json_value *document; /* NULL: the part did not finish it */
  bool timed_out;
} facts_part;

/* What a row of results asked for. */
typedef enum facts_mode { FACTS_CPU, FACTS_GPU, FACTS_BOTH, FACTS_SPLIT, FACTS_MODES } facts_mode;

typedef struct facts_row {
  const json_value *json;
  const char *op, *type, *unit;
  size_t m, n, k; /* m == 0: a reduction of n elements */
  bool trans_a, trans_b;
  facts_mode mode; /* split: a fixed share, 0 and 1 included, in a sweep */
  bool in_sweep;
  double asked, share; /* asked: NaN if hx decides */
  double median, low, high, rate,
      ceiling; /* low, high: the 95 % interval, or least and most if an older hx-bench wrote it */
  bool verified;
} facts_row;

typedef struct facts_sweep {
  size_t first, count; /* its rows; the last one is hx's own choice */
  double best_split, best_s, own_s, own_share, eta, eta_low, eta_high;
} facts_sweep;

typedef struct facts_rung {
  const json_value *json;
  const char *ladder, *device, *task, *step, *unit, *note; /* task: "": the ladder has one */
  const char *family, *axis; /* family: the line to which it belongs, with `place` on the axis; "": none */
  double place;
  size_t rule;     /* transactions by a published rule; 0: none */
  double measured; /* transactions */
  size_t m, n, k;
  double median, event, low, high, rate, speedup; /* low, high: as in facts_row */
} facts_rung;

typedef struct facts_peak {
  const json_value *json;
  const char *what, *isa, *level, *unit;
  size_t threads, streams;
  double median, most;
} facts_peak;

typedef struct facts {
  const json_value *root;
  const char *command, *version;
  bool interrupted;
  bool
      has_intervals; /* the spread of a time is the 95 % interval of the median; otherwise from the least to the most */
  facts_part parts[FACTS_MOST_PARTS];
  size_t part_count;
  const json_value *system;  /* of the first part that has it; NULL: none */
  const char *machine;       /* without a document: the processor, and the devices beside it; NULL: there is one */
  const json_value *devices; /* the first device of the longest list; NULL: none */
  facts_row *rows;
  size_t row_count, row_room;
  facts_sweep *sweeps;
  size_t sweep_count, sweep_room;
  facts_rung *rungs;
  size_t rung_count, rung_room;
  facts_peak *peaks;
  size_t peak_count, peak_room;
} facts;

/* Returns false, with the reason in `why`, if the value is no document of hx-bench or there is no memory. Free the
 * facts before the document. */
bool facts_take(const json_value *root, facts *f, char why[JSON_WHY]);
void facts_free(facts *f);

/* The part of this name; NULL: there is none, or its document is missing. */
const facts_part *facts_part_named(const facts *f, const char *name);
/* Why no part of this name gave anything: a sentence without its last full stop. */
void facts_absence(const facts *f, const char *name, char *text, size_t bytes);

/* Whether a time is shorter than another one by more than noise, as in the verdict: by more than 5 % in the median, and
 * at the near ends of the two spreads. */
bool facts_is_shorter(double median, double high, double other_median, double other_low);

bool facts_same_task(const facts_row *a, const facts_row *b); /* operation, type, size and transposes */
bool facts_same_kind(const facts_row *a, const facts_row *b); /* operation and type */
/* The rate at another time of the same row. */
double facts_rate_at(const facts_row *row, double seconds);
void facts_size_text(size_t m, size_t n, size_t k, char *text, size_t bytes); /* "2^24", "1000", "2x3x4" */
void facts_task_text(const facts_row *row, char text[FACTS_TASK]);            /* "f32 sum 2^24" */
/* A size as a part of a file name: digits, letters and "x". */
void facts_size_slug(size_t m, size_t n, size_t k, char *text, size_t bytes);
const char *facts_spread_text(const facts *f); /* what bands and whiskers show */
/* Seconds with a unit: "11.5 ms". "-": not measured. */
void facts_time_text(double seconds, char *text, size_t bytes);
/* Three digits: "0.123", "12.3", "12345". "-": not measured. */
void facts_number_text(double number, char *text, size_t bytes);

/* The processor, and the devices beside it: "AMD EPYC + NVIDIA H200". */
void facts_machine_text(const facts *f, char *text, size_t bytes);
const char *facts_cpu_name(const facts *f);
/* A device as people write it: PoCL calls itself by its host's processor. */
void facts_device_text(const json_value *device, char *text, size_t bytes);

#endif
