/* SPDX-License-Identifier: Apache-2.0
 * planted ROW WHAT FILE: plants faults in the assembly text in FILE, one at a time, and checks that the emulator finds
 * and names each of them. The unchanged text must pass. ROW, WHAT: as for emulate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/emulator/cases.h"
#include "tests/emulator/row_text.h"

enum { REDUCTION = 1, PRODUCT = 2, GFX11 = 4, WAITS_FOR_DPP = 8, BARRIERS = 16 }; /* texts that suit a fault */

#define WAIT_FOR_DPP "s_nop 1\n\tv_mov_b32_dpp"

/* Changes the first line that contains `has` and follows the line that contains `after`: replaces `from` by `to`. If
 * `from` is NULL, inserts the line `to` before it; if both are NULL, removes it. message: part of the message expected
 * from the emulator. */
static const struct plant {
  const char *name;
  unsigned only;
  const char *after, *has, *from, *to, *message;
} plants[] = {
    {"a wait for arguments removed", 0, "s_load", "s_waitcnt lgkmcnt(0)", NULL, NULL,
     "before the s_waitcnt of its load"},
    {"a wait for memory removed", 0, "global_load", "s_waitcnt vmcnt(0)", NULL, NULL,
     "before the s_waitcnt of its load"},
    {"a wait for a swizzle removed", REDUCTION, "ds_swizzle", "s_waitcnt lgkmcnt", NULL, NULL,
     "before the s_waitcnt of its load"},
    {"a wait for a swizzle too short", REDUCTION, "ds_swizzle", "s_waitcnt lgkmcnt", "lgkmcnt(", "lgkmcnt(1",
     "before the s_waitcnt of its load"},
    {"a wait for local memory removed", PRODUCT, "_b128 v[", "s_waitcnt lgkmcnt(", NULL, NULL,
     "before the s_waitcnt of its load"},
    {"a wait for local memory before a barrier removed", BARRIERS, "\tds_", "lgkmcnt(0)", NULL, NULL,
     "a barrier before the s_waitcnt"},
    {"the first barrier removed", BARRIERS, NULL, "s_barrier", NULL, NULL, "a race"},
    {"the second barrier removed", BARRIERS, "s_barrier", "s_barrier", NULL, NULL, "local address"},
    {"another rotation", REDUCTION, NULL, "row_ror:8", "row_ror:8", "row_ror:7", " instead of "},
    {"another permutation", REDUCTION, NULL, "quad_perm:[1,0,3,2]", "[1,0,3,2]", "[0,1,2,3]", " instead of "},
    {"another swizzle", REDUCTION, NULL, "ds_swizzle", "SWAP,16", "SWAP,8", " instead of "},
    {"DPP too early", WAITS_FOR_DPP, NULL, WAIT_FOR_DPP, NULL, NULL, "DPP within two wait states"},
    {"another local address", PRODUCT, "\tds_", "_b128", "offset:", "offset:48 ;", ""},
    {"an unaligned local address", PRODUCT, "\tds_", "_b128", "offset:", "offset:4 ;", "unaligned local address"},
    {"a local address out of bounds", PRODUCT, "\tds_", "_b128", "offset:", "offset:65520 ;",
     "out of bounds at the local"},
    {"local memory never written", PRODUCT, NULL, "s_load", NULL, "\tv_mov_b32_e32 v2, 0\n\tds_read_b32 v2, v2",
     "local address 0, which was never written"},
    {"an unaligned address", 0, "global_load", ", off\n", "off\n", "off offset:2\n", "unaligned address"},
    {"an address before the array", 0, NULL, ", off\n", "off\n", "off offset:-1024\n", "out of bounds"},
    {"a store out of bounds", 0, NULL, "global_store", " off", " off offset:2044 ;", "out of bounds"},
    {"memory never written", PRODUCT, NULL, ", off\n", "off\n", "off offset:-4\n", "which was never written"},
    {"an argument that is none", 0, NULL, "s_load", ", 0x", ", 0x4", "out of bounds"},
    {"a carry that is lost", REDUCTION, "s_waitcnt", "s_addc_u32", "s_addc_u32", "s_add_u32", "out of bounds"},
    {"a ticket that is not taken", REDUCTION, NULL, "global_atomic_add", NULL, "\ts_mov_b64 exec, 0",
     "which was never written"},
    {"a comparison the other way", REDUCTION, NULL, "v_cmp_gt_u64", "v_cmp_gt", "v_cmp_lt", ""},
    {"a vector register never written", 0, NULL, "s_load", NULL, "\tv_or_b32_e32 v2, v3, v3", "v3 was never written"},
    {"a scalar register never written", 0, NULL, "s_load", NULL, "\ts_mov_b32 s16, s17", "s17 was never written"},
    {"a register that is not the kernel's", 0, NULL, ".amdhsa_next_free_vgpr", "_vgpr ", "_vgpr 8 ;",
     "more than the kernel's 8"},
    {"a result that overlaps the addend", GFX11, NULL, "s_load", NULL, "\tv_mad_u64_u32 v[2:3], null, v0, v0, v[1:2]",
     "the destination overlaps a source"},
    {"denormals flushed", 0, NULL, ".amdhsa_float_denorm_mode_32", " 3", " 0", "float_denorm_mode_32 is 0"},
    {"scratch memory", 0, NULL, ".amdhsa_private_segment_fixed_size", " 0", " 16", "private_segment_fixed_size is 16"},
    {"an unknown mnemonic", 0, NULL, "v_mov_b32_e32", "v_mov_b32_e32", "v_frob_b32_e32",
     "unknown mnemonic v_frob_b32_e32"},
    {"an unknown modifier", 0, NULL, "v_mov_b32_e32", "v_mov_b32_e32 ", "v_mov_b32_e32 v0, v0 clamp ;",
     "unknown modifier clamp"},
};

