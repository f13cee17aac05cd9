/* SPDX-License-Identifier: Apache-2.0
 * The beginning and end of a context's life: hx_close during a call, memory that is freed during a task, and a child
 * that is forked during a task or call of its parent. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/api/caller.h"
#include "runtime/base/log.h"
#include "tests/check.h"

enum { SIDE = 1024, FORKS = 300 };

static hx_context *hx;
static float *a, *b, *c;
static _Atomic bool ended, stop;

static void open_context(void) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  hx = open_or_exit(&settings);
}

static void *multiply(void *unused) {
  (void)unused;
  const hx_task t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  CHECK_OK(hx_offload(hx, &t, NULL));
  atomic_store(&ended, true);
  return NULL;
}

static void close_beside_a_call(void) {
  pthread_t thread;
  open_context();
  CHECK(pthread_create(&thread, NULL, multiply, NULL) == 0, "no thread");
  /* When the first elements are written, the call is certainly inside hx: no call may begin after hx_close. */
  while (*(const volatile float *)c == 0.0f) sched_yield();
  hx_close(hx);
  const bool waited = c[SIDE * SIDE - 1] == (float)SIDE;
  pthread_join(thread, NULL);
  CHECK(waited && atomic_load(&ended), "hx_close returned before the product was written");
}

/* Functions that free memory of a task in flight wait for the task. The memory is its A, its C, or memory from
 * hx_alloc. */
static void memory_goes_beside_a_task(void) {
  enum { BYTES = SIDE * SIDE * sizeof(float) };
  open_context();
  for (int i = 0; i < 3; i++) {
    hx_event *event;
    float *const mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    float *const given = i == 2 ? hx_alloc(hx, BYTES) : mapped;
    CHECK_OK(hx_register(hx, mapped, BYTES));
    if (i != 1) memcpy(given, a, BYTES);
    memset(c, 0, BYTES);
    const hx_task t = hx_matmul(SIDE, SIDE, SIDE, i == 1 ? a : given, b, i == 1 ? given : c);
    CHECK_OK(hx_offload_async(hx, &t, &event));
    if (i == 2)
      hx_free(hx, given);
    else
      CHECK_OK(hx_unregister(hx, mapped));
    CHECK(hx_done(event), "case %d: the task is still in flight", i);
    CHECK((i == 1 ? given : c)[SIDE * SIDE - 1] == (float)SIDE, "case %d: the last element is missing", i);
    munmap(mapped, BYTES);
    CHECK_OK(hx_wait(event, NULL));
  }
  hx_close(hx);
}

static void *modify_once(void *unused) {
  (void)unused;
  hx_modified(hx, a, 4);
  return NULL;
}

/* hx_close waits for every kind of call. This call is blocked until the test has seen it inside hx. */
static void close_beside_hx_modified(void) {
  pthread_t thread;
  open_context();
  pthread_mutex_lock(&hx->memory.lock);
  CHECK(pthread_create(&thread, NULL, modify_once, NULL) == 0, "no thread");
  const double from = seconds_now();
  while (!hx__caller_inside(hx) && seconds_now() - from < 10) sched_yield();
  CHECK(hx__caller_inside(hx), "the thread was never seen inside hx_modified");
  pthread_mutex_unlock(&hx->memory.lock);
  hx_close(hx); /* a sanitizer reports it if hx_modified still uses the closed context */
  pthread_join(thread, NULL);
}

/* The exit status of a child, or minus the signal that ended it; its alarm ends a child that hangs. */
static int exit_status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void wait_in_a_child(void) {
  hx_event *event;
  open_context();
  memset(c, 0, SIDE * SIDE * sizeof *c);
  const hx_task t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  CHECK_OK(hx_offload_async(hx, &t, &event));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const hx_status s = hx_wait(event, NULL);
    _exit(s == HX_OK && c[SIDE * SIDE - 1] != (float)SIDE); /* only HX_OK without the result is wrong */
  }
  const int end = exit_status_of(child);
  CHECK(end == 0, "the child's hx_wait ended with %d", end);
  CHECK_OK(hx_wait(event, NULL));
  hx_close(hx);
}

/* This thread holds the lock nearly all the time. */
static void *call_modified(void *unused) {
  (void)unused;
  while (!atomic_load(&stop)) hx_modified(hx, a, 4);
  return NULL;
}

static void fork_beside_locks(void) {
  pthread_t thread;
  int wrong = 0, end = 0;
  open_context();
  CHECK_OK(hx_register(hx, a, SIDE * SIDE * sizeof *a));
  CHECK(pthread_create(&thread, NULL, call_modified, NULL) == 0, "no thread");
  for (int i = 0; i < FORKS && !wrong; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);
      _exit(hx_modified(hx, a, 4) != HX_OK || hx_alloc(hx, 64) == NULL);
    }
    end = exit_status_of(child);
    wrong += end != 0;
  }
  atomic_store(&stop, true);
  pthread_join(thread, NULL);
  CHECK(!wrong, "a child beside hx_modified ended with %d", end);
  hx_close(hx);
}

static sem_t loses, has_forked;

/* The message that a device is lost is written under the lock of the list of devices. */
void __wrap_hx__log_write(hx__log_level level, const char *format, ...);
void __wrap_hx__log_write(hx__log_level level, const char *format, ...) {
  (void)level;
  if (!strstr(format, " is lost: ")) return;
  sem_post(&loses);
  sem_wait(&has_forked);
}

static void *lose_the_device(void *unused) {
  (void)unused;
  hx_task t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  t.gpu_share = 1;
  CHECK_OK(hx_offload(hx, &t, NULL));
  return NULL;
}

/* A child that is forked while another thread loses a device asks for devices. HX_TILE has it look for the tile. */
static void fork_beside_a_loss(void) {
  pthread_t thread;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu,sim";
  settings.sim = "rate=1e9,latency_us=5,fail=enqueue@1";
  settings.tile = "32x32x16";
  sem_init(&loses, 0, 0);
  sem_init(&has_forked, 0, 0);
  hx = open_or_exit(&settings);
  CHECK_OK(hx_ready(hx));
  CHECK(pthread_create(&thread, NULL, lose_the_device, NULL) == 0, "no thread");
  sem_wait(&loses);
  const pid_t child = fork();
  if (child == 0) {
    hx_device_info info;
    alarm(10);
    _exit(hx_device(hx, 0, &info) != HX_OK || hx_device(hx, 1, &info) != HX_OK);
  }
  const int end = exit_status_of(child);
  sem_post(&has_forked);
  CHECK(end == 0, "the child's hx_device ended with %d", end);
  pthread_join(thread, NULL);
  hx_close(hx);
}

int main(void) {
  a = malloc(SIDE * SIDE * sizeof *a);
  b = malloc(SIDE * SIDE * sizeof *b);
  c = calloc(SIDE * SIDE, sizeof *c);
  for (size_t i = 0; i < SIDE * SIDE; i++) a[i] = b[i] = 1.0f;
  close_beside_hx_modified();
  close_beside_a_call();
  memory_goes_beside_a_task();
  wait_in_a_child();
  fork_beside_locks();
  fork_beside_a_loss();
  free(a);
  free(b);
  free(c);
  return checks_end("context_lifetime_test");
}
