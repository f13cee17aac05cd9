/* SPDX-License-Identifier: Apache-2.0
 * A process that is forked while another thread reads the topology: the child does not wait for hwloc's locks. */
#include <hwloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/thread.h"
#include "runtime/topo/topo.h"
#include "tests/check.h"

#define CHILD_SECONDS 20u

static atomic_bool has_begun, may_end;

/* Replaces hwloc's function: it takes until the child has ended. In the child nothing ends it. */
int hwloc_topology_load(hwloc_topology_t topology) {
  (void)topology;
  atomic_store(&has_begun, true);
  while (!atomic_load(&may_end)) usleep(100);
  return -1;
}

static void *read_topology(void *none) {
  hx__topo_get();
  return none;
}

int main(void) {
  pthread_t reader;
  hx__install_fork_handlers();
  pthread_create(&reader, NULL, read_topology, NULL);
  while (!atomic_load(&has_begun)) usleep(100);
  const pid_t child = fork();
  if (child == 0) {
    alarm(CHILD_SECONDS);
    const hx__topo *const topo = hx__topo_get();
    _exit(topo->cores >= 1 && topo->kinds == 1 && topo->kind_cores[0] == topo->cores ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "status of the child %#x",
        (unsigned)status);
  atomic_store(&may_end, true);
  pthread_join(reader, NULL);
  CHECK(hx__topo_get()->cores >= 1, "no cores");
  return checks_end("topo_fork_test");
}
