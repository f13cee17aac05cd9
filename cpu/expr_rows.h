/* SPDX-License-Identifier: Apache-2.0
 * The steps of an expression (expr_steps.h) for all elements of rows: in place where whole groups fit, in copies where
 * they do not. */
#ifndef HX_CPU_EXPR_ROWS_H
#define HX_CPU_EXPR_ROWS_H

#include "cpu/expr_steps.h"

/* What the steps of one call need. A load may have to wait for an earlier store to an address that differs from its own
 * by a multiple of 4096 bytes. So temporaries are counted from the end: those in use and the steps in use are then next
 * to each other, and while both together are shorter than 4096 bytes, no two addresses differ so. Compilers keep what
 * they load for each group before the frame, whose length sees to it that only the seventh temporary or a later one
 * has addresses that differ so from these. Narrow rows are computed in copies of the outputs, which are there, too. */
#define STEP_BEFORE 1024u /* bytes before a frame: what is loaded, and what the calls of steps store */
#define STEP_LEAST_BYTES (HX__EXPR_ROOM * STEP_BYTES + STEP_BEFORE)
typedef struct step_frame {
  char temporaries[(STEP_LEAST_BYTES + 4095u) / 4096u * 4096u - STEP_BEFORE];
  step steps[HX__EXPR_STEPS];
} step_frame;

/* The arrays of one call, and what the steps refer to. An input that has one value per row begins with that of the
 * current row, whose number and first index are the others of such values. */
typedef struct step_arrays {
  const element *input[HX__EXPR_INPUTS];
  element row, index; /* index: of the element where the steps' arrays begin */
  const uint32_t *parameters;
  char *temporaries_end;
  element *output[HX__EXPR_OUTPUTS];
  bool in_memory; /* values of rows are in memory (step_spread_values): a group may have elements of several rows */
} step_arrays;

static char *step_group(const step_arrays *arrays, unsigned index) {
  return arrays->temporaries_end - (index + 1u) * STEP_BYTES;
}

/* A value that the current row has. */
static element step_row_value(const step_arrays *arrays, unsigned which) {
  if (which == HX__EXPR_NUMBER_OF_ROW) return arrays->row;
  return which == HX__EXPR_FIRST_INDEX ? arrays->index : *arrays->input[which];
}

static step_operand step_bind_operand(hx__expr_operand o, const step_arrays *arrays, int32_t *moves) {
  *moves = o.place == HX__PLACE_INPUT || o.place == HX__PLACE_OUTPUT ? -1 : 0;
  switch ((hx__expr_place)o.place) {
    case HX__PLACE_INPUT:
      return (step_operand){.begin = (char *)(uintptr_t)arrays->input[o.index]};
    case HX__PLACE_OUTPUT:
      return (step_operand){.begin = (char *)arrays->output[o.index]};
    case HX__PLACE_ROW:
      if (!arrays->in_memory) return (step_operand){.bits = step_row_value(arrays, o.index)};
      return (step_operand){.begin = step_group(arrays, o.index)};
    case HX__PLACE_TEMPORARY:
      return (step_operand){.begin = step_group(arrays, o.index)};
    case HX__PLACE_PARAMETER:
      return (step_operand){.bits = arrays->parameters[o.index]};
    case HX__PLACE_VALUE:
    case HX__PLACE_NONE:
      break;
  }
  return (step_operand){.bits = o.bits};
}

static void step_bind(const hx__expr_code *code, const step_arrays *arrays, step *steps) {
  for (unsigned i = 0; i < code->steps; i++) {
    const hx__expr_step *const from = &code->step[i];
    step *const to = &steps[i];
    to->run = step_functions[from->op][arrays->in_memory ? hx__expr_form_in_memory(from) : from->form];
    to->p = step_bind_operand(from->p, arrays, &to->p_moves);
    to->q = step_bind_operand(from->q, arrays, &to->q_moves);
  }
}

