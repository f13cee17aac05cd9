/* SPDX-License-Identifier: Apache-2.0
 * What a call guarantees to its thread: every public function leaves the floating-point state and its flags unchanged,
 * a cancelled thread leaves nothing locked, and a stack of 64 KiB is enough.
 *     caller_state_test [--devices LIST]      default: the CPU and a simulated device  */
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/api/explain.h"
#include "runtime/base/clock.h"
#include "runtime/hx_map.h"
#include "reference/data.h"
#include "tests/scenario.h"

enum { N = 1 << 20, SIDE = 400, CELLS = SIDE * SIDE, CALLS = 12 };

static float x[N], a[CELLS], b[CELLS], c[CELLS];

static hx_settings settings_for(const char *rate) {
  static char list[256], sim[64];
  hx_settings s = HX_SETTINGS_DEFAULT;
  snprintf(list, sizeof list, "cpu,%s", scenario_devices ? scenario_devices : "sim");
  snprintf(sim, sizeof sim, "rate=%s,latency_us=10", rate);
  s.devices = list;
  if (!scenario_devices) s.sim = sim;
  s.cache_dir = "off";
  return s;
}

/* The state of a thread: SSE's and x87's. */
typedef struct state {
  unsigned sse;
  fenv_t all;
} state;

static state state_now(void) {
  state s;
  memset(&s, 0, sizeof s);
  fegetenv(&s.all); /* fegetenv masks x87's exceptions, so the state is restored */
  fesetenv(&s.all);
#if defined(__SSE2__)
  s.sse = s.all.__mxcsr;
#endif
  return s;
}

static bool states_equal(const state *s, const state *t) {
#if defined(__SSE2__)
  return s->sse == t->sse && s->all.__control_word == t->all.__control_word &&
         s->all.__status_word == t->all.__status_word;
#else
  return memcmp(&s->all, &t->all, sizeof s->all) == 0;
#endif
}

static state before; /* the state before each call */
static const char *case_name;

#define KEEPS(call)                                                                                    \
  do {                                                                                                 \
    (void)(call);                                                                                      \
    const state after = state_now();                                                                   \
    CHECK(states_equal(&before, &after), "%s: %x before, %x after", case_name, before.sse, after.sse); \
    fesetenv(&before.all);                                                                             \
  } while (0)

static void call_offload(hx_context *hx, float share) {
  static const size_t sizes[] = {0, 1, 64, 5000, 40000, N};
  hx_value value;
  hx_report report;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    hx_task t = hx_reduce(HX_SUM, HX_F32, x, sizes[i], &value);
    t.gpu_share = share;
    KEEPS(hx_offload(hx, &t, NULL));
    KEEPS(hx_offload(hx, &t, &report));
    hx_event *event = NULL;
    KEEPS(hx_offload_async(hx, &t, &event));
    KEEPS(hx_done(event));
    KEEPS(hx_wait(event, &report));
    hx__explanation explanation;
    KEEPS(hx__explain(hx, &t, &explanation));
  }
  static const size_t sides[] = {4, 32, 128, SIDE};
  for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
    const size_t side = sides[i];
    hx_task t = hx_matmul(side, side, side, a, b, c);
    t.gpu_share = share;
    t.matmul.beta = 0.3f;
    KEEPS(hx_offload(hx, &t, NULL));
    KEEPS(hx_offload(hx, &t, &report));
  }
  hx_task wrong = hx_reduce(HX_SUM, HX_F32, NULL, 5, &value);
  KEEPS(hx_offload(hx, &wrong, NULL));
}

static void call_memory_functions(hx_context *hx) {
  float *own = NULL;
  KEEPS(own = hx_alloc(hx, sizeof x));
  if (own) memcpy(own, x, sizeof x);
  KEEPS(hx_advise(hx, own, sizeof x, HX_READ_MOSTLY));
  hx_value value;
  hx_task t = hx_reduce(HX_DOT, HX_F32, own, N, &value);
  t.reduce.y = x;
  KEEPS(hx_offload(hx, &t, NULL));
  KEEPS(hx_modified(hx, own, sizeof x));
  KEEPS(hx_sync(hx, own, sizeof x));
  KEEPS(hx_free(hx, own));
  KEEPS(hx_register(hx, x, sizeof x));
  t.reduce.x = x;
  KEEPS(hx_offload(hx, &t, NULL));
  KEEPS(hx_unregister(hx, x));
}

