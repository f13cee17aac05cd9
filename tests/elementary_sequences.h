/* SPDX-License-Identifier: Apache-2.0
 * The elementary functions of user kernels as docs/ELEMENTARY.md defines them, operation by operation. A NaN may be
 * any. Written from the page alone; shares no code with the library. */
#ifndef HX_TESTS_ELEMENTARY_SEQUENCES_H
#define HX_TESTS_ELEMENTARY_SEQUENCES_H

float sequence_exp(float x);
float sequence_log(float x);
float sequence_sin(float x);
float sequence_cos(float x);
float sequence_tan(float x);
float sequence_asin(float x);
float sequence_acos(float x);
float sequence_atan(float x);
float sequence_atan2(float x, float y);
float sequence_sinh(float x);
float sequence_cosh(float x);
float sequence_tanh(float x);
float sequence_erf(float x);
float sequence_exp2(float x);
float sequence_expm1(float x);
float sequence_log1p(float x);
float sequence_log2(float x);
float sequence_log10(float x);
float sequence_pow(float x, float y);
float sequence_hypot(float x, float y);

#endif
