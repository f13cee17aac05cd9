/* SPDX-License-Identifier: Apache-2.0
 * HX_TRACE: python3's json module and the rules of the format accept files that were closed, that were never closed,
 * that several contexts, threads and processes wrote, and one on a full disk.
 *     trace_test [--devices LIST]      default: cpu,sim  */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "runtime/base/trace.h"
#include "reference/data.h"
#include "tests/scenario.h"

enum { N = 8 << 20, SIDE = 384, CALLS = 3 }; /* CALLS: in one round */
static char path[64];
static pid_t owner; /* the process that made the file, not a child */

/* LeakSanitizer calls this at exit. A forked child never frees what its parent's other threads had allocated. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return getpid() != owner; }

static void remove_file(void) {
  if (getpid() == owner) remove(path);
}

static void make_path(void) {
  snprintf(path, sizeof path, "/tmp/hx-trace-XXXXXX");
  const int fd = mkstemp(path);
  if (fd < 0) exit(1);
  close(fd);
  owner = getpid();
  atexit(remove_file);
}

#define SUM \
  { .op = "sum", .type = "f32", .fields = 1, .n = SIZE_MAX }
#define PRODUCT \
  { .op = "matmul", .fields = 1, .m = SIZE_MAX, .n = SIZE_MAX, .k = SIZE_MAX, .trans_a = true }

/* What a trace contains: calls, chunks of the CPU and of devices, transfers, decisions, and everything that a viewer
 * needs. -1: the file is not valid. */
typedef struct counts {
  int calls, cpu, device, transfers, decisions, threads;
  int crossings;   /* slices that are neither within the one that encloses their begin nor after it */
  int outside;     /* chunks of a thread that made calls, outside of its calls */
  char names[400]; /* of the calls, each once, in order, joined by commas */
} counts;

static counts read_trace(void) {
  static const char script[] =
      "import json, sys\n"
      "events = json.load(open(sys.argv[1]))\n"
      "names = {e['pid'] for e in events if e['name'] == 'process_name'}\n"
      "assert len([e for e in events if e['name'] == 'process_name']) == len(names), 'a device is named twice'\n"
      "rows = {(e['pid'], e['tid']) for e in events if e['name'] == 'thread_name'}\n"
      "count = {'call': [0, 0], 'chunk': [0, 0], 'transfer': [0, 0], 'decision': [0, 0]}\n"
      "for e in events:\n"
      "    if e['ph'] == 'M': continue\n"
      "    assert e['pid'] in names and (e['pid'], e['tid']) in rows and e['ts'] > 0, e\n"
      "    count[e['cat']][e['pid'] > 0] += 1\n"
      "    a = e['args']\n"
      "    if e['cat'] in ('call', 'decision'): assert a['operation'] and a['size'], e\n"
      "    if e['cat'] == 'call': assert e['name'] == a['operation'] + ' ' + a['size'] and e['pid'] == 0, e\n"
      "    if e['cat'] == 'chunk': assert e['name'].endswith(' %d+%d' % (a['first'], a['slices'])), e\n"
      "    if e['cat'] == 'decision': assert e['ph'] == 'i' and a['reason'] and a['cpu_alone_us'] > 0, e\n"
      "    else: assert e['ph'] == 'X' and e['dur'] >= 0, e\n"
      "    if e['cat'] == 'transfer': assert a['bytes'] > 0, e\n"
      "    if e['cat'] == 'chunk':\n"
      "        assert a['slices'] > 0 and a['units'] > 0 and abs(a['actual_us'] - e['dur']) < 0.01, e\n"
      "        assert a['expected_us'] is None or a['expected_us'] > 0, e\n"
      "        assert a['outcome'] in ('done', 'late', 'no memory', 'not wanted', 'failed'), e\n"
      "slices = sorted(((e['pid'], e['tid'], e['ts'], -e['dur'], e['cat']) for e in events if e['ph'] == 'X'))\n"
      "calls = {e[:2] for e in slices if e[4] == 'call'}\n"
      "crossings, outside, row, open_ = 0, 0, None, []\n"
      "for pid, tid, begin, length, cat in slices:\n"
      "    end = begin - length\n"
      "    if row != (pid, tid): row, open_ = (pid, tid), []\n"
      "    while open_ and open_[-1][0] <= begin + 0.002: open_.pop()\n"
      "    crossings += bool(open_) and (end > open_[-1][0] + 0.002 or open_[-1][1] != 'call')\n"
      "    outside += cat == 'chunk' and row in calls and not open_\n"
      "    open_.append((end, cat))\n"
      "named = dict.fromkeys(e['name'] for e in events if e.get('cat') == 'call')\n"
      "print(sum(count['call']), *count['chunk'], count['transfer'][1], count['decision'][0], len(rows), crossings,\n"
      "      outside, ','.join(named) or '-')\n";
  counts c = {-1, -1, -1, -1, -1, -1, -1, -1, ""};
  setenv("SCRIPT", script, 1);
  char command[160];
  snprintf(command, sizeof command, "python3 -c \"$SCRIPT\" %s", path);
  FILE *const f = popen(command, "r");
  const int got = f ? fscanf(f, "%d %d %d %d %d %d %d %d %399[^\n]", &c.calls, &c.cpu, &c.device, &c.transfers,
                             &c.decisions, &c.threads, &c.crossings, &c.outside, c.names)
                    : 0;
  const int status = f ? pclose(f) : -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    puts("no python3 here: nothing is read");
    exit(SKIPPED);
  }
  CHECK(got == 9 && status == 0, "%s is not a valid trace", path);
  return c;
}

