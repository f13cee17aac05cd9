/* SPDX-License-Identifier: Apache-2.0
 * Lists the drivers that the ICD loader would load: by the variables of the loaders of ocl-icd and Khronos, otherwise
 * from the folder of the system. Each loader ignores some of these variables; then a driver is tried in vain. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/backend/opencl/driver_check.h"
#include "runtime/base/variable.h"

#define FOLDER "/etc/OpenCL/vendors"

typedef struct list {
  char folder[2 * HX__VENDOR_PATH]; /* of the system */
  hx__vendor *vendors;
  size_t count, max;
} list;

static void add_library(list *l, const char *icd, const char *library) {
  if (!*library || strlen(library) >= HX__VENDOR_PATH) return;
  for (size_t i = 0; i < l->count; i++)
    if (strcmp(l->vendors[i].file, library) == 0) return;
  if (l->count == l->max) return;
  hx__vendor *const v = &l->vendors[l->count++];
  snprintf(v->file, sizeof v->file, "%s", library);
  snprintf(v->icd, sizeof v->icd, "%s", icd);
  v->fault[0] = '\0';
}

/* The first line of an .icd file is the name of the library. */
static void add_icd(list *l, const char *path) {
  char line[HX__VENDOR_PATH] = "";
  FILE *const f = fopen(path, "re");
  if (!f) return;
  if (fgets(line, sizeof line, f)) add_library(l, path, (line[strcspn(line, " \t\r\n")] = '\0', line));
  fclose(f);
}

static bool ends_with_icd(const char *name) {
  const size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

static void add_folder(list *l, const char *folder) {
  DIR *const d = opendir(folder);
  char path[2 * HX__VENDOR_PATH + 257];
  for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
    if (!ends_with_icd(e->d_name)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    add_icd(l, path);
  }
  if (d) closedir(d);
}

/* value: a folder, an .icd file, the name of one in the system's folder, or a library. */
static void add_value(list *l, const char *value) {
  char path[3 * HX__VENDOR_PATH];
  struct stat st;
  if (stat(value, &st) == 0 && S_ISDIR(st.st_mode)) {
    add_folder(l, value);
  } else if (ends_with_icd(value)) {
    snprintf(path, sizeof path, "%s%s%s", strchr(value, '/') ? "" : l->folder, strchr(value, '/') ? "" : "/", value);
    add_icd(l, path);
  } else {
    add_library(l, "", value);
  }
}

size_t hx__driver_list(const char *root, hx__vendor *vendors, size_t max) {
  list l = {.vendors = vendors, .max = max};
  snprintf(l.folder, sizeof l.folder, "%s" FOLDER, root);
  char value[HX__VENDOR_PATH];
  if (hx__variable("OCL_ICD_VENDORS", value, sizeof value) || hx__variable("OPENCL_VENDOR_PATH", value, sizeof value))
    add_value(&l, value);
  else
    add_folder(&l, l.folder);
  char *rest = value;
  if (hx__variable("OCL_ICD_FILENAMES", value, sizeof value))
    for (const char *name; (name = strsep(&rest, ":")) != NULL;) add_library(&l, "", name);
  return l.count;
}