static void every_function(void) {
  hx_settings s = settings_for("1e9");
  hx_context *hx = NULL;
  KEEPS(hx_open(&hx, &s));
  if (!hx) {
    CHECK(hx != NULL, "%s", hx_error_detail());
    return;
  }
  call_offload(hx, -1);
  KEEPS(hx_device_count(hx));
  hx_device_info info;
  KEEPS(hx_device(hx, 0, &info));
  KEEPS(hx_ready(hx));
  for (int i = 0; i < CALLS; i++) call_offload(hx, -1);
  call_offload(hx, 0.37f);
  call_offload(hx, 1);
  call_memory_functions(hx);
  KEEPS(hx_close(hx));
}

static void floating_point(void) {
  static const struct {
    const char *name;
    int flags, rounding;
  } cases[] = {
      {"no flag", 0, FE_TONEAREST}, {"every flag", FE_ALL_EXCEPT, FE_TONEAREST}, {"upward", FE_INEXACT, FE_UPWARD}};
  data_fill(HX_F32, DATA_SIGNED, 21, x, N);
  data_fill(HX_F32, DATA_SIGNED, 22, a, CELLS);
  data_fill(HX_F32, DATA_SIGNED, 23, b, CELLS);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    case_name = cases[i].name;
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(cases[i].rounding);
    feraiseexcept(cases[i].flags);
    before = state_now();
    every_function();
    /* The sum is infinity minus infinity, which raises a flag. */
    x[7] = INFINITY, x[8] = -INFINITY, x[9] = NAN;
  }
  fesetround(FE_TONEAREST);
}

/* Cancellation. */

static hx_context *shared;

static void *call_for_ever(void *unused) {
  hx_value value;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &value);
  for (int i = 0;; i++) {
    t.gpu_share = i % 3 == 0 ? 1.0f : 0.5f;
    hx_offload(shared, &t, NULL); /* the only cancellation point of this thread */
  }
  return unused;
}

static void *wait_for_ever(void *unused) {
  hx_value value;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &value);
  t.gpu_share = 1.0f;
  for (;;) {
    hx_event *event = NULL;
    if (hx_offload_async(shared, &t, &event) == HX_OK) hx_wait(event, NULL); /* also the only cancellation point */
  }
  return unused;
}

static void *other_calls_for_ever(void *unused) {
  for (;;) {
    void *const p = hx_alloc(shared, 1 << 20);
    hx_advise(shared, p, 1 << 20, HX_RESIDENT);
    hx_sync(shared, p, 1 << 20);
    hx_free(shared, p);
    hx_ready(shared);
    hx_settings s = settings_for("1e9");
    s.log = "error";
    hx_context *hx = NULL;
    if (hx_open(&hx, &s) == HX_OK) {
      hx_device_count(hx);
      hx_close(hx);
    }
    pthread_testcancel();
  }
  return unused;
}

/* A thread is cancelled inside a call. Later calls, and hx_close, have to return; otherwise the scenario's alarm ends
 * the test. */
static void thread_cancelled_in_a_call(void) {
  static void *(*const bodies[])(void *) = {call_for_ever, wait_for_ever, other_calls_for_ever};
  enum { ROUNDS = 15 };
  for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) x[i] = 1.0f;
  hx_settings s = settings_for("2e8");
  shared = open_or_exit(&s);
  for (size_t which = 0; which < sizeof bodies / sizeof bodies[0]; which++)
    for (int i = 0; i < ROUNDS; i++) {
      pthread_t thread;
      void *end = NULL;
      if (pthread_create(&thread, NULL, bodies[which], NULL) != 0) exit(1);
      hx__sleep_ns(1000000u + (uint64_t)i * 777000u);
      pthread_cancel(thread);
      pthread_join(thread, &end);
      CHECK(end == PTHREAD_CANCELED, "the thread ended by itself");
      hx_value value = {.u64 = 0};
      hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &value);
      t.gpu_share = 0.5f;
      CHECK_OK(hx_offload(shared, &t, NULL));
      CHECK(value.f32 == (float)N, "%g", (double)value.f32);
    }
  hx_close(shared);
}

