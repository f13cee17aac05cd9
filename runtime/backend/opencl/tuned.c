/* SPDX-License-Identifier: Apache-2.0
 * The results of the tuner for a device, as a file of the cache with one line for each row, read when the device is
 * opened. The file is ignored if it contains a name or number that does not fit the table of rows. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/cl.h"
#include "runtime/base/cache_dir.h"

#define ORDERS 3u /* of kernels/matmul_stage.cl */

static char *key_of(const hx__cl_device *d, size_t *bytes) {
  char *text = NULL;
  FILE *const f = open_memstream(&text, bytes);
  if (!f) return NULL;
  fputs("tuned products\n", f);
  hx__cl_write_key(f, d);
  const bool written = !ferror(f);
  if (fclose(f) == 0 && written) return text;
  free(text);
  return NULL;
}

static const hx__kernel_row *row_named(const hx__cl_device *d, const char *name) {
  static const uint32_t none[3] = {0, 0, 0};
  const hx__kernel_row *row = NULL;
  while ((row = hx__kernel_row_after(row, HX__KERNEL_MATMUL, HX_F32, d->families, none, d->max_local)) != NULL)
    if (strcmp(row->name, name) == 0) break;
  return row;
}

/* A tile is valid only if the row accepts any tile, and also this one. */
static bool is_valid(const hx__cl_device *d, const hx__cl_tuned *t) {
  if (!t->row || t->order >= ORDERS || (t->order && t->row->shape != HX__SHAPE_TILES)) return false;
  if (!t->tile[0] && !t->tile[1] && !t->tile[2]) return true;
  const hx__kernel_row *row = NULL;
  while ((row = hx__kernel_row_after(row, HX__KERNEL_MATMUL, HX_F32, d->families, t->tile, d->max_local)) != NULL)
    if (row == t->row) return row->any_tile;
  return false;
}

void hx__cl_tuned_load(hx__cl_device *d) {
  if (!hx__cache_dir_is_enabled()) return;
  hx__cl_tuned tuned[HX__CL_TUNED] = {{.row = NULL}};
  size_t bytes = 0, count = 0;
  char *const key = key_of(d, &bytes);
  char *const data = key ? hx__cache_get(key, bytes, &bytes, NULL) : NULL;
  free(key);
  if (!data) return;
  char *const text = strndup(data, bytes);
  bool readable = text != NULL;
  char *rest = text;
  for (char *line; readable && (line = strsep(&rest, "\n")) != NULL && *line; count++) {
    hx__cl_tuned *const t = &tuned[count];
    char name[64];
    int used = 0;
    readable = count < HX__CL_TUNED &&
               sscanf(line, "%63s %u %u %u %u%n", name, &t->tile[0], &t->tile[1], &t->tile[2], &t->order, &used) == 5 &&
               line[used] == '\0';
    if (readable) t->row = row_named(d, name);
    readable = readable && is_valid(d, t);
  }
  free(text);
  free(data);
  if (readable) memcpy(d->tuned, tuned, sizeof tuned);
  hx__log(HX__LOG_DEBUG, "%s: %zu tuned rows: %s", d->base.name, count,
          readable ? "used" : "ignored, because a line cannot be parsed");
}

bool hx__cl_tuned_store(const hx__cl_device *d, const hx__cl_tuned *tuned) {
  size_t key_bytes = 0, bytes = 0;
  char *text = NULL;
  if (!hx__cache_dir_is_enabled()) return false;
  char *const key = key_of(d, &key_bytes);
  FILE *const f = key ? open_memstream(&text, &bytes) : NULL;
  bool written = f != NULL;
  for (size_t i = 0; f && i < HX__CL_TUNED && tuned[i].row; i++)
    fprintf(f, "%s %u %u %u %u\n", tuned[i].row->name, tuned[i].tile[0], tuned[i].tile[1], tuned[i].tile[2],
            tuned[i].order);
  if (f) written = !ferror(f) && fclose(f) == 0;
  if (written) hx__cache_put(key, key_bytes, text, bytes);
  free(text);
  free(key);
  return written;
}

const hx__cl_tuned *hx__cl_tuned_for(const hx__cl_device *d, const hx__kernel_row *row) {
  for (size_t i = 0; i < HX__CL_TUNED && d->tuned[i].row; i++)
    if (d->tuned[i].row == row) return &d->tuned[i];
  return NULL;
}