/* The first line from `at` on that contains `has`, followed by `from` if that is not NULL. */
static const char *line_with(const char *text, const char *at, const char *has, const char *from) {
  for (; at && (at = strstr(at, has)); at++) {
    const char *line = at;
    while (line > text && line[-1] != '\n') line--;
    const char *const found = from ? strstr(line, from) : line;
    if (found && found <= line + strcspn(line, "\n")) return line;
  }
  return NULL;
}

/* Returns the text with the fault in the line that is number `turn` of those that match; NULL: there are fewer. */
static char *planted(const char *text, const struct plant *plant, unsigned turn) {
  const char *at = plant->after ? strstr(text, plant->after) : text;
  if (at && plant->after) at = strchr(at, '\n');
  at = line_with(text, at, plant->has, plant->from);
  for (; at && turn > 0; turn--) at = line_with(text, strchr(at, '\n'), plant->has, plant->from);
  if (!at) return NULL;
  const char *const from = plant->from ? strstr(at, plant->from) : at;
  const char *const rest = plant->from ? from + strlen(plant->from) : plant->to ? at : at + strcspn(at, "\n") + 1;
  const size_t room = strlen(text) + 256;
  char *const changed = case_allocate(room);
  snprintf(changed, room, "%.*s%s%s%s", (int)(from - text), text, plant->to ? plant->to : "",
           plant->to && !plant->from ? "\n" : "", rest);
  return changed;
}

/* Replaces every v_fma_f32 and v_fmac_f32 by a product and a sum, with a register that the kernel does not use. */
static char *rounded_twice(const char *text) {
  const size_t room = 2 * strlen(text) + 256;
  char *const changed = case_allocate(room);
  size_t used = 0;
  unsigned found = 0;
  for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    char d[16], a[16], b[16], c[16];
    const int length = (int)strcspn(line, "\n");
    const int fields = sscanf(line, "\tv_fma_f32 %15[^,], %15[^,], %15[^,], %15[v0-9]", d, a, b, c);
    const bool adds_to = sscanf(line, "\tv_fmac_f32_e32 %15[^,], %15[^,], %15[v0-9]", d, a, b) == 3;
    if (fields == 4 || adds_to) {
      used += (size_t)snprintf(changed + used, room - used, "\tv_mul_f32 v255, %s, %s\n\tv_add_f32 %s, v255, %s\n", a,
                               b, d, adds_to ? d : c);
      found++;
    } else if (strstr(line, ".amdhsa_next_free_vgpr") && strstr(line, ".amdhsa_next_free_vgpr") < line + length) {
      used += (size_t)snprintf(changed + used, room - used, "\t.amdhsa_next_free_vgpr 256\n");
    } else {
      used += (size_t)snprintf(changed + used, room - used, "%.*s\n", length, line);
    }
  }
  if (found > 0) return changed;
  free(changed);
  return NULL;
}

/* Runs a text, of which it takes ownership, and returns the emulator's message. */
static const char *fault_in(const row_text *row, char *text, unsigned *generation) {
  static program program;
  static char why[512];
  const char *const what =
      program_read(&program, text) ? row_fault(&program, row->row, row->op, row->type, row->fields) : program.why;
  if (what) snprintf(why, sizeof why, "%s", what);
  *generation = program.generation;
  program_free(&program);
  return what ? why : NULL;
}

static void check(const char *name, const char *why, const char *message) {
  CHECK(why, "%s: not noticed", name);
  if (why) CHECK(strstr(why, message), "%s: expected '%s', not: %s", name, message, why);
  if (why) printf("%s: %s\n", name, why);
}

/* Compilers write lines that no case reaches, or that a later one makes up for: the fault has to be noticed in one of
 * the first TURNS lines that fit. */
static void check_plant(const row_text *row, const struct plant *plant) {
  enum { TURNS = 12 };
  const char *why = NULL;
  unsigned ignored, turn = 0;
  for (; turn < TURNS && (!why || !strstr(why, plant->message)); turn++) {
    char *const text = planted(row->text, plant, turn);
    if (!text) break;
    why = fault_in(row, text, &ignored);
  }
  CHECK(turn > 0, "%s: no line to plant it in", plant->name);
  if (turn > 0) check(plant->name, why, plant->message);
}

int main(int argc, char **argv) {
  row_text row;
  if (argc != 4 || !row_text_read(&row, argv[1], argv[2], argv[3])) {
    fprintf(stderr, "usage: planted ROW WHAT FILE\n");
    return 2;
  }
  unsigned generation;
  const char *const why = fault_in(&row, strdup(row.text), &generation);
  CHECK(!why, "without a fault: %s", why);
  const bool product = row.row->kind == HX__KERNEL_MATMUL;
  const unsigned is = (product ? PRODUCT : REDUCTION) | (generation == 11 ? GFX11 : 0) |
                      (strstr(row.text, WAIT_FOR_DPP) ? WAITS_FOR_DPP : 0) |
                      (product && strstr(row.text, "s_barrier") ? BARRIERS : 0);
  for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++)
    if ((plants[i].only & is) == plants[i].only) check_plant(&row, &plants[i]);
  if (product && !strstr(row.text, "v_pk_fma_f32")) {
    char *const twice = rounded_twice(row.text);
    CHECK(twice, "no multiply-add to round twice");
    if (twice) check("fma rounded twice", fault_in(&row, twice, &generation), " instead of ");
  }
  free(row.text);
  return checks_end("planted");
}