static hx_context *open_here(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = scenario_devices ? scenario_devices : "cpu,sim";
  if (strstr(s.devices, "sim")) s.sim = "rate=4e9,latency_us=20";
  s.threads = "2";
  s.cache_dir = "off";
  s.trace = path;
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  return hx;
}

static float *x;

static void make_calls(hx_context *hx, int times) {
  float *const c = malloc((size_t)SIDE * SIDE * sizeof *c);
  if (!x) x = malloc(N * sizeof *x), data_fill(HX_F32, DATA_SIGNED, 5, x, N);
  for (int i = 0; i < times; i++) {
    hx_value sum;
    hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum), p = hx_matmul(SIDE, SIDE, SIDE, x, x + SIDE * SIDE, c);
    CHECK_OK(hx_offload(hx, &t, NULL));
    t.gpu_share = p.gpu_share = 0.5f;
    CHECK_OK(hx_offload(hx, &t, NULL));
    CHECK_OK(hx_offload(hx, &p, NULL));
  }
  free(c);
}

static void trace_after_close(void) {
  make_path();
  hx_context *const hx = open_here();
  counts c = read_trace();
  CHECK(c.cpu == 0, "chunks before any call");
  make_calls(hx, 3);
  hx_close(hx);
  c = read_trace();
  /* A thread of the CPU that gets no core may compute no chunk, so one thread and the device are enough. */
  CHECK(c.cpu >= 9 && c.device >= 6 && c.decisions == 3 * CALLS && c.threads >= 2,
        "%d chunks of the CPU, %d of devices, %d decisions, %d threads", c.cpu, c.device, c.decisions, c.threads);
  CHECK(c.calls == 3 * CALLS, "%d calls, not %d", c.calls, 3 * CALLS);
  CHECK(strcmp(c.names, "sum f32 2^23,matmul 384x384x384") == 0, "the calls are named %s", c.names);
  CHECK(c.crossings == 0, "%d slices cross the end of another one", c.crossings);
  CHECK(c.outside == 0, "%d chunks of a calling thread are outside of its calls", c.outside);
  CHECK(!scenario_devices || !strstr(scenario_devices, "opencl") || c.transfers > 0, "no transfers");
}

/* Every kind of call has a slice with its operation and size, also one too small for a decision. */
static void every_call(void) {
  enum { SMALL = 17 };
  make_path();
  hx_context *const hx = open_here();
  if (!x) x = malloc(N * sizeof *x), data_fill(HX_F32, DATA_SIGNED, 5, x, N);
  hx_value out[3];
  static hx_value lines[100];
  const hx_field fields[3] = {{HX_SUM, HX_F32, x, NULL}, {HX_ARGMAX, HX_F32, x, NULL}, {HX_DOT, HX_F32, x, x}};
  float *const c = malloc(SIDE * SIDE * sizeof *c);
  hx_task tasks[] = {hx_reduce(HX_MIN, HX_I32, x, SMALL, out),
                     hx_reduce(HX_SUM, HX_F32, x, 0, out),
                     hx_dot(HX_U32, x, x, 1 << 20, out),
                     hx_reduce_soa(fields, 3, 1 << 20, out),
                     hx_matmul(3, 5, 7, x, x, c),
                     hx_matmul(SIDE, 20, SIDE, x, x, c),
                     hx_reduce_rows(HX_MAX, HX_U32, x, 100, 4096, 0, lines)};
  tasks[5].matmul.trans_b = true;
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) CHECK_OK(hx_offload(hx, &tasks[i], NULL));
  hx_event *event;
  CHECK_OK(hx_offload_async(hx, &tasks[2], &event));
  CHECK_OK(hx_wait(event, NULL));
  hx_close(hx);
  free(c);
  const counts n = read_trace();
  static const char names[] =
      "min i32 17,sum f32 0,dot u32 2^20,3 fields 2^20,matmul 3x5x7,matmul 384x20x384 nt,"
      "max u32 100 lines of 2^12";
  CHECK(strcmp(n.names, names) == 0, "%s, not %s", n.names, names);
  CHECK(n.calls == 8 && n.crossings == 0 && n.outside == 0, "%d calls, %d crossings, %d chunks outside", n.calls,
        n.crossings, n.outside);
}

