/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `peak`: the ceilings (ceiling.h) of this CPU for each instruction set and cache, on one thread and on
 * all threads that hx uses. All are measured in the same interleaved rounds. */
#include <stdlib.h>
#include <string.h>

#include "bench/ceiling.h"
#include "bench/emit.h"
#include "bench/measure.h"
#include "bench/progress.h"
#include "bench/system.h"
#include "runtime/topo/topo.h"

#define LEAST_ROUNDS 15u
#define SECONDS 3.0
#define FMA_MILLIONS 50u              /* multiply-adds per thread */
#define READ_BYTES ((size_t)64 << 20) /* the least that one thread reads in a sample */
#define MEMORY_LEAST ((size_t)256 << 20)
#define MEMORY_MOST ((size_t)2 << 30)
#define MOST_PEAKS 64

typedef struct peak {
  const char *level; /* NULL: multiply-adds */
  const char *what, *isa, *unit;
  size_t loop, bytes; /* of all streams and threads together */
  unsigned threads, streams, times;
  const char *x;
  double median, most;
  size_t rounds;
  char label[16]; /* of the table */
} peak;

#define PEAK(member, ...) BENCH_COLUMN(peak, member, __VA_ARGS__)
static const bench_column columns[] = {
    PEAK(what, .name = "what"),
    PEAK(label, .head = "what", .kind = BENCH_CHARS, .width = -14),
    PEAK(isa, .name = "isa", .head = "isa", .width = -8),
    PEAK(threads, .name = "threads", .head = "threads", .kind = BENCH_UINT, .width = 7),
    PEAK(level, .name = "level", .flags = BENCH_OPTIONAL),
    PEAK(streams, .name = "streams", .head = "streams", .kind = BENCH_UINT, .flags = BENCH_OPTIONAL, .width = 7),
    PEAK(bytes, .name = "bytes", .head = "bytes", .kind = BENCH_BYTES, .flags = BENCH_OPTIONAL, .width = 10, .rank = 1),
    PEAK(median, .name = "median", .head = "median", .kind = BENCH_NUMBER, .width = 9, .digits = 1),
    PEAK(most, .name = "max", .head = "most", .kind = BENCH_NUMBER, .width = 9, .digits = 1, .rank = 2),
    PEAK(unit, .name = "unit", .head = "unit", .width = -7),
    PEAK(rounds, .name = "rounds", .kind = BENCH_SIZE, .flags = BENCH_NOT_JSON),
};
static const bench_table table = BENCH_TABLE(columns);

static double sample_peak(void *self, unsigned calls) {
  const peak *p = self;
  double work = 0, start = bench_now();
  for (unsigned i = 0; i < calls; i++) {
    if (p->level) {
      size_t bytes = p->bytes / p->streams;
      bench_ceiling_read(p->loop, p->threads, p->x, p->streams == 2 ? p->x + bytes : NULL, bytes, p->times);
      work += 1e-9 * (double)(bytes * p->streams) * p->times;
    } else {
      work += bench_ceiling_fma(p->loop, p->threads, FMA_MILLIONS);
    }
  }
  return work / (bench_now() - start);
}

/* The data that is read: half of a cache, so that other data of the program does not evict it, or memory. */
typedef struct level {
  const char *name; /* NULL: nothing is read; multiply-adds on registers */
  size_t bytes;     /* 0: this CPU has no such cache */
  bool own;         /* each core has such a cache */
} level;

/* Four times the last cache, within bounds. */
static size_t memory_bytes(const hx__topo *topo) {
  size_t bytes = 4 * (topo->l3_bytes ? topo->l3_bytes : topo->l2_bytes);
  if (bytes < MEMORY_LEAST) bytes = MEMORY_LEAST;
  if (bytes > MEMORY_MOST) bytes = MEMORY_MOST;
  return bytes < topo->memory_bytes / 4 ? bytes : (size_t)(topo->memory_bytes / 4);
}

/* Adds one loop on one thread, and on all threads. */
static size_t add_peaks(const level *from, unsigned streams, size_t loop, unsigned threads, peak *peaks, size_t count) {
  for (unsigned t = 1; count < MOST_PEAKS; t = threads) {
    peak p = {.level = from->name, .loop = loop, .threads = t, .streams = streams};
    if (from->name) {
      p.bytes = (from->own ? t * from->bytes : from->bytes) / 4096 * 4096;
      p.times = (unsigned)(1 + READ_BYTES / 4 * t / p.bytes);
    }
    peaks[count++] = p;
    if (t == threads) break;
  }
  return count;
}