INLINED void step_run(const step *steps, size_t at) {
  const v_u32 z = {0};
  steps->run(steps, (ptrdiff_t)at, z, z, z, z, z, z, z, z);
}

/* Values of rows in memory: element i of the arrays belongs to row i / period, whose values are ld elements after those
 * of the row before it. */
typedef struct step_values {
  const hx__expr_code *code;
  const step_arrays *arrays;
  const size_t *ld;
  size_t period;
  bool counts; /* row numbers or indices are among the values */
} step_values;

#define STEP_LANES (HX__V_BYTES / sizeof(element))

INLINED void step_fill_vector(element *to, element value) { *(v_u32_unaligned *)to = v_broadcast(value); }

/* The value in `count` elements, which are more than 0. */
INLINED void step_fill(element *to, element value, size_t count) {
  const element four[] = {value, value, value, value};
  if (count >= STEP_LANES) {
    for (size_t i = 0; i + STEP_LANES < count; i += STEP_LANES) step_fill_vector(to + i, value);
    step_fill_vector(to + count - STEP_LANES, value);
  } else if (count >= 4) {
    for (size_t i = 0; i + 4 < count; i += 4) memcpy(to + i, four, sizeof four);
    memcpy(to + count - 4, four, sizeof four);
  } else {
    if (count & 2) memcpy(to, four, 2 * sizeof *to);
    if (count & 1) to[count - 1] = value;
  }
}

/* Consecutive numbers in `count` elements, and behind them as far as the last vector reaches, but not up to `end`. */
INLINED void step_count(element *to, element first, size_t count, const element *end) {
  const v_u32 lanes = v_load((const char *)step_lanes);
  size_t i = 0;
  for (; i < count && (size_t)(end - (to + i)) >= STEP_LANES; i += STEP_LANES)
    *(v_u32_unaligned *)(to + i) = lanes + (first + (element)i);
  for (; i < count; i++) to[i] = first + (element)i;
}

/* Writes the row numbers and the indices of `count` elements from `first` on, and zeros behind them. */
static __attribute__((noinline)) void step_spread_numbers(const step_values *v, size_t first, size_t count) {
  const bool *const per_row = v->code->per_row;
  element *const numbers = (element *)(void *)step_group(v->arrays, HX__EXPR_NUMBER_OF_ROW);
  element *const indices = (element *)(void *)step_group(v->arrays, HX__EXPR_FIRST_INDEX);
  element row = v->arrays->row + (element)(first / v->period);
  size_t col = first % v->period;
  for (size_t done = 0; done < count; row++, col = 0) {
    const size_t left = count - done, ends = v->period - col, part = left < ends ? left : ends;
    if (per_row[HX__EXPR_NUMBER_OF_ROW]) step_fill(numbers + done, row, part);
    if (per_row[HX__EXPR_FIRST_INDEX])
      step_count(indices + done, v->arrays->index + (element)col, part, indices + STEP_ELEMENTS);
    done += part;
  }
  const size_t behind = (STEP_ELEMENTS - count) * sizeof(element);
  if (per_row[HX__EXPR_NUMBER_OF_ROW]) memset(numbers + count, 0, behind);
  if (per_row[HX__EXPR_FIRST_INDEX]) memset(indices + count, 0, behind);
}

/* Writes the values of inputs for `count` elements from `first` on, and zeros behind them. */
static __attribute__((noinline)) void step_spread_inputs(const step_values *v, size_t first, size_t count) {
  const size_t row = first / v->period, ends = v->period - first % v->period;
  for (unsigned i = 0; i < v->code->inputs; i++) {
    if (!v->code->per_row[i]) continue;
    element *const to = (element *)(void *)step_group(v->arrays, i);
    const element *from = v->arrays->input[i] + row * v->ld[i];
    size_t done = ends < count ? ends : count;
    step_fill(to, *from, done);
    /* Of short rows a whole vector each, whose end the next row overwrites. */
    for (; v->period < STEP_LANES && count - done >= STEP_LANES; done += v->period)
      step_fill_vector(to + done, *(from += v->ld[i]));
    while (done < count) {
      const size_t left = count - done, part = left < v->period ? left : v->period;
      step_fill(to + done, *(from += v->ld[i]), part);
      done += part;
    }
    if (count < STEP_ELEMENTS) memset(to + count, 0, (STEP_ELEMENTS - count) * sizeof *to);
  }
}

