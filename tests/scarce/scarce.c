/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/scarce/scarce.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define PLACES 65536u /* a power of two, and far more than the blocks that hx ever has */

static atomic_bool counts;
static atomic_ulong requests[SCARCE_KINDS];
static scarce_kind scarce;
static unsigned long place;
static bool lasting;

void scarce_begin(scarce_kind kind, unsigned long nth, bool for_good) {
  scarce = kind;
  place = nth;
  lasting = for_good;
  for (size_t i = 0; i < SCARCE_KINDS; i++) atomic_store(&requests[i], 0);
  atomic_store(&counts, true);
}
void scarce_end(void) { atomic_store(&counts, false); }
unsigned long scarce_requests(scarce_kind kind) { return atomic_load(&requests[kind]); }

static bool is_refused(scarce_kind kind) {
  if (!atomic_load(&counts)) return false;
  const unsigned long number = atomic_fetch_add(&requests[kind], 1) + 1;
  return kind == scarce && place && (number == place || (lasting && number > place));
}

/* The live blocks, in a hash table by address with open addressing; a freed block leaves its place free for others. */
typedef struct block {
  const void *p, *from;
} block;
static block blocks[PLACES];
static const char gone;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t first_place(const void *p) { return (size_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 48); }

static void *record_block(void *p, const void *from) {
  if (!p) return NULL;
  pthread_mutex_lock(&lock);
  size_t at = first_place(p);
  while (blocks[at].p && blocks[at].p != &gone) at = (at + 1) % PLACES;
  blocks[at] = (block){p, from};
  pthread_mutex_unlock(&lock);
  return p;
}

/* A block may be missing here if libc allocated it for hx (getline). */
static void forget_block(const void *p) {
  pthread_mutex_lock(&lock);
  for (size_t at = first_place(p); p && blocks[at].p; at = (at + 1) % PLACES)
    if (blocks[at].p == p) {
      blocks[at].p = &gone;
      break;
    }
  pthread_mutex_unlock(&lock);
}

size_t scarce_live(scarce_site *sites, size_t most) {
  size_t count = 0;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < PLACES; i++) {
    if (!blocks[i].p || blocks[i].p == &gone) continue;
    size_t s = 0;
    while (s < count && sites[s].from != blocks[i].from) s++;
    if (s == count && count < most) sites[count++] = (scarce_site){blocks[i].from, 0};
    if (s < most) sites[s].blocks++;
  }
  pthread_mutex_unlock(&lock);
  return count;
}

#define FROM __builtin_return_address(0)
#define REFUSE(kind, error, result) \
  if (is_refused(kind)) {           \
    errno = (error);                \
    return (result);                \
  }

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
char *__real_strdup(const char *);
char *__real_strndup(const char *, size_t);
void __real_free(void *);
FILE *__real_open_memstream(char **, size_t *);
FILE *__real_fopen(const char *, const char *);
DIR *__real_opendir(const char *);
DIR *__real_fdopendir(int);
ssize_t __real___getdelim(char **, size_t *, int, FILE *);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* Only the linker knows these names, so no header declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

void *__wrap_malloc(size_t bytes) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return record_block(__real_malloc(bytes), FROM);
}
void *__wrap_calloc(size_t n, size_t bytes) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return record_block(__real_calloc(n, bytes), FROM);
}
void *__wrap_realloc(void *p, size_t bytes) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  forget_block(p);
  return record_block(__real_realloc(p, bytes), FROM);
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return record_block(__real_aligned_alloc(alignment, bytes), FROM);
}
char *__wrap_strdup(const char *s) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return record_block(__real_strdup(s), FROM);
}
char *__wrap_strndup(const char *s, size_t most) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return record_block(__real_strndup(s, most), FROM);
}
void __wrap_free(void *p) {
  forget_block(p);
  __real_free(p);
}

/* libc frees the memory of these, so only their failures are simulated. */
FILE *__wrap_open_memstream(char **p, size_t *bytes) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return __real_open_memstream(p, bytes);
}
FILE *__wrap_fopen(const char *path, const char *mode) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return __real_fopen(path, mode);
}
DIR *__wrap_opendir(const char *path) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return __real_opendir(path);
}
DIR *__wrap_fdopendir(int fd) {
  REFUSE(SCARCE_MEMORY, ENOMEM, NULL);
  return __real_fdopendir(fd);
}
ssize_t __wrap___getdelim(char **line, size_t *bytes, int end, FILE *f) {
  REFUSE(SCARCE_MEMORY, ENOMEM, -1);
  return __real___getdelim(line, bytes, end, f);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
  if (is_refused(SCARCE_THREADS)) return EAGAIN;
  return __real_pthread_create(thread, attr, fn, arg);
}
