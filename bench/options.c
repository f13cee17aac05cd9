/* SPDX-License-Identifier: Apache-2.0
 * Parses the command line. The table has one row per option. Every value is checked here, before anything is opened. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers.h"
#include "runtime/base/operations.h"
#include "runtime/base/profiles.h"

static const char *const op_names[] = {[BENCH_OP_MATMUL] = "matmul", HX__OPERATIONS(HX__NAME_ROW)};
#define LISTED(enumerator, name) #name ", "

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *bench_op_name(hx_op op) { return op_names[op]; }
const char *bench_type_name(hx_type type) { return hx__type_names[type]; }

/* Reads the decimal number at *p and advances *p past it. Returns false if there is none or it is too large. */
static bool read_number(const char **p, size_t *out) {
  if (**p < '0' || **p > '9') return false;
  char *end;
  errno = 0;
  unsigned long long value = strtoull(*p, &end, 10);
  if (errno || value > SIZE_MAX) return false;
  *p = end;
  *out = (size_t)value;
  return true;
}

/* Reads 1000 or 2^20: a length, or one side of a shape. */
static bool read_length(const char **p, size_t *out) {
  size_t base, power;
  if (!read_number(p, &base)) return false;
  if (**p == '^') {
    ++*p;
    if (base != 2 || !read_number(p, &power) || power > 40) return false;
    base = (size_t)1 << power;
  }
  *out = base;
  return true;
}

#define LIMIT (SIZE_MAX / 64) /* of elements */

static bool read_size(const char **p, bench_size *size) {
  size_t side[3], sides = 0;
  do {
    if (sides == 3 || !read_length(p, &side[sides])) return false;
    sides++;
  } while (**p == 'x' && ++*p);
  *size = sides == 3 ? (bench_size){.m = side[0], .n = side[1], .k = side[2]} : (bench_size){.n = side[0]};
  if (sides == 2 || (sides == 3 && !(side[0] && side[1] && side[2]))) return false;
  if (sides == 1) return side[0] <= LIMIT;
  return side[0] <= LIMIT / side[1] && side[0] <= LIMIT / side[2] && side[1] <= LIMIT / side[2];
}

static bool parse_sizes(const char *value, bench_options *options) {
  for (const char *p = value;; p++) {
    if (options->size_count == BENCH_MAX_SIZES || !read_size(&p, &options->sizes[options->size_count])) return false;
    options->size_count++;
    if (*p == '\0') return true;
    if (*p != ',') return false;
  }
}

/* Parses a comma-separated list of words into bits; "all" means every word from `first` on. */
static bool parse_words(const char *value, const char *const *words, size_t first, size_t count, uint32_t *bits) {
  *bits = 0;
  for (const char *p = value;;) {
    size_t length = strcspn(p, ",");
    bool known = length == 3 && strncmp(p, "all", 3) == 0;
    for (size_t w = 0; w < count; w++) {
      if (!words[w]) continue;
      bool same = strlen(words[w]) == length && strncmp(p, words[w], length) == 0;
      if (same || (length == 3 && strncmp(p, "all", 3) == 0 && w >= first)) *bits |= 1u << w, known = true;
    }
    if (!known) return false;
    p += length;
    if (*p == '\0') return true;
    p++;
  }
}

static bool parse_ops(const char *value, bench_options *options) {
  return parse_words(value, op_names, HX_SUM, COUNT(op_names), &options->ops);
}

static bool parse_types(const char *value, bench_options *options) {
  return parse_words(value, hx__type_names, HX_F32, HX__TYPES, &options->types);
}

static bool parse_reps(const char *value, bench_options *options) {
  return read_number(&value, &options->reps) && !*value && options->reps >= 1 && options->reps <= 1000000;
}

static bool parse_seconds(const char *value, bench_options *options) {
  char *end;
  options->seconds = strtod(value, &end);
  return end != value && !*end && isfinite(options->seconds) && options->seconds > 0 && options->seconds <= 3600;
}

static bool parse_step(const char *value, bench_options *options) {
  size_t step;
  if (!read_number(&value, &step) || *value || step < 1 || step > 50 || 100 % step) return false;
  options->step = (unsigned)step;
  return true;
}

/* Parses a comma-separated list of NAME or NAME:CORE. */
static bool parse_vs(const char *value, bench_options *options) {
  options->vs_count = 0;
  for (const char *p = value;;) {
    size_t length = strcspn(p, ","), name = strcspn(p, ":,");
    const bench_peer *peer = bench_peer_named(p, name);
    if (!peer || options->vs_count == BENCH_MAX_PEERS) return false;
    bench_vs vs = {peer, NULL};
    for (size_t c = 0; name < length && c < BENCH_MOST_CORES && peer->cores[c].name; c++)
      if (strlen(peer->cores[c].name) == length - name - 1 &&
          strncmp(peer->cores[c].name, p + name + 1, length - name - 1) == 0)
        vs.core = peer->cores[c].name;
    if (name < length && !vs.core) return false;
    options->vs[options->vs_count++] = vs;
    p += length;
    if (*p++ == '\0') return true;
  }
}