INLINED void step_spread_values(const step_values *v, size_t first, size_t count) {
  step_spread_inputs(v, first, count);
  if (v->counts) step_spread_numbers(v, first, count);
}

/* The group of elements that is `at` bytes after the beginning of the arrays. */
INLINED void step_run_group(const step_values *v, const step *steps, size_t at) {
  if (v->arrays->in_memory) step_spread_values(v, at / sizeof(element), STEP_ELEMENTS);
  step_run(steps, at);
}

/* Copies `rows` rows of n elements, short ones without a call for each. */
static void step_copy_rows(element *to, size_t to_ld, const element *from, size_t from_ld, size_t n, size_t rows) {
  if (n < 4) {
    for (; rows; rows--, to += to_ld, from += from_ld) {
      if (n & 2) memcpy(to, from, 2 * sizeof *to);
      if (n & 1) to[n - 1] = from[n - 1];
    }
  } else if (n < 32) {
    for (; rows; rows--, to += to_ld, from += from_ld) {
      for (size_t i = 0; i + 4 < n; i += 4) memcpy(to + i, from + i, 4 * sizeof *to);
      memcpy(to + n - 4, from + n - 4, 4 * sizeof *to);
    }
  } else {
    for (; rows; rows--, to += to_ld, from += from_ld) memcpy(to, from, n * sizeof *to);
  }
}

/* Rows shorter than a group: in copies, so that as many whole rows as fit are computed at once, and nothing is read or
 * written between the rows or beyond the arrays. A row that all rows share is copied once. at: which of the elements of
 * v the first one is. */
static __attribute__((noinline)) void step_run_narrow(const step_arrays *arrays, step *steps, const hx__expr_rows *rows,
                                                      const step_values *v, size_t at) {
  const hx__expr_code *const code = v->code;
  step_arrays copies =
      *arrays; /* in groups that the code does not use: of inputs without a value for each row, and outputs */
  element *copy[HX__EXPR_INPUTS];
  unsigned group = code->groups;
  const size_t n = rows->n, fitting = STEP_ELEMENTS / n, most = fitting < rows->rows ? fitting : rows->rows;
  for (unsigned i = 0; i < code->inputs; i++) {
    if (code->per_row[i]) continue;
    copies.input[i] = copy[i] = (element *)(void *)step_group(arrays, group++);
    memset(copy[i] + most * n, 0, (STEP_ELEMENTS - most * n) * sizeof(element));
  }
  for (unsigned o = 0; o < code->outputs; o++) copies.output[o] = (element *)(void *)step_group(arrays, group++);
  step_bind(code, &copies, steps);
  for (size_t first = 0; first < rows->rows; first += most) {
    const size_t left = rows->rows - first, count = left < most ? left : most;
    for (unsigned i = 0; i < code->inputs; i++) {
      const size_t ld = rows->rows == 1 ? 0 : rows->ld[i];
      if ((ld || !first) && !code->per_row[i]) step_copy_rows(copy[i], n, arrays->input[i] + first * ld, ld, n, count);
    }
    if (arrays->in_memory) step_spread_values(v, at + first * n, count * n);
    step_run(steps, 0);
    for (unsigned o = 0; o < code->outputs; o++)
      step_copy_rows(arrays->output[o] + first * rows->ld_out, rows->ld_out, copies.output[o], n, n, count);
  }
}

