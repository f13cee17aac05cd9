/* SPDX-License-Identifier: Apache-2.0
 * The conformance test: random tasks on every combination of threads, ISA, policy and memory mode, on the devices that
 * the command line names, compared with the scalar definition bit for bit.
 *
 *     bits_test [--devices LIST] [--memory MODE] [--threads N] [--isa I] [--schedule S] [--timeout-ms T]
 *               [--tile MxNxK] [--cases N] [--batch N] [--seed S] [--max-n N] [--max-mnk N] [--lines 0]
 *               [--structures N] [--seconds S] [--context C --case I]
 *
 * Prints a line that repeats each failing case. Exits with 77 if no device of the list is usable. */
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
static unsigned get_state(void) { return _mm_getcsr() & ~0x3fu; }
static void set_state(unsigned state) { _mm_setcsr(state); }
#else /* never run; the caller's state is not varied here */
static unsigned get_state(void) { return 0; }
static void set_state(unsigned state) { (void)state; }
#endif

#include "tests/bits_case.h"
#include "tests/bits_context.h"
#include "reference/data.h"

typedef struct counts {
  uint64_t cases, differ, contexts, recovered, copied, shared; /* shared: cases in which devices and CPU did work */
  uint64_t units[BITS_DEVICES];
  char name[BITS_DEVICES][128];
} counts;

static struct options {
  uint64_t cases, batch, seconds, context, one;
  bool repeat; /* --context and --case */
  bits_limits limits;
  bits_plan plan;
} options = {.cases = 500, .batch = 25, .limits = {300000, 3000000, 1, 4}, .plan = {.seed = 1}};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the task under the case's floating-point state; says what is wrong with that state afterwards. */
static hx_status run_task(bits_context *x, const bits_case *c, hx_report *report, char *wrong, size_t bytes) {
  hx_event *event = NULL;
  hx_status s;
  unsigned before = get_state();
  int rounding = c->mxcsr == 0x5f80 ? FE_UPWARD : FE_TONEAREST; /* fesetround also sets x87's control word */
  fesetround(rounding);
  set_state(c->mxcsr);
  unsigned during = get_state();
  if (c->async) {
    s = hx_offload_async(x->hx, &c->task, &event);
    if (s == HX_OK) s = hx_wait(event, report);
  } else {
    s = hx_offload(x->hx, &c->task, report);
  }
  unsigned after = get_state();
  int rounding_after = rounding == FE_UPWARD ? fegetround() : FE_TONEAREST;
  fesetround(FE_TONEAREST);
  set_state(before);
  if (after != during) snprintf(wrong, bytes, "MXCSR %x came back as %x", during, after);
  if (rounding == FE_UPWARD && rounding_after != FE_UPWARD) snprintf(wrong, bytes, "the rounding mode was changed");
  return s;
}

/* Checks the report of a successful call. */
static void check_report(bits_context *x, const bits_case *c, const hx_report *report, counts *total, char *wrong,
                         size_t bytes) {
  uint64_t all = 0, devices = 0, cpu = 0;
  for (uint32_t i = 0; i < report->device_count && i < HX_MAX_DEVICES; i++) {
    const hx_device_report *d = &report->device[i];
    all += d->units;
    *(d->index == 0 ? &cpu : &devices) += d->units;
    if (d->index < BITS_DEVICES) total->units[d->index] += d->units;
  }
  total->recovered += report->recovered;
  total->copied += report->bytes_copied;
  total->shared += cpu > 0 && devices > 0;
  if (c->idle) return;
  if (all != c->units) {
    snprintf(wrong, bytes, "units of the report are %" PRIu64 " of %" PRIu64, all, c->units);
    return;
  }
  double share = bits_context_share(x, &c->task);
  if (share < 0) return;
  uint64_t slices = (uint64_t)floor(share * (double)c->slices + 0.5);
  bool served = x->usable > 0 && bits_context_serves(x, &c->task);
  uint64_t want = served ? bits_case_tail_units(c, slices) : 0;
  if (want > 0 && devices == 0)
    snprintf(wrong, bytes, "the devices did nothing of %" PRIu64 " slices (recovered %u)", slices, report->recovered);
  else if (devices != want && report->recovered == 0)
    snprintf(wrong, bytes, "the devices did %" PRIu64 " units instead of %" PRIu64, devices, want);
  else if (report->recovered == 0 && fabs(report->gpu_share - (double)want / (double)c->units) > 1e-6)
    snprintf(wrong, bytes, "gpu_share is %.9g instead of %.9g", report->gpu_share, (double)want / (double)c->units);
}

