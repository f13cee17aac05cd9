/* SPDX-License-Identifier: Apache-2.0
 * The first command that a device gets: a copy from one buffer to another. A driver over a kernel driver that executes
 * nothing reports success for all commands. A copy shows that at once; a kernel would have to be compiled first, which
 * takes up to a second. */
#include <string.h>

#include "runtime/backend/opencl/cl.h"

#define WORDS 1024u

static cl_mem buffer(hx__cl_device *d, cl_int *code) {
  return *code == CL_SUCCESS ? clCreateBuffer(d->context, CL_MEM_READ_WRITE, WORDS * 4u, NULL, code) : NULL;
}

bool hx__cl_copies(hx__cl_device *d, cl_command_queue queue) {
  static const uint32_t salt = 0x9e3779b9u; /* no word is 0, which fresh memory may hold */
  uint32_t words[WORDS];
  cl_int code = CL_SUCCESS;
  cl_mem from = buffer(d, &code), to = buffer(d, &code);
  for (uint32_t i = 0; i < WORDS; i++) words[i] = salt * (i + 1u);
  if (code == CL_SUCCESS) code = clEnqueueWriteBuffer(queue, from, CL_TRUE, 0, sizeof words, words, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = clEnqueueCopyBuffer(queue, from, to, 0, 0, sizeof words, 0, NULL, NULL);
  if (code == CL_SUCCESS) memset(words, 0, sizeof words);
  if (code == CL_SUCCESS) code = clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof words, words, 0, NULL, NULL);
  bool same = true;
  for (uint32_t i = 0; i < WORDS && code == CL_SUCCESS; i++) same = same && words[i] == salt * (i + 1u);
  if (from) clReleaseMemObject(from);
  if (to) clReleaseMemObject(to);
  return same;
}
