/* SPDX-License-Identifier: Apache-2.0
 * The parsers of the variables. Each sets all of its members, so nothing of an earlier value remains. */
#include "runtime/base/config_parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/log.h"
#include "runtime/base/profiles.h"
#include "runtime/base/span.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MOST_COUNT ((uint64_t)1 << 63)

/* Says which piece of the value is wrong. */
static bool refuse_value(char *why, const char *what, hx__span piece) {
  const int n = piece.n > 40 ? 40 : (int)piece.n;
  snprintf(why, HX__WHY_BYTES, "%s \"%.*s%s\"", what, n, piece.s, (size_t)n < piece.n ? "..." : "");
  return false;
}

/* Words in the order of their enumeration. */
static const char *const schedule_words[] = {"adaptive", "static", "dynamic", "guided"};
static const char *const memory_words[] = {"auto", "svm-system", "svm-fine", "svm-coarse", "usm", "hostptr", "copy"};
static const char *const objective_words[] = {"time", "energy", "edp"};
static const char *const isa_words[] = {"auto", "sse2", "avx2", "avx512", "neon"};
static const char *const offload_words[] = {"default", "disabled", "mandatory"};
static const char *const log_words[] = {"error", "warn", "info", "debug", "trace"};
static const char *const sim_entry_words[] = {"", "prepare", "open", "bind", "enqueue", "wait", "alloc"};
#define WORD(name, word) word,
static const char *const device_words[] = {HX__DEVICE_WORDS(WORD)};

_Static_assert(COUNT(schedule_words) == HX__SCHEDULE_GUIDED + 1, "a word for each schedule");
_Static_assert(COUNT(memory_words) == HX__MEMORY_MODES, "a word for each memory mode");
_Static_assert(COUNT(objective_words) == HX__OBJECTIVE_EDP + 1, "a word for each objective");
_Static_assert(COUNT(isa_words) == HX__ISAS, "a word for each ISA");
_Static_assert(COUNT(offload_words) == HX__OFFLOAD_MANDATORY + 1, "a word for each offload mode");
_Static_assert(COUNT(log_words) == HX__LOG_TRACE + 1, "a word for each log level");
_Static_assert(COUNT(sim_entry_words) == HX__SIM_ENTRIES, "a word for each entry that can fail");

const char *hx__memory_mode_name(hx__memory_mode mode) {
  return (unsigned)mode < HX__MEMORY_MODES ? memory_words[mode] : "unknown";
}
const char *hx__device_word(unsigned bit) { return device_words[bit]; }
const char *hx__isa_name(hx__isa isa) { return (unsigned)isa < HX__ISAS ? isa_words[isa] : "unknown"; }
const char *hx__objective_name(hx__objective objective) { return objective_words[objective]; }

/* A variable whose value is one word of an enumeration. */
#define WORD_PARSER(member, type)                                                              \
  bool hx__parse_##member(hx__config *config, const char *value, char *why) {                  \
    (void)why; /* the list of accepted words is enough */                                      \
    const int word = hx__span_word(hx__span_of(value), member##_words, COUNT(member##_words)); \
    if (word >= 0) config->member = (type)word;                                                \
    return word >= 0;                                                                          \
  }

WORD_PARSER(schedule, hx__schedule)
WORD_PARSER(memory, hx__memory_mode)
WORD_PARSER(objective, hx__objective)
WORD_PARSER(offload, hx__offload_mode)
WORD_PARSER(log, int)

/* Must match the rows of cpu/isa.h, which ranks higher and cannot be included. */
static bool cpu_has(hx__isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case HX__ISA_SSE2:
      return true;
    case HX__ISA_AVX2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case HX__ISA_AVX512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(__aarch64__)
    case HX__ISA_NEON:
      return true;
#endif
    default:
      return false;
  }
}

bool hx__parse_isa(hx__config *config, const char *value, char *why) {
  const int word = hx__span_word(hx__span_of(value), isa_words, COUNT(isa_words));
  if (word <= HX__ISA_AUTO) return false; /* "auto": not a certain instruction set */
  if (!cpu_has((hx__isa)word)) return refuse_value(why, "this CPU lacks", hx__span_of(isa_words[word]));
  config->isa = (hx__isa)word;
  return true;
}

bool hx__parse_devices(hx__config *config, const char *value, char *why) {
  hx__span list = hx__span_of(value), item;
  uint32_t words = 0, indices = 0;
  while (hx__span_next(&list, ',', &item)) {
    const int word = hx__span_word(item, device_words, COUNT(device_words));
    uint64_t index;
    if (word >= 0)
      words |= 1u << word;
    else if (hx__span_integer(item, 0, 31, &index))
      indices |= 1u << index;
    else
      return refuse_value(why, "no device is called", item);
  }
  config->device_words = words;
  config->device_indices = indices;
  return true;
}

/* 0.25 or 25%. */
static bool parse_share(hx__span item, double *out) {
  const bool percent = item.n > 0 && item.s[item.n - 1] == '%';
  if (!percent) return hx__span_number(item, 0, 1, out);
  if (!hx__span_number((hx__span){item.s, item.n - 1}, 0, 100, out)) return false;
  *out /= 100;
  return true;
}

