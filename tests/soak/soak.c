/* SPDX-License-Identifier: Apache-2.0
 * The soak: compares random tasks with the scalar definition for a given time. One long-lived process runs rounds
 * (round.c), so that leaks are noticed. Other processes run at the same time: in some OpenCL calls fail (the fault
 * layer), others end while calls are in flight. soak [--minutes N | --seconds N] [--seed N] [--fault LIB] [--devices
 * cpu|pocl] prints one line per minute and one at the end. The exit status is not 0 if anything is wrong or memory
 * grows. */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/layers/fault_layer.h"
#include "tests/soak/soak.h"

enum { SAMPLES = 100000, GROWTH_KB = 16384, CHILD_LIMIT = 120, QUIET_SECONDS = 300 };

soak_counts counts;

static struct {
  double seconds;
  uint64_t seed;
  const char *fault;
  bool pocl;
} options = {.seconds = 60, .seed = 1, .pocl = true};

static double sample_at[SAMPLES], sample_kb[SAMPLES];
static unsigned samples;

int64_t soak_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void soak_bad(const char *format, ...) {
  char line[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (atomic_fetch_add(&counts.bad, 1) < 50) printf("soak: %s\n", line);
  fflush(stdout);
}

static double resident_kb(void) {
  long pages = 0, resident = 0;
  FILE *const f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (f) fclose(f);
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* Measures memory between rounds, after malloc has returned its free memory, because the amount of that varies by more
 * than a leak. */
static void take_sample(double cases) {
  if (samples == SAMPLES) return;
  malloc_trim(0);
  sample_at[samples] = cases;
  sample_kb[samples++] = resident_kb();
}

/* The growth in KB per case, by least squares over the later three quarters of the samples. */
static double memory_growth(void) {
  const unsigned from = samples / 4;
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (unsigned i = from; i < samples; i++)
    n++, sx += sample_at[i], sy += sample_kb[i], sxx += sample_at[i] * sample_at[i], sxy += sample_at[i] * sample_kb[i];
  const double spread = n * sxx - sx * sx;
  return n > 3 && spread > 0 ? (n * sxy - sx * sy) / spread : 0;
}

static void print_counts(double seconds) {
  printf(
      "soak: %.0f s: %lu cases, %lu faults, %lu recovered, %lu wrong, %lu bad, %lu contexts, %lu forks, %lu exits, "
      "slowest %.0f ms, RSS %.0f KB, %+.2f KB per 1000 cases\n",
      seconds, counts.cases + counts.beside, counts.faults, counts.recovered, counts.wrong, counts.bad, counts.contexts,
      counts.forks, counts.exits, (double)counts.slowest_ns * 1e-6, resident_kb(), memory_growth() * 1000);
  fflush(stdout);
}

/* Runs this program again; returns whether it succeeded in time. */
static bool run_self(const char *role, uint64_t argument, char *answer, size_t bytes) {
  int out[2];
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)argument);
  if (pipe2(out, O_CLOEXEC) != 0) return false;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], 1);
    alarm(CHILD_LIMIT);
    execl("/proc/self/exe", "soak", role, text, "--fault", options.fault ? options.fault : "", (char *)NULL);
    _exit(127);
  }
  close(out[1]);
  size_t length = 0;
  for (ssize_t got; length + 1 < bytes && (got = read(out[0], answer + length, bytes - 1 - length)) > 0;)
    length += (size_t)got;
  answer[length] = '\0';
  close(out[0]);
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) soak_bad("%s %s: status %x: %.300s", role, text, status, answer);
  return status == 0;
}

/* Driver faults are tried in separate processes, because a lost device is lost to the whole process. */
static void faulty_process(uint64_t *r) {
  char answer[4096];
  unsigned long c[4] = {0};
  if (!options.fault || !options.pocl) return;
  if (!run_self("--faulty", soak_random(r, 1u << 30), answer, sizeof answer)) return;
  const char *const line = strstr(answer, "faulty: ");
  if (!line || sscanf(line, "faulty: %lu %lu %lu %lu", &c[0], &c[1], &c[2], &c[3]) != 4) {
    soak_bad("the process with faults does not say what it did: %.300s", answer);
    return;
  }
  atomic_fetch_add(&counts.beside, c[0]);
  atomic_fetch_add(&counts.faults, c[1]);
  atomic_fetch_add(&counts.recovered, c[2]);
  if ((int64_t)c[3] > atomic_load(&counts.slowest_ns)) atomic_store(&counts.slowest_ns, (int64_t)c[3]);
}

static void leaving_process(uint64_t *r) {
  char answer[4096];
  run_self("--leave", soak_random(r, LEAVE_ROADS), answer, sizeof answer);
  atomic_fetch_add(&counts.exits, 1);
}

static atomic_bool ends;

/* Runs other processes at the same time as the rounds. */
static void *run_processes(void *unused) {
  (void)unused;
  uint64_t state = options.seed << 40;
  while (!atomic_load(&ends)) {
    faulty_process(&state);
    for (int i = 0; i < 3 && !atomic_load(&ends); i++) leaving_process(&state);
  }
  return NULL;
}

/* Builds the kernels before the time begins, because a call with a share waits for them. */
static void build_kernels(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,pocl";
  hx_context *hx = NULL;
  if (!options.pocl) return;
  if (hx_open(&hx, &s) != HX_OK || hx_ready(hx) != HX_OK) soak_bad("hx_ready: %s", hx_error_detail());
  hx_close(hx);
}

