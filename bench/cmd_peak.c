/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `peak`: the ceilings (ceiling.h) of this CPU, of each instruction set and cache, on one thread and on
 * all that hx takes. All are measured in the same interleaved rounds. */
#include <stdlib.h>
#include <string.h>

#include "bench/ceiling.h"
#include "bench/emit.h"
#include "bench/measure.h"
#include "bench/system.h"
#include "runtime/topo/topo.h"

#define LEAST_ROUNDS 15u
#define SECONDS 3.0
#define FMA_MILLIONS 50u              /* multiply-adds a thread */
#define READ_BYTES ((size_t)64 << 20) /* of a sample, of one thread, at least */
#define MEMORY_LEAST ((size_t)256 << 20)
#define MEMORY_MOST ((size_t)2 << 30)
#define MOST_PEAKS 64

typedef struct peak {
  const char *level; /* NULL: multiply-adds */
  const char *what, *isa, *unit;
  size_t way, bytes; /* of all streams, and of all threads */
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
    PEAK(bytes, .name = "bytes", .head = "bytes", .kind = BENCH_BYTES, .flags = BENCH_OPTIONAL, .width = 10),
    PEAK(median, .name = "median", .head = "median", .kind = BENCH_NUMBER, .width = 9, .digits = 1),
    PEAK(most, .name = "max", .head = "most", .kind = BENCH_NUMBER, .width = 9, .digits = 1),
    PEAK(unit, .name = "unit", .head = ""),
    PEAK(rounds, .name = "rounds", .kind = BENCH_SIZE, .flags = BENCH_NOT_JSON),
};
static const bench_table table = BENCH_TABLE(columns);

static double sample(void *self, unsigned calls) {
  const peak *p = self;
  double work = 0, start = bench_now();
  for (unsigned i = 0; i < calls; i++) {
    if (p->level) {
      size_t bytes = p->bytes / p->streams;
      bench_ceiling_read(p->way, p->threads, p->x, p->streams == 2 ? p->x + bytes : NULL, bytes, p->times);
      work += 1e-9 * (double)(bytes * p->streams) * p->times;
    } else {
      work += bench_ceiling_fma(p->way, p->threads, FMA_MILLIONS);
    }
  }
  return work / (bench_now() - start);
}

/* Half of a cache, so that what else a program touches does not push it out; memory: four times the last cache. */
typedef struct level {
  const char *name;
  size_t bytes;
  bool own; /* each core has one */
} level;

static size_t list_levels(level levels[4]) {
  const hx__topo *topo = hx__topo_get();
  size_t last = topo->l3_bytes ? topo->l3_bytes : topo->l2_bytes, memory = 4 * last, count = 0;
  if (memory < MEMORY_LEAST) memory = MEMORY_LEAST;
  if (memory > MEMORY_MOST) memory = MEMORY_MOST;
  if (memory > topo->memory_bytes / 4) memory = (size_t)(topo->memory_bytes / 4);
  const level all[] = {{"L1", topo->l1_bytes / 2, true},
                       {"L2", topo->l2_bytes / 2, true},
                       {"L3", topo->l3_bytes / 2, false},
                       {"memory", memory, false}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i].bytes) levels[count++] = all[i];
  return count;
}

static size_t list_peaks(const level *levels, size_t level_count, unsigned threads, peak peaks[MOST_PEAKS]) {
  size_t count = 0, ways = bench_ceiling_ways();
  for (size_t way = 0; way < ways; way++)
    for (unsigned t = 1;; t = threads) {
      peaks[count++] = (peak){.way = way, .threads = t};
      if (t == threads) break;
    }
  for (size_t l = 0; l < level_count; l++)
    for (unsigned streams = 1; streams <= 2; streams++)
      for (size_t way = 0; way < ways; way++)
        for (unsigned t = 1;; t = threads) {
          peak p = {.level = levels[l].name, .way = way, .threads = t, .streams = streams};
          p.bytes = (levels[l].own ? t * levels[l].bytes : levels[l].bytes) / 4096 * 4096;
          p.times = (unsigned)(1 + READ_BYTES / 4 * t / p.bytes);
          if (count < MOST_PEAKS) peaks[count++] = p;
          if (t == threads) break;
        }
  return count;
}

/* Whether another instruction set reads the same faster: people see the fastest alone, files have all. */
static bool beaten(const peak *peaks, size_t count, const peak *p) {
  for (size_t i = 0; p->level && i < count; i++) {
    const peak *q = &peaks[i];
    if (q->level == p->level && q->threads == p->threads && q->streams == p->streams && q->median > p->median)
      return true;
  }
  return false;
}

static void describe_peak(peak *p, size_t rounds) {
  p->what = p->level ? "read" : "fma";
  p->isa = bench_ceiling_way_name(p->way);
  p->unit = p->level ? "GB/s" : "GFLOP/s";
  p->rounds = rounds;
  snprintf(p->label, sizeof p->label, "%s%s", p->level ? "read " : "fma", p->level ? p->level : "");
}

static void report(const bench_session *session, peak *peaks, size_t count, size_t rounds) {
  char unit[48];
  snprintf(unit, sizeof unit, "unit   (%zu rounds)", rounds);
  const char *const titles[] = {unit};
  bench_say("\n");
  bench_print_head(&table, titles);
  bench_json_begin("peak");
  bench_system_json(session);
  bench_json_count("rounds", rounds);
  bench_json_open("peaks", '[');
  for (size_t i = 0; i < count; i++) {
    describe_peak(&peaks[i], rounds);
    if (!beaten(peaks, count, &peaks[i])) bench_print_row(&table, &peaks[i]);
    bench_store_row(&table, &peaks[i]);
  }
  bench_json_close(']');
  bench_json_end();
}

/* Returns the rounds; 0: memory ran out. */
static size_t measure(const bench_session *session, peak *peaks, size_t count) {
  static bench_contestant contestants[MOST_PEAKS];
  for (size_t i = 0; i < count && !bench_stopped(); i++) {
    contestants[i] = (bench_contestant){.sample = sample, .self = &peaks[i], .calls = 1};
    sample(&peaks[i], 1);
  }
  bench_limits limits = bench_session_limits(session, "peak", LEAST_ROUNDS, SECONDS);
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
  level levels[4];
  size_t level_count = list_levels(levels), most = 0;
  size_t count = list_peaks(levels, level_count, session->threads, peaks);
  for (size_t i = 0; i < count; i++)
    if (peaks[i].bytes > most) most = peaks[i].bytes;
  char *x = bench_session_alloc(session, most);
  if (!x) return BENCH_FAILED;
  memset(x, 1, most);
  for (size_t i = 0; i < count; i++) peaks[i].x = x;
  bench_print_system(session);
  size_t rounds = measure(session, peaks, count);
  if (rounds) report(session, peaks, count, rounds);
  bench_session_free(session, x);
  return rounds ? BENCH_OK : BENCH_FAILED;
}

int bench_cmd_peak(const bench_options *options) {
  return bench_session_run(options, "cpu", false, measure_peaks, NULL);
}
