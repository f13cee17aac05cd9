/* SPDX-License-Identifier: Apache-2.0
 * Parses the command line. The table has one row per option. Every value is checked here, before anything is opened. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers.h"
#include "bench/terminal.h"
#include "bench/text.h"
#include "runtime/base/environment.h"
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

#define MOST_POWER 40 /* of two, and above it no power of ten is needed either */

/* Multiplies by base^power. Returns false if the result is too large. */
static bool scale_by(size_t *value, size_t base, size_t power) {
  for (size_t i = 0; *value && i < power; i++)
    if (__builtin_mul_overflow(*value, base, value)) return false;
  return true;
}

/* Letters after a number, in powers of two. */
static const struct {
  char letters[3];
  unsigned power;
} suffixes[] = {{"Kk", 10}, {"Mm", 20}, {"Gg", 30}};

/* Reads what follows a number: 2^20, 1e6, 64K. */
static bool read_scale(const char **p, size_t *value) {
  size_t power;
  const char mark = **p;
  if (mark == '^' || mark == 'e' || mark == 'E') {
    ++*p;
    if (!read_number(p, &power) || power > MOST_POWER) return false;
    if (mark != '^') return scale_by(value, 10, power);
    if (*value != 2) return false;
    *value = (size_t)1 << power;
    return true;
  }
  for (size_t i = 0; mark && i < COUNT(suffixes); i++)
    if (strchr(suffixes[i].letters, mark)) return ++*p, scale_by(value, 2, suffixes[i].power);
  return true;
}

