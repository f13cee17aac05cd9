/* SPDX-License-Identifier: Apache-2.0
 * Where results go: --json, --jsonl, --csv, --md and the printed tables. A document is composed in memory and replaces
 * the file when it is complete, so a run that is killed, or a full disk, leaves the old file unchanged. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/progress.h"

typedef struct document {
  const char *what, *path;
  FILE *f;
  char *text; /* contents of the stream; NULL: the stream is the standard output */
  size_t bytes;
} document;

enum { JSON, JSONL, CSV, MARKDOWN, DOCUMENTS };
static document documents[DOCUMENTS] = {[JSON] = {.what = "JSON document"},
                                        [JSONL] = {.what = "JSON lines"},
                                        [CSV] = {.what = "CSV table"},
                                        [MARKDOWN] = {.what = "Markdown text"}};
static FILE *human;
static bool markdown, quiet = true, measured;

FILE *bench_json_file(void) { return documents[JSON].f; }
FILE *bench_jsonl_file(void) { return documents[JSONL].f; }
FILE *bench_csv_file(void) { return documents[CSV].f; }
FILE *bench_human_file(void) { return human; }
bool bench_is_markdown(void) { return markdown; }
bool bench_is_quiet(void) { return quiet; }
void bench_measured(void) { measured = true; }

static bool is_output(const char *path) { return path && strcmp(path, "-") == 0; }

/* Whether the file, or a new file in its folder, can be written. */
static bool is_writable(const char *path) {
  struct stat st;
  if (stat(path, &st) == 0) {
    if (S_ISDIR(st.st_mode)) errno = EISDIR;
    return !S_ISDIR(st.st_mode) && access(path, W_OK) == 0;
  }
  char folder[PATH_MAX];
  const char *const slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  return *path != '\0' && (!slash || slash[1]) && access(folder, W_OK | X_OK) == 0;
}

static bool open_one(document *d, const char *path) {
  d->path = path;
  if (!path) return true;
  if (is_output(path))
    d->f = stdout;
  else if (is_writable(path))
    d->f = open_memstream(&d->text, &d->bytes);
  if (!d->f) fprintf(stderr, "hx-bench: cannot write '%s': %s\n", path, strerror(errno));
  return d->f != NULL;
}

void bench_human_open(const bench_options *options) {
  markdown = options->markdown;
  quiet = options->quiet;
  human = quiet ? NULL : is_output(options->out) ? stderr : stdout;
}

bool bench_files_open(const bench_options *options) {
  const char *const paths[DOCUMENTS] = {options->json, options->jsonl, options->csv, options->markdown_file};
  bool output = false, fine = true;
  for (size_t i = 0; i < MARKDOWN; i++) output |= is_output(paths[i]);
  output |= is_output(options->svg);
  for (size_t i = 0; fine && i < DOCUMENTS; i++) fine = open_one(&documents[i], paths[i]);
  if (!fine) {
    bench_files_close();
    return false;
  }
  /* Tables go to stderr if a file goes to the standard output. */
  markdown = options->markdown;
  quiet = options->quiet;
  human = documents[MARKDOWN].f ? documents[MARKDOWN].f : quiet ? NULL : output ? stderr : stdout;
  bench_stop_watch(options->json || options->jsonl || options->csv || options->markdown_file);
  return true;
}

/* Writes all of the text and closes the file. Returns false, with errno set, if that fails. */
static bool write_out(int fd, const document *d, bool sync) {
  size_t done = 0;
  while (done < d->bytes) {
    const ssize_t n = write(fd, d->text + done, d->bytes - done);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) done += (size_t)n;
  }
  bool fine = done == d->bytes && (!sync || fsync(fd) == 0);
  const int error = errno;
  if (close(fd) != 0 && fine) return false;
  errno = error;
  return fine;
}

/* /dev/stdout and similar paths may lead to a file that other processes are writing. */
static bool is_special(const char *path) { return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0; }

/* Writes in place: to a device, to a pipe, or to a file in a folder in which no other file can be created. */
static bool write_there(const document *d) {
  const int fd = open(d->path, O_WRONLY | O_CREAT | O_CLOEXEC | (is_special(d->path) ? O_APPEND : O_TRUNC), 0666);
  return fd >= 0 && write_out(fd, d, false);
}

/* Finds the path of the file that the document replaces, following links. Returns false if the document must be written
 * in place. */
static bool find_target(const char *path, char real[PATH_MAX], struct stat *st) {
  if (is_special(path)) return false;
  if (realpath(path, real)) return stat(real, st) == 0 && S_ISREG(st->st_mode);
  st->st_mode = 0;
  return lstat(path, st) != 0 && (size_t)snprintf(real, PATH_MAX, "%s", path) < PATH_MAX;
}

/* Writes a file in the same folder and renames it. *tried: that file was created and could not be written, so the old
 * file is unchanged and must not be written in place. */
static bool replace_file(const document *d, bool *tried) {
  char real[PATH_MAX], beside[PATH_MAX + 32];
  struct stat st;
  *tried = false;
  if (!find_target(d->path, real, &st)) return false;
  snprintf(beside, sizeof beside, "%s.%d.part", real, (int)getpid());
  const int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  if (st.st_mode && (fchown(fd, st.st_uid, st.st_gid) != 0 || fchmod(fd, st.st_mode & 0777) != 0)) {
    close(fd); /* the new file would have another owner or other permissions */
    unlink(beside);
    return false;
  }
  const bool written = write_out(fd, d, true), fine = written && rename(beside, real) == 0;
  const int error = errno;
  *tried = !written; /* renaming fails if the file is itself a mount point */
  if (!fine) unlink(beside);
  errno = error;
  return fine;
}

static bool close_one(document *d) {
  if (!d->f) return true;
  const bool output = d->f == stdout;
  bool fine = !ferror(d->f);
  fine &= (output ? fflush(d->f) : fclose(d->f)) == 0;
  const bool nothing = d->bytes == 0 || (bench_stopped() && !measured);
  if (fine && !output && !nothing) {
    bool tried;
    fflush(stdout);
    fine = replace_file(d, &tried) || (!tried && write_there(d));
    if (!fine) fprintf(stderr, "hx-bench: '%s': %s\n", d->path, strerror(errno));
  }
  free(d->text);
  d->text = NULL;
  d->f = NULL;
  if (!fine) fprintf(stderr, "hx-bench: the %s could not be written in full\n", d->what);
  return fine;
}

bool bench_files_close(void) {
  bool fine = true;
  bench_progress_erase();
  if (human == documents[MARKDOWN].f) human = NULL;
  for (size_t i = 0; i < DOCUMENTS; i++) fine &= close_one(&documents[i]);
  return fine;
}

bool bench_file_check(const char *path) {
  if (is_output(path) || is_writable(path)) return true;
  fprintf(stderr, "hx-bench: cannot write '%s': %s\n", path, strerror(errno));
  return false;
}

bool bench_file_write(const char *path, const char *text, size_t bytes) {
  const document d = {.path = path, .text = (char *)(uintptr_t)text, .bytes = bytes};
  bool tried;
  if (is_output(path)) return fwrite(text, 1, bytes, stdout) == bytes;
  if (replace_file(&d, &tried) || (!tried && write_there(&d))) return true;
  fprintf(stderr, "hx-bench: '%s': %s\n", path, strerror(errno));
  return false;
}
