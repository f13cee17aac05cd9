/* SPDX-License-Identifier: Apache-2.0
 * Writes a user kernel as OpenCL C: a variable for each value of its expression, and the operations of kernels/map.cl.
 * A map is the whole kernel; a map-reduce is a function of an element of each array, and the macros by which
 * kernels/map_reduce.cl calls it. */
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

/* reads: inputs are read from arrays; otherwise they are variables. */
static void write_value(FILE *f, const hx__expr *e, unsigned index, bool reads) {
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
      fprintf(f, reads ? "x%u[x%u_first + row * x%u_ld + i]" : "x%u", v->arg[0], v->arg[0], v->arg[0]);
      break;
    case HX__EXPR_ROW:
      fprintf(f, reads ? "x%u[x%u_first + row * x%u_ld]" : "x%u", v->arg[0], v->arg[0], v->arg[0]);
      break;
    case HX__EXPR_ROW_NUMBER:
      fputs(reads ? "first_row + (uint)row" : "first_row", f);
      break;
    case HX__EXPR_INDEX:
      fputs(reads ? "first_index + (uint)i" : "index", f);
      break;
    default:
      fprintf(f, "HX_%s(", names[v->op]);
      for (unsigned i = 0, n = hx__expr_operands((hx__expr_op)v->op); i < n; i++)
        fprintf(f, "%sv%u", i ? ", " : "", v->arg[i]);
      fputc(')', f);
  }
  fputs(";\n", f);
}

/* The number of the first row and the index of its first element, if the expression asks for them, as parameters or as
 * arguments. */
static void write_first(FILE *f, const hx__expr *e, const char *type) {
  if (e->by_row) fprintf(f, "%sfirst_row, ", type);
  if (e->by_index) fprintf(f, "%sfirst_index, ", type);
}

/* has_rows: inputs have rows, x_ld elements apart. */
static void write_parameters(FILE *f, const hx__expr *e, bool has_rows) {
  for (unsigned i = 0; i < e->inputs; i++) {
    fprintf(f, "global const %s *x%u, ulong x%u_first, ", type_words[e->input_type[i]], i, i);
    if (has_rows) fprintf(f, "ulong x%u_ld, ", i);
  }
  for (unsigned i = 0; i < e->parameters; i++) fprintf(f, "uint p%u, ", i);
  write_first(f, e, "uint ");
}

/* The results of an element, and how they are stored: all of the first output, then all of the second one, and so on.
 */
static void write_results(FILE *f, const hx__expr *e) {
  fputs("typedef struct {\n  uint o0", f);
  for (unsigned o = 1; o < e->outputs; o++) fprintf(f, ", o%u", o);
  fputs(";\n} hx_results;\nstatic void hx_put(global uint *to, ulong step, hx_results r) {\n", f);
  for (unsigned o = 0; o < e->outputs; o++) fprintf(f, "  to[%u * step] = r.o%u;\n", o, o);
  fputs("}\n", f);
}

/* Several outputs are one value of the type hx_results. */
static void write_return(FILE *f, const hx__expr *e) {
  if (e->outputs == 1) {
    fprintf(f, "  return %s(v%u);\n", out_words[hx__expr_type(e)], e->result[0]);
    return;
  }
  fputs("  const hx_results r = {", f);
  for (unsigned o = 0; o < e->outputs; o++)
    fprintf(f, "%s%s(v%u)", o ? ", " : "", out_words[hx__expr_output_type(e, o)], e->result[o]);
  fputs("};\n  return r;\n", f);
}

/* How the kernel stores what an element gives: before the place, before the element, and after it. */
typedef struct store_words {
  const char *type, *before, *between, *after, *parameter;
} store_words;

/* HX_MAP_EACH is the number of elements of a row that a work-item computes, a work-group's width apart. If it is more
 * than 1, whole groups of them are loaded before the first is stored. */
static void write_map(FILE *f, const hx__expr *e) {
  static const store_words one = {"uint", "", " = ", "", ""},
                           several = {"hx_results", "hx_put(&", ", out_step, ", ")", ", ulong out_step"};
  const store_words *const s = e->outputs > 1 ? &several : &one;
  if (e->outputs > 1) write_results(f, e);
  fprintf(f, "static %s hx_element(", s->type);
  write_parameters(f, e, true);
  fputs("ulong row, ulong i) {\n", f);
  for (unsigned i = 0; i < e->count; i++) write_value(f, e, i, true);
  write_return(f, e);
  fputs("}\n#define HX_ARGUMENTS ", f);
  for (unsigned i = 0; i < e->inputs; i++) fprintf(f, "x%u, x%u_first, x%u_ld, ", i, i, i);
  for (unsigned i = 0; i < e->parameters; i++) fprintf(f, "p%u, ", i);
  write_first(f, e, "");
  fputs("\nkernel void hx_map(", f);
  write_parameters(f, e, true);
  fprintf(f,
          "ulong cols, ulong rows, global uint *out, ulong out_first, ulong out_ld%s) {\n"
          "  const ulong row = get_global_id(1);\n"
          "#if HX_MAP_EACH == 1\n"
          "  const ulong i = get_global_id(0);\n"
          "  if (i < cols && row < rows) %sout[out_first + row * out_ld + i]%shx_element(HX_ARGUMENTS row, i)%s;\n"
          "#else\n"
          "  const uint width = (uint)get_local_size(0);\n"
          "  const ulong group = get_group_id(0) * ((ulong)width * HX_MAP_EACH), i = group + get_local_id(0);\n"
          "  if (row >= rows) return;\n"
          "  out += out_first + row * out_ld + i;\n"
          "  if (group + width * HX_MAP_EACH <= cols) {\n"
          "    %s v[HX_MAP_EACH];\n"
          "    _Pragma(\"unroll\") for (uint e = 0; e < HX_MAP_EACH; e++)\n"
          "      v[e] = hx_element(HX_ARGUMENTS row, i + e * width);\n"
          "    _Pragma(\"unroll\") for (uint e = 0; e < HX_MAP_EACH; e++) %sout[e * width]%sv[e]%s;\n"
          "    return;\n"
          "  }\n"
          "  _Pragma(\"unroll 1\") for (uint e = 0; i + e * width < cols; e++)\n"
          "    %sout[e * width]%shx_element(HX_ARGUMENTS row, i + e * width)%s;\n"
          "#endif\n}\n",
          s->parameter, s->before, s->between, s->after, s->type, s->before, s->between, s->after, s->before,
          s->between, s->after);
}