static int in_child(void (*body)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    body();
    exit(checks_failed != 0);
  }
  return child_wait(child);
}

static void return_without_close(void) { make_calls(open_here(), 3); }
static void killed_while_tracing(void) {
  hx_context *const hx = open_here();
  make_calls(hx, 300); /* part of the trace is written by now */
  raise(SIGKILL);
}

static void never_closed(void) {
  make_path();
  CHECK(in_child(return_without_close) == 0, "the child failed");
  CHECK(read_trace().decisions == 3 * CALLS, "events from before exit are lost");
  CHECK(in_child(killed_while_tracing) == 128 + SIGKILL, "the child was not killed");
  const counts c = read_trace();
  CHECK(c.cpu > 100, "%d chunks before it was killed", c.cpu);
}

static void *make_calls_in_thread(void *hx) {
  make_calls(hx, 20);
  return NULL;
}

/* In a forked child exit crashes in LLVM's OpenMP tool for ThreadSanitizer, which the parent has started. */
static void leave_child(int status) {
#if defined(__clang__)
  _exit(status);
#else
  exit(status);
#endif
}

/* Contexts one after the other, at the same time, and used by several threads; a fork in between; a file that was
 * removed. */
static void several_contexts(void) {
  make_path();
  static hx_context *a, *b; /* static, because the child leaves b open, which must not count as a leak */
  a = open_here();
  make_calls(a, 2);
  hx_close(a);
  CHECK(read_trace().decisions == 2 * CALLS, "decisions of the first context are missing");
  a = open_here();
  b = open_here();
  pthread_t thread[4];
  for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, make_calls_in_thread, i & 1 ? a : b);
  for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    make_calls(a, 2);
    hx_close(a);
    leave_child(checks_failed != 0);
  }
  CHECK(child_wait(child) == 0, "the child failed");
  hx_close(a);
  make_calls(b, 1);
  hx_close(b);
  const counts c = read_trace();
  CHECK(c.decisions == (2 + 80 + 1) * CALLS, "%d decisions of three contexts", c.decisions);
  CHECK(c.calls == c.decisions, "%d calls and %d decisions", c.calls, c.decisions);
  CHECK(c.crossings == 0, "%d slices cross the end of another one", c.crossings);
  remove(path);
  a = open_here();
  make_calls(a, 1);
  hx_close(a);
  CHECK(read_trace().decisions == CALLS, "%d decisions in the new file", read_trace().decisions);
}

/* A second process does not change the file. */
static void another_process(void) {
  make_path();
  hx_context *const hx = open_here();
  make_calls(hx, 1);
  char self[300], command[400];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  setenv("TRACE_TEST_PATH", path, 1);
  snprintf(command, sizeof command, "%s --only second_process", self);
  CHECK(system(command) == 0, "the second process failed");
  make_calls(hx, 1);
  hx_close(hx);
  CHECK(read_trace().decisions == 2 * CALLS, "%d decisions", read_trace().decisions);
}
static void second_process(void) {
  if (!getenv("TRACE_TEST_PATH")) return; /* only beside another_process */
  snprintf(path, sizeof path, "%s", getenv("TRACE_TEST_PATH"));
  hx_context *const hx = open_here();
  make_calls(hx, 2);
  hx_close(hx);
}

static void full_disk(void) {
  scenario_devices = "cpu"; /* compilers of drivers would be killed, and their libraries catch the signal */
  make_path();
  const struct rlimit limit = {100000, 100000};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "no limit");
  signal(SIGXFSZ, SIG_DFL); /* the signal would end this process */
  hx_context *const hx = open_here();
  make_calls(hx, 100);
  hx_close(hx);
  struct stat s;
  CHECK(stat(path, &s) == 0 && s.st_size <= 100000 && s.st_size > 4, "%ld bytes", (long)s.st_size);
  read_trace();
}

/* open(2) would give the trace the number of the closed stderr, to which hx writes its messages. */
static void no_stderr(void) {
  make_path();
  close(STDERR_FILENO);
  setenv("HX_LOG", "debug", 1);
  hx_context *const hx = open_here();
  make_calls(hx, 3);
  hx_close(hx);
  const counts c = read_trace();
  CHECK(c.cpu >= 9, "%d chunks of the CPU", c.cpu);
}