static size_t list_peaks(unsigned threads, peak peaks[MOST_PEAKS]) {
  const hx__topo *const topo = hx__topo_get();
  const level levels[] = {{NULL, 0, true},
                          {"L1", topo->l1_bytes / 2, true},
                          {"L2", topo->l2_bytes / 2, true},
                          {"L3", topo->l3_bytes / 2, false},
                          {"memory", memory_bytes(topo), false}};
  size_t count = 0;
  for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++)
    for (unsigned streams = l ? 1 : 0; streams <= (l ? 2 : 0); streams++)
      for (size_t loop = 0; loop < bench_ceiling_loops() && (!l || levels[l].bytes); loop++)
        count = add_peaks(&levels[l], streams, loop, threads, peaks, count);
  return count;
}

/* Whether another instruction set reads the same data faster. Only the fastest one is printed; files have all. */
static bool is_beaten(const peak *peaks, size_t count, const peak *p) {
  for (size_t i = 0; p->level && i < count; i++) {
    const peak *q = &peaks[i];
    if (q->level == p->level && q->threads == p->threads && q->streams == p->streams && q->median > p->median)
      return true;
  }
  return false;
}

static void describe_peak(peak *p, size_t rounds) {
  p->what = p->level ? "read" : "fma";
  p->isa = bench_ceiling_loop_name(p->loop);
  p->unit = p->level ? "GB/s" : "GFLOP/s";
  p->rounds = rounds;
  snprintf(p->label, sizeof p->label, "%s%s", p->level ? "read " : "fma", p->level ? p->level : "");
}

static void report_peaks(const bench_session *session, peak *peaks, size_t count, size_t rounds) {
  static peak printed[MOST_PEAKS];
  bench_layout layout = {0};
  size_t lines = 0;
  bench_say("\n");
  bench_note(0, "median and most: of %zu round%s", rounds, rounds == 1 ? "" : "s");
  bench_json_begin("peak");
  bench_system_json(session);
  bench_json_count("rounds", rounds);
  bench_json_open("peaks", '[');
  for (size_t i = 0; i < count; i++) {
    describe_peak(&peaks[i], rounds);
    if (!is_beaten(peaks, count, &peaks[i])) printed[lines++] = peaks[i];
    bench_store_row(&table, &peaks[i]);
  }
  const bench_group group = {&table, printed, lines, sizeof printed[0], NULL, NULL};
  bench_print_group(&layout, &group);
  bench_json_close(']');
  bench_json_end();
}

/* Returns the number of rounds; 0: there was no memory. */
static size_t time_peaks(const bench_session *session, peak *peaks, size_t count) {
  static bench_contestant contestants[MOST_PEAKS];
  for (size_t i = 0; i < count && !bench_stopped(); i++) {
    contestants[i] = (bench_contestant){.sample = sample_peak, .self = &peaks[i], .calls = 1};
    sample_peak(&peaks[i], 1);
  }
  bench_limits limits = bench_session_limits(session, LEAST_ROUNDS, SECONDS);
  limits.whole = true;
  size_t rounds = bench_measure(contestants, count, &limits);
  for (size_t i = 0; i < count; i++) {
    const bench_times times = bench_times_of(contestants[i].samples, rounds);
    peaks[i].median = times.median;
    peaks[i].most = times.most;
    free(contestants[i].samples);
  }
  return rounds;
}

static int measure_peaks(bench_session *session, const void *unused) {
  (void)unused;
  static peak peaks[MOST_PEAKS];
  const size_t count = list_peaks(session->threads, peaks);
  size_t most = 0;
  for (size_t i = 0; i < count; i++)
    if (peaks[i].bytes > most) most = peaks[i].bytes;
  char *x = bench_session_alloc(session, most);
  if (!x) return BENCH_FAILED;
  memset(x, 1, most);
  for (size_t i = 0; i < count; i++) peaks[i].x = x;
  bench_print_system(session);
  const double seconds = session->options->seconds > 0 ? session->options->seconds : SECONDS;
  bench_progress_begin(1, seconds);
  bench_progress_row("peak rates", seconds);
  size_t rounds = time_peaks(session, peaks, count);
  bench_progress_erase();
  if (rounds) report_peaks(session, peaks, count, rounds);
  bench_session_free(session, x);
  return rounds ? BENCH_OK : BENCH_FAILED;
}

int bench_cmd_peak(const bench_options *options) {
  return bench_session_run(options, "cpu", false, measure_peaks, NULL);
}
