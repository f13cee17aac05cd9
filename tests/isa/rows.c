/* SPDX-License-Identifier: Apache-2.0
 * isa_rows FOLDER CLASS: the programs that hx builds on a device of that class, for compilers that know the device
 * where the machine does not have it. Writes the sources into FOLDER and prints a line a program, with bars between:
 *   row | op and type | file | sub-group size, 0: the compiler's choice | registers allowed | options
 * CLASS too-large-intel, too-large-amd, too-large-nvidia, too-large-mesa or wrong-lanes: one program that no register
 * file holds, or with sub-groups of another size than its row's, for the test of the test. */
#include <stdio.h>
#include <string.h>

#include "kernels/cases.h"

static const struct {
  const char *name;
  uint32_t families;
  bool by_tile; /* with the rows that only HX_TILE selects */
} classes[] = {
    {"intel-apl", HX__FAMILY_INTEL | HX__FAMILY_SUBGROUP8 | HX__FAMILY_SUBGROUP16, true},
    {"intel", HX__FAMILY_INTEL | HX__FAMILY_SUBGROUP8 | HX__FAMILY_SUBGROUP16 | HX__FAMILY_FOUR_STEPS, true},
    {"intel-grf256",
     HX__FAMILY_INTEL | HX__FAMILY_SUBGROUP8 | HX__FAMILY_SUBGROUP16 | HX__FAMILY_FOUR_STEPS | HX__FAMILY_LARGE_GRF,
     true},
    {"intel-wide", HX__FAMILY_INTEL | HX__FAMILY_SUBGROUP16 | HX__FAMILY_WIDE, true},
    {"gcn", HX__FAMILY_AMD_GCN, true},
    {"rdna", HX__FAMILY_AMD_RDNA, true},
    {"nvidia", HX__FAMILY_NVIDIA, true},
    {"mesa-intel", HX__FAMILY_INTEL | HX__FAMILY_RUSTICL, false}, /* tiles in local memory spill */
    {"any", 0, false},
    {"mesa-gcn", HX__FAMILY_AMD_GCN | HX__FAMILY_RUSTICL, true},
    {"mesa-rdna", HX__FAMILY_AMD_RDNA | HX__FAMILY_RUSTICL, true},
};

/* Programs that must fail: one with twice the registers of an Intel thread, one with 256 sums for each item where there
 * are 256 registers in all (AMD) or 255 (NVIDIA), one with 128 sums for a compiler that copies them, and one with
 * sub-groups of 8. */
static const struct {
  const char *name;
  hx__kernel_row row;
} wrong[] = {
    {"too-large-intel",
     {.name = "matmul-too-large",
      .kind = HX__KERNEL_MATMUL,
      .family = HX__FAMILY_SUBGROUP16,
      .local = {16, 1},
      .tile_m = 64,
      .tile_n = 32,
      .tile_k = 16,
      .pack = 256,
      .defines = "-DHX_SHAPE_SUBGROUP=1 -DHX_LANES_M=4 -DHX_LANES_N=2"}},
    {"too-large-amd",
     {.name = "matmul-too-large",
      .kind = HX__KERNEL_MATMUL,
      .family = HX__FAMILY_AMD_GCN,
      .local = {16, 16},
      .tile_m = 256,
      .tile_n = 256,
      .tile_k = 16,
      .defines = ""}},
    {"too-large-nvidia",
     {.name = "matmul-too-large",
      .kind = HX__KERNEL_MATMUL,
      .family = HX__FAMILY_NVIDIA,
      .local = {16, 16},
      .tile_m = 256,
      .tile_n = 256,
      .tile_k = 16,
      .defines = ""}},
    {"too-large-mesa",
     {.name = "matmul-too-large",
      .kind = HX__KERNEL_MATMUL,
      .local = {16, 16},
      .tile_m = 256,
      .tile_n = 128,
      .tile_k = 16,
      .defines = ""}},
    {"wrong-lanes",
     {.name = "matmul-wrong-lanes",
      .kind = HX__KERNEL_MATMUL,
      .family = HX__FAMILY_SUBGROUP16,
      .local = {8, 1},
      .tile_m = 8,
      .tile_n = 16,
      .tile_k = 16,
      .pack = 256,
      .defines = "-DHX_SHAPE_SUBGROUP=1 -DHX_LANES_M=1 -DHX_LANES_N=2"}},
};

static const char *const files[] = {NULL, "reduce.cl", "matmul.cl", "probe.cl", NULL, "fields.cl"};

static bool write_sources(const char *folder) {
  for (int kind = HX__KERNEL_REDUCE; kind <= HX__KERNEL_FIELDS; kind++) {
    char path[4096];
    if (!files[kind]) continue;
    snprintf(path, sizeof path, "%s/%s", folder, files[kind]);
    FILE *file = fopen(path, "w");
    if (!file) return false;
    for (const char *const *part = hx__kernel_sources((hx__kernel_kind)kind); *part; part++) fputs(*part, file);
    if (fclose(file) != 0) return false;
  }
  return true;
}

