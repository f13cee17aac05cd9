/* SPDX-License-Identifier: Apache-2.0
 * Contexts of the conformance test: see bits_context.h. */
#include "tests/bits_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bits_case.h"
#include "reference/data.h"
#include "runtime/base/operations.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const kThreads[] = {"1", "2", "3"};
static const char *const kSchedules[] = {"adaptive", "static", "dynamic", "guided"};
static const char *const kMemories[] = {"auto", "svm-system", "svm-fine", "svm-coarse", "usm", "hostptr", "copy"};

void bits_plan_isas(bits_plan *plan) {
  static const char *const kIsas[] = {"sse2", "avx2", "avx512", "neon"};
  plan->isas[plan->isa_count++] = NULL;
  for (size_t i = 0; i < COUNT(kIsas); i++) {
    hx_settings settings = HX_SETTINGS_DEFAULT;
    hx_context *hx;
    settings.devices = "cpu";
    settings.isa = kIsas[i];
    if (hx_open(&hx, &settings) != HX_OK) continue; /* this CPU does not have it */
    hx_close(hx);
    plan->isas[plan->isa_count++] = kIsas[i];
  }
}

static size_t isa_choices(const bits_plan *plan) { return plan->isa ? 1 : plan->isa_count; }
static size_t thread_choices(const bits_plan *plan) { return plan->threads ? 1 : COUNT(kThreads); }
static size_t schedule_choices(const bits_plan *plan) { return plan->schedule ? 1 : COUNT(kSchedules); }
static size_t memory_choices(const bits_plan *plan) { return plan->memory ? 1 : COUNT(kMemories); }

size_t bits_plan_combinations(const bits_plan *plan) {
  return isa_choices(plan) * thread_choices(plan) * schedule_choices(plan) * memory_choices(plan);
}

/* A stride near the golden section of `total` that has no common divisor with it. It visits each combination once, and
 * the first ones are spread over the whole range, so that even a short run has every memory mode. */
static size_t stride_of(size_t total) {
  for (size_t stride = total * 618 / 1000 + 1;; stride++) {
    size_t a = total, b = stride;
    while (b) {
      const size_t rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) return stride;
  }
}

/* The index-th combination. */
static void combination(const bits_plan *plan, uint64_t index, hx_settings *s) {
  size_t total = bits_plan_combinations(plan);
  uint64_t at = (index + plan->seed % total) * stride_of(total) % total;
  s->threads = plan->threads ? plan->threads : kThreads[at % thread_choices(plan)];
  at /= thread_choices(plan);
  s->isa = plan->isa ? plan->isa : plan->isas[at % isa_choices(plan)];
  at /= isa_choices(plan);
  s->schedule = plan->schedule ? plan->schedule : kSchedules[at % schedule_choices(plan)];
  at /= schedule_choices(plan);
  s->memory = plan->memory ? plan->memory : kMemories[at % memory_choices(plan)];
}

static bool has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *p = list; (p = strstr(p, word)) != NULL; p += length)
    if ((p == list || p[-1] == ',') && (p[length] == ',' || p[length] == '\0')) return true;
  return false;
}

/* The settings that are not combined in full are drawn for each context. */
static void draw_settings(bits_context *c, const bits_plan *plan, bits_rng *rng) {
  static const char *const kChunks[] = {NULL, NULL, "1", "5000", "100000"};
  static const char *const kSims[] = {"rate=2e9,latency_us=5", "rate=3e8,latency_us=100;rate=1e9,latency_us=20"};
  static const char *const kTiles[] = {NULL, NULL, "16x32x16", "8x32x16"};
  hx_settings *s = &c->settings;
  s->chunk = kChunks[bits_random(rng, COUNT(kChunks))];
  s->min_offload = bits_random(rng, 2) ? "0" : NULL;
  s->tile = kTiles[bits_random(rng, COUNT(kTiles))];
  c->split = -1;
  if (bits_random(rng, 6) == 0) {
    s->split = "25%";
    c->split = 0.25;
  }
  const char *devices = plan->devices ? plan->devices : "cpu";
  bool cpu = has_word(devices, "cpu") || has_word(devices, "all") || has_word(devices, "0");
  c->only_devices = !cpu && bits_random(rng, 8) == 0;
  snprintf(c->list, sizeof c->list, "%s%s", cpu || c->only_devices ? "" : "cpu,", devices);
  s->devices = c->list;
  if (has_word(devices, "sim") || has_word(devices, "all")) s->sim = kSims[bits_random(rng, COUNT(kSims))];
  s->timeout_ms = plan->timeout_ms;
  s->tile = plan->tile;
  const char *scratch = getenv("TEST_TMPDIR"); /* set by Bazel */
  s->cache_dir = scratch ? scratch : "off";
}

