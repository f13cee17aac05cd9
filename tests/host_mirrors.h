/* SPDX-License-Identifier: Apache-2.0
 * Mirrors of a device that has no memory of its own: tests of memory/ without a driver. */
#ifndef HX_TESTS_HOST_MIRRORS_H
#define HX_TESTS_HOST_MIRRORS_H

#include <stdlib.h>

#include "runtime/backend/backend.h"

static hx__mirror *host_mirror_create(hx__device *device, const void *first, size_t bytes) {
  hx__mirror *const mirror = malloc(sizeof *mirror);
  (void)device;
  if (mirror && hx__mirror_init(mirror, first, bytes)) return mirror;
  exit(1);
}

static void host_mirror_destroy(hx__device *device, hx__mirror *mirror) {
  (void)device;
  hx__mirror_free(mirror);
  free(mirror);
}

static const hx__backend_residency host_mirrors = {.create = host_mirror_create, .destroy = host_mirror_destroy};

#endif
