/* SPDX-License-Identifier: Apache-2.0
 * Reads the facts of a machine from /sys, /proc, /etc, /dev and the package database. */
#include "bench/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/system.h"
#include "bench/text.h"

#define DISPLAY_CLASS 0x03u

static void path_of(const char *root, const char *path, char out[PATH_MAX]) {
  snprintf(out, PATH_MAX, "%s%s", root, path);
}

static bool file_exists(const char *root, const char *path) {
  char whole[PATH_MAX];
  path_of(root, path, whole);
  return access(whole, F_OK) == 0;
}

/* The value of NAME="value" in a file such as os-release; "" if it has no such line. */
static void read_assignment(FILE *file, const char *name, char *value, size_t bytes) {
  char line[512];
  const size_t length = strlen(name);
  value[0] = '\0';
  rewind(file);
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, name, length) != 0 || line[length] != '=') continue;
    char *text = line + length + 1;
    text[strcspn(text, "\n")] = '\0';
    const size_t end = strlen(text);
    const bool quoted = end > 1 && (*text == '"' || *text == '\'') && text[end - 1] == *text;
    snprintf(value, bytes, "%.*s", (int)(quoted ? end - 2 : end), text + quoted);
    return;
  }
}

static void read_os(bench_machine *m, const char *root) {
  char path[PATH_MAX], id[64], like[64];
  path_of(root, "/etc/os-release", path);
  FILE *file = fopen(path, "re");
  if (!file) {
    path_of(root, "/usr/lib/os-release", path);
    file = fopen(path, "re");
  }
  if (file) {
    read_assignment(file, "PRETTY_NAME", m->os, sizeof m->os);
    read_assignment(file, "ID", id, sizeof id);
    read_assignment(file, "ID_LIKE", like, sizeof like);
    snprintf(m->ids, sizeof m->ids, "%s%s%s", id, *id && *like ? " " : "", like);
    fclose(file);
  }
  path_of(root, "/proc/sys/kernel/osrelease", path);
  bench_read_line(path, m->kernel, sizeof m->kernel);
}

static void read_container(bench_machine *m, const char *root) {
  const char *const word = getenv("container"); /* set by systemd-nspawn, Podman and LXC */
  m->container = (word && *word) || file_exists(root, "/.dockerenv") || file_exists(root, "/run/.containerenv");
}

/* The last part of a link's target; "" if there is no such link. */
static void read_link_name(const char *directory, const char *name, char *out, size_t bytes) {
  char path[PATH_MAX], target[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  const ssize_t length = readlink(path, target, sizeof target - 1);
  out[0] = '\0';
  if (length <= 0) return;
  target[length] = '\0';
  const char *const slash = strrchr(target, '/');
  snprintf(out, bytes, "%.*s", (int)bytes - 1, slash ? slash + 1 : target);
}

static void find_render_node(const char *directory, char *out, size_t bytes) {
  char pattern[PATH_MAX];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/drm/renderD*", directory);
  out[0] = '\0';
  if (glob(pattern, 0, NULL, &found) != 0) return;
  snprintf(out, bytes, "/dev/dri/%s", strrchr(found.gl_pathv[0], '/') + 1);
  globfree(&found);
}

static unsigned read_hex(const char *directory, const char *name) {
  char path[PATH_MAX], text[32];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  bench_read_line(path, text, sizeof text);
  return (unsigned)strtoul(text, NULL, 16);
}

static void read_gpus(bench_machine *m, const char *root) {
  char pattern[PATH_MAX];
  glob_t found;
  path_of(root, "/sys/bus/pci/devices/*", pattern);
  if (glob(pattern, 0, NULL, &found) != 0) return;
  for (size_t i = 0; i < found.gl_pathc && m->gpu_count < BENCH_GPUS; i++) {
    const char *const path = found.gl_pathv[i];
    if (read_hex(path, "class") >> 16 != DISPLAY_CLASS) continue;
    bench_gpu *const gpu = &m->gpus[m->gpu_count++];
    snprintf(gpu->address, sizeof gpu->address, "%.15s", strrchr(path, '/') + 1);
    gpu->vendor = read_hex(path, "vendor");
    gpu->device = read_hex(path, "device");
    read_link_name(path, "driver", gpu->kernel_driver, sizeof gpu->kernel_driver);
    find_render_node(path, gpu->node, sizeof gpu->node);
  }
  globfree(&found);
}

/* Reads the name and the members of a group from /etc/group. */
static void read_group(bench_node *node, const char *root, const char *user) {
  char path[PATH_MAX], line[4096];
  path_of(root, "/etc/group", path);
  FILE *const file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file)) {
    char *rest = line;
    const char *const name = strsep(&rest, ":");
    strsep(&rest, ":");
    const char *const id = strsep(&rest, ":");
    if (!rest || strtoul(id, NULL, 10) != node->group_id) continue;
    snprintf(node->group, sizeof node->group, "%s", name);
    for (const char *member; (member = strsep(&rest, ",\n")) != NULL;)
      node->member |= *member && strcmp(member, user) == 0;
    break;
  }
  if (file) fclose(file);
}

