/* SPDX-License-Identifier: Apache-2.0
 * The rungs of hx on the CPU alone with each instruction set that it has kernels for, as far as this CPU has it. */
#include "bench/ladder_offload.h"

#include "bench/measure.h"
#include "cpu/cpu.h"
#include "runtime/base/config.h"

#define SIDE 128u /* of the product from which the time of the whole one is estimated */

_Static_assert(HX__ISAS <= sizeof((ladder_forms *)0)->context / sizeof(hx_context *), "a context for each");

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* About how long the product takes, by that of a small one. SSE2 computes each fma in doubles, and takes minutes for
 * what AVX2 does in seconds. */
static double seconds_of(hx_context *hx, const ladder_product *p) {
  const size_t m = least(p->m, SIDE), n = least(p->n, SIDE), k = least(p->k, SIDE);
  const hx_task task = hx_matmul(m, n, k, p->a, p->b, p->got);
  double seconds = 0;
  for (int i = 0; i < 2; i++) { /* the first call starts threads */
    const double start = bench_now();
    if (hx_offload(hx, &task, NULL) != HX_OK) return 0;
    seconds = bench_now() - start;
  }
  return seconds * ((double)p->m / (double)m) * ((double)p->n / (double)n) * ((double)p->k / (double)k);
}

static void form_rung(ladder_case *c, const hx_task *task, hx__isa isa, ladder_forms *forms) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  hx_context *hx = NULL;
  char name[32];
  snprintf(name, sizeof name, "hx, CPU by %s", hx__isa_name(isa));
  settings.devices = "cpu";
  settings.isa = hx__isa_name(isa);
  const bool has = hx__cpu_kernels_for(isa) != NULL, fine = has && hx_open(&hx, &settings) == HX_OK;
  const double seconds = fine && c->product ? seconds_of(hx, c->product) : 0;
  if (fine) forms->context[forms->count++] = hx;
  if (!has)
    ladder_out(ladder_add(c, name, NULL, NULL), "this CPU does not have it");
  else if (!fine)
    ladder_out(ladder_add(c, name, NULL, NULL), "%.120s", hx_error_detail());
  else if (seconds > LADDER_LONGEST_CALL)
    ladder_out(ladder_add(c, name, NULL, NULL), "a call would take about %.0f s; --size 512x512x512 is shorter",
               seconds);
  else
    ladder_hx_call_rung(hx, c, name, task, 0);
}

void ladder_form_rungs(ladder_case *c, const hx_task *task, ladder_forms *forms) {
  *forms = (ladder_forms){.count = 0};
  for (hx__isa isa = HX__ISA_AUTO + 1; isa < HX__ISAS; isa++) form_rung(c, task, isa, forms);
}

void ladder_forms_close(ladder_forms *forms) {
  for (size_t i = 0; i < forms->count; i++) hx_close(forms->context[i]);
  forms->count = 0;
}
