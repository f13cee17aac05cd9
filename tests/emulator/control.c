/* SPDX-License-Identifier: Apache-2.0
 * Branches, waits, barriers and the end of a program. Hints have no effect. */
#include "tests/emulator/operation.h"

static void go_to(wave *wave, const instruction *at) {
  if (at->operands[0].kind != OPERAND_LABEL) fault(wave, "a branch to no label");
  wave->at = at->operands[0].value;
}

static void run_branch(wave *wave, const instruction *at) { go_to(wave, at); }

static void run_scc_branch(wave *wave, const instruction *at) {
  if (!wave->scc_defined) fault(wave, "scc was never written");
  if (wave->scc == (at->operation->how != 0)) go_to(wave, at);
}

static void run_vcc_branch(wave *wave, const instruction *at) {
  if ((read_register_mask(wave, REGISTER_VCC) != 0) == (at->operation->how != 0)) go_to(wave, at);
}

static void run_exec_branch(wave *wave, const instruction *at) {
  if ((active(wave) != 0) == (at->operation->how != 0)) go_to(wave, at);
}

static void run_wait(wave *wave, const instruction *at) {
  for (unsigned i = 0; i < COUNTERS; i++)
    if (at->wait[i] != ANY) wait_for_accesses(wave, (counter)i, (unsigned)at->wait[i]);
}

/* Other waves may not see accesses to local memory that are still in flight at a barrier. */
static void run_barrier(wave *wave, const instruction *at) {
  (void)at;
  if (local_in_flight(wave)) fault(wave, "a barrier before the s_waitcnt of an access to local memory");
  wave->waits = true;
}

static void run_end(wave *wave, const instruction *at) {
  (void)at;
  wave->ended = true;
}

static void run_nop(wave *wave, const instruction *at) { wave->issued += at->operands[0].value; }

static void run_hint(wave *wave, const instruction *at) { (void)wave, (void)at; }

const operation control_operations[] = {
    {.name = "s_branch", .run = run_branch},
    {.name = "s_cbranch_scc0", .run = run_scc_branch, .how = 0},
    {.name = "s_cbranch_scc1", .run = run_scc_branch, .how = 1},
    {.name = "s_cbranch_vccz", .run = run_vcc_branch, .how = 0},
    {.name = "s_cbranch_vccnz", .run = run_vcc_branch, .how = 1},
    {.name = "s_cbranch_execz", .run = run_exec_branch, .how = 0},
    {.name = "s_cbranch_execnz", .run = run_exec_branch, .how = 1},
    {.name = "s_waitcnt", .run = run_wait},
    {.name = "s_waitcnt_vmcnt", .run = run_wait},
    {.name = "s_waitcnt_vscnt", .run = run_wait},
    {.name = "s_waitcnt_lgkmcnt", .run = run_wait},
    {.name = "s_waitcnt_expcnt", .run = run_wait},
    {.name = "s_barrier", .run = run_barrier},
    {.name = "s_endpgm", .run = run_end},
    {.name = "s_nop", .run = run_nop},
    {.name = "s_clause", .run = run_hint, .no_operands = true},
    {.name = "s_delay_alu", .run = run_hint, .no_operands = true},
    {.name = "s_inst_prefetch", .run = run_hint, .no_operands = true},
    {.name = "s_set_inst_prefetch_distance", .run = run_hint, .no_operands = true},
    {.name = "buffer_wbinvl1_vol", .run = run_hint, .no_operands = true}, /* there are no caches */
    {.name = "buffer_gl0_inv", .run = run_hint, .no_operands = true},
    {.name = "buffer_wbl2", .run = run_hint, .no_operands = true},
    {.name = "buffer_invl2", .run = run_hint, .no_operands = true},
    {.name = "buffer_gl1_inv", .run = run_hint, .no_operands = true},
    {.name = "s_sendmsg", .run = run_hint, .no_operands = true}, /* gives registers back */
    {.name = NULL}};
