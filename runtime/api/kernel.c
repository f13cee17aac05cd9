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

static hx_status fail_on_limit(const hx__expr_code *code, const char *exceeded) {
  static const char advice[] = "cut it into two maps, of which the second one reads what the first one writes";
  if (code->steps > HX__EXPR_STEPS)
    return hx__fail(HX_INVALID_ARGUMENT, "text 1:1: the whole text needs %u steps, and %u is the limit: %s",
                    code->steps, HX__EXPR_STEPS, advice);
  return hx__fail(HX_INVALID_ARGUMENT, "text 1:1: the whole text needs more than %s: %s", exceeded, advice);
}

static unsigned effort_of(const hx__expr_code *code) {
  enum { FUNCTION = 80 }; /* a powf takes as long as some eighty additions: user-kernels-functions.tsv */
  unsigned effort = code->steps;
  for (unsigned i = 0; i < code->steps; i++)
    if (code->step[i].op >= HX__EXPR_POW_F && code->step[i].op < HX__EXPR_OP_COUNT) effort += FUNCTION;
  return effort;
}

/* *functions: memory for a copy of the expression. With whole functions it needs fewer steps, but these may be in an
 * order that needs more intermediate results; what does not fit in that way is computed by its other operations. */
static hx_status compile(const hx_kernel_source *source, hx_kernel *k, hx__expr *functions) {
  const hx_status s = hx__expr_compile(source, &k->expr);
  if (s != HX_OK) return s;
  *functions = k->expr;
  hx__expr_with_functions(functions);
  const char *exceeded = hx__expr_code_of(functions, &k->code);
  if (exceeded) exceeded = hx__expr_code_of(&k->expr, &k->code);
  if (exceeded) return fail_on_limit(&k->code, exceeded);
  k->effort = effort_of(&k->code);
  k->hash = hx__expr_hash(&k->expr);
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
  hx__expr *const functions = malloc(sizeof *functions);
  s = k && functions ? compile(source, k, functions) : hx__fail(HX_OUT_OF_MEMORY, "no memory for a kernel");
  free(functions);
  if (s != HX_OK) {
    free(k);
    return s;
  }
  *out = k;
  return HX_OK;
}

void hx_kernel_free(hx_kernel *kernel) { free(kernel); }

hx_type hx_kernel_type(const hx_kernel *kernel) { return hx_kernel_output_type(kernel, 0); }

hx_type hx_kernel_output_type(const hx_kernel *kernel, unsigned output) {
  return kernel && output < kernel->expr.outputs ? hx__expr_output_type(&kernel->expr, output) : (hx_type)0;
}
