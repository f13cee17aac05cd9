/* SPDX-License-Identifier: Apache-2.0
 * machine_test: runs short programs on the emulator: some with known results, others with faults that no compiler would
 * put into hx's kernels. A program has 128 work-items in groups of 64. s[4:5] points to one argument, the address of
 * 256 words; s6 is the group and v0 the work-item. */
#include "tests/check.h"
#include "tests/emulator/launch.h"

#define WORDS 256

/* If `groups` is 1, there is one group of 128 work-items, which is two waves on gfx90c. */
static const char *run(const char *target, const char *body, uint32_t groups, uint32_t words[WORDS]) {
  static char why[512];
  static const char text[] =
      "\t.amdgcn_target \"amdgcn-unknown-amdhsa--%s\"\n"
      "k:\n\ts_load_dwordx2 s[0:1], s[4:5], 0x0\n\tv_lshlrev_b32_e32 v1, 2, v0\n\ts_waitcnt lgkmcnt(0)\n%s\ts_endpgm\n"
      "\t.amdhsa_kernel k\n\t.amdhsa_group_segment_fixed_size 1024\n\t.amdhsa_kernarg_size 8\n"
      "\t.amdhsa_user_sgpr_count 6\n\t.amdhsa_user_sgpr_private_segment_buffer 1\n"
      "\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t.amdhsa_system_sgpr_workgroup_id_x 1\n"
      "\t.amdhsa_next_free_vgpr 16\n\t.amdhsa_next_free_sgpr 32\n\t.amdhsa_wavefront_size32 %d\n"
      "\t.end_amdhsa_kernel\n\t.amdgpu_metadata\n"
      "      - .offset: 0\n        .size: 8\n        .value_kind: global_buffer\n    .name: k\n";
  const size_t room = sizeof text + strlen(body) + 64;
  char *const copy = malloc(room);
  snprintf(copy, room, text, target, body, strncmp(target, "gfx9", 4) != 0);
  program program;
  memory memory = {.count = 0};
  for (uint32_t i = 0; i < WORDS; i++) words[i] = i;
  const launch launch = {.kernel = "k",
                         .groups = {groups, 1},
                         .local = {128 / groups, 1},
                         .arguments = {memory_add(&memory, "the words", words, WORDS, true, false)},
                         .argument_count = 1};
  bool good = program_read(&program, copy);
  if (!good) snprintf(why, sizeof why, "%s", program.why);
  good = good && launch_run(&program, &memory, &launch, 0, why, sizeof why);
  memory_free(&memory);
  program_free(&program);
  return good ? NULL : why;
}

static void check_fault(const char *target, const char *name, const char *body, uint32_t groups, const char *message) {
  uint32_t words[WORDS];
  const char *const why = run(target, body, groups, words);
  CHECK(why && strstr(why, message), "%s: %s", name, why ? why : "not noticed");
}

/* Checks the word that a work-item has stored from v2. */
static void check_word(const char *target, const char *name, const char *body, uint32_t item, uint32_t want) {
  uint32_t words[WORDS];
  char whole[1024];
  snprintf(whole, sizeof whole, "%s\tglobal_store_dword v1, v2, s[0:1]\n", body);
  const char *const why = run(target, whole, 1, words);
  CHECK(!why, "%s: %s", name, why);
  CHECK(why || words[item] == want, "%s: item %u has 0x%x instead of 0x%x", name, item, words[item], want);
}

