/* SPDX-License-Identifier: Apache-2.0
 * The arrays of a product. A and B contain integers from -8 to 8. All sums are then exact in f32 in any order, so every
 * library must give the same C without any error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ladder.h"
#include "reference/data.h"
#include "reference/ref.h"

#define SEED 11u
#define PLACES 256u /* how many elements of the expected C are compared with the scalar definition */

static float *new_array(size_t elements) {
  return aligned_alloc(4096, (elements * sizeof(float) + 4095) & ~(size_t)4095);
}

/* Computes the expected C by hx on the CPU alone, and compares some elements with the scalar definition. */
static bool compute_expected(ladder_product *p) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  hx_context *hx;
  settings.devices = "cpu";
  if (hx_open(&hx, &settings) != HX_OK) return false;
  hx_task task = hx_matmul(p->m, p->n, p->k, p->a, p->b, p->expected);
  bool fine = hx_offload(hx, &task, NULL) == HX_OK;
  hx_close(hx);
  for (size_t i = 0; fine && i < PLACES; i++) {
    const size_t at = (size_t)(data_u64(SEED, i) % (p->m * p->n));
    fine = ref_bits(ref_matmul_element(&task.matmul, at / p->n, at % p->n)) == ref_bits(p->expected[at]);
  }
  return fine;
}

static cl_mem new_buffer(const ladder_device *device, cl_mem_flags flags, size_t elements, void *from) {
  cl_int code;
  return clCreateBuffer(device->context, flags | (from ? CL_MEM_COPY_HOST_PTR : 0), elements * sizeof(float), from,
                        &code);
}

bool ladder_product_open(ladder_product *p, const ladder_device *device, const bench_size *size) {
  const size_t m = size->m, n = size->n, k = size->k;
  *p = (ladder_product){.device = device, .m = m, .n = n, .k = k};
  p->a = new_array(m * k);
  p->b = new_array(k * n);
  p->got = new_array(m * n);
  p->expected = new_array(m * n);
  bool fine = p->a && p->b && p->got && p->expected;
  if (fine) {
    data_fill(HX_F32, DATA_SMALL, SEED, p->a, m * k);
    data_fill(HX_F32, DATA_SMALL, SEED + 1, p->b, k * n);
    fine = compute_expected(p);
  }
  if (fine && device) {
    p->da = new_buffer(device, CL_MEM_READ_ONLY, m * k, p->a);
    p->db = new_buffer(device, CL_MEM_READ_ONLY, k * n, p->b);
    p->dc = new_buffer(device, CL_MEM_READ_WRITE, m * n, NULL);
    fine = p->da && p->db && p->dc;
  }
  if (fine) return true;
  fprintf(stderr, "hx-bench: there is no room for the product %zux%zux%zu, or its expected result is wrong\n", m, n, k);
  ladder_product_close(p);
  return false;
}

void ladder_product_close(ladder_product *p) {
  cl_mem buffers[] = {p->da, p->db, p->dc};
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
    if (buffers[i]) clReleaseMemObject(buffers[i]);
  free(p->a);
  free(p->b);
  free(p->got);
  free(p->expected);
  *p = (ladder_product){0};
}

/* Compares numbers and not bits, because one driver's fma gives zeros of the wrong sign. */
bool ladder_product_same(ladder_product *p) {
  const size_t count = p->m * p->n;
  bool same = true;
  for (size_t i = 0; i < count; i++) same &= p->got[i] == p->expected[i];
  memset(p->got, 0xff, count * sizeof(float)); /* NaNs */
  if (p->dc) clEnqueueWriteBuffer(p->device->queue, p->dc, CL_TRUE, 0, count * sizeof(float), p->got, 0, NULL, NULL);
  return same;
}

bool ladder_product_fetch(ladder_rung *rung) {
  ladder_product *p = rung->self;
  return clEnqueueReadBuffer(p->device->queue, p->dc, CL_TRUE, 0, p->m * p->n * sizeof(float), p->got, 0, NULL, NULL) ==
         CL_SUCCESS;
}
