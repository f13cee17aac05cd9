/* SPDX-License-Identifier: Apache-2.0
 * A program with more rights than its caller (setuid, setgid, file capabilities) uses hx: no environment variable of
 * the caller has any effect, no library that they name is loaded, no file is written, and the CPU works alone.
 *     secure_test LIBRARY        LIBRARY records that it was loaded (layers/evil_library.c)
 *     secure_test --inside DIR   what each copy of this program does; the exit status says what it found */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tests/scenario.h"

enum { OTHER_USER = 65534, N = 1 << 20 };

/* Exit statuses of the copies. */
enum { FINE, NOT_SECURE, OTHER_DEVICES, WRONG, NO_CONTEXT };

/* Computes with explicit settings, which name every device and a cache and a trace in the folder. */
static int with_settings(const char *folder) {
  static float x[N];
  char cache[512], trace[512];
  snprintf(cache, sizeof cache, "%s/settings_cache", folder);
  snprintf(trace, sizeof trace, "%s/settings_trace", folder);
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "all", s.cache_dir = cache, s.trace = trace, s.log = "info";
  hx_context *const hx = open_or_exit(&s);
  for (int i = 0; i < N; i++) x[i] = (float)(i % 3);
  hx_value sum;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  t.gpu_share = 0.5f;
  int found = hx_ready(hx) == HX_OK && hx_offload(hx, &t, NULL) == HX_OK && sum.f32 == (float)(N - 1) ? FINE : WRONG;
  void *const own = hx_alloc(hx, 100000);
  if (!own) found = WRONG;
  if (hx_device_count(hx) != 1) found = OTHER_DEVICES;
  hx_close(hx);
  return found;
}

static int run_in_secure_process(const char *folder) {
  const int found = with_settings(folder);
  hx_context *hx;
  if (hx_open(&hx, NULL) != HX_OK) { /* HX_SPLIT has an invalid value, so it was read */
    puts(hx_error_detail());
    return getauxval(AT_SECURE) ? NO_CONTEXT : NOT_SECURE;
  }
  hx_device_count(hx);
  hx_close(hx);
  return getauxval(AT_SECURE) ? found : NOT_SECURE;
}

/* The scratch folder, for this test alone. */
static char folder[256], mark[300], copy[300];

static void set_variable(const char *name, const char *format, const char *value) {
  char text[600];
  snprintf(text, sizeof text, format, value);
  setenv(name, text, 1);
}

/* Every variable by which a caller could make the program load or write a file. */
static void set_hostile_environment(const char *library) {
  set_variable("EVIL_MARK", "%s", mark);
  set_variable("OPENCL_LAYERS", "%s", library);
  set_variable("OCL_ICD_VENDORS", "%s", library);
  set_variable("HWLOC_PLUGINS_PATH", "%s/plugins", folder);
  set_variable("HX_CACHE_DIR", "%s/cache", folder);
  set_variable("HX_TRACE", "%s/trace", folder);
  set_variable("HOME", "%s/home", folder);
  set_variable("XDG_CACHE_HOME", "%s/xdg", folder);
  set_variable("HX_DEVICES", "%s", "all");
  set_variable("HX_LOG", "%s", "trace");
}

/* Runs the copy as an ordinary user with a hostile environment. secure: an HX_SPLIT that hx_open refuses is set,
 * too. */
static int run_copy(const char *library, bool secure) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    set_hostile_environment(library);
    if (secure) set_variable("HX_SPLIT", "%s", "nonsense");
    if (geteuid() == 0 &&
        (setresgid(OTHER_USER, OTHER_USER, OTHER_USER) != 0 || setresuid(OTHER_USER, OTHER_USER, OTHER_USER) != 0))
      _exit(126);
    execl(copy, copy, "--inside", folder, (char *)NULL);
    _exit(127);
  }
  return child_wait(child);
}

static bool copy_file(const char *from, const char *to, mode_t mode) {
  static char bytes[1 << 16];
  const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, mode);
  ssize_t n = -1;
  while (in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0)
    if (write(out, bytes, (size_t)n) != n) break;
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  return n == 0;
}

static bool file_exists(const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

/* What gives the copy rights that its caller lacks. */
static bool set_user_bit(void) { return chmod(copy, 04755) == 0; }
static bool set_group_bit(void) { return chmod(copy, 02755) == 0; }
static bool by_capability(void) {
  const struct vfs_cap_data raw = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                                   .data = {{.permitted = 1u << CAP_NET_RAW}}};
  return chmod(copy, 0755) == 0 && setxattr(copy, "security.capability", &raw, sizeof raw, 0) == 0;
}

static void check_with(const char *what, bool (*give)(void), const char *library) {
  static const char *const files[] = {"mark",           "cache", "trace",      "settings_cache",
                                      "settings_trace", "xdg",   "home/.cache"};
  unlink(copy);
  if (!copy_file("/proc/self/exe", copy, 0755) || !give()) {
    printf("  %s left out: it cannot be given here\n", what);
    return;
  }
  const int found = run_copy(library, true);
  if (found == NOT_SECURE) { /* nosuid, or the test does not run as root: the copy has no rights */
    printf("  %s left out: it has no effect here\n", what);
    return;
  }
  printf("  %s: exit status %d\n", what, found);
  CHECK(found == FINE, "%s: exit status %d (%d: there were devices, %d: wrong results, %d: HX_SPLIT was read)", what,
        found, OTHER_DEVICES, WRONG, NO_CONTEXT);
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    CHECK(!file_exists(files[i]), "%s: %s was made", what, files[i]);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--inside") == 0) return run_in_secure_process(argv[2]);
  if (argc != 2) return puts("usage: secure_test LIBRARY"), 2;
  char library[300], plugins[300], plugin[400], path[400];
  snprintf(folder, sizeof folder, "/tmp/secure_test_XXXXXX"); /* other users may not be able to reach TEST_TMPDIR */
  if (!mkdtemp(folder) || chmod(folder, 01777) != 0) return puts("no scratch folder"), 2;
  snprintf(mark, sizeof mark, "%s/mark", folder);
  snprintf(copy, sizeof copy, "%s/copy", folder);
  snprintf(library, sizeof library, "%s/evil.so", folder);
  snprintf(plugins, sizeof plugins, "%s/plugins", folder);
  snprintf(plugin, sizeof plugin, "%s/hwloc_evil.so", plugins);
  snprintf(path, sizeof path, "%s/home", folder);
  if (mkdir(plugins, 0755) != 0 || mkdir(path, 0777) != 0 || chmod(path, 0777) != 0) return puts("no folders"), 2;
  if (!copy_file(argv[1], library, 0755) || !copy_file(argv[1], plugin, 0755)) return puts("no library"), 2;

  copy_file("/proc/self/exe", copy, 0755);
  const int plain = run_copy(library, false);
  CHECK(file_exists("mark"), "a program without more rights (exit status %d) loads what its caller names: it did not",
        plain);
  if (chdir(folder) != 0 || system("rm -rf cache trace settings_cache settings_trace xdg home/.cache mark") != 0)
    return puts("cannot clean up"), 2;
  check_with("setuid", set_user_bit, library);
  check_with("setgid", set_group_bit, library);
  check_with("a capability", by_capability, library);
  snprintf(path, sizeof path, "rm -rf %s", folder);
  if (system(path) != 0) puts("  the scratch folder is left");
  return checks_end("secure_test");
}