/* Compilers take the vectors for arguments of the steps, and would leave the caller with their upper halves in use. */
INLINED void step_leave_vectors(void) {
#ifdef __AVX__
  __builtin_ia32_vzeroupper();
#endif
}

/* Whether elements may be computed again after their results have been stored. */
static bool step_may_repeat(const hx__expr_code *code, const step_arrays *arrays) {
  for (unsigned i = 0; i < code->inputs; i++)
    for (unsigned o = 0; o < code->outputs; o++)
      if (arrays->input[i] == arrays->output[o]) return false;
  return true;
}

/* The elements after the last whole group, if no group that ends with them may be computed again. */
static void step_run_rest(const step_values *v, step *steps, size_t at, size_t count) {
  step_arrays rest = *v->arrays;
  const hx__expr_rows row = {.n = count, .rows = 1};
  for (unsigned i = 0; i < v->code->inputs; i++) rest.input[i] += v->code->per_row[i] ? 0 : at;
  for (unsigned o = 0; o < v->code->outputs; o++) rest.output[o] += at;
  rest.index += (element)at;
  step_run_narrow(&rest, steps, &row, v, at);
}

/* Whether the rows of all arrays are equally far apart, except inputs that have one value per row. */
static bool step_rows_are_alike(const hx__expr_code *code, const hx__expr_rows *rows) {
  for (unsigned i = 0; i < code->inputs && rows->rows > 1; i++)
    if (rows->ld[i] != rows->ld_out && !code->per_row[i]) return false;
  return true;
}

/* Whether all outputs are aligned to a vector at the same elements. */
static bool step_outputs_are_alike(const hx__expr_code *code, const step_arrays *arrays) {
  for (unsigned o = 1; o < code->outputs; o++)
    if (((uintptr_t)arrays->output[o] - (uintptr_t)arrays->output[0]) % HX__V_BYTES) return false;
  return true;
}

/* Makes the steps that store outputs do so past the caches, or no longer. */
static void step_switch_stores(const hx__expr_code *code, step *steps, bool past_caches) {
  for (unsigned i = code->steps, left = code->outputs; left; i--) {
    if (code->step[i - 1].p.place != HX__PLACE_OUTPUT) continue;
    const unsigned row = code->step[i - 1].op - HX__STEP_STORE_F;
    steps[i - 1].run = past_caches ? step_stores[row].past : step_stores[row].plain;
    left--;
  }
}

/* Stores the row's whole groups that begin where the outputs are aligned, and returns where they end. Groups before and
 * after them are computed in part twice, so that all stores past the caches fill whole lines. */
static size_t step_run_past_caches(const step_values *v, step *steps, size_t begin, size_t end) {
  size_t at = begin + (0 - ((uintptr_t)v->arrays->output[0] + begin)) % HX__V_BYTES;
  if (at != begin) step_run_group(v, steps, begin);
  step_switch_stores(v->code, steps, true);
  for (; at + STEP_BYTES <= end; at += STEP_BYTES) step_run_group(v, steps, at);
  step_switch_stores(v->code, steps, false);
  return at;
}

#define STEP_LEAST_PAST_CACHES (16 * STEP_BYTES) /* the bytes of a row for which two more groups are not too many */

/* alike: only the values that rows have one of begin elsewhere. Groups are then counted from the first row, of which an
 * element as far from the beginning of the row would have that index. */
static __attribute__((noinline)) void step_next_row(const hx__expr_code *code, step_arrays *arrays, step *steps,
                                                    const hx__expr_rows *rows, bool alike) {
  for (unsigned i = 0; i < code->inputs; i++)
    if (!alike || code->per_row[i]) arrays->input[i] += rows->ld[i];
  arrays->row++;
  if (alike) arrays->index -= (element)rows->ld_out;
  if (!alike) {
    for (unsigned o = 0; o < code->outputs; o++) arrays->output[o] += rows->ld_out;
    step_bind(code, arrays, steps);
    return;
  }
  for (unsigned i = 0; i < code->steps; i++) {
    const hx__expr_step *const s = &code->step[i];
    if (s->p.place == HX__PLACE_ROW) steps[i].p.bits = step_row_value(arrays, s->p.index);
    if (s->q.place == HX__PLACE_ROW) steps[i].q.bits = step_row_value(arrays, s->q.index);
  }
}