bool hx__parse_split(hx__config *config, const char *value, char *why) {
  hx__span list = hx__span_of(value), item;
  config->splits = 0;
  if (hx__span_is(list, "auto")) return true;
  double sum = 0, left = 1; /* of the shares as doubles, which are stored as floats */
  while (hx__span_next(&list, ':', &item)) {
    double part;
    if (config->splits == HX_MAX_DEVICES) return refuse_value(why, "more shares than devices, from", item);
    if (!parse_share(item, &part)) {
      const bool percent = hx__span_number(item, 0, 100, &part);
      return refuse_value(why, percent ? "in percent it needs a % after" : "no share is", item);
    }
    sum += part;
    if (sum > 1 + 1e-9) return refuse_value(why, "the sum passes 1 with", item); /* 1e-9: 0.7:0.2:0.1 is 1 */
    float stored = (float)part;
    if ((double)stored > left) stored = (float)left;
    if ((double)stored > left) stored = nextafterf(stored, 0);
    left -= (double)stored;
    config->split[config->splits++] = stored;
  }
  return true;
}

bool hx__parse_chunk(hx__config *config, const char *value, char *why) {
  (void)why;
  return hx__span_count(hx__span_of(value), 1, MOST_COUNT, &config->chunk);
}

bool hx__parse_min_offload(hx__config *config, const char *value, char *why) {
  (void)why;
  return hx__span_count(hx__span_of(value), 0, MOST_COUNT, &config->min_offload);
}

bool hx__parse_threads(hx__config *config, const char *value, char *why) {
  (void)why;
  uint64_t threads;
  if (!hx__span_integer(hx__span_of(value), 1, HX__MOST_THREADS, &threads)) return false;
  config->threads = (uint32_t)threads;
  return true;
}

bool hx__parse_tile(hx__config *config, const char *value, char *why) {
  (void)why;
  hx__span list = hx__span_of(value), item;
  uint64_t sides[3];
  for (size_t i = 0; i < COUNT(sides); i++)
    if (!hx__span_next(&list, 'x', &item) || !hx__span_integer(item, 1, 1024, &sides[i])) return false;
  if (list.s) return false;
  config->tile_m = (uint32_t)sides[0], config->tile_n = (uint32_t)sides[1], config->tile_k = (uint32_t)sides[2];
  return true;
}

bool hx__parse_timeout_ms(hx__config *config, const char *value, char *why) {
  (void)why;
  if (!hx__span_is(hx__span_of(value), "off"))
    return hx__span_integer(hx__span_of(value), 1, 86400000, &config->timeout_ms);
  config->timeout_ms = HX__TIMEOUT_OFF;
  return true;
}

static bool parse_path(char *out, const char *value, char *why) {
  const size_t n = strnlen(value, HX__PATH_BYTES);
  if (n == HX__PATH_BYTES) return refuse_value(why, "too long is", hx__span_of(value));
  memcpy(out, value, n + 1);
  return true;
}

bool hx__parse_cache_dir(hx__config *config, const char *value, char *why) {
  return parse_path(config->cache_dir, hx__span_is(hx__span_of(value), "off") ? "" : value, why);
}

bool hx__parse_trace(hx__config *config, const char *value, char *why) { return parse_path(config->trace, value, why); }

/* The keys of a simulated device; each at most once. */
static bool sim_rate(hx__sim_profile *sim, hx__span value) { return hx__span_number(value, 1, 1e18, &sim->rate); }
static bool sim_latency_us(hx__sim_profile *sim, hx__span value) {
  return hx__span_number(value, 0, 1e9, &sim->latency_us);
}
static bool sim_fail(hx__sim_profile *sim, hx__span value) {
  hx__span entry;
  hx__span_next(&value, '@', &entry);
  const int word = hx__span_word(entry, sim_entry_words, COUNT(sim_entry_words));
  if (word <= HX__SIM_NONE || !value.s || !hx__span_integer(value, 1, UINT64_MAX, &sim->fail_at)) return false;
  sim->fail_entry = (hx__sim_entry)word;
  return true;
}

static bool sim_profile(hx__sim_profile *sim, hx__span value) {
  const hx__profile *const p = hx__profile_named(value.s, value.n);
  if (!p) return false;
  sim->rate = hx__profile_read_gbs(p) * 1e9 / sizeof(float);
  sim->products = p->gpu_gflops * p->gpu_part * 1e9 / 2.0;
  sim->latency_us = p->launch_us;
  return true;
}

static const char *const sim_takes[] = {"rate takes 1 to 1e18, not", "latency_us takes 0 to 1e9, not",
                                        "fail takes an entry and a call from 1 on (enqueue@3), not",
                                        "profile takes one of those named, not"};
static const char *const sim_keys[] = {"rate", "latency_us", "fail", "profile"};
static bool (*const sim_parsers[COUNT(sim_keys)])(hx__sim_profile *, hx__span) = {sim_rate, sim_latency_us, sim_fail,
                                                                                  sim_profile};

static bool sim_device(hx__sim_profile *sim, hx__span text, char *why) {
  *sim = (hx__sim_profile){.rate = 1e9, .latency_us = 10};
  unsigned seen = 0;
  hx__span item;
  while (hx__span_next(&text, ',', &item)) {
    hx__span setting = item, key;
    hx__span_next(&setting, '=', &key);
    const int i = hx__span_word(key, sim_keys, COUNT(sim_keys));
    if (i < 0) return refuse_value(why, "no property of a device is", item);
    if (!setting.s || !sim_parsers[i](sim, setting)) return refuse_value(why, sim_takes[i], item);
    if (seen >> i & 1) return refuse_value(why, "a second", key);
    seen |= 1u << i;
  }
  return true;
}

bool hx__parse_sim(hx__config *config, const char *value, char *why) {
  hx__span list = hx__span_of(value), item;
  config->sims = 0;
  while (hx__span_next(&list, ';', &item)) {
    if (config->sims == HX__SIMS) return refuse_value(why, "too many devices, from", item);
    if (!sim_device(&config->sim[config->sims], item, why)) return false;
    config->sims++;
  }
  return true;
}
