/* SPDX-License-Identifier: Apache-2.0
 * A driver that crashes when it gets a program that is not built from source. */
#include "tests/layers/layer.h"

static cl_program CL_API_CALL with_binary(cl_context context, cl_uint devices, const cl_device_id *list,
                                          const size_t *lengths, const unsigned char **binaries, cl_int *status,
                                          cl_int *code) {
  (void)context, (void)devices, (void)list, (void)lengths, (void)binaries, (void)status, (void)code;
  abort();
}

static const char *layer_name(void) { return "crash"; }

static void layer_fill(void) { mine.clCreateProgramWithBinary = with_binary; }