/* Reads a length, or one side of a shape: 1000, 2^20, 1e6, 64K, 1.5M. A fraction must give a whole number. */
static bool read_length(const char **p, size_t *out) {
  size_t part = 0, one = 1;
  if (!read_number(p, out)) return false;
  if (**p == '.') {
    const char *const begin = ++*p;
    if (!read_number(p, &part) || *p - begin > 9 || !scale_by(&one, 10, (size_t)(*p - begin))) return false;
    if (**p == '^' || __builtin_mul_overflow(*out, one, out) || __builtin_add_overflow(*out, part, out)) return false;
  }
  if (!read_scale(p, out) || *out % one) return false;
  *out /= one;
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

#define VECTOR 8         /* floats that the kernel of a tile loads at once */
#define MOST_TILE 32768u /* multiply-adds of a tile; more take compilers minutes */

/* Parses a comma-separated list of tiles: MxNxK, of which vectors fill the rows of A and C. */
static bool parse_tiles(const char *value, bench_options *options) {
  options->tile_count = 0;
  for (const char *p = value;; p++) {
    bench_size size;
    if (options->tile_count == BENCH_MAX_TILES || !read_size(&p, &size) || !size.m) return false;
    if (size.n % VECTOR || size.k % VECTOR || size.m > MOST_TILE / size.n / size.k) return false;
    const bench_tile tile = {(unsigned)size.m, (unsigned)size.n, (unsigned)size.k};
    for (size_t i = 0; i < options->tile_count; i++)
      if (memcmp(&options->tiles[i], &tile, sizeof tile) == 0) return false;
    options->tiles[options->tile_count++] = tile;
    if (*p == '\0') return true;
    if (*p != ',') return false;
  }
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
  options->threads = value;
  return *value && setenv("HX_THREADS", value, 1) == 0; /* hx_open checks the value */
}

static bool parse_profile(const char *value, bench_options *options) {
  options->profile = value;
  return hx__profile_named(value, strlen(value)) != NULL;
}

static bool parse_markdown(const char *value, bench_options *options) {
  options->markdown = true;
  options->markdown_file = value;
  return !value || *value;
}

static const struct option_row {
  const char *name;
  bool (*parse)(const char *value,
                bench_options *options); /* NULL: the option is a switch, or its value is any text that is not empty */
  size_t member;                         /* the offset of the member that a switch or text sets */
  const char *accepted;                  /* NULL: the option has no value */
  const char *value, *help;              /* for --help; value: "" if there is none */
} option_rows[] = {
#define TEXT(member) NULL, offsetof(bench_options, member)
    [BENCH_SIZE_OPTION] = {"--size", parse_sizes, 0,
                           "a list of numbers above 0 (1000, 1e6, 64K, 4M, 2^20; k up to 40) or of shapes MxNxK",
                           " LIST",
                           "lengths: 1000, 1e6, 64K, 4M, 2^20 (K, M, G: 2^10, 2^20, 2^30); MxNxK for "
                           "products, where N means NxNxN"},
    [BENCH_SHAPES] = {"--shapes", TEXT(shape_list),
                      "a list of files with one shape, `m n k` or `m n k ta tb`, per line", " LIST",
                      "files with one shape per line for matmul: m n k, or m n k ta tb (0 or 1)"},
    [BENCH_VS] = {"--vs", parse_vs, 0,
                  "a list of openblas, blis, opencv, mkl; openblas:CORE with Haswell, Zen, SkylakeX or Cooperlake and "
                  "blis:CORE with haswell, zen3 or skx uses only this core type",
                  " LIST",
                  "compares hx on the CPU with openblas, blis, opencv, mkl, as installed and at their best core type"},
    [BENCH_THREADS] = {"--threads", parse_threads, 0, "what HX_THREADS accepts", " N", "number of CPU threads"},
    [BENCH_DEVICES] = {"--devices", TEXT(devices), "what HX_DEVICES accepts", " LIST",
                       "what HX_DEVICES accepts; default without a GPU: cpu,igpu,gpu,pocl"},
    [BENCH_PROFILE] = {"--profile", parse_profile, 0, "gen9, xe, vega, rdna3 or two-cards", " NAME",
                       "the machine: gen9, xe, vega, rdna3 or two-cards (default: all)"},
    [BENCH_OP] = {"--op", parse_ops, 0, "a list of " HX__OPERATIONS(LISTED) "all, matmul", " LIST",
                  "sum min max argmin argmax dot sum_abs sum_squares prod, all of these, or matmul"},
    [BENCH_TYPE] = {"--type", parse_types, 0, "a list of " HX__ELEMENT_TYPES(LISTED) "all", " LIST", "f32 i32 u32 all"},
    [BENCH_REPS] = {"--reps", parse_reps, 0, "a number from 1 to 1000000", " N",
                    "number of rounds (default: as many as fit the time)"},
    [BENCH_SECONDS] = {"--seconds", parse_seconds, 0, "a number above 0, at most 3600", " S",
                       "time for each operation and size, all modes together (share: for everything)"},
    [BENCH_STEP] = {"--step", parse_step, 0, "a divisor of 100 from 1 to 50, in percent", " P",
                    "step of the splits, in percent (default 10)"},
    [BENCH_TILES] = {"--tiles", parse_tiles, 0,
                     "a list of up to 16 different tiles MxNxK, with N and K multiples of 8 and MxNxK at most 32768",
                     " LIST", "tiles MxNxK of a work-item of ladder offload (default 16x32x16)"},
    [BENCH_MALLOC] = {"--malloc", TEXT(use_malloc), NULL, "", "arrays from malloc, not hx_alloc"},
    [BENCH_REPORT] = {"--report", TEXT(report), NULL, "",
                      "leaves paths out of the variables in files, because they may name you; info: a text for bug "
                      "reports, without names"},
    [BENCH_JSON] = {"--json", TEXT(json), "a file, or - for the standard output", " FILE",
                    "writes results as JSON; -: to the standard output, and the table to stderr"},
    [BENCH_JSONL] = {"--jsonl", TEXT(jsonl), "a file, or - for the standard output", " FILE",
                     "the same as JSON Lines: an object per line, one line per row"},
    [BENCH_CSV] = {"--csv", TEXT(csv), "a file, or - for the standard output", " FILE", "the rows as CSV"},
    [BENCH_MD] = {"--md", parse_markdown, 0, "=FILE, or nothing", "[=FILE]",
                  "tables as Markdown, to paste into an issue"},
    [BENCH_FROM] = {"--from", TEXT(from), "a JSON document of hx-bench, or - for the standard input", " FILE",
                    "report: of this JSON document"},
    [BENCH_COMPARE] = {"--compare", TEXT(compare), "a JSON document of hx-bench", " FILE",
                       "report: says what has changed since this JSON document"},
    [BENCH_OUT] = {"--out", TEXT(out), "a file, or - for the standard output", " FILE",
                   "report: the page (default hx-report.html)"},
    [BENCH_SVG] = {"--svg", TEXT(svg), "a folder, or the file of a ladder", " PATH",
                   "report: a folder, for each chart as an SVG file of its own; ladder: an SVG file of its charts"},
    [BENCH_QUIET] = {"--quiet", TEXT(quiet), NULL, "", "no table, no progress bar"},
    [BENCH_HELP] = {"--help", TEXT(help), NULL, "", "this"},
    [BENCH_VERSION] = {"--version", TEXT(version), NULL, "", "the version of hx"},
};
#define OPTIONS COUNT(option_rows)

_Static_assert(OPTIONS <= 32, "a bit for each option");

void bench_options_print(uint32_t options) {
  for (size_t i = 0; i < OPTIONS; i++) {
    char name[24];
    if (!(options >> i & 1u)) continue;
    snprintf(name, sizeof name, "%s%s", option_rows[i].name, option_rows[i].value);
    printf("  %-16s ", name);
    bench_wrap(stdout, option_rows[i].help, 19, 19, bench_columns());
  }
}

/* Finds the row of an option, and its value if it is written --name=value. */
static const struct option_row *find_row(const char *arg, const char **value) {
  size_t length = strcspn(arg, "=");
  *value = arg[length] == '=' ? arg + length + 1 : NULL;
  for (size_t r = 0; r < OPTIONS; r++)
    if (strlen(option_rows[r].name) == length && strncmp(arg, option_rows[r].name, length) == 0) return &option_rows[r];
  return NULL;
}

static bool complain(const char *what, const char *value, const char *accepted) {
  fprintf(stderr, "hx-bench: %s", what);
  if (value) fprintf(stderr, " '%s'", value);
  fprintf(stderr, "%s%s (hx-bench --help)\n", accepted ? ": accepted is " : "", accepted ? accepted : "");
  return false;
}

/* Refuses an option, with the nearest one if that is what may have been meant. */
static bool complain_of_option(const char *arg) {
  const char *names[OPTIONS];
  for (size_t r = 0; r < OPTIONS; r++) names[r] = option_rows[r].name;
  const char *const near = bench_nearest(arg, strcspn(arg, "="), names, OPTIONS);
  if (!near) return complain("unknown option", arg, NULL);
  fprintf(stderr, "hx-bench: unknown option '%s': did you mean %s?\n", arg, near);
  return false;
}

const char *bench_nearest(const char *word, size_t length, const char *const *names, size_t count) {
  const char *nearest = NULL;
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    const size_t distance = hx__edit_distance(word, length, names[i]);
    if (distance < least) least = distance, nearest = names[i];
  }
  return 3 * least <= length + 2 ? nearest : NULL; /* at most a third of the letters differ */
}