/* Calls name(an expression for each input, each parameter, the row number, the index). input, row: the expression for
 * an input, of those that have one value per row another, with # for the input's number and @ for its type. */
static void write_call(FILE *f, const hx__expr *e, const char *name, const char *input, const char *row,
                       const char *index) {
  fprintf(f, "%s(", name);
  for (unsigned i = 0; i < e->inputs; i++) {
    if (i) fputs(", ", f);
    for (const char *c = e->per_row[i] ? row : input; *c; c++) switch (*c) {
        case '#':
          fprintf(f, "%u", i);
          break;
        case '@':
          fputs(type_words[e->input_type[i]], f);
          break;
        default:
          fputc(*c, f);
      }
  }
  for (unsigned i = 0; i < e->parameters; i++) fprintf(f, "%sp%u", i || e->inputs ? ", " : "", i);
  const char *const before = e->inputs || e->parameters ? ", " : "";
  if (e->by_row) fprintf(f, "%sfirst_row", before);
  if (e->by_index) fprintf(f, "%s%s", e->by_row ? ", " : before, index);
  fputc(')', f);
}

/* A function of an element of each array, or of four (width "4"), of which `index` is then the first one's. */
static void write_head(FILE *f, const hx__expr *e, const char *name, const char *width) {
  fprintf(f, "static %s%s %s(", type_words[hx__expr_type(e)], width, name);
  for (unsigned i = 0; i < e->inputs; i++)
    fprintf(f, "%sconst %s%s x%u", i ? ", " : "", type_words[e->input_type[i]], width, i);
  for (unsigned i = 0; i < e->parameters; i++) fprintf(f, "%sconst uint p%u", i || e->inputs ? ", " : "", i);
  const bool before = e->inputs || e->parameters;
  if (e->by_row) fprintf(f, "%sconst uint first_row", before ? ", " : "");
  if (e->by_index) fprintf(f, "%sconst uint index", before || e->by_row ? ", " : "");
  fputs(before || e->by_row || e->by_index ? ") {\n" : "void) {\n", f);
}

static void write_functions(FILE *f, const hx__expr *e) {
  static const char *const lanes[] = {"x#.x", "x#.y", "x#.z", "x#.w"}, *const indices[] = {"index", "index + 1u",
                                                                                           "index + 2u", "index + 3u"};
  write_head(f, e, "hx_value", "");
  for (unsigned i = 0; i < e->count; i++) write_value(f, e, i, false);
  fprintf(f, "  return v%u;\n}\n", e->result[0]);
  write_head(f, e, "hx_four", "4");
  fprintf(f, "  return (%s4)(", type_words[hx__expr_type(e)]);
  for (unsigned i = 0; i < 4; i++) {
    if (i) fputs(", ", f);
    write_call(f, e, "hx_value", lanes[i], lanes[i], indices[i]);
  }
  fputs(");\n}\n", f);
}

static void write_map_reduce(FILE *f, const hx__expr *e) {
  static const char index[] = "first_index + (uint)(i)";
  write_functions(f, e);
  fputs("#define HX_PARAMETERS ", f);
  write_parameters(f, e, false);
  fputs("\n#define HX_ARGUMENTS ", f);
  for (unsigned i = 0; i < e->inputs; i++) fprintf(f, "x%u, x%u_first, ", i, i);
  for (unsigned i = 0; i < e->parameters; i++) fprintf(f, "p%u, ", i);
  write_first(f, e, "");
  fputs("\n#define HX_ELEMENT(i) ", f);
  write_call(f, e, "hx_value", "x#[x#_first + (i)]", "x#[x#_first]", index);
  fputs("\n#define HX_FOUR(load, i) ", f);
  write_call(f, e, "hx_four", "load(@, x# + x#_first + (i))", "(@4)(x#[x#_first])", index);
  fputs("\n#define HX_ALIGNED(i) (((0", f);
  for (unsigned i = 0; i < e->inputs; i++)
    if (!e->per_row[i]) fprintf(f, " | (uintptr_t)(x%u + x%u_first + (i))", i, i);
  fputs(") & 15) == 0)\n", f);
}

char *hx__cl_map_text(const hx__expr *e, hx__kernel_kind kind) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *const f = open_memstream(&text, &bytes);
  if (!f) return NULL;
  (kind == HX__KERNEL_MAP ? write_map : write_map_reduce)(f, e);
  const bool complete = !ferror(f);
  if (fclose(f) == 0 && complete) return text;
  free(text);
  return NULL;
}
