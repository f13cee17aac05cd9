/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into ranks of MPICH over UCX, which wait without giving up their core: of more ranks than cores each would
 * wait for its next turn. With this they take turns. */
#include <dlfcn.h>
#include <sched.h>

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker) {
  static unsigned (*real)(void *);
  /* RTLD_NEXT would not find it if Python has loaded MPICH, because that is not in the global scope. */
  if (!real) real = (unsigned (*)(void *))dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
  const unsigned progress = real(worker);
  if (!progress) sched_yield();
  return progress;
}