/* Rows of at least a group. If the rows of all arrays are equally far apart, the steps are bound once, and groups are
 * counted from the first row; otherwise the steps are bound to each row. */
INLINED void step_run_wide(step_arrays *arrays, step *steps, const hx__expr_rows *rows, const step_values *v,
                           bool alike, bool past_caches) {
  const hx__expr_code *const code = v->code;
  const size_t bytes = rows->n * sizeof(element), whole = bytes - bytes % STEP_BYTES, count = rows->rows;
  const bool repeats = step_may_repeat(code, arrays), copies = bytes > whole && !repeats;
  const bool past = past_caches && repeats && bytes >= STEP_LEAST_PAST_CACHES && step_outputs_are_alike(code, arrays);
  const size_t distance = alike ? rows->ld_out * sizeof(element) : 0;
  step_bind(code, arrays, steps);
  for (size_t row = 0, begin = 0; row < count; row++, begin += distance) {
    if (row && (!alike || code->row_values)) step_next_row(code, arrays, steps, rows, alike);
    size_t at = begin;
    if (past) at = step_run_past_caches(v, steps, begin, begin + bytes);
    for (; at + STEP_BYTES <= begin + bytes; at += STEP_BYTES) step_run_group(v, steps, at);
    if (copies) {
      step_run_rest(v, steps, at / sizeof(element), (begin + bytes - at) / sizeof(element));
      if (alike) step_bind(code, arrays, steps);
    } else if (at < begin + bytes) {
      step_run_group(v, steps, begin + bytes - STEP_BYTES); /* Some elements are computed twice: faster than copies. */
    }
  }
  if (past) v_past_caches_end();
}

/* Whether groups of one row each would compute more than a quarter of its n elements twice. Groups that have elements
 * of several rows are faster then. */
static bool step_is_uneven(size_t n) { return (n + STEP_ELEMENTS - 1) / STEP_ELEMENTS * STEP_ELEMENTS > n + n / 4; }

static void evaluate(const hx__expr_code *code, const void *const *inputs, const uint32_t *parameters,
                     hx__expr_rows rows, bool past_caches, void *const *outputs) {
  step_frame frame __attribute__((aligned(HX__V_BYTES)));
  step_arrays arrays = {.row = rows.row,
                        .index = rows.index,
                        .parameters = parameters,
                        .temporaries_end = frame.temporaries + sizeof frame.temporaries};
  for (unsigned i = 0; i < code->inputs; i++) arrays.input[i] = inputs[i];
  for (unsigned o = 0; o < code->outputs; o++) arrays.output[o] = outputs[o];
  const bool alike = step_rows_are_alike(code, &rows), no_gaps = rows.n == rows.ld_out && alike;
  const bool counts = code->per_row[HX__EXPR_NUMBER_OF_ROW] || code->per_row[HX__EXPR_FIRST_INDEX];
  const step_values values = {.code = code, .arrays = &arrays, .ld = rows.ld, .period = rows.n, .counts = counts};
  const bool short_rows = rows.n < STEP_ELEMENTS || (no_gaps && step_is_uneven(rows.n));
  arrays.in_memory = code->row_values && rows.rows > 1 && short_rows;
  if (no_gaps && (!code->row_values || short_rows)) rows.n *= rows.rows, rows.rows = 1;
  if (rows.n < STEP_ELEMENTS)
    step_run_narrow(&arrays, frame.steps, &rows, &values, 0);
  else
    step_run_wide(&arrays, frame.steps, &rows, &values, alike, past_caches);
  step_leave_vectors();
}

#endif
