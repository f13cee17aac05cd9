/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into ranks of MPICH over UCX, which wait without giving up their core: of more ranks than cores each would
 * wait for its next turn. With this they take turns. */
#include <dlfcn.h>
#include <sched.h>

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker) {
  static unsigned (*real)(void *);
  if (!real) real = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
  const unsigned progress = real(worker);
  if (!progress) sched_yield();
  return progress;
}