static bool parse_threads(const char *value, bench_options *options) {
  (void)options;
  return setenv("HX_THREADS", value, 1) == 0; /* hx_open checks the value */
}

static bool parse_profile(const char *value, bench_options *options) {
  options->profile = value;
  return hx__profile_named(value, strlen(value)) != NULL;
}

static const struct option_row {
  const char *name;
  bool (*parse)(const char *value,
                bench_options *options); /* NULL: the option is a switch, or its value is any text that is not empty */
  size_t member;                         /* the offset of the member that a switch or text sets */
  const char *accepted;                  /* NULL: the option has no value */
} option_rows[] = {
    {"--size", parse_sizes, 0, "a list of numbers, 2^k (k up to 40) or MxNxK"},
    {"--shapes", NULL, offsetof(bench_options, shape_list),
     "a list of files with one shape, `m n k` or `m n k ta tb`, per line"},
    {"--vs", parse_vs, 0,
     "a list of openblas, blis, opencv, mkl; openblas:CORE with Haswell, Zen, SkylakeX or Cooperlake and blis:CORE "
     "with "
     "haswell, zen3 or skx uses only this core type"},
    {"--threads", parse_threads, 0, "what HX_THREADS accepts"},
    {"--devices", NULL, offsetof(bench_options, devices), "what HX_DEVICES accepts"},
    {"--profile", parse_profile, 0, "gen9, xe, vega or rdna3"},
    {"--op", parse_ops, 0, "a list of " HX__OPERATIONS(LISTED) "all, matmul"},
    {"--type", parse_types, 0, "a list of " HX__ELEMENT_TYPES(LISTED) "all"},
    {"--reps", parse_reps, 0, "a number from 1 to 1000000"},
    {"--seconds", parse_seconds, 0, "a number above 0, at most 3600"},
    {"--step", parse_step, 0, "a divisor of 100 from 1 to 50, in percent"},
    {"--json", NULL, offsetof(bench_options, json), "a file, or - for the standard output"},
    {"--csv", NULL, offsetof(bench_options, csv), "a file, or - for the standard output"},
    {"--quiet", NULL, offsetof(bench_options, quiet), NULL},
    {"--report", NULL, offsetof(bench_options, report), NULL},
    {"--malloc", NULL, offsetof(bench_options, use_malloc), NULL},
    {"--help", NULL, offsetof(bench_options, help), NULL},
    {"--version", NULL, offsetof(bench_options, version), NULL},
};

/* Finds the row of an option, and its value if it is written --name=value. */
static const struct option_row *find_row(const char *arg, const char **value) {
  size_t length = strcspn(arg, "=");
  *value = arg[length] == '=' ? arg + length + 1 : NULL;
  for (size_t r = 0; r < COUNT(option_rows); r++)
    if (strlen(option_rows[r].name) == length && strncmp(arg, option_rows[r].name, length) == 0) return &option_rows[r];
  return NULL;
}

static bool complain(const char *what, const char *value, const char *accepted) {
  fprintf(stderr, "hx-bench: %s", what);
  if (value) fprintf(stderr, " '%s'", value);
  fprintf(stderr, "%s%s (hx-bench --help)\n", accepted ? ": accepted is " : "", accepted ? accepted : "");
  return false;
}

bool bench_size_is_task(size_t n, bool cube, bool may_be_empty) {
  char text[24];
  if (n ? !cube || n <= LIMIT / n : may_be_empty) return true;
  snprintf(text, sizeof text, "%zu", n);
  return complain("--size does not accept", text, option_rows[0].accepted);
}

bool bench_options_parse(int argc, char **argv, bench_options *options) {
  *options = (bench_options){.command = "", .step = 10};
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-') {
      const bool two = strcmp(options->command, "ladder") == 0 || strcmp(options->command, "driver") == 0;
      const bool topic = two && !options->topic;
      if (*options->command && !topic) return complain("one subcommand is enough, not also", argv[i], NULL);
      *(topic ? &options->topic : &options->command) = argv[i];
      continue;
    }
    const char *value;
    const struct option_row *row = find_row(strcmp(argv[i], "-h") == 0 ? "--help" : argv[i], &value);
    if (!row) return complain("unknown option", argv[i], NULL);
    void *const member = (char *)options + row->member;
    if (!row->accepted) {
      if (value) return complain("no value goes with", row->name, NULL);
      *(bool *)member = true;
      continue;
    }
    if (!value && i + 1 < argc) value = argv[++i];
    if (!value) return complain("a value is missing after", row->name, row->accepted);
    char what[64];
    snprintf(what, sizeof what, "%s does not accept", row->name);
    if (!row->parse) *(const char **)member = value;
    if (row->parse ? !row->parse(value, options) : !*value) return complain(what, value, row->accepted);
  }
  if (options->json && options->csv && strcmp(options->json, "-") == 0 && strcmp(options->csv, "-") == 0)
    return complain("--json and --csv cannot both go to the standard output", NULL, NULL);
  return !options->shape_list || bench_shapes_read(options->shape_list, options);
}
