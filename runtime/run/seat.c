/* SPDX-License-Identifier: Apache-2.0
 * A seat: taken for one run at a time, in the order of those who wait; its feeder, and its lane. */
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/run/team.h"

#define NAP_NS 100000u

static void *feed(void *p) {
  hx__seat *const seat = p;
  hx__thread_is_brief();
  pthread_mutex_lock(&seat->lock);
  while (!seat->stop) {
    if (!seat->job) {
      pthread_cond_wait(&seat->changed, &seat->lock);
      continue;
    }
    pthread_mutex_unlock(&seat->lock);
    seat->job(seat, seat->arg);
    pthread_mutex_lock(&seat->lock);
    seat->job = NULL;
    pthread_cond_broadcast(&seat->changed);
  }
  seat->running = false;
  pthread_cond_broadcast(&seat->changed);
  pthread_mutex_unlock(&seat->lock);
  return NULL;
}

bool hx__seat_take(hx__seat *seat, bool wait) {
  pthread_mutex_lock(&seat->lock);
  const uint64_t mine = wait ? seat->asked++ : seat->asked;
  while (wait && (seat->in_use || seat->served != mine)) pthread_cond_wait(&seat->changed, &seat->lock);
  const bool taken = !seat->in_use && seat->served == mine;
  if (taken) seat->in_use = true;
  if (taken && wait) seat->served++;
  pthread_mutex_unlock(&seat->lock);
  return taken;
}

bool hx__seat_start(hx__seat *seat, void (*job)(hx__seat *seat, void *arg), void *arg) {
  pthread_mutex_lock(&seat->lock);
  if (!seat->running) {
    pthread_t thread;
    seat->running = hx__thread_start(&thread, feed, seat) == 0;
    if (seat->running) pthread_detach(thread);
  }
  const bool started = seat->running;
  if (started) {
    seat->job = job;
    seat->arg = arg;
    pthread_cond_broadcast(&seat->changed);
  }
  pthread_mutex_unlock(&seat->lock);
  return started;
}

void hx__seat_finish(hx__seat *seat) {
  pthread_mutex_lock(&seat->lock);
  while (seat->job) pthread_cond_wait(&seat->changed, &seat->lock);
  seat->in_use = false;
  pthread_cond_broadcast(&seat->changed);
  pthread_mutex_unlock(&seat->lock);
}

void hx__seat_leave(hx__seat *seat) {
  pthread_mutex_lock(&seat->lock);
  seat->in_use = false;
  pthread_cond_broadcast(&seat->changed);
  pthread_mutex_unlock(&seat->lock);
}

bool hx__seat_is_back(hx__seat *seat, const hx__team *team) {
  hx__lane *const lane = seat->lane;
  if (!lane->late) return true;
  if (!lane->recovered(lane)) return false;
  hx__memory_ended(team->memory, seat->device);
  return true;
}

/* The lane, opened at its first job, and free of late chunks; wait: for those that the CPU has done meanwhile, as long
 * as one would have waited for their results. */
hx__lane *hx__seat_lane(hx__seat *seat, const hx__team *team, bool wait) {
  if (atomic_load(&seat->device->lost)) return NULL;
  if (!seat->lane && (seat->lane = seat->device->backend->open(seat->device, team->config)) != NULL) {
    seat->lane->trace = team->trace;
    seat->lane->row = (size_t)(seat - team->seat);
  }
  hx__lane *const lane = seat->lane;
  while (wait && lane && !hx__seat_is_back(seat, team) && hx__now_ns() < seat->late_till_ns) hx__sleep_ns(NAP_NS);
  return lane && hx__seat_is_back(seat, team) ? lane : NULL;
}

bool hx__seat_is_late(const hx__seat *seat) {
  return seat->lane && seat->lane->late && !atomic_load(&seat->device->lost);
}
