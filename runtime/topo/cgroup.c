/* SPDX-License-Identifier: Apache-2.0
 * Reads the CPU quota of cgroups(7): /proc/self/cgroup names the group, /proc/self/mountinfo says where its hierarchy
 * is mounted. A container may see only a part of a hierarchy; quotas above that part cannot be read. */
#define _GNU_SOURCE
#include "runtime/topo/cgroup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mounted hierarchy: its folder `part` (usually "/") is mounted at `at`. */
typedef struct mount {
  char part[PATH_MAX], at[PATH_MAX];
} mount;

static FILE *open_under(const char *root, const char *folder, const char *file) {
  char name[2 * PATH_MAX];
  return (size_t)snprintf(name, sizeof name, "%s%s/%s", root, folder, file) < sizeof name ? fopen(name, "re") : NULL;
}

/* Whether a comma-separated list contains the word. */
static bool list_contains(const char *list, const char *word) {
  const size_t n = strlen(word);
  for (; *list; list += strcspn(list, ","), list += *list == ',')
    if (strncmp(list, word, n) == 0 && (list[n] == ',' || list[n] == '\0')) return true;
  return false;
}

/* mountinfo writes blanks and backslashes as octal: \040. */
static void decode_escapes(char *s) {
  char *to = s;
  for (; *s; s++) {
    unsigned code;
    if (s[0] == '\\' && sscanf(s + 1, "%3o", &code) == 1 && code != 0 && strnlen(s, 4) == 4)
      *to++ = (char)code, s += 3;
    else
      *to++ = *s;
  }
  *to = '\0';
}

/* Finds the mount of the hierarchy: cgroup2, or that of v1 with the controller cpu. */
static bool find_mount(const char *root, bool v2, mount *out) {
  FILE *f = open_under(root, "/proc/self", "mountinfo");
  if (!f) return false;
  char *line = NULL;
  size_t room = 0;
  bool found = false;
  while (!found && getline(&line, &room, f) > 0) {
    char type[32], options[1024]; /* longer options are cut; they matter only for cgroup v1 */
    const char *rest = strstr(line, " - ");
    if (rest && sscanf(line, "%*d %*d %*s %4095s %4095s", out->part, out->at) == 2 &&
        sscanf(rest, " - %31s %*s %1023s", type, options) == 2)
      found = v2 ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && list_contains(options, "cpu");
  }
  free(line);
  fclose(f);
  if (found) decode_escapes(out->part), decode_escapes(out->at); /* otherwise they may not be set */
  return found;
}

/* This process's group in the hierarchy: the line "0::/path", or "4:cpu,cpuacct:/path". */
static bool find_group(const char *root, bool v2, char *out, size_t bytes) {
  FILE *f = open_under(root, "/proc/self", "cgroup");
  if (!f) return false;
  char *line = NULL;
  size_t room = 0;
  bool found = false;
  while (!found && getline(&line, &room, f) > 0) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *controllers++ = '\0', *path++ = '\0';
    found = v2 ? strcmp(line, "0") == 0 && !*controllers : list_contains(controllers, "cpu");
    if (found) found = (size_t)snprintf(out, bytes, "%s", path) < bytes;
  }
  free(line);
  fclose(f);
  return found;
}

/* The quota in one group's folder, in CPUs; 0 if there is none. */
static double group_cpus(const char *root, const char *folder, bool v2) {
  long long limit = 0, period = 0;
  FILE *f = open_under(root, folder, v2 ? "cpu.max" : "cpu.cfs_quota_us");
  if (f) {
    if (fscanf(f, "%lld %lld", &limit, &period) < 1) limit = 0; /* v2: "max 100000" does not begin with a number */
    fclose(f);
  }
  if (limit <= 0) return 0; /* v1: -1 */
  if (!v2 && (f = open_under(root, folder, "cpu.cfs_period_us"))) {
    if (fscanf(f, "%lld", &period) != 1) period = 0;
    fclose(f);
  }
  return period > 0 ? (double)limit / (double)period : 0;
}

/* The paths that a search needs, on the heap: hx_open may be called on a small stack. */
typedef struct search {
  mount mount;
  char group[PATH_MAX], folder[2 * PATH_MAX];
} search;

/* The least quota of the group and the groups above it, up to the top of the mounted part. */
static double least_quota(const char *root, bool v2, search *s) {
  if (!find_mount(root, v2, &s->mount) || !find_group(root, v2, s->group, sizeof s->group)) return 0;
  const size_t part = strcmp(s->mount.part, "/") == 0 ? 0 : strlen(s->mount.part);
  const bool below = strncmp(s->group, s->mount.part, part) == 0 && (s->group[part] == '/' || s->group[part] == '\0');
  const char *path =
      below && !strstr(s->group, "/..") ? s->group + part : ""; /* otherwise only the mounted part is visible */
  const int at = snprintf(s->folder, sizeof s->folder, "%s", s->mount.at);
  snprintf(s->folder + at, sizeof s->folder - (size_t)at, "%s", path);
  double least = 0;
  for (;;) {
    const double cpus = group_cpus(root, s->folder, v2);
    if (cpus > 0 && (least == 0 || cpus < least)) least = cpus;
    char *last = strrchr(s->folder + at, '/');
    if (!last) return least;
    *last = '\0';
  }
}

/* Without memory for the paths there is no quota: hx then only takes more threads than it would. */
static double hierarchy_cpus(const char *root, bool v2) {
  search *const s = malloc(sizeof *s);
  const double cpus = s ? least_quota(root, v2, s) : 0;
  free(s);
  return cpus;
}

double hx__cgroup_cpus(const char *root) {
  const double v2 = hierarchy_cpus(root, true), v1 = hierarchy_cpus(root, false);
  return v2 == 0 || (v1 > 0 && v1 < v2) ? v1 : v2;
}
