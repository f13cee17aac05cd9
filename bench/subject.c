/* SPDX-License-Identifier: Apache-2.0
 * Freeing subjects and their arrays. */
#include "bench/subject.h"

#include <stdlib.h>

void bench_subject_free(bench_subject *subject) {
  free(subject->place);
  free(subject->wanted);
  *subject = (bench_subject){0};
}

void bench_arrays_free(bench_session *session, bench_arrays *arrays) {
  bench_session_free(session, arrays->x);
  bench_session_free(session, arrays->y);
  bench_session_free(session, arrays->c);
  *arrays = (bench_arrays){0};
}