static void add_nodes(bench_machine *m, const char *root, const char *user, const char *pattern) {
  char whole[PATH_MAX];
  glob_t found;
  path_of(root, pattern, whole);
  if (glob(whole, 0, NULL, &found) != 0) return;
  for (size_t i = 0; i < found.gl_pathc && m->node_count < BENCH_NODES; i++) {
    struct stat st;
    if (stat(found.gl_pathv[i], &st) != 0) continue;
    bench_node *const node = &m->nodes[m->node_count++];
    snprintf(node->path, sizeof node->path, "%.63s", found.gl_pathv[i] + strlen(root));
    node->group_id = (unsigned)st.st_gid;
    const int fd = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC);
    node->openable = fd >= 0 || (errno != EACCES && errno != EPERM);
    if (fd >= 0) close(fd);
    read_group(node, root, user);
  }
  globfree(&found);
}

static void read_nodes(bench_machine *m, const char *root) {
  static const char *const patterns[] = {"/dev/dri/renderD*", "/dev/kfd", "/dev/nvidiactl", "/dev/nvidia[0-9]*",
                                         "/dev/dxg"};
  const struct passwd *const own = getpwuid(geteuid());
  char user[64];
  snprintf(user, sizeof user, "%s", own ? own->pw_name : "");
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) add_nodes(m, root, user, patterns[i]);
}

/* The version that follows a package's name in a database of one "KEY: value" per line (dpkg's, or apk's). */
static bool read_package(const char *root, const char *database, const char *name_key, const char *version_key,
                         const char *package, char *version, size_t bytes) {
  char path[PATH_MAX], line[1024];
  bool within = false, found = false;
  path_of(root, database, path);
  FILE *const file = fopen(path, "re");
  while (file && !found && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, name_key, strlen(name_key)) == 0) within = strcmp(line + strlen(name_key), package) == 0;
    if (!within || strncmp(line, version_key, strlen(version_key)) != 0) continue;
    snprintf(version, bytes, "%s", line + strlen(version_key));
    found = true;
  }
  if (file) fclose(file);
  return found;
}

/* pacman's database has one folder per package, whose name ends with the version. RPM's is not text. */
static void read_intel_version(bench_machine *m, const char *root) {
  char pattern[PATH_MAX];
  const size_t bytes = sizeof m->intel_version;
  glob_t found;
  if (read_package(root, "/var/lib/dpkg/status", "Package: ", "Version: ", "intel-opencl-icd", m->intel_version,
                   bytes) ||
      read_package(root, "/lib/apk/db/installed", "P:", "V:", "intel-compute-runtime", m->intel_version, bytes))
    return;
  path_of(root, "/var/lib/pacman/local/intel-compute-runtime-[0-9]*", pattern);
  if (glob(pattern, 0, NULL, &found) != 0) return;
  snprintf(m->intel_version, bytes, "%.63s", strstr(strrchr(found.gl_pathv[0], '/'), "runtime-") + strlen("runtime-"));
  globfree(&found);
}

static void read_nvidia_version(bench_machine *m, const char *root) {
  char path[PATH_MAX];
  path_of(root, "/sys/module/nvidia/version", path);
  bench_read_line(path, m->nvidia_version, sizeof m->nvidia_version);
}

static void read_variables(bench_machine *m) {
  for (char **at = environ; *at && m->variable_count < BENCH_VARIABLES; at++) {
    if (!bench_system_records(*at)) continue;
    bench_variable *const v = &m->variables[m->variable_count++];
    const size_t length = strcspn(*at, "=");
    snprintf(v->name, sizeof v->name, "%.*s", (int)length, *at);
    snprintf(v->value, sizeof v->value, "%s", *at + length + 1);
  }
}

void bench_machine_read(bench_machine *m, const char *root) {
  *m = (bench_machine){.gpu_count = 0};
  read_os(m, root);
  read_container(m, root);
  read_gpus(m, root);
  read_nodes(m, root);
  read_intel_version(m, root);
  read_nvidia_version(m, root);
  read_variables(m);
}

const char *bench_machine_variable(const bench_machine *m, const char *name) {
  for (size_t i = 0; i < m->variable_count; i++)
    if (strcmp(m->variables[i].name, name) == 0 && *m->variables[i].value) return m->variables[i].value;
  return NULL;
}

const bench_node *bench_machine_node(const bench_machine *m, const char *path) {
  for (size_t i = 0; i < m->node_count; i++)
    if (strcmp(m->nodes[i].path, path) == 0) return &m->nodes[i];
  return NULL;
}

bool bench_machine_is_wsl(const bench_machine *m) {
  return strcasestr(m->kernel, "microsoft") || bench_machine_node(m, "/dev/dxg");
}
