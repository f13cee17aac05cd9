/* SPDX-License-Identifier: Apache-2.0
 * hx in its host process: fork, several threads, a caller's OpenMP region, 200 contexts, the floating-point state, and
 * what hx_open does not do.
 *     process_test [--devices LIST]      default: cpu; the others take part in every scenario  */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "tests/scenario.h"

enum { N = 200000, SIDE = 128, CELLS = SIDE * SIDE };

static float x[N], a[CELLS], b[CELLS], want_c[CELLS];
static uint64_t want_sum;

static hx_settings settings_for(const char *threads) {
  static char list[256];
  hx_settings s = HX_SETTINGS_DEFAULT;
  snprintf(list, sizeof list, "cpu,%s", scenario_devices ? scenario_devices : "cpu");
  s.devices = list;
  s.threads = threads;
  s.cache_dir = "off";
  if (strstr(list, "sim")) s.sim = "rate=1e9,latency_us=10";
  return s;
}

static void make_data(data_kind kind) {
  data_fill(HX_F32, kind, 11, x, N);
  data_fill(HX_F32, kind, 12, a, CELLS);
  data_fill(HX_F32, kind, 13, b, CELLS);
  want_sum = ref_reduce(HX_SUM, HX_F32, x, NULL, N).u64;
  struct hx_matmul_args args = {.m = SIDE, .n = SIDE, .k = SIDE, .a = a, .b = b, .c = want_c, .alpha = 1};
  ref_matmul(&args);
}

/* A sum and a product in this thread; returns how many of the two are wrong. */
static int compute(hx_context *hx, float share, hx_report *report) {
  hx_value sum = {.u64 = 1};
  float *c = malloc(sizeof want_c);
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum), p = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  t.gpu_share = p.gpu_share = share;
  int wrong = hx_offload(hx, &t, NULL) != HX_OK || sum.u64 != want_sum;
  wrong += hx_offload(hx, &p, report) != HX_OK || memcmp(c, want_c, sizeof want_c) != 0;
  free(c);
  return wrong;
}

/* The pages of the process that are in memory. */
static size_t resident_pages(void) {
  size_t all = 0, resident = 0;
  FILE *const f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%zu %zu", &all, &resident) != 2) resident = 0;
  if (f) fclose(f);
  return resident;
}

/* Whether memory that this child allocates and frees stays with it. */
static bool keeps_freed_memory(hx_context *hx) {
  enum { TIMES = 20, BYTES = 4 << 20, PAGE = 4096 };
  const size_t before = resident_pages();
  for (int i = 0; i < TIMES; i++) {
    void *const p = hx_alloc(hx, BYTES);
    if (p) memset(p, 1, BYTES);
    hx_free(hx, p);
  }
  return resident_pages() > before + TIMES / 2 * (BYTES / PAGE);
}

static void forked_child(void) {
  make_data(DATA_SIGNED);
  hx_settings s = settings_for("2");
  hx_context *hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  CHECK(compute(hx, 0.5f, NULL) == 0, "before the fork: %s", hx_error_detail());
  for (int round = 0; round < 3; round++) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      alarm(30);
      hx_report report;
      int wrong = 0;
      for (int i = 0; i < 5; i++) wrong += compute(hx, i % 2 ? 0.5f : -1, &report);
      if (report.device_count != 1 || report.device[0].index != 0) wrong += 10; /* only the CPU may take part */
      hx_event *event = NULL;
      hx_value sum = {.u64 = 0};
      hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
      if (hx_offload_async(hx, &t, &event) != HX_OK || hx_wait(event, NULL) != HX_OK || sum.u64 != want_sum)
        wrong += 20;
      wrong += keeps_freed_memory(hx) ? 40 : 0;
      _exit(wrong);
    }
    for (int i = 0; i < 20; i++) CHECK(compute(hx, 0.5f, NULL) == 0, "the parent: %s", hx_error_detail());
    int status = child_wait(child);
    CHECK(status == 0, "the child's exit status is %d (128 + signal; 142: it hung)", status);
  }
  hx_close(hx);
}

static void *compute_often(void *hx) {
  intptr_t wrong = 0;
  for (int i = 0; i < 25; i++) wrong += compute(hx, i % 3 == 0 ? -1.0f : 0.25f * (float)(i % 5), NULL);
  return (void *)wrong;
}