static void test_values(void) {
  check_word("gfx90c", "denormals", "\tv_mov_b32_e32 v3, 0x00000003\n\tv_mul_f32_e32 v2, 0.5, v3\n", 0, 2);
  check_word("gfx90c", "one rounding",
             "\tv_mov_b32_e32 v3, 0x3f800001\n\tv_mul_f32_e32 v4, v3, v3\n\tv_fma_f32 v2, v3, v3, -v4\n", 0,
             0x28800000);
  check_word("gfx90c", "a carry", "\tv_add_co_u32_e32 v3, vcc, -1, v0\n\tv_addc_co_u32_e64 v2, s[8:9], 7, 0, vcc\n", 1,
             8);
  check_word("gfx90c", "no carry", "\tv_add_co_u32_e32 v3, vcc, -1, v0\n\tv_addc_co_u32_e64 v2, s[8:9], 7, 0, vcc\n", 0,
             7);
  check_word("gfx90c", "a borrow", "\tv_sub_co_u32_e32 v3, vcc, 5, v0\n\tv_subb_co_u32_e64 v2, s[8:9], 0, 0, vcc\n", 6,
             ~0u);
  check_word("gfx90c", "64 bits",
             "\tv_mov_b32_e32 v3, -1\n\tv_mad_u64_u32 v[4:5], s[8:9], v3, v3, 1\n\tv_mov_b32_e32 v2, v5\n", 0,
             0xfffffffe);
  check_word("gfx90c", "a signed product",
             "\tv_mov_b32_e32 v3, -3\n\tv_mad_i64_i32 v[4:5], s[8:9], v3, 2, 0\n\tv_mov_b32_e32 v2, v5\n", 0, ~0u);
  check_word(
      "gfx90c", "inactive lanes keep their value",
      "\tv_mov_b32_e32 v2, 1\n\tv_cmp_lt_u32_e32 vcc, 9, v0\n\ts_and_saveexec_b64 s[8:9], vcc\n\tv_mov_b32_e32 v2, 2\n"
      "\ts_or_b64 exec, exec, s[8:9]\n",
      9, 1);
  check_word("gfx1103", "waves of 32, a pair",
             "\tv_mov_b32_e32 v3, 4\n\tv_mov_b32_e32 v4, 5\n"
             "\tv_dual_mov_b32 v3, v4 :: v_dual_add_f32 v4, 0, v3\n\tv_mov_b32_e32 v2, v3\n",
             99, 5);
  check_word("gfx90c", "half of a permutation",
             "\tv_mov_b32_e32 v3, v0\n\ts_nop 1\n"
             "\tv_mov_b32_dpp v2, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n",
             6, 7);
  check_word("gfx90c", "a rotation to higher lanes",
             "\tv_mov_b32_e32 v3, v0\n\ts_nop 1\n"
             "\tv_mov_b32_dpp v2, v3 row_ror:4 row_mask:0xf bank_mask:0xf\n",
             17, 29);
  check_word("gfx90c", "an old value",
             "\tv_mov_b32_e32 v3, 0\n\tv_mov_b32_e32 v4, 2\n\tglobal_atomic_add v2, v3, v4, s[0:1] offset:592 glc\n"
             "\ts_waitcnt vmcnt(0)\n",
             3, 154);
  check_word("gfx1103", "bits joined by all lanes",
             "\tv_mov_b32_e32 v3, 0x200\n\tglobal_atomic_or_b32 v2, v3, v0, s[0:1] glc\n\ts_waitcnt vmcnt(0)\n"
             "\tglobal_atomic_or_b32 v2, v3, v0, s[0:1] glc\n\ts_waitcnt vmcnt(0)\n",
             5, 255);
  check_word(
      "gfx90a", "two floats a lane",
      "\tv_mov_b32_e32 v4, 1.0\n\tv_mov_b32_e32 v5, 2.0\n\tv_pk_fma_f32 v[6:7], v[4:5], v[4:5], v[4:5] op_sel:[1,0,0] "
      "op_sel_hi:[1,0,1]\n\tv_mov_b32_e32 v2, v7\n",
      0, 0x40800000);
}

