/* SPDX-License-Identifier: Apache-2.0
 * The gate while the process exits: a thread that has put an unmap on a queue continues until it has waited for it, and
 * no thread is waited for without end. Each case closes the gates of a process of its own. */
#include <pthread.h>
#include <stdatomic.h>

#include "runtime/backend/gate.h"
#include "runtime/base/clock.h"
#include "tests/check.h"
#include "tests/child.h"

#define STEP_NS 20000000u
#define LIMIT_NS 2000000000u

static char queue, other_queue; /* stand for queues */
static atomic_uint calls;
static atomic_bool between, exited;

static void call(void) {
  if (!hx__gate_enter("a call")) return;
  atomic_fetch_add(&calls, 1);
  hx__gate_leave(NULL, NULL);
}

/* The thread makes a call, and is then busy elsewhere while the process begins to exit. */
static void until_exit(bool unmaps) {
  hx__gate_enter("an unmap");
  if (unmaps) hx__gate_unmaps(&queue);
  hx__gate_leave(NULL, NULL);
  atomic_store(&between, true);
  while (!hx__exit_has_begun()) hx__sleep_ns(STEP_NS / 20);
  hx__sleep_ns(STEP_NS);
}

static void without_unmap(void *unused) {
  (void)unused;
  until_exit(false);
  call();
}

static void with_unmap(void *unused) {
  (void)unused;
  until_exit(true);
  call();
  hx__sleep_ns(STEP_NS);
  call();
  hx__gate_has_finished(&other_queue);
  call();
  hx__gate_has_finished(&queue);
  call(); /* this one is too much */
}

/* A chunk from before the unmap ends, and then one from after it. */
static void with_chunk(void *unused) {
  (void)unused;
  const uint64_t before = hx__gate_unmaps_so_far();
  until_exit(true);
  hx__gate_has_waited(before);
  call();
  hx__gate_has_waited(hx__gate_unmaps_so_far());
  call(); /* this one is too much */
}

static void without_wait(void *unused) {
  (void)unused;
  until_exit(true);
  while (!atomic_load(&exited)) hx__sleep_ns(STEP_NS);
  call(); /* as is this one */
}

typedef struct exit_case {
  const char *what;
  void (*work)(void *arg);
  unsigned calls;              /* how many are made */
  uint64_t least_ns, limit_ns; /* how long exit takes */
} exit_case;

static void *gate_thread(void *work) {
  static hx__gate gate;
  hx__gate_run(&gate, NULL, *(void (**)(void *))work, NULL);
  return NULL;
}

static int close_gates(const void *arg) {
  const exit_case *const c = arg;
  void (*work)(void *) = c->work;
  pthread_t thread;
  if (pthread_create(&thread, NULL, gate_thread, &work) != 0) return 1;
  while (!atomic_load(&between)) hx__sleep_ns(STEP_NS / 20);
  const uint64_t from = hx__now_ns();
  hx__gates_close();
  const uint64_t ns = hx__now_ns() - from;
  atomic_store(&exited, true);
  hx__sleep_ns(5 * STEP_NS);
  if (atomic_load(&calls) != c->calls) return 2;
  return ns < c->least_ns ? 3 : ns > c->limit_ns ? 4 : 0;
}

int main(void) {
  static const exit_case cases[] = {{"without an unmap", without_unmap, 0, 0, LIMIT_NS},
                                    {"with an unmap", with_unmap, 3, 2 * STEP_NS, LIMIT_NS},
                                    {"with a chunk behind an unmap", with_chunk, 1, STEP_NS, LIMIT_NS},
                                    {"with an unmap and no wait", without_wait, 0, 5 * STEP_NS, LIMIT_NS}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const int status = child_run(close_gates, &cases[i], 30);
    CHECK(status == 0, "%s: status %d (2: the number of calls, 3: exit did not wait, 4: it waited for too long)",
          cases[i].what, status);
  }
  return checks_end("exit_gate_test");
}
