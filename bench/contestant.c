/* SPDX-License-Identifier: Apache-2.0
 * The main function of a contestant's process, which answers the requests of process.c. Results are verified before
 * anything is timed: those of hx by their bits, those of other libraries within a bound, because they round in another
 * order. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "bench/measure.h"
#include "bench/process.h"
#include "bench/talk.h"

#define WARM_SECONDS 0.1 /* how long calls are made to find the fastest core type; the least time counts */
#define WARM_MOST 10000
/* Before a sample, one WARM_PARTth of its calls are made untimed, because the caches contain another process's data.
 * Calls that take WARM_LONGEST seconds or more need no warm-up. */
#define WARM_PART 4
#define WARM_LONGEST 0.02

typedef struct host {
  bench_session session;
  const bench_peer *peer; /* NULL: hx */
  void *handle;           /* handle of the library, from bench_peer_load */
  bench_peer_call call;
  bench_subject subject;
  bool busy; /* `subject` is set */
  bench_ceiling ceiling;
  double seconds; /* per call */
} host;

static bool call_once(host *h) {
  if (h->peer) {
    h->call.call(h->call.symbol, &h->subject);
    return true;
  }
  hx_status status = hx_offload(h->session.hx, &h->subject.task, NULL);
  if (status != HX_OK) fprintf(stderr, "hx-bench: %s: %s\n", hx_status_string(status), hx_error_detail());
  return status == HX_OK;
}

static bool result_is_right(host *h, bool whole) {
  bool exact = h->subject.kind->check(&h->subject, whole);
  return h->peer ? bench_peer_near(&h->subject) : exact;
}

static void free_task(host *h) {
  if (h->busy) bench_subject_free(&h->session, &h->subject);
  h->busy = false;
}

static unsigned warm_calls(double seconds, unsigned calls) {
  return seconds < WARM_LONGEST ? (calls + WARM_PART - 1) / WARM_PART : 0;
}

static double ceiling_rate(const host *h, unsigned calls) {
  bench_ceiling ceiling = h->ceiling;
  const unsigned warm = warm_calls(ceiling.seconds, calls);
  if (warm) bench_ceiling_rate(&ceiling, warm);
  return bench_ceiling_rate(&ceiling, calls);
}

static bench_answer start_task(host *h, const bench_request *request, bench_reply *reply) {
  free_task(h);
  h->busy = bench_subject_make(&h->session, &request->task, &h->subject);
  if (!h->busy) return BENCH_BROKEN;
  h->subject.task.gpu_share = 0;
  if (h->peer && !bench_peer_find(h->peer, h->handle, &h->subject, &h->call)) return BENCH_UNABLE;
  h->subject.kind->poison(&h->subject, true);
  if (!call_once(h)) return BENCH_BROKEN;
  if (!result_is_right(h, true)) return BENCH_WRONG;
  reply->bits = h->subject.bits;
  reply->value = INFINITY;
  double start = bench_now(), before = start;
  for (int i = 0; i < WARM_MOST && (i < 2 || before - start < WARM_SECONDS); i++) {
    if (!call_once(h)) return BENCH_BROKEN;
    double after = bench_now();
    reply->value = fmin(reply->value, after - before);
    before = after;
  }
  h->seconds = reply->value;
  if (!h->peer) bench_ceiling_choose(&h->ceiling, &h->subject, h->session.threads);
  reply->ceiling_s = h->ceiling.seconds;
  return BENCH_READY;
}

static bench_answer sample_calls(host *h, unsigned calls, bench_reply *reply) {
  bool fine = true;
  for (unsigned i = 0; fine && i < warm_calls(h->seconds, calls); i++) fine = call_once(h);
  h->subject.kind->poison(&h->subject, false);
  double start = bench_now();
  for (unsigned i = 0; fine && i < calls; i++) fine = call_once(h);
  reply->value = (bench_now() - start) / calls;
  if (!fine) return BENCH_BROKEN;
  return result_is_right(h, false) ? BENCH_READY : BENCH_WRONG;
}

static bench_answer answer_request(host *h, const bench_request *request, bench_reply *reply) {
  if (request->ask == BENCH_ASK_TASK) return start_task(h, request, reply);
  if (request->ask == BENCH_ASK_DONE) return free_task(h), BENCH_READY;
  if (!h->busy || !request->calls) return BENCH_BROKEN;
  if (request->ask == BENCH_ASK_SAMPLE) return sample_calls(h, request->calls, reply);
  reply->value = ceiling_rate(h, request->calls);
  return BENCH_READY;
}

int bench_cmd_contestant(const bench_options *options) {
  static host h;
  bench_options own = {.command = options->command, .devices = "cpu", .quiet = true};
  bench_reply reply = {.answer = BENCH_READY};
  bench_request request;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN); /* Ctrl-C reaches every process of the terminal; the first one ends this one */
  int status = bench_session_open(&h.session, &own, false);
  if (status != BENCH_OK) return status;
  h.peer = options->vs_count ? options->vs[0].peer : NULL;
  if (h.peer) {
    char file[512] = "";
    h.handle = bench_peer_load(h.peer, h.session.threads, file, sizeof file);
    const char *name = strrchr(file, '/'), *core = h.handle && h.peer->core ? h.peer->core(h.handle) : NULL;
    snprintf(reply.file, sizeof reply.file, "%.63s", name ? name + 1 : file);
    snprintf(reply.core, sizeof reply.core, "%.31s", core ? core : "");
    if (!h.handle) reply.answer = BENCH_ABSENT;
  }
  bool fine = bench_talk_write(BENCH_TALK_FD, &reply, sizeof reply);
  if (!fine) fputs("hx-bench: contestant is for hx-bench's own use (--vs)\n", stderr);
  while (fine && bench_talk_read(BENCH_TALK_FD, &request, sizeof request)) {
    reply = (bench_reply){.answer = BENCH_BROKEN};
    reply.answer = answer_request(&h, &request, &reply);
    fine = bench_talk_write(BENCH_TALK_FD, &reply, sizeof reply);
  }
  free_task(&h);
  bench_session_close(&h.session);
  return fine ? BENCH_OK : BENCH_USAGE;
}