/* more: the options that hx adds for a program of a set, or of several fields. */
static void print_program(const hx__kernel_row *row, hx_op op, hx_type type, const char *what, const char *more) {
  static const uint32_t no_tile[3] = {0, 0, 0};
  char options[1024];
  if (!hx__kernel_options(options, sizeof options, row, op, type, no_tile, HX__ARITHMETIC_PLAIN)) return;
  const int lanes = row->family & HX__FAMILY_SUBGROUP16 ? 16 : 0;
  printf("%s|%s|%s|%d|%d|%s%s\n", row->name, what, files[row->kind], lanes, row->large_grf ? 256 : 128, options, more);
}

static void print_reduction(const hx__kernel_row *row, hx_op op, hx_type type) {
  char what[64];
  snprintf(what, sizeof what, "%s-%s", hx__op_names[op], hx__type_names[type]);
  print_program(row, op, type, what, "");
}

/* Programs of as many fields as the row allows: every reduction beside its neighbours, in each form. The last reduction
 * is one of those that take the most registers, and has a program of its own. */
static void print_fields(const hx__kernel_row *row) {
  for (unsigned first = 0; first < HX__REDUCTIONS; first++)
    for (unsigned form = 0; form < HX__FIELDS_CASES; form++) {
      char what[64], options[512];
      if (first % row->fields && (first < HX__REDUCTIONS - 1 || form != HX__FIELDS_ALIKE)) continue;
      snprintf(what, sizeof what, "%s-%s-%s", hx__op_names[hx__reduction_op(first)],
               hx__type_names[hx__reduction_type(first)], hx__fields_case_names[form]);
      if (hx__kernel_fields_options(options, sizeof options,
                                    hx__case_fields((hx__fields_case)form, first, row->fields)))
        print_program(row, HX_SUM, HX_F32, what, options);
    }
}

/* A program for each layout that the row has one for. */
static void print_set(const hx__kernel_row *row) {
  static const char *const names[HX__LAYOUTS] = {"f32-nn", "f32-tn", "f32-nt"};
  for (int layout = 0; layout < HX__LAYOUTS; layout++) {
    char of_set[32];
    snprintf(of_set, sizeof of_set, " -DHX_LAYOUT=%d", layout);
    if (row->rate[layout] != 0) print_program(row, HX_SUM, HX_F32, names[layout], of_set);
  }
}

static void print_row(const hx__kernel_row *row) {
  if (row->kind == HX__KERNEL_REDUCE)
    for (int op = HX_SUM; op <= (int)HX__OP_COUNT; op++)
      for (int type = HX_F32; type <= (int)HX__TYPE_COUNT; type++) print_reduction(row, (hx_op)op, (hx_type)type);
  else if (row->kind == HX__KERNEL_FIELDS)
    print_fields(row);
  else if (hx__kernel_of_set(row))
    print_set(row);
  else
    print_program(row, HX_SUM, HX_F32, "f32", "");
}

/* Whether a device of these families uses the row: by default, for some products, or, if by_tile, if HX_TILE has the
 * row's tile. Every GPU allows groups of 256, and those with a set the groups of its rows. */
static bool families_use_row(const hx__kernel_row *row, uint32_t families, bool by_tile) {
  static const uint32_t no_tile[3] = {0, 0, 0};
  const uint32_t tile[3] = {row->tile_m, row->tile_n, row->tile_k};
  if (hx__kernel_of_set(row)) return (row->family & families) == row->family;
  return hx__kernel_row_for(row->kind, HX_F32, families, no_tile, 256) == row ||
         (by_tile && hx__kernel_row_for(row->kind, HX_F32, families, tile, 256) == row);
}

static bool print_class(const char *name) {
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    if (strcmp(name, classes[i].name) != 0) continue;
    size_t count;
    const hx__kernel_row *const rows = hx__kernel_rows(&count);
    /* Not yet reductions of lines: they spill on gfx90a, gfx1103 and Ponte Vecchio, and the emulator of AMD's machine
     * code does not know how compilers divide 64-bit integers. isa.sh says so. */
    for (size_t r = 0; r < count; r++)
      if (rows[r].kind != HX__KERNEL_LINES && families_use_row(&rows[r], classes[i].families, classes[i].by_tile))
        print_row(&rows[r]);
    return true;
  }
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    if (strcmp(name, wrong[i].name) != 0) continue;
    print_row(&wrong[i].row);
    return true;
  }
  return false;
}

int main(int argc, char **argv) {
  if (argc != 3 || !write_sources(argv[1]) || !print_class(argv[2])) {
    fprintf(stderr, "usage: isa_rows FOLDER CLASS\n");
    return 2;
  }
  return 0;
}