static void *one_chunk(void *t) {
  hx__trace_chunk(t, &(hx__trace_slice){SUM, 0, 1000, 2000, 0, 1, 1, 0.0, "done"});
  return NULL;
}

/* Each asynchronous call has its own thread and its own thread pool, and each thread is a row with a name. */
static void many_threads(void) {
  enum { THREADS = 1500 };
  make_path();
  hx__trace *const t = hx__trace_open(path);
  hx__trace_device(t, 0, "CPU");
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, one_chunk, t) == 0, "thread %d", i);
    pthread_join(thread, NULL);
  }
  hx__trace_close(t);
  const counts c = read_trace();
  CHECK(c.cpu == THREADS && c.threads > THREADS / 2, "%d chunks of %d threads", c.cpu, c.threads);
}

enum { EVENTS = 6000 };

static void *many_chunks(void *t) {
  for (uint64_t i = 1; i <= EVENTS; i++)
    hx__trace_chunk(t, &(hx__trace_slice){SUM, 0, 1000 * i, 1000 * i + 500, 0, 1, 1, 0.0, "done"});
  return NULL;
}

/* Threads fill one buffer while another thread writes the previous one: every slice is in the trace once. */
static void threads_at_once(void) {
  enum { THREADS = 4 };
  pthread_t thread[THREADS];
  make_path();
  hx__trace *const t = hx__trace_open(path);
  hx__trace_device(t, 0, "CPU");
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&thread[i], NULL, many_chunks, t) == 0, "thread %d", i);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  hx__trace_close(t);
  const counts c = read_trace();
  CHECK(c.cpu == THREADS * EVENTS && c.threads == THREADS && c.crossings == 0, "%d chunks of %d threads, %d cross",
        c.cpu, c.threads, c.crossings);
}

/* Records with the longest names and the most extreme numbers. */
static void odd_events(void) {
  make_path();
  hx__trace *const t = hx__trace_open(path);
  char name[400];
  memset(name, '"', sizeof name);
  memset(name + 50, 'x', 300);
  name[20] = '\\', name[21] = '\n', name[22] = '\x7f', name[23] = (char)0xc3, name[399] = '\0';
  for (uint32_t i = 0; i <= 15; i += 15) hx__trace_device(t, i, name);
  const double numbers[] = {0.0, -1.0, NAN, INFINITY, 1e300, 1.5};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    hx__trace_chunk(t,
                    &(hx__trace_slice){SUM, 15, 1000, UINT64_MAX, SIZE_MAX, SIZE_MAX, UINT64_MAX, numbers[i], "done"});
    hx__trace_decision(t, &(hx__trace_choice){PRODUCT, "best", 15, true, UINT64_MAX, numbers[i], 1e6});
    hx__trace_transfer(t, 15, 1000, 2000, SIZE_MAX, "to the device");
    hx__trace_call(t, &(hx__trace_slice){PRODUCT, 0, 1000, UINT64_MAX, 0, 0, UINT64_MAX, 0.0, "ok"});
  }
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) { /* more than a child may keep */
    for (int i = 0; i < 10000; i++) hx__trace_chunk(t, &(hx__trace_slice){SUM, 15, 1000, 2000, 0, 1, 1, 0.0, "done"});
    hx__trace_close(t);
    _exit(0);
  }
  CHECK(child_wait(child) == 0, "the child failed");
  hx__trace_close(t);
  const counts c = read_trace();
  CHECK(c.device == 6 && c.transfers == 6 && c.decisions == 6, "%d chunks, %d transfers, %d decisions", c.device,
        c.transfers, c.decisions);
  hx__trace_chunk(NULL, NULL);
  hx__trace_close(NULL);
  CHECK(!hx__trace_open("") && !hx__trace_open("/nowhere/x") && !hx__trace_open("/dev/null"),
        "opened something that cannot be a trace");
}

int main(int argc, char **argv) {
  static const scenario table[] = {{"trace_after_close", trace_after_close},
                                   {"every_call", every_call},
                                   {"never_closed", never_closed},
                                   {"several_contexts", several_contexts},
                                   {"second_process", second_process},
                                   {"another_process", another_process},
                                   {"full_disk", full_disk},
                                   {"odd_events", odd_events},
                                   {"many_threads", many_threads},
                                   {"threads_at_once", threads_at_once},
                                   {"no_stderr", no_stderr}};
  return scenarios_main(argc, argv, "trace_test", table, sizeof table / sizeof table[0]);
}
