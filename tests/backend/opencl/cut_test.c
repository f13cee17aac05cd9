/* SPDX-License-Identifier: Apache-2.0
 * How large a chunk of a reduction may be, and a buffer that is kept between runs. */
#include "runtime/backend/opencl/stream.h"
#include "tests/check.h"

static size_t leaves_of(hx_op op, size_t fields, uint32_t placement) {
  const hx_field field[2] = {{.op = op, .type = HX_F32}, {.op = op, .type = HX_F32}};
  const hx__work w = {.nfields = fields, .fields = field, .placement = placement};
  return hx__cl_most_leaves(&w);
}

/* Copies of small chunks overlap with kernels; without copies one launch joins all leaves. */
static void chunks(void) {
  const uint32_t first = HX__PRESENT, second = HX__PRESENT << 2;
  CHECK(leaves_of(HX_SUM, 1, 0) == HX__CL_MOST_LEAVES, "an array to be copied");
  CHECK(leaves_of(HX_SUM, 1, 1) == HX__CL_MOST_LEAVES, "an array to be copied directly");
  CHECK(leaves_of(HX_SUM, 1, first) == HX__CL_MOST_PRESENT_LEAVES, "an array that is there");
  CHECK(leaves_of(HX_DOT, 1, first) == HX__CL_MOST_LEAVES, "one array of two that is there");
  CHECK(leaves_of(HX_DOT, 1, second) == HX__CL_MOST_LEAVES, "the other array of two");
  CHECK(leaves_of(HX_DOT, 1, first | second) == HX__CL_MOST_PRESENT_LEAVES, "two arrays that are there");
  CHECK(leaves_of(HX_SUM, 2, 0) == HX__CL_MOST_LEAVES, "a structure of arrays, which has no placement");
}

static size_t retained_by(bool unified, uint64_t memory_bytes) {
  static hx__cl_device device;
  device.unified = unified;
  device.base.memory_bytes = memory_bytes;
  return hx__cl_most_retained_bytes(&device);
}

/* A device that shares the host's memory keeps little of it, and so does a small card. */
static void buffers(void) {
  const uint64_t gigabyte = (uint64_t)1 << 30;
  CHECK(retained_by(true, 64 * gigabyte) == HX__CL_RETAINED_BYTES, "shared memory");
  CHECK(retained_by(false, 2 * gigabyte) == HX__CL_RETAINED_BYTES, "a card of 2 GB");
  CHECK(retained_by(false, 8 * gigabyte) == gigabyte / 8, "a card of 8 GB");
  CHECK(retained_by(false, 80 * gigabyte) == 5 * gigabyte / 4, "a card of 80 GB");
}

int main(void) {
  chunks();
  buffers();
  return checks_end("cut_test");
}
