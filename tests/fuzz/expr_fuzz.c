/* SPDX-License-Identifier: Apache-2.0
 * Texts of user kernels: the first line is the inputs, the second the parameters, the rest the expression. A line
 * before them that begins with '>' has the outputs. Whatever they contain, hx_compile refuses them with a place inside
 * them, or the steps of every instruction set of this machine give the bits of the operations one after the other. */
#include <string.h>

#include "cpu/cpu.h"
#include "runtime/base/fpenv.h"
#include "runtime/expr/compile.h"
#include "runtime/expr/values.h"
#include "tests/fuzz/fuzz.h"

#define ELEMENTS 150

enum { COLUMNS = 25 }; /* of matrices: each row has one value of such an input */

static uint32_t input[HX__EXPR_INPUTS][ELEMENTS];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static const uint32_t some[] = {0,           0x80000000u, 1,           0x3f800000u, 0xbfc00000u,
                                  0x7f800000u, 0x7fc00000u, 0x4f000000u, 77};
  for (unsigned a = 0; a < HX__EXPR_INPUTS; a++)
    for (unsigned i = 0; i < ELEMENTS; i++) input[a][i] = i % 3 ? (i * 2654435761u) ^ a << 9 : some[(i / 3 + a) % 9];
  return (void)argc, (void)argv, 0;
}

enum { ROW = -2, INDEX = -3 }; /* the first row's number, and the index of the first element of each, modulo 2^32 */

/* The values one after the other, for element i of rows of so many, and from these the outputs. */
static void values_of(const hx__expr *e, const uint32_t *parameters, size_t i, size_t columns,
                      uint32_t wanted[HX__EXPR_OUTPUTS]) {
  const size_t row = i / columns;
  uint32_t v[HX__EXPR_VALUES];
  for (unsigned k = 0; k < e->count; k++) {
    const hx__expr_value *const o = &e->value[k];
    v[k] = o->op == HX__EXPR_CONSTANT     ? o->bits
           : o->op == HX__EXPR_INPUT      ? input[o->arg[0]][i]
           : o->op == HX__EXPR_ROW        ? input[o->arg[0]][row]
           : o->op == HX__EXPR_PARAMETER  ? parameters[o->arg[0]]
           : o->op == HX__EXPR_ROW_NUMBER ? (uint32_t)ROW + (uint32_t)row
           : o->op == HX__EXPR_INDEX      ? (uint32_t)INDEX + (uint32_t)(i % columns)
                                          : hx__expr_fold((hx__expr_op)o->op, v[o->arg[0]], v[o->arg[1]], v[o->arg[2]]);
  }
  for (unsigned o = 0; o < e->outputs; o++) {
    const uint32_t result = v[e->result[o]];
    const bool nan = hx__expr_output_type(e, o) == HX_F32 && (result & 0x7fffffffu) > 0x7f800000u;
    wanted[o] = nan ? 0x7fc00000u : result;
  }
}

static void check_values(const hx__expr *e, const hx__expr_code *code, hx__isa isa) {
  const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(isa);
  const uint32_t parameters[HX__EXPR_PARAMETERS] = {0x40490fdbu, 7, 0xffffffffu, 0x7fc00000u, 0, 1, 2, 3};
  const void *inputs[HX__EXPR_INPUTS];
  uint32_t out[HX__EXPR_OUTPUTS][ELEMENTS];
  void *outputs[HX__EXPR_OUTPUTS];
  if (!cpu) return;
  for (unsigned a = 0; a < HX__EXPR_INPUTS; a++) inputs[a] = input[a];
  for (unsigned o = 0; o < HX__EXPR_OUTPUTS; o++) outputs[o] = out[o];
  size_t ld[HX__EXPR_INPUTS];
  for (unsigned a = 0; a < HX__EXPR_INPUTS; a++) ld[a] = e->per_row[a] ? 1 : COLUMNS;
  for (size_t columns = COLUMNS; columns <= ELEMENTS; columns += ELEMENTS - COLUMNS) {
    const hx__expr_rows rows = {.n = columns,
                                .rows = ELEMENTS / columns,
                                .ld = ld,
                                .ld_out = columns,
                                .row = (uint32_t)ROW,
                                .index = (uint32_t)INDEX};
    cpu->evaluate(code, inputs, parameters, rows, false, outputs);
    for (size_t i = 0; i < ELEMENTS; i++) {
      uint32_t wanted[HX__EXPR_OUTPUTS];
      values_of(e, parameters, i, columns, wanted);
      for (unsigned o = 0; o < e->outputs; o++)
        FUZZ_CHECK(out[o][i] == wanted[o], "isa %d: output %u [%zu] is %08x, not %08x", (int)isa, o, i, out[o][i],
                   wanted[o]);
    }
  }
}

static void check_refusal(const char *detail, const char *const texts[4]) {
  static const char *const names[] = {"inputs", "parameters", "text", "outputs"};
  for (int i = 0; i < 4; i++) {
    const size_t n = strlen(names[i]);
    unsigned line, column;
    if (strncmp(detail, names[i], n) != 0 || sscanf(detail + n, " %u:%u: ", &line, &column) != 2) continue;
    const char *p = texts[i];
    for (unsigned l = 1; l < line && p; l++) p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL;
    FUZZ_CHECK(p && column >= 1 && column <= strlen(p) + 1, "a place outside: %s", detail);
    return;
  }
  FUZZ_CHECK(false, "no place: %s", detail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hx__expr e, functions;
  static hx__expr_code code;
  char *const whole = fuzz_text(data, size), *const first_end = *whole == '>' ? strchr(whole, '\n') : NULL;
  char *const all = first_end ? first_end + 1 : whole;
  char *parameters = strchr(all, '\n'), *text = parameters ? strchr(parameters + 1, '\n') : NULL;
  if (text) {
    *parameters++ = *text++ = '\0';
    if (first_end) *first_end = '\0';
    const char *const outputs = first_end ? whole + 1 : NULL;
    const hx_kernel_source source = {.text = text, .inputs = all, .parameters = parameters, .outputs = outputs};
    const char *const texts[] = {all, parameters, text, outputs ? outputs : ""};
    const hx__fpenv was = hx__fpenv_enter();
    if (hx__expr_compile(&source, &e) != HX_OK)
      check_refusal(hx_error_detail(), texts);
    else {
      functions = e;
      hx__expr_with_functions(&functions);
      for (hx__isa isa = HX__ISA_SSE2; isa <= HX__ISA_NEON; isa++) {
        if (!hx__expr_code_of(&e, &code)) check_values(&e, &code, isa);
        if (!hx__expr_code_of(&functions, &code)) check_values(&e, &code, isa);
      }
    }
    hx__fpenv_leave(was);
  }
  free(whole);
  return 0;
}
