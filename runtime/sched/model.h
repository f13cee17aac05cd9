/* SPDX-License-Identifier: Apache-2.0
 * What the process has measured: rates by device, kernel, size class and threads, and of whole calls by who took part.
 * Means are of logarithms, so that one spike of 10x weighs like one dip of 10x; a spike that does not repeat is
 * dropped. */
#ifndef HX_SCHED_MODEL_H
#define HX_SCHED_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* device: any address that stands for one; NULL: a whole call. who: what shared the machine, as bits of the caller. */
typedef struct hx__rate_key {
  const void *device;
  uint64_t needs;
  uint32_t size_class; /* floor(log2(units)) */
  uint32_t threads;
  uint32_t who;
} hx__rate_key;

typedef struct hx__rate {
  double units_per_ns; /* 0: nothing is known */
  uint32_t samples;
} hx__rate;

uint32_t hx__size_class(uint64_t units);

/* The rate of the key, else of the nearest size class that has one, at most four away. */
hx__rate hx__model_get(const hx__rate_key *key);
/* Of this very class only. */
hx__rate hx__model_exact(const hx__rate_key *key);
void hx__model_put(const hx__rate_key *key, uint64_t units, uint64_t ns);

#endif