/* The faults of a process, drawn by its seed. Each hang costs the process a timeout, and three of them cost it the
 * device, so they are rare. They begin when the kernels are ready, because hx_ready may wait for a driver that
 * hangs. */
static const struct fault_row {
  const char *kind, *one_in, *timeout_ms; /* timeout_ms: HX_TIMEOUT_MS, or NULL for what the round draws */
  bool when_ready;
} kFaults[] = {
    {"error", "400", NULL, false}, {"slow", "400", NULL, false},   {"error", "4000", NULL, false},
    {"lost", "3000", NULL, false}, {"silent", "400", NULL, false}, {"hang", "2000", "300", true},
};
enum { FAULT_ROWS = sizeof kFaults / sizeof *kFaults };

static const struct fault_row *fault_environment(uint64_t seed) {
  const struct fault_row *const row = &kFaults[seed % FAULT_ROWS];
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
  setenv("OPENCL_LAYERS", options.fault, 1);
  setenv("FAULT_KIND", row->kind, 1);
  setenv("FAULT_ONE_IN", row->one_in, 1);
  setenv("FAULT_MS", "20", 1);
  setenv("FAULT_SEED", text, 1);
  setenv("LAYER_LOG", "/dev/null", 0); /* With --faulty SEED by hand, a file can be named. */
  if (row->timeout_ms) setenv("HX_TIMEOUT_MS", row->timeout_ms, 1);
  if (row->when_ready) setenv("FAULT_ARM", "", 1);
  return row;
}

/* soak --faulty SEED --fault LIB repeats one process. */
static int faulty_main(uint64_t seed) {
  if (!options.fault) return fprintf(stderr, "soak: --faulty needs --fault LIB\n"), 2;
  const struct fault_row *const row = fault_environment(seed);
  void *const library = dlopen(options.fault, RTLD_NOW);
  layer_fault_t *const layer = library ? dlsym(library, "layer_fault") : NULL;
  if (!layer) return fprintf(stderr, "soak: %s is not the fault layer\n", options.fault), 2;
  uint64_t state = seed << 16;
  cases_make(1);
  if (row->when_ready) build_kernels();
  atomic_store(&layer->armed, 1);
  for (int i = 0; i < 3; i++) round_run(&state, 0.7, true, !row->when_ready);
  printf("faulty: %lu %lu %lu %lu\n", counts.cases, counts.faults + layer->injected, counts.recovered,
         (unsigned long)counts.slowest_ns);
  return counts.bad || counts.wrong ? 1 : 0;
}

/* No round has ended for minutes, so a call hangs. */
static void on_hang(int number) {
  (void)number;
  static const char kText[] = "soak: HUNG: nothing has ended for minutes\n";
  if (write(1, kText, sizeof kText - 1) < 0) _exit(3);
  abort();
}

static int run_soak(void) {
  uint64_t state = options.seed << 32;
  cases_make(options.seed);
  build_kernels();
  const int64_t began = soak_now_ns();
  double next_line = 60;
  pthread_t beside;
  const bool has_beside = pthread_create(&beside, NULL, run_processes, NULL) == 0;
  for (unsigned round = 0;; round++) {
    const double seconds = (double)(soak_now_ns() - began) * 1e-9;
    if (seconds >= options.seconds) break;
    alarm(QUIET_SECONDS);
    round_run(&state, 0.5 + (double)soak_random(&state, 150) * 0.01, options.pocl && round % 3 == 2, true);
    take_sample((double)atomic_load(&counts.cases));
    if (seconds >= next_line) print_counts(seconds), next_line += 60;
  }
  atomic_store(&ends, true);
  if (has_beside) pthread_join(beside, NULL);
  print_counts((double)(soak_now_ns() - began) * 1e-9);
  const double growth = samples > 4 ? memory_growth() * (sample_at[samples - 1] - sample_at[samples / 4]) : 0;
  const bool grows = growth > GROWTH_KB;
  if (grows) printf("soak: memory grows by %.0f KB in the later three quarters\n", growth);
  return counts.bad || counts.wrong || grows ? 1 : 0;
}

int main(int argc, char **argv) {
  uint64_t leave = 0, faulty = 0;
  const char *role = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    const char *const name = argv[i], *const value = argv[i + 1];
    if (strcmp(name, "--minutes") == 0)
      options.seconds = 60 * atof(value);
    else if (strcmp(name, "--seconds") == 0)
      options.seconds = atof(value);
    else if (strcmp(name, "--seed") == 0)
      options.seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--fault") == 0)
      options.fault = value[0] ? realpath(value, NULL) : NULL;
    else if (strcmp(name, "--devices") == 0)
      options.pocl = strcmp(value, "cpu") != 0;
    else if (strcmp(name, "--leave") == 0)
      role = name, leave = strtoull(value, NULL, 10);
    else if (strcmp(name, "--faulty") == 0)
      role = name, faulty = strtoull(value, NULL, 10);
    else
      return fprintf(stderr, "soak: unknown argument %s\n", name), 2;
  }
  mallopt(M_ARENA_MAX, 4); /* otherwise memory that threads leave in their own arenas counts as growth */
  signal(SIGALRM, role ? SIG_DFL : on_hang);
  if (role && strcmp(role, "--faulty") == 0) return faulty_main(faulty);
  if (role) cases_make(1), leave_run((unsigned)leave);
  printf("soak: seed %llu, %.0f s\n", (unsigned long long)options.seed, options.seconds);
  return run_soak();
}
