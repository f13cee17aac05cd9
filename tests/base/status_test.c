/* SPDX-License-Identifier: Apache-2.0
 * Status words, the version, the detail that each thread keeps, log lines and the sleep. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "tests/check.h"

static void check_words(void) {
#define CHECK_WORD(name, value) \
  CHECK(strcmp(hx_status_string((hx_status)(value)), #name) == 0 && name == (value), "%s", hx_status_string(name));
  HX__STATUS_MAP(CHECK_WORD)
  CHECK(hx_status_string((hx_status)99) && hx_status_string((hx_status)-1), "the word is NULL");
  char version[16];
  snprintf(version, sizeof version, "%d.%d.%d", HX_VERSION_NUMBER / 10000, HX_VERSION_NUMBER / 100 % 100,
           HX_VERSION_NUMBER % 100);
  CHECK(strcmp(hx_version(), version) == 0 && strcmp(version, "0.1.0") == 0, "%s", hx_version());
}

static void *other_thread(void *arg) {
  (void)arg;
  CHECK(strcmp(hx_error_detail(), "") == 0, "%s", hx_error_detail());
  hx__fail(HX_INTERNAL, "the other thread's");
  return strdup(hx_error_detail());
}

static void check_detail(void) {
  CHECK(strcmp(hx_error_detail(), "") == 0, "%s", hx_error_detail());
  CHECK(hx__fail(HX_INVALID_ARGUMENT, "n is %d, not %s", 7, "even") == HX_INVALID_ARGUMENT,
        "hx__fail returns another status");
  CHECK(strcmp(hx_error_detail(), "n is 7, not even") == 0, "%s", hx_error_detail());
  pthread_t thread;
  void *theirs = NULL;
  if (pthread_create(&thread, NULL, other_thread, NULL) != 0) exit(1);
  pthread_join(thread, &theirs);
  CHECK(strcmp(hx_error_detail(), "n is 7, not even") == 0, "%s", hx_error_detail());
  hx__set_detail(theirs);
  CHECK(strcmp(hx_error_detail(), "the other thread's") == 0, "%s", hx_error_detail());
  free(theirs);
  hx__set_detail(hx_error_detail());
  hx__fail(HX_INTERNAL, "again: %s", hx_error_detail());
  CHECK(strcmp(hx_error_detail(), "again: the other thread's") == 0, "%s", hx_error_detail());

  for (size_t length = HX__DETAIL_BYTES - 2; length < HX__DETAIL_BYTES + 3; length++) {
    char text[2 * HX__DETAIL_BYTES] = "", cut[HX__DETAIL_BYTES];
    memset(text, 'x', length);
    memset(cut, 'x', sizeof cut);
    strcpy(cut + sizeof cut - 4, "...");
    const char *kept = length < sizeof cut ? text : cut;
    hx__fail(HX_INTERNAL, "%s", text);
    CHECK(strcmp(hx_error_detail(), kept) == 0, "%zu: %s", length, hx_error_detail());
    hx__set_detail("");
    CHECK(strcmp(hx_error_detail(), "") == 0, "%s", hx_error_detail());
    hx__set_detail(text);
    CHECK(strcmp(hx_error_detail(), kept) == 0, "%zu: %s", length, hx_error_detail());
  }
}

/* stderr is a pipe in which each write is one packet (O_DIRECT, pipe(2)). Returns one of them. */
static const char *one_write(int from) {
  static char text[8192];
  const ssize_t n = read(from, text, sizeof text - 1);
  text[n > 0 ? n : 0] = '\0';
  return text;
}

static void check_log(void) {
  int ends[2];
  const int was = dup(STDERR_FILENO);
  if (was < 0 || pipe2(ends, O_DIRECT | O_NONBLOCK) != 0) exit(1);
  dup2(ends[1], STDERR_FILENO);

  CHECK(hx__log_threshold == HX__LOG_WARN, "%d", hx__log_threshold);
  errno = 1234;
  hx__log(HX__LOG_WARN, "%s %d", "a", 5);
  CHECK(errno == 1234, "%d", errno);
  hx__log(HX__LOG_ERROR, "second");
  hx__log(HX__LOG_INFO, "not said");
  CHECK(strcmp(one_write(ends[0]), "hx: warning: a 5\n") == 0, "not one line in one write");
  CHECK(strcmp(one_write(ends[0]), "hx: error: second\n") == 0, "not one line in one write");
  CHECK(one_write(ends[0])[0] == '\0', "more was written");
  hx__log_threshold = HX__LOG_TRACE;
  static const char *const names[] = {"error", "warning", "info", "debug", "trace"};
  for (int level = HX__LOG_ERROR; level <= HX__LOG_TRACE; level++) {
    char line[64];
    snprintf(line, sizeof line, "hx: %s: m\n", names[level]);
    hx__log((hx__log_level)level, "m");
    const char *said = one_write(ends[0]);
    CHECK(strcmp(said, line) == 0, "%s", said);
  }
  hx__log(HX__LOG_INFO, "a\nb\033[1mc\177 \303\251");
  const char *plain = one_write(ends[0]);
  CHECK(strcmp(plain, "hx: info: a?b?[1mc? \303\251\n") == 0, "%s", plain);
  char big[5000];
  memset(big, 'y', sizeof big);
  big[sizeof big - 1] = '\0';
  hx__log(HX__LOG_INFO, "%s", big);
  const char *cut = one_write(ends[0]);
  CHECK(strlen(cut) > 1000 && strlen(cut) <= 4096 && strcmp(cut + strlen(cut) - 5, "y...\n") == 0, "%zu", strlen(cut));
  hx__log_threshold = HX__LOG_WARN;

  dup2(was, STDERR_FILENO);
  close(was), close(ends[0]), close(ends[1]);
}

static volatile sig_atomic_t alarms;
static void on_alarm(int signal) {
  (void)signal;
  alarms++;
}

static void check_sleep(void) {
  uint64_t from = hx__now_ns();
  hx__sleep_ns(0);
  const struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every_ms = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &every_ms, NULL);
  from = hx__now_ns();
  hx__sleep_ns(30000000);
  const uint64_t took = hx__now_ns() - from;
  setitimer(ITIMER_REAL, &never, NULL);
  CHECK(took >= 30000000, "%llu ns", (unsigned long long)took);
  CHECK(alarms > 0, "no signal came");
}

int main(void) {
  check_words();
  check_detail();
  check_log();
  check_sleep();
  return checks_end("status_test");
}
