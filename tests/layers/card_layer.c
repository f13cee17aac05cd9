/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer that makes a CPU device look like an NVIDIA card, so that what hx does with such a card's set of rows
 * (programs by row and layout, cached ones, plans, copies, joins) runs without one. Kernels are built without PTX,
 * which changes only the ring of tiles, and without optimization, which takes PoCL minutes. Rows that need PTX, the
 * largest tiles, whose self-tests take minutes, too, and reductions do not build. */
#include "tests/layers/card.h"

#define VENDOR_NVIDIA 0x10deu

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                      size_t *size_out) {
  const cl_int code = card_info(device, what, size, value, size_out);
  if (code == CL_SUCCESS && value && what == CL_DEVICE_VENDOR_ID) *(cl_uint *)value = VENDOR_NVIDIA;
  return code;
}

static void replace(char *text, const char *from, char to) { /* replaces the last character of `what` */
  char *const at = strstr(text, from);
  if (at) at[strlen(from) - 1] = to;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                        void *data) {
  char text[2048];
  snprintf(text, sizeof text, "%s", options ? options : "");
  static const char *const left_out[] = {"-DHX_SLICES=2", "-DHX_TILE_N=256", "-DHX_TILE_M=80", "-DHX_TILE_M=96",
                                         "-DHX_OP="};
  for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
    if (strstr(text, left_out[i])) return CL_BUILD_PROGRAM_FAILURE;
  replace(text, "-DHX_PTX=1", '0');
  replace(text, "-DHX_STAGES=4", '2');
  strncat(text, " -cl-opt-disable", sizeof text - strlen(text) - 1);
  return next.clBuildProgram(program, count, devices, text, notify, data);
}

static const char *layer_name(void) { return "hx card"; }

static void layer_fill(void) {
  mine.clGetDeviceInfo = device_info;
  mine.clBuildProgram = build_program;
}