/* A small stack, as coroutines have. hx.h says how much a call needs; sanitized code needs more. */

enum { STACK_BYTES = SANITIZED ? 1 << 20 : 64 << 10, PAINT = 0x5a };

/* The deepest texts that the compiler takes: brackets around functions, and the operators of each precedence; and
 * functions within each other, which it refuses once it has read them. */
static void deepest_texts(char brackets[256], char operators[2048], char functions[2048]) {
  enum { DEPTH = 64, PRECEDENCES = 10, NESTED = 128 / PRECEDENCES };
  memset(brackets, 0, 256);
  memset(operators, 0, 2048);
  memset(functions, 0, 2048);
  for (int i = 0; i < DEPTH; i++) strcat(functions, i < 2 * DEPTH / 4 ? "1==1<1+1*tanhf(" : "expf(");
  strcat(functions, "x");
  for (int i = 0; i < DEPTH; i++) strcat(functions, ")");
  memset(brackets, '(', DEPTH - 2); /* and those of two functions */
  strcat(brackets, "erff(expf(x) * tanhf(y))");
  memset(brackets + strlen(brackets), ')', DEPTH - 2);
  for (int i = 0; i < NESTED; i++) strcat(operators, "0||0&&0|0^0&0==0<0<<0+0*(");
  for (int i = NESTED; i < DEPTH; i++) strcat(operators, "(");
  strcat(operators, "x != y");
  for (int i = 0; i < DEPTH; i++) strcat(operators, ")");
}

static void call_tasks(hx_context *hx, hx_task *const tasks[], size_t count) {
  for (size_t i = 0; i < count; i++)
    for (float share = -1.0f; share <= 1.0f; share += 0.5f) {
      tasks[i]->gpu_share = share;
      CHECK_OK(hx_offload(hx, tasks[i], NULL));
    }
}

/* The compiler at its greatest depth, and the evaluator with temporaries and a remainder. */
static void call_kernels(hx_context *hx) {
  static float out[N];
  static char brackets[256], operators[2048], functions[2048];
  enum { ROWS = 5 };
  const hx_field both[] = {{.op = HX_SUM, .type = HX_F32}, {.op = HX_MAX, .type = HX_F32}};
  hx_value value, values[ROWS];
  hx_kernel *k = NULL;
  const hx_kernel_source source = {.text = brackets, .inputs = "float x, float y"},
                         deep = {.text = operators, .inputs = "float x, float y"},
                         nested = {.text = functions, .inputs = "float x"};
  const void *inputs[] = {x, x};
  deepest_texts(brackets, operators, functions);
  CHECK_REFUSED(hx_compile(hx, &nested, &k), HX_INVALID_ARGUMENT, "needs more values or names than are left");
  CHECK_OK(hx_compile(hx, &deep, &k));
  hx_kernel_free(k);
  CHECK_OK(hx_compile(hx, &source, &k));
  for (size_t n = 1; k && n <= N; n = 3 * n + 7) {
    const size_t columns = n / ROWS + 1;
    hx_task map = hx_map(k, inputs, n, NULL, out), reduce = hx_map_reduce(HX_ARGMAX, k, inputs, n, NULL, &value),
            fields = hx_map_reduce_fields(both, 2, k, inputs, n, NULL, values),
            rows = hx_map_reduce_rows(HX_ARGMAX, k, inputs, NULL, ROWS, columns, NULL, values),
            columns_of = hx_reduce_columns(HX_MAX, HX_F32, x, columns, ROWS, 0, values);
    call_tasks(hx, (hx_task *const[]){&map, &reduce, &fields, &rows, &columns_of}, ROWS * columns <= N ? 5 : 3);
  }
  hx_kernel_free(k);
}

