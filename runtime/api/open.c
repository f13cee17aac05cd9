/* SPDX-License-Identifier: Apache-2.0
 * hx_open and hx_close. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "runtime/api/caller.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/energy.h"
#include "runtime/base/guard.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/sched/store.h"
#include "runtime/topo/topo.h"

/* Warns once in a process. */
static void warn_energy_unreadable(void) {
  static _Atomic bool said;
  if (atomic_exchange(&said, true)) return;
  hx__log(HX__LOG_WARN,
          "HX_OBJECTIVE: energy cannot be measured, so time decides: not every package has a RAPL counter that can be "
          "read under %s (Linux lets only root read them, unless an administrator has changed the mode of energy_uj)",
          hx__energy_folder);
}

static hx_status set_up(hx_context *hx, const hx_settings *settings) {
  hx_status s = hx__config_read(&hx->config, settings);
  if (s != HX_OK) return s;
  if (!hx__cpu_kernels_for(hx->config.isa))
    return hx__fail(HX_INVALID_CONFIG, "HX_ISA=%s: this build has no such kernels", hx__isa_name(hx->config.isa));
  if (hx->config.objective != HX__OBJECTIVE_TIME && !hx__energy_of_process()) warn_energy_unreadable();
  hx__memory_init(&hx->memory, &hx->config);
  s = hx__device_table_init(&hx->table, &hx->config, &hx->memory);
  if (s != HX_OK) hx__memory_destroy(&hx->memory);
  return s;
}

/* Threads of hx, and those that drivers start on them, may run on all CPUs of the process (the ones that topo.h
 * counts). If they inherited the affinity of the thread that starts them, they would share one CPU with a thread that
 * its program pinned, or with a main thread that OpenMP bound to the first of its places. */
static void choose_thread_affinity(void) {
  cpu_set_t cpus;
  hx__topo_places(&cpus);
  if (CPU_COUNT(&cpus) || sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0) hx__set_thread_affinity(&cpus);
}

hx_status hx_open(hx_context **out, const hx_settings *settings) {
  if (!out) return hx__fail(HX_INVALID_ARGUMENT, "out is NULL");
  *out = NULL;
  HX__GUARD;
  hx__keep_library_mapped();
  hx_context *const hx = calloc(1, sizeof *hx);
  if (!hx) return hx__fail(HX_OUT_OF_MEMORY, "no memory for a context");
  const hx_status s = set_up(hx, settings);
  if (s != HX_OK) {
    free(hx);
    return s;
  }
  const hx__config *const c = &hx->config;
  const bool others = (c->device_words & ~(uint32_t)HX__DEV_CPU) || (c->device_indices & ~1u);
  const bool cpu = (c->device_words & (HX__DEV_CPU | HX__DEV_ALL)) || (c->device_indices & 1u);
  hx->wants_devices = others && c->offload != HX__OFFLOAD_DISABLED;
  hx->small_stay =
      (cpu || !hx->wants_devices) && c->splits == 0 && c->offload != HX__OFFLOAD_MANDATORY && c->min_offload != 0;
  hx->small_silent = hx->small_stay && !hx->table.trace;
  pthread_mutex_init(&hx->lock, NULL);
  hx__cond_init(&hx->idle);
  hx__cond_init(&hx->work);
  choose_thread_affinity();
  hx__registry_install_exit_hook();
  hx__install_fork_handlers();
  hx__cache_dir_join(c->cache_dir);
  *out = hx;
  return HX_OK;
}

/* Waits until no asynchronous task is left, and no thread that runs them. */
static void await_tasks(hx_context *hx) {
  pthread_mutex_lock(&hx->lock);
  hx->closing = true;
  pthread_cond_broadcast(&hx->work);
  while (hx->tasks || hx->workers) pthread_cond_wait(&hx->idle, &hx->lock);
  pthread_mutex_unlock(&hx->lock);
}

void hx_close(hx_context *hx) {
  if (!hx) return;
  HX__GUARD;
  if (!hx__in_forked_child()) { /* A child has no tasks, and a thread of the parent may have had the lock. */
    await_tasks(hx);
    /* The last thread that leaves must not touch the context any more, so it cannot wake this one: poll. */
    while (hx__caller_inside(hx)) hx__sleep_ns(50000);
    await_tasks(hx); /* a call that was inside may have started one */
    hx__events_free(hx);
    hx__device_table_close(&hx->table);
    hx__model_save();
    hx__memory_destroy(&hx->memory); /* before the devices that allocated it */
    hx__device_table_settle(&hx->table);
    hx__device_table_free(&hx->table);
    pthread_cond_destroy(&hx->idle);
    pthread_cond_destroy(&hx->work);
    pthread_mutex_destroy(&hx->lock);
  }
  hx__cache_dir_leave();
  free(hx);
}