static void two_threads(void) {
  make_data(DATA_SIGNED);
  hx_settings s = settings_for("2");
  hx_context *hx = open_or_exit(&s);
  pthread_t thread[2];
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&thread[i], NULL, compute_often, hx) == 0, "no thread");
  for (int i = 0; i < 2; i++) {
    void *wrong = NULL;
    pthread_join(thread[i], &wrong);
    CHECK(wrong == NULL, "thread %d: %ld wrong results", i, (long)(intptr_t)wrong);
  }
  hx_close(hx);
}

static void in_openmp_region(void) {
  make_data(DATA_SIGNED);
  hx_settings s = settings_for(NULL);
  hx_context *hx = open_or_exit(&s);
  int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
  for (int i = 0; i < 10; i++) wrong += compute(hx, i % 2 ? 0.5f : -1, NULL);
  CHECK(wrong == 0, "%d wrong results", wrong);
  hx_close(hx);
}

/* The log goes to a pipe whose reading end is closed; SIGPIPE would end the process. */
static void log_without_a_reader(void) {
  make_data(DATA_SIGNED);
  int ends[2];
  CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO, "no pipe");
  close(ends[0]);
  close(ends[1]);
  hx_settings s = settings_for("2");
  s.log = "trace";
  hx_context *hx = open_or_exit(&s);
  CHECK(compute(hx, 0.5f, NULL) == 0, "%s", hx_error_detail());
  hx_close(hx);
  sigset_t pending;
  CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGPIPE), "a SIGPIPE is left");
}

static size_t count_entries(const char *path) {
  size_t count = 0;
  DIR *d = opendir(path);
  while (d && readdir(d)) count++;
  if (d) closedir(d);
  return count;
}

static long resident_bytes(void) {
  long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (f) fclose(f);
  return resident * sysconf(_SC_PAGESIZE);
}

static void no_leak(void) {
  make_data(DATA_SIGNED);
  hx_settings s = settings_for("2");
  size_t fds = 0, threads = 0, heap = 0;
  long resident = 0;
  enum { WARM = 10, ROUNDS = 200 };
  for (int i = 0; i < WARM + ROUNDS; i++) {
    if (i == WARM) {
      fds = count_entries("/proc/self/fd");
      threads = count_entries("/proc/self/task");
      heap = mallinfo2().uordblks + mallinfo2().hblkhd;
      resident = resident_bytes();
    }
    hx_context *hx = open_or_exit(&s);
    if (i % 10 == 0) CHECK_OK(hx_ready(hx));
    float *own = hx_alloc(hx, 100000); /* hx_close frees it */
    CHECK(own != NULL, "no memory");
    CHECK(compute(hx, i % 2 ? 0.5f : -1, NULL) == 0, "round %d: %s", i, hx_error_detail());
    hx_close(hx);
  }
  nanosleep(&(struct timespec){0, 100000000}, NULL);
  size_t heap_now = mallinfo2().uordblks + mallinfo2().hblkhd;
  printf("  200 rounds: descriptors %zu to %zu, threads %zu to %zu, heap %zu to %zu, resident %ld to %ld\n", fds,
         count_entries("/proc/self/fd"), threads, count_entries("/proc/self/task"), heap, heap_now, resident,
         resident_bytes());
  CHECK(count_entries("/proc/self/fd") <= fds, "descriptors are left open");
  CHECK(count_entries("/proc/self/task") <= threads, "threads are left");
  CHECK(heap_now < heap + ROUNDS * 1024, "the heap grew by %zu bytes a round", (heap_now - heap) / ROUNDS);
  CHECK(resident_bytes() < resident + (16 << 20), "resident memory grew");
}

#if defined(__SSE2__)
#include <xmmintrin.h>
static unsigned float_modes(void) { return _mm_getcsr() & ~0x3fu; }

/* FTZ and DAZ are set before hx_open, as -ffast-math at link time sets them at program start; every function restores
 * them. */