/* Lists of small tasks and of neighbours that a device computes as one, and batches. */
static void call_lists(hx_context *hx) {
  enum { TASKS = 12, EDGE = 20, LENGTH = N / TASKS };
  static float products[TASKS * EDGE * EDGE];
  hx_value sums[TASKS];
  hx_task tasks[TASKS];
  for (float share = -1.0f; share <= 1.0f; share += 0.5f) {
    for (size_t i = 0; i < TASKS; i++) tasks[i] = hx_reduce(HX_SUM, HX_F32, x + i * LENGTH, LENGTH, &sums[i]);
    for (size_t i = 0; i < TASKS; i++) tasks[i].gpu_share = share;
    CHECK_OK(hx_offload_many(hx, tasks, TASKS, NULL));
    hx_task batch = hx_matmul_batched(EDGE, EDGE, EDGE, a, (size_t)EDGE * EDGE, b, (size_t)EDGE * EDGE, products,
                                      (size_t)EDGE * EDGE, TASKS);
    call_tasks(hx, (hx_task *const[]){&batch}, 1);
  }
}

static void call_everything(hx_context *hx) {
  call_kernels(hx);
  call_lists(hx);
  hx_value value;
  for (int op = HX_SUM; op <= HX_PROD; op++)
    for (size_t n = 1; n <= N; n *= 8) {
      hx_task t = op == HX_DOT ? hx_dot(HX_F32, x, x, n, &value) : hx_reduce((hx_op)op, HX_F32, x, n, &value);
      CHECK_OK(hx_offload(hx, &t, NULL));
      t.gpu_share = 0.5f;
      CHECK_OK(hx_offload(hx, &t, NULL));
    }
  for (size_t m = 1; m <= SIDE; m += m < 20 ? 7 : 93)
    for (float share = 0.0f; share <= 1.0f; share += 0.5f) {
      hx_task t = hx_matmul(m, SIDE, SIDE, a, b, c);
      t.gpu_share = share;
      hx_event *event = NULL;
      CHECK_OK(hx_offload(hx, &t, NULL));
      CHECK_OK(hx_offload_async(hx, &t, &event));
      CHECK_OK(hx_wait(event, NULL));
    }
}

static void *use_hx_from_open_to_close(void *unused) {
  hx_settings s = settings_for("1e9");
  s.cache_dir = NULL; /* with the files of the cache and the model */
  char trace[] = "/tmp/caller_state_XXXXXX";
  const int file = mkstemp(trace);
  CHECK(file >= 0, "no file for a trace");
  s.trace = trace;
  hx_context *const hx = open_or_exit(&s);
  call_everything(hx);
  CHECK_OK(hx_ready(hx));
  void *const p = hx_alloc(hx, sizeof a);
  CHECK(p != NULL, "no memory");
  call_everything(hx);
  hx_free(hx, p);
  hx_close(hx);
  unlink(trace);
  close(file);
  return unused;
}

static void small_stack(void) {
  char *const stack = aligned_alloc(4096, STACK_BYTES);
  pthread_attr_t attributes;
  pthread_t thread;
  memset(stack, PAINT, STACK_BYTES);
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0, "no stack of %d bytes", STACK_BYTES);
  if (pthread_create(&thread, &attributes, use_hx_from_open_to_close, NULL) != 0) exit(1);
  pthread_join(thread, NULL);
  size_t unused = 0;
  while (unused < STACK_BYTES && stack[unused] == PAINT) unused++;
  printf("small_stack: %zu of %d bytes used\n", STACK_BYTES - unused, STACK_BYTES);
  CHECK(unused > 0, "the stack of %d bytes is full", STACK_BYTES);
  free(stack);
}

int main(int argc, char **argv) {
  static const scenario table[] = {{"floating_point", floating_point},
                                   {"thread_cancelled_in_a_call", thread_cancelled_in_a_call},
                                   {"small_stack", small_stack}};
  return scenarios_main(argc, argv, "caller_state_test", table, sizeof table / sizeof *table);
}
