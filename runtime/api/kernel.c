/* SPDX-License-Identifier: Apache-2.0
 * User kernels as objects. */
#include <stdlib.h>

#include "cpu/cpu.h"
#include "runtime/api/caller.h"
#include "runtime/base/status.h"
#include "runtime/expr/compile.h"

static hx_status check_source(const hx_kernel_source *source) {
  if (!source) return hx__fail(HX_INVALID_ARGUMENT, "source is NULL");
  if (!source->text) return hx__fail(HX_INVALID_ARGUMENT, "text of the source is NULL");
  for (size_t i = 0; i < sizeof source->reserved / sizeof source->reserved[0]; i++)
    if (source->reserved[i])
      return hx__fail(HX_INVALID_ARGUMENT, "reserved[%zu] of the source is %llu: it must be zero", i,
                      (unsigned long long)source->reserved[i]);
  return HX_OK;
}

hx_status hx_compile(hx_context *hx, const hx_kernel_source *source, hx_kernel **out) {
  if (!out) return hx__fail(HX_INVALID_ARGUMENT, "out is NULL");
  *out = NULL;
  if (!hx) return hx__fail(HX_INVALID_ARGUMENT, "hx is NULL");
  HX__CALL_SCOPE(hx);
  hx_status s = check_source(source);
  if (s != HX_OK) return s;
  hx_kernel *const k = malloc(sizeof *k);
  if (!k) return hx__fail(HX_OUT_OF_MEMORY, "no memory for a kernel");
  s = hx__expr_compile(source, &k->expr);
  const char *const exceeded = s == HX_OK ? hx__expr_code_of(&k->expr, &k->code) : NULL;
  if (exceeded) s = hx__fail(HX_INVALID_ARGUMENT, "text 1:1: the whole text needs more than %s", exceeded);
  k->hash = s == HX_OK ? hx__expr_hash(&k->expr) : 0;
  if (s == HX_OK)
    *out = k;
  else
    free(k);
  return s;
}

void hx_kernel_free(hx_kernel *kernel) { free(kernel); }

hx_type hx_kernel_type(const hx_kernel *kernel) { return kernel ? hx__expr_type(&kernel->expr) : (hx_type)0; }
