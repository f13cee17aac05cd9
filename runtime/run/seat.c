/* SPDX-License-Identifier: Apache-2.0
 * A seat: taken for one run at a time, in the order of those who wait; and its lane. */
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/run/team.h"

#define NAP_NS 100000u
#define BLIND_LIMIT_NS 5000000000u /* of a driver call, if HX_TIMEOUT_MS sets none */

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

void hx__seat_leave(hx__seat *seat) {
  pthread_mutex_lock(&seat->lock);
  seat->in_use = false;
  pthread_cond_broadcast(&seat->changed);
  pthread_mutex_unlock(&seat->lock);
}

uint64_t hx__call_limit_ns(const hx__config *config, const hx__device *device) {
  if (config->timeout_ms == HX__TIMEOUT_OFF) return UINT64_MAX;
  if (config->timeout_ms != HX__TIMEOUT_AUTO) return config->timeout_ms * UINT64_C(1000000);
  return device->waits_for_ever ? UINT64_MAX : BLIND_LIMIT_NS;
}

bool hx__seat_is_late(const hx__seat *seat) {
  return seat->lane && seat->lane->late && !atomic_load(&seat->device->lost);
}

/* Whether the lane is free of late chunks by now; then what they read may be freed. */
static bool is_back(hx__seat *seat, const hx__team *team) {
  hx__lane *const lane = seat->lane;
  if (!lane->late) return true;
  if (!lane->recovered(lane)) return false;
  hx__memory_ended(team->memory, seat->device);
  return true;
}

/* wait: for late chunks that the CPU has done meanwhile, as long as one would have waited for their results. */
hx__lane *hx__seat_lane(hx__seat *seat, const hx__team *team, bool wait) {
  if (atomic_load(&seat->device->lost)) return NULL;
  if (!seat->lane && (seat->lane = seat->device->backend->open(seat->device, team->config)) != NULL) {
    seat->lane->trace = team->trace;
    seat->lane->row = (size_t)(seat - team->seat);
  }
  hx__lane *const lane = seat->lane;
  while (wait && lane && !is_back(seat, team) && hx__now_ns() < seat->late_till_ns) hx__sleep_ns(NAP_NS);
  return lane && is_back(seat, team) ? lane : NULL;
}

void hx__seat_look_back(hx__seat *seat, const hx__team *team) { is_back(seat, team); }