static void test_faults(void) {
  static const char own[] = "\tds_write_b32 v1, v0\n\ts_waitcnt lgkmcnt(0)\n";
  char body[512];
  check_fault("gfx90c", "two groups store one word", "\tv_mov_b32_e32 v2, 0\n\tglobal_store_dword v2, v0, s[0:1]\n", 2,
              "another work-group wrote");
  check_fault(
      "gfx90c", "a group loads what another stored",
      "\tv_mov_b32_e32 v2, 0\n\ts_cmp_lg_u32 s6, 0\n\ts_cbranch_scc1 .L1\n\tglobal_store_dword v1, v0, s[0:1]\n.L1:\n"
      "\tglobal_load_dword v3, v2, s[0:1]\n",
      2, "another work-group wrote");
  check_fault("gfx90c", "a group loads what another exchanged",
              "\tv_mov_b32_e32 v2, 0\n\tglobal_atomic_swap v3, v2, v0, s[0:1] glc\n\ts_waitcnt vmcnt(0)\n"
              "\tglobal_load_dword v3, v2, s[0:1]\n",
              2, "another work-group wrote");
  check_fault("gfx90c", "a group exchanges what another stored",
              "\tv_mov_b32_e32 v2, 0\n\ts_cmp_lg_u32 s6, 0\n\ts_cbranch_scc1 .L1\n\tglobal_store_dword v1, v0, s[0:1]\n"
              ".L1:\n\tglobal_atomic_swap v3, v2, v0, s[0:1] glc\n",
              2, "without an atomic operation");
  check_fault("gfx90c", "an old value that is not awaited",
              "\tv_mov_b32_e32 v2, 0\n\tglobal_atomic_add v3, v2, v0, s[0:1] glc\n\tv_mov_b32_e32 v2, v3\n", 1,
              "before the s_waitcnt of its load");
  check_fault("gfx90c", "two waves store one local word", "\tv_mov_b32_e32 v2, 0\n\tds_write_b32 v2, v0\n", 1,
              "a race");
  snprintf(body, sizeof body, "%s\ts_barrier\n\tds_read_b32 v2, v1 offset:4\n\ts_waitcnt lgkmcnt(0)\n", own);
  check_fault("gfx90c", "local memory past the last item's", body, 1, "which was never written");
  check_fault(
      "gfx90c", "one of two scalar loads awaited",
      "\ts_load_dword s8, s[0:1], 0x0\n\ts_load_dword s9, s[0:1], 0x4\n\ts_waitcnt lgkmcnt(1)\n\ts_mov_b32 s10, s8\n",
      1, "before the s_waitcnt of its load");
  check_fault("gfx90c", "a result that a load overwrites",
              "\tglobal_load_dword v2, v1, s[0:1]\n\tv_mov_b32_e32 v2, 0\n", 1, "before the s_waitcnt of its load");
  check_fault("gfx90c", "a wave ends while others wait",
              "\tv_cmp_gt_u32_e32 vcc, 64, v0\n\ts_cbranch_vccz .L1\n\ts_barrier\n.L1:\n", 1,
              "it ended while others wait");
  check_fault(
      "gfx90c", "waves wait at two barriers",
      "\tv_cmp_gt_u32_e32 vcc, 64, v0\n\ts_cbranch_vccz .L1\n\ts_barrier\n\ts_branch .L2\n.L1:\n\ts_barrier\n.L2:\n", 1,
      "different barriers");
  check_fault("gfx90c", "a lane that is not active",
              "\tv_mov_b32_e32 v3, v0\n\tv_cmp_lt_u32_e32 vcc, 1, v0\n\ts_and_saveexec_b64 s[8:9], vcc\n\ts_nop 1\n"
              "\tv_mov_b32_dpp v2, v3 row_ror:8 row_mask:0xf bank_mask:0xf\n",
              1, "which is not active");
  check_fault("gfx90c", "a condition that was never written", "\ts_cbranch_scc1 .L1\n.L1:\n", 1,
              "scc was never written");
  check_fault("gfx90c", "a program that does not end", ".L1:\n\ts_branch .L1\n", 1, "it does not end");
  check_fault("gfx90c", "an unknown label", "\ts_branch .L1\n", 1, "unknown label .L1");
  check_fault("gfx90c", "a constant store", "\tglobal_store_dword v1, v0, s[4:5]\n", 1, "which is constant");
}

int main(void) {
  test_values();
  test_faults();
  return checks_end("machine_test");
}