bool bench_options_are_taken(const bench_options *options, uint32_t taken) {
  for (size_t i = 0; i < OPTIONS; i++) {
    if (!(options->given & ~taken & 1u << i)) continue;
    const char *const name = *options->command ? options->command : "the default run";
    const char *const topic = options->topic ? options->topic : "", *const before = *topic ? " " : "";
    fprintf(stderr, "hx-bench: %s%s%s takes no %s (hx-bench help%s%s)\n", name, before, topic, option_rows[i].name,
            *options->command ? " " : "", options->command);
    return false;
  }
  return true;
}

bool bench_size_is_task(size_t n, bool cube, bool may_be_empty) {
  char text[24];
  if (n ? !cube || n <= LIMIT / n : may_be_empty) return true;
  snprintf(text, sizeof text, "%zu", n);
  return complain("--size does not accept", text, option_rows[BENCH_SIZE_OPTION].accepted);
}

/* The word after `ladder`, `help` and `driver`. */
static bool takes_topic(const bench_options *options) {
  static const char *const commands[] = {"ladder", "help", "driver"};
  bool takes = false;
  for (size_t i = 0; i < COUNT(commands); i++) takes |= strcmp(options->command, commands[i]) == 0;
  return takes && !options->topic;
}

static size_t outputs(const bench_options *options) {
  const char *const paths[] = {options->json, options->jsonl, options->csv, options->svg};
  size_t count = 0;
  for (size_t i = 0; i < COUNT(paths); i++) count += paths[i] && strcmp(paths[i], "-") == 0;
  return count;
}

bool bench_options_parse(int argc, char **argv, bench_options *options) {
  *options = (bench_options){.command = "", .step = 10};
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-') {
      const bool topic = takes_topic(options);
      if (*options->command && !topic) return complain("one subcommand is enough, not also", argv[i], NULL);
      *(topic ? &options->topic : &options->command) = argv[i];
      continue;
    }
    const char *value;
    const struct option_row *row = find_row(strcmp(argv[i], "-h") == 0 ? "--help" : argv[i], &value);
    if (!row) return complain_of_option(argv[i]);
    const size_t number = (size_t)(row - option_rows);
    void *const member = (char *)options + row->member;
    options->given |= 1u << number;
    if (!row->accepted) {
      if (value) return complain("no value goes with", row->name, NULL);
      *(bool *)member = true;
      continue;
    }
    if (!value && i + 1 < argc && number != BENCH_MD) value = argv[++i];
    if (!value && number != BENCH_MD) return complain("a value is missing after", row->name, row->accepted);
    char what[64];
    snprintf(what, sizeof what, "%s does not accept", row->name);
    if (!row->parse) *(const char **)member = value;
    if (row->parse ? !row->parse(value, options) : !(value && *value)) return complain(what, value, row->accepted);
  }
  if (outputs(options) > 1)
    return complain("only one of --json, --jsonl, --csv, --svg can go to the standard output", NULL, NULL);
  return !options->shape_list || bench_shapes_read(options->shape_list, options);
}
