/* SPDX-License-Identifier: Apache-2.0
 * Keeps the cache small by removing the least recently used files. Only files with names that hx gives are considered.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cache_dir.h"

#define MOST_FILES 8192u    /* with more files, the order of the folder decides which are considered */
#define STALE_SECONDS 3600L /* a file that is still being written after this was left by a process that died */

typedef struct file {
  char name[24];
  uint64_t bytes;
  struct timespec used;
} file;

static int compare_last_use(const void *a, const void *b) {
  const struct timespec x = ((const file *)a)->used, y = ((const file *)b)->used;
  if (x.tv_sec != y.tv_sec) return x.tv_sec < y.tv_sec ? -1 : 1;
  return x.tv_nsec < y.tv_nsec ? -1 : x.tv_nsec > y.tv_nsec;
}

/* "16 hexadecimal digits.hxc", or with ".process-time-" before them: one that is being written. */
static bool is_cache_file_name(const char *name) {
  static const char hex[] = "0123456789abcdef";
  if (name[0] == '.') {
    const char *const dash = strchr(name + 1, '-'), *const last = dash ? strchr(dash + 1, '-') : NULL;
    if (!last || last == dash + 1 || strspn(name + 1, hex) != (size_t)(dash - name - 1)) return false;
    if (strspn(dash + 1, hex) != (size_t)(last - dash - 1)) return false;
    name = last + 1;
  }
  return strspn(name, hex) == 16 && strcmp(name + 16, HX__CACHE_SUFFIX) == 0;
}

/* Fills *files; removes temporary files that crashed processes have left. */
static size_t list_files(int folder, DIR *entries, file *files, uint64_t *total) {
  size_t count = 0;
  const struct dirent *entry;
  while (count < MOST_FILES && (entry = readdir(entries)) != NULL) {
    struct stat s;
    if (!is_cache_file_name(entry->d_name) || fstatat(folder, entry->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(s.st_mode)) continue;
    if (entry->d_name[0] == '.') {
      if (time(NULL) - s.st_mtime > STALE_SECONDS) unlinkat(folder, entry->d_name, 0);
      continue;
    }
    file *const f = &files[count++];
    strcpy(f->name, entry->d_name);
    f->bytes = (uint64_t)s.st_size;
    f->used = s.st_mtim;
    *total += f->bytes;
  }
  return count;
}

void hx__cache_trim(int folder) {
  uint64_t total = 0;
  const int folder_again =
      openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* its own place in the list of entries */
  DIR *const entries = folder_again >= 0 ? fdopendir(folder_again) : NULL;
  file *const files = entries ? malloc(MOST_FILES * sizeof *files) : NULL;
  if (files) {
    const size_t count = list_files(folder, entries, files, &total);
    if (total > HX__CACHE_BYTES) qsort(files, count, sizeof *files, compare_last_use);
    for (size_t i = 0; i < count && total > HX__CACHE_BYTES; i++) {
      unlinkat(folder, files[i].name, 0);
      total -= files[i].bytes;
    }
  }
  free(files);
  if (entries)
    closedir(entries);
  else if (folder_again >= 0)
    close(folder_again);
}
