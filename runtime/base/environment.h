/* SPDX-License-Identifier: Apache-2.0
 * Information from the environment that is not in the table of settings. A secure process gets none. */
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

/* Writes $XDG_CACHE_HOME/hx, otherwise $HOME/.cache/hx, otherwise "". Creates nothing. */
void hx__environment_cache_dir(char *out, size_t bytes);

/* The first number of OMP_NUM_THREADS, at most 4096; 0 if the variable is not set or contains no number (libgomp then
 * prints a warning). */
uint32_t hx__environment_omp_threads(void);

/* Whether OpenMP's threads sleep while they wait for work, according to OMP_WAIT_POLICY and GOMP_SPINCOUNT; otherwise
 * they spin for some milliseconds first. The variables are read at the first call, in hx_open. */
bool hx__environment_omp_sleeps(void);
/* The same for values of GOMP_SPINCOUNT and OMP_WAIT_POLICY; NULL: not set. */
bool hx__omp_sleeps_by(const char *spins, const char *policy);

/* Bytes of the stacks of OpenMP's threads, according to OMP_STACKSIZE, otherwise GOMP_STACKSIZE; 0: the system's
 * default. The variables are read at the first call, because libgomp, too, reads them only once. */
size_t hx__environment_omp_stack(void);

/* The Levenshtein distance of a[0..length) and b, ignoring case. Only the first 64 letters count. */
size_t hx__edit_distance(const char *a, size_t length, const char *b);

/* Warns of every HX_ variable that is not in the table, and names the most similar variable of the table. Once in a
 * process. */
void hx__environment_warn(void);

#endif
