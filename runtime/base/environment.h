/* SPDX-License-Identifier: Apache-2.0
 * What the environment says beside the values of the table. In a secure process: nothing. */
#ifndef HX_BASE_ENVIRONMENT_H
#define HX_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this process has more rights than the user who started it (AT_SECURE: setuid, setgid, file capabilities).
 * Nothing that its caller chooses may then decide which code runs: hx reads no variable, keeps no file, and calls
 * neither libOpenCL, which loads the drivers and layers that variables name, nor hwloc, which loads plugins likewise.
 */
bool hx__is_secure_process(void);

/* $XDG_CACHE_HOME/hx, else $HOME/.cache/hx, else "". Nothing is created. */
void hx__environment_cache_dir(char *out, size_t bytes);

/* The first number of OMP_NUM_THREADS, at most 4096; 0 where it is not set or has none (libgomp then complains). */
uint32_t hx__environment_omp_threads(void);

/* Whether OpenMP's threads sleep while they wait for work, by OMP_WAIT_POLICY and GOMP_SPINCOUNT; else libgomp has them
 * spin for some milliseconds. What stood there at the first call, in hx_open. */
bool hx__environment_omp_sleeps(void);
/* The same for values of GOMP_SPINCOUNT and OMP_WAIT_POLICY; NULL: not set. */
bool hx__omp_sleeps_by(const char *turns, const char *policy);

/* Bytes of the stacks of OpenMP's threads, by OMP_STACKSIZE, else GOMP_STACKSIZE; 0: the system's default. What stood
 * there at the first call, for libgomp has read it once as well. */
size_t hx__environment_omp_stack(void);

/* Warns of every HX_ variable that is not in the table, with the nearest name that is; once a process. */
void hx__environment_warn(void);

#endif
