/* SPDX-License-Identifier: Apache-2.0
 * Sandboxes that refuse system calls (seccomp). For each entry of the list and each error, calls end with the right
 * bits, or a reduction ends with HX_OUT_OF_MEMORY. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/child.h"
#include "tests/limited.h"

enum { MOST = 8, LIMIT_S = 30 };

static const struct {
  const char *what;
  long calls[MOST]; /* ended by a 0 */
} refusals[] = {
    {"affinity", {SYS_sched_getaffinity, SYS_sched_setaffinity}},
    {"reading the affinity", {SYS_sched_getaffinity}},
    {"priorities", {SYS_sched_setattr, SYS_sched_getattr, SYS_sched_setscheduler, SYS_setpriority}},
    {"threads", {SYS_clone, SYS_clone3}},
    {"files", {SYS_openat}},
    {"what is known of files", {SYS_newfstatat, SYS_fstat, SYS_statx}},
    {"folders", {SYS_getdents64, SYS_mkdirat}},
    {"links and the working folder", {SYS_readlinkat, SYS_getcwd}},
    {"locks and descriptors", {SYS_fcntl, SYS_flock}},
    {"writing", {SYS_write, SYS_pwrite64, SYS_ftruncate}},
    {"renaming", {SYS_renameat, SYS_renameat2, SYS_unlinkat, SYS_utimensat}},
    {"programs in memory", {SYS_memfd_create, SYS_execve, SYS_execveat}},
    {"naps", {SYS_clock_nanosleep, SYS_nanosleep}},
    {"clocks", {SYS_clock_gettime, SYS_clock_getres}},
    {"signals", {SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_rt_sigprocmask}},
    {"names of threads and users", {SYS_gettid, SYS_getpid, SYS_geteuid, SYS_getuid}},
    {"advice on memory", {SYS_madvise, SYS_mlock, SYS_membarrier}},
    {"facts on the system", {SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_prlimit64}},
};

/* The calls that are refused in a child, and the error. */
typedef struct refusal {
  const long *calls;
  unsigned error;
} refusal;

static bool refuse_calls(const long *calls, unsigned error) {
  struct sock_filter filter[2 * MOST + 2];
  unsigned short used = 0;
  filter[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < MOST && calls[i]; i++) {
    filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
  }
  filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {used, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Opens, uses and closes a context while these calls are refused. */
static int run_context(const void *arg) {
  const refusal *const r = arg;
  if (!refuse_calls(r->calls, r->error)) return CHILD_VOID;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu,sim";
  settings.sim = "rate=1e9";
  settings.threads = "2";
  settings.log = "error";
  hx_context *const hx = open_or_exit(&settings);
  const float shares[] = {0.5f, -1.0f, 1.0f};
  int failed = 0;
  for (size_t i = 0; i < sizeof shares / sizeof *shares && !failed; i++) failed = limited_tasks_run(hx, shares[i]);
  hx_free(hx, hx_alloc(hx, 100000));
  if (hx_ready(hx) != HX_OK) failed = 7;
  hx_close(hx);
  return failed;
}

int main(void) {
  setenv("OCL_ICD_VENDORS", "/nonexistent", 1); /* drivers in a sandbox are not tested */
  limited_tasks_prepare(1 << 21, 300);
  const unsigned errors[] = {EPERM, ENOSYS};
  for (size_t r = 0; r < sizeof refusals / sizeof *refusals; r++)
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
      const refusal refused = {refusals[r].calls, errors[e]};
      const int status = child_run(run_context, &refused, LIMIT_S);
      if (status == CHILD_VOID) {
        printf("sandbox_test: skipped: no filter for system calls can be set here\n");
        return SKIPPED;
      }
      CHECK(status == 0, "%s refused with %s: the child's status is %d", refusals[r].what,
            strerrorname_np((int)errors[e]), status);
    }
  return checks_end("sandbox_test");
}
