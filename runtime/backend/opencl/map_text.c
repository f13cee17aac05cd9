/* SPDX-License-Identifier: Apache-2.0
 * Writes a user kernel as OpenCL C: a variable for each value of its expression, and the operations of kernels/map.cl.
 */
#include <stdlib.h>

#include "runtime/backend/opencl/maps.h"

static const char *const type_words[] = {[HX_F32] = "float", [HX_I32] = "int", [HX_U32] = "uint"};
static const char *const out_words[] = {[HX_F32] = "HX_OUT_F32", [HX_I32] = "HX_OUT_I32", [HX_U32] = "HX_OUT_U32"};

#define NAME(name, operands, from, to) [HX__EXPR_##name] = #name,
static const char *const names[HX__EXPR_OP_COUNT] = {HX__EXPR_OPERATIONS(NAME)};

static void write_bits(FILE *f, hx_type type, const char *bits) {
  static const char *const as[] = {[HX_F32] = "as_float", [HX_I32] = "as_int", [HX_U32] = "(uint)"};
  fprintf(f, "%s(%s)", as[type], bits);
}

static void write_value(FILE *f, const hx__expr *e, unsigned index) {
  const hx__expr_value *const v = &e->value[index];
  const hx_type type = (hx_type)v->type;
  char bits[16];
  fprintf(f, "  const %s v%u = ", type_words[type], index);
  switch (v->op) {
    case HX__EXPR_CONSTANT:
      snprintf(bits, sizeof bits, "0x%08xu", v->bits);
      write_bits(f, type, bits);
      break;
    case HX__EXPR_PARAMETER:
      snprintf(bits, sizeof bits, "p%u", v->arg[0]);
      write_bits(f, type, bits);
      break;
    case HX__EXPR_INPUT:
      fprintf(f, "x%u[x%u_first + i]", v->arg[0], v->arg[0]);
      break;
    default:
      fprintf(f, "HX_%s(", names[v->op]);
      for (unsigned i = 0, n = hx__expr_operands((hx__expr_op)v->op); i < n; i++)
        fprintf(f, "%sv%u", i ? ", " : "", v->arg[i]);
      fputc(')', f);
  }
  fputs(";\n", f);
}

static void write_text(FILE *f, const hx__expr *e) {
  fputs("kernel void hx_map(", f);
  for (unsigned i = 0; i < e->inputs; i++)
    fprintf(f, "global const %s *x%u, ulong x%u_first, ", type_words[e->input_type[i]], i, i);
  for (unsigned i = 0; i < e->parameters; i++) fprintf(f, "uint p%u, ", i);
  fputs("ulong n, global uint *out) {\n  const ulong i = get_global_id(0);\n  if (i >= n) return;\n", f);
  for (unsigned i = 0; i < e->count; i++) write_value(f, e, i);
  fprintf(f, "  out[i] = %s(v%u);\n}\n", out_words[hx__expr_type(e)], e->result);
}

char *hx__cl_map_text(const hx__expr *e) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *const f = open_memstream(&text, &bytes);
  if (!f) return NULL;
  write_text(f, e);
  const bool complete = !ferror(f);
  if (fclose(f) == 0 && complete) return text;
  free(text);
  return NULL;
}