static void one_case(bits_context *x, uint64_t context, uint64_t index, counts *total) {
  char wrong[512] = "";
  hx_report report;
  bits_case *c = malloc(sizeof *c);
  if (c == NULL) exit(1);
  uint64_t seed = data_u64(data_u64(options.plan.seed, context), index);
  if (!bits_case_make(c, x->hx, seed, &options.limits)) {
    snprintf(wrong, sizeof wrong, "the case could not be made");
  } else {
    if (x->usable > 0) bits_context_build(x, &c->task);
    hx_status s = run_task(x, c, &report, wrong, sizeof wrong);
    if (s != HX_OK)
      snprintf(wrong, sizeof wrong, "%s: %s", hx_status_string(s), hx_error_detail());
    else if (wrong[0] == '\0' && bits_case_equal(c, wrong, sizeof wrong))
      check_report(x, c, &report, total, wrong, sizeof wrong);
  }
  total->cases++;
  if (wrong[0] != '\0') {
    total->differ++;
    const hx_settings *s = &x->settings;
    printf("FAILED %s\n  case seed %016" PRIx64 ": %s\n  threads=%s isa=%s schedule=%s memory=%s chunk=%s split=%s\n",
           wrong, c->seed, c->text, s->threads, s->isa ? s->isa : "auto", s->schedule, s->memory,
           s->chunk ? s->chunk : "-", s->split ? s->split : "auto");
    printf("  repeat: bits_test --devices %s --seed %" PRIu64 " --max-n %zu --max-mnk %" PRIu64 " --lines %" PRIu64
           " --structures %" PRIu64,
           options.plan.devices, options.plan.seed, options.limits.max_n, options.limits.max_mnk, options.limits.lines,
           options.limits.structures);
    const char *const fixed[][2] = {
        {"memory", options.plan.memory},     {"threads", options.plan.threads},       {"isa", options.plan.isa},
        {"schedule", options.plan.schedule}, {"timeout-ms", options.plan.timeout_ms}, {"tile", options.plan.tile}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
      if (fixed[i][1]) printf(" --%s %s", fixed[i][0], fixed[i][1]);
    printf(" --context %" PRIu64 " --case %" PRIu64 "\n", context, index);
    fflush(stdout);
  }
  if (!bits_case_free(c, x->hx)) total->differ++;
  free(c);
}

/* Opens a context and runs its batch of cases. Returns false if no more contexts are to be run. */
static bool one_context(uint64_t index, counts *total) {
  bits_context *x = malloc(sizeof *x);
  if (x == NULL) exit(1);
  if (!bits_context_open(x, &options.plan, index)) {
    total->differ++;
    free(x);
    return false;
  }
  total->contexts++;
  for (size_t i = 0; i < x->device_count; i++) snprintf(total->name[i], sizeof total->name[i], "%s", x->device[i].name);
  bool cpu_alone = strcmp(options.plan.devices, "cpu") == 0;
  bool go_on = cpu_alone || x->usable > 0;
  if (!go_on && index == 0) {
    for (size_t i = 1; i < x->device_count; i++) printf("%zu %s: %s\n", i, x->device[i].name, x->device[i].why);
  } else if (!go_on) {
    printf("FAILED context %" PRIu64 " has no usable device\n", index);
    total->differ++;
  }
  if (options.repeat && go_on) {
    one_case(x, index, options.one, total);
  } else {
    for (uint64_t i = 0; go_on && i < options.batch && total->cases < options.cases; i++) one_case(x, index, i, total);
  }
  hx_close(x->hx);
  free(x);
  return go_on;
}

static bool parse_options(int argc, char **argv) {
  const struct {
    const char *name, **text;
    uint64_t *number;
  } table[] = {
      {"--devices", &options.plan.devices, NULL},
      {"--memory", &options.plan.memory, NULL},
      {"--threads", &options.plan.threads, NULL},
      {"--isa", &options.plan.isa, NULL},
      {"--schedule", &options.plan.schedule, NULL},
      {"--timeout-ms", &options.plan.timeout_ms, NULL},
      {"--tile", &options.plan.tile, NULL},
      {"--cases", NULL, &options.cases},
      {"--batch", NULL, &options.batch},
      {"--seed", NULL, &options.plan.seed},
      {"--max-n", NULL, &options.limits.max_n},
      {"--max-mnk", NULL, &options.limits.max_mnk},
      {"--lines", NULL, &options.limits.lines},
      {"--structures", NULL, &options.limits.structures},
      {"--seconds", NULL, &options.seconds},
      {"--context", NULL, &options.context},
      {"--case", NULL, &options.one},
  };
  for (int i = 1; i < argc; i += 2) {
    size_t row = 0;
    while (row < sizeof table / sizeof *table && strcmp(table[row].name, argv[i]) != 0) row++;
    if (row == sizeof table / sizeof *table || i + 1 == argc) {
      fprintf(stderr, "bits_test: %s: unknown, or without a value\n", argv[i]);
      return false;
    }
    if (table[row].text) *table[row].text = argv[i + 1];
    if (table[row].number) *table[row].number = strtoull(argv[i + 1], NULL, 0);
    if (table[row].number == &options.one) options.repeat = true;
  }
  if (options.plan.devices == NULL) options.plan.devices = "cpu";
  return true;
}

int main(int argc, char **argv) {
  if (!parse_options(argc, argv)) return 2;
  bits_plan_isas(&options.plan);
  counts *total = calloc(1, sizeof *total);
  if (total == NULL) return 1;
  double start = now();
  printf("bits_test: devices %s, seed %" PRIu64 ", %zu combinations\n", options.plan.devices, options.plan.seed,
         bits_plan_combinations(&options.plan));
  if (options.repeat) {
    one_context(options.context, total);
  } else {
    for (uint64_t i = 0; total->cases < options.cases && one_context(i, total); i++)
      if (options.seconds && now() - start > (double)options.seconds) break;
  }
  if (total->cases == 0 && total->differ == 0) {
    printf("bits_test: skipped: no usable device among %s\n", options.plan.devices);
    free(total);
    return 77;
  }
  uint64_t units = 0;
  for (size_t i = 0; i < BITS_DEVICES; i++) {
    if (total->units[i]) printf("  device %zu: %" PRIu64 " units, %s\n", i, total->units[i], total->name[i]);
    if (i > 0) units += total->units[i];
  }
  if (units == 0 && strcmp(options.plan.devices, "cpu") != 0 && !options.repeat) {
    printf("FAILED the devices did nothing at all\n");
    total->differ++;
  }
  printf("  %" PRIu64 " contexts, %" PRIu64 " cases on both sides, %" PRIu64
         " chunks recovered, %.1f MB copied, %.1f s\n",
         total->contexts, total->shared, total->recovered, 1e-6 * (double)total->copied, now() - start);
  printf("bits_test: seed %" PRIu64 ", %" PRIu64 " cases, %" PRIu64 " differ\n", options.plan.seed, total->cases,
         total->differ);
  bool failed = total->differ > 0;
  free(total);
  return failed;
}