static void ask_states(bits_context *c) {
  c->device_count = hx_device_count(c->hx);
  if (c->device_count > BITS_DEVICES) c->device_count = BITS_DEVICES;
  c->usable = 0;
  for (size_t i = 0; i < c->device_count; i++)
    if (hx_device(c->hx, i, &c->device[i]) == HX_OK && i > 0 && c->device[i].state == HX_USABLE) c->usable++;
}

bool bits_context_open(bits_context *c, const bits_plan *plan, uint64_t index) {
  memset(c, 0, sizeof *c);
  bits_rng rng = {data_u64(plan->seed, index) ^ UINT64_C(0x636f6e74657874), 0};
  combination(plan, index, &c->settings);
  draw_settings(c, plan, &rng);
  hx_status s = hx_open(&c->hx, &c->settings);
  if (s == HX_OK) s = hx_ready(c->hx);
  if (s != HX_OK) {
    printf("context %llu: %s: %s\n", (unsigned long long)index, hx_status_string(s), hx_error_detail());
    hx_close(c->hx);
    return false;
  }
  ask_states(c);
  return true;
}

/* The words with which a device's `why` may refuse an operation. */
static bool names_operation(const char *why, hx_op op) {
  return strstr(why, hx__op_names[op]) != NULL || strstr(why, "reduce") != NULL;
}

static bool refuses(const hx_device_info *info, const hx_task *task) {
  if (info->why[0] == '\0') return false;
  if (task->kind == HX_MATMUL) return strstr(info->why, "matmul") != NULL;
  if (task->kind == HX_REDUCE) return names_operation(info->why, task->reduce.op);
  if (task->kind == HX_REDUCE_LINES) return names_operation(info->why, task->lines.op);
  for (size_t f = 0; f < task->soa.nfields; f++)
    if (names_operation(info->why, task->soa.fields[f].op)) return true;
  return false;
}

bool bits_context_serves(bits_context *c, const hx_task *task) {
  ask_states(c);
  for (size_t i = 1; i < c->device_count; i++)
    if (c->device[i].state == HX_USABLE && !refuses(&c->device[i], task)) return true;
  return false;
}

/* A chunk asks for the program of a list of fields, and hx_ready waits for it. */
static void build_fields(bits_context *c, const hx_task *task) {
  hx_value values[BITS_FIELDS];
  hx_task t = hx_reduce_soa(task->soa.fields, task->soa.nfields, 1, values);
  t.gpu_share = 1;
  if (hx_offload(c->hx, &t, NULL) == HX_OK) hx_ready(c->hx);
}

/* hx_ready does not build the kernels of lines. On a busy machine a build may take longer than a call waits for it. */
void bits_context_build(bits_context *c, const hx_task *task) {
  static const uint32_t one = 1;
  hx_value value;
  hx_report report;
  if (task->kind == HX_REDUCE_SOA && task->soa.n) build_fields(c, task);
  for (int tries = 0; task->kind == HX_REDUCE_LINES && tries < 600 && bits_context_serves(c, task); tries++) {
    hx_task t = hx_reduce_rows(task->lines.op, task->lines.type, &one, 1, 1, 0, &value);
    t.lines.y = &one;
    t.gpu_share = 1;
    if (hx_offload(c->hx, &t, &report) != HX_OK || report.gpu_share > 0) return;
    nanosleep(&(struct timespec){0, 100000000}, NULL);
  }
}

double bits_context_share(const bits_context *c, const hx_task *task) {
  if (c->only_devices) return 1;
  return task->gpu_share >= 0 ? (double)task->gpu_share : c->split;
}