static void flush_to_zero(void) {
  make_data(DATA_DENORMALS);
  hx_settings s = settings_for("2");
  const unsigned flush = 0x9fc0;
  _mm_setcsr(flush);
  hx_context *hx = open_or_exit(&s);
  CHECK(float_modes() == flush, "after hx_open: %x", float_modes());
  CHECK(compute(hx, -1, NULL) == 0, "hx decides: %s", hx_error_detail());
  CHECK(compute(hx, 0, NULL) == 0, "CPU: %s", hx_error_detail());
  CHECK(compute(hx, 0.5f, NULL) == 0, "both: %s", hx_error_detail());
  CHECK(compute(hx, 1, NULL) == 0, "devices: %s", hx_error_detail());
  CHECK(float_modes() == flush, "after hx_offload: %x", float_modes());
  CHECK_OK(hx_ready(hx));
  CHECK(compute(hx, 0.5f, NULL) == 0, "both, when ready: %s", hx_error_detail());
  hx_value small; /* small calls take another path, which saves the state separately */
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, 100, &small);
  CHECK_OK(hx_offload(hx, &t, NULL));
  hx_event *event = NULL;
  hx_value sum;
  t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  CHECK_OK(hx_offload_async(hx, &t, &event));
  CHECK_OK(hx_wait(event, NULL));
  hx_close(hx);
  CHECK(float_modes() == flush, "after hx_close: %x", float_modes());
  _mm_setcsr(0x1f80);
  CHECK(sum.u64 == want_sum, "in the background: %llx", (unsigned long long)sum.u64);
  CHECK(small.u64 == ref_reduce(HX_SUM, HX_F32, x, NULL, 100).u64, "100 elements: %llx", (unsigned long long)small.u64);
}
#endif

static bool library_is_mapped(const char *library) {
  char line[1024];
  bool found = false;
  FILE *f = fopen("/proc/self/maps", "r");
  while (f && fgets(line, sizeof line, f)) found |= strstr(line, library) != NULL;
  if (f) fclose(f);
  return found;
}

/* A program with small tasks only never loads a driver. */
static void loads_no_driver(void) {
  static const char *const kVendors[] = {"libpocl",   "libRusticl", "libMesaOpenCL", "libigdrcl", "liboclgrind",
                                         "libnvidia", "libamdocl",  "libintelocl",   "libLLVM",   "libclang"};
  const char *const lists[] = {NULL, "all"};
  for (int i = 0; i < 2; i++) {
    hx_settings s = HX_SETTINGS_DEFAULT;
    s.devices = lists[i];
    hx_value sum = {.u64 = 0};
    double start = seconds_now();
    hx_context *hx = open_or_exit(&s);
    hx_task t = hx_reduce(HX_SUM, HX_F32, x, 1000, &sum);
    CHECK_OK(hx_offload(hx, &t, NULL));
    hx_close(hx);
    double ms = 1e3 * (seconds_now() - start);
    printf("  devices %s: hx_open, a sum of 1000 and hx_close took %.3f ms\n", s.devices ? s.devices : "by default",
           ms);
    CHECK(ms < 200, "%.1f ms", ms);
    for (size_t v = 0; v < sizeof kVendors / sizeof *kVendors; v++)
      CHECK(!library_is_mapped(kVendors[v]), "%s is mapped", kVendors[v]);
  }
}

/* A program may call exit while drivers are being found and loaded; the destructors of their libraries then run during
 * exit. */
static void ends_while_preparing(void) {
  enum { ENDS = 40, MICROSECONDS = 2500 };
  if (!scenario_devices) return; /* without devices no driver is loaded */
  const float *const data = calloc(1 << 22, sizeof *data);
  for (int i = 0; i < ENDS; i++) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      hx_settings s = settings_for("1");
      hx_context *const hx = open_or_exit(&s);
      hx_value sum;
      hx_task t = hx_reduce(HX_SUM, HX_F32, data, 1 << 22, &sum);
      CHECK_OK(hx_offload(hx, &t, NULL)); /* a task so long that the discovery starts when it returns */
      nanosleep(&(struct timespec){0, (i / 2) * MICROSECONDS * 1000L}, NULL);
      if (i % 2) hx_close(hx);
      exit(checks_failed != 0);
    }
    const int status = child_wait(child);
    CHECK(status == 0, "ended after %d us%s: exit status %d (128 + signal; 142: it hung)", i / 2 * MICROSECONDS,
          i % 2 ? " and hx_close" : "", status);
  }
}

int main(int argc, char **argv) {
  static const scenario table[] = {
    {"loads_no_driver", loads_no_driver},
#if defined(__SSE2__)
    {"flush_to_zero", flush_to_zero},
#endif
    {"two_threads", two_threads},
    {"in_openmp_region", in_openmp_region},
    {"forked_child", forked_child},
    {"ends_while_preparing", ends_while_preparing},
    {"no_leak", no_leak},
    {"log_without_a_reader", log_without_a_reader}
  };
  return scenarios_main(argc, argv, "process_test", table, sizeof table / sizeof *table);
}
