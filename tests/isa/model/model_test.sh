#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# model_test.sh MODEL MACHINES: static_model.py on loops whose figures are known, written by hand for both vendors, and on
# the same loops with one thing changed, which must change the figures.
set -eu
model=$1 machines=$2
out=${TEST_TMPDIR:-$(mktemp -d)}
failed=0

# expect NAME WANT TARGET REGISTERS FILE: the figures, with blanks between
expect() {
  got=$(python3 "$model" "$machines" "$3" "$4" 0 "$5" 2>&1 | tr '\t' ' ')
  [ "$got" = "$2" ] || { echo "model_test: $1: '$got' instead of '$2'"; failed=1; }
}

# Two waves of 64 lanes: 96 multiply-adds, two of them by one instruction, and 4 other vector instructions, of which one addition is half of a pair; 8 reads
# of 16 bytes and one write of 4 bytes of local memory; 4 loads of 16 bytes.
amd() {
  cat <<'PROFILE'
2 waves 64 lanes
90 v_fmac_f32
4 v_fma_f32
1 v_pk_fma_f32
3 v_add_f32
1 v_mov_b32 pair
8 ds_read_b128
1 ds_write_b32
4 global_load_dwordx4
20 s_add_i32
PROFILE
}
amd >"$out/amd"
# 96 of 98 slots; 128 + 4 bytes; 64 bytes; 95 of 131 instructions; 256 / 100 registers in fours: two threads
expect amd '100 0 2 0.980 0.725 1.375 0.667 0.980 1.45 issue' gfx90c 100 "$out/amd"
# The same code where a slot holds two and a unit has four times the registers
expect 'amd with pairs' '100 0 9 0.980 0.725 1.375 0.667 0.490 0.73 issue' gfx1103 100 "$out/amd"
amd | sed 's/^8 ds_read_b128/24 ds_read_b128/' >"$out/changed"
expect 'amd, three times the reads' '100 0 2 0.980 0.646 4.042 0.667 0.980 0.49 port' gfx90c 100 "$out/changed"
amd | sed 's/^90 v_fmac_f32/90 v_mul_f32/' >"$out/changed"
expect 'amd, products instead' '100 0 2 0.061 0.038 22.000 10.667 0.061 0.09 issue' gfx90c 100 "$out/changed"
amd | sed '/fma/d; /ds_/d' >"$out/changed"
expect 'a reduction' '100 0 2 5.333 - 0.000 4.000 - - memory' gfx90c 100 "$out/changed"

# An outer loop with a multiply-add, and in it a loop: 4 multiply-adds of 16 lanes (8 slots), a read of 4 registers, an
# addition of 8 lanes, one of a 64-bit number, a comparison, and the branch: 14 slots.
intel() {
  cat <<'DUMP'
//.kernel hx_matmul
_outer:
        mad (16|M0)              r2.0<1>:f     r2.0<1;0>:f       r9.0<1;0>:f       r8.0<0>:f
_inner:
(W)     send (16|M0)             r8:w     r2      0xA            0x02484400           // wr:1h+0, rd:4; hdc.dc0; oword aligned block read x8
        mad (16|M0)              r10.0<1>:f    r10.0<1;0>:f      r8.0<1;0>:f       r8.0<0>:f
        mad (16|M0)              r12.0<1>:f    r12.0<1;0>:f      r8.0<1;0>:f       r8.1<0>:f
        mad (16|M0)              r14.0<1>:f    r14.0<1;0>:f      r8.0<1;0>:f       r8.2<0>:f
        mad (16|M0)              r16.0<1>:f    r16.0<1;0>:f      r8.0<1;0>:f       r8.3<0>:f
        add (8|M0)               r18.0<1>:d    r18.0<1;1,0>:d    r19.0<1;1,0>:d
(W)     add (1|M0)               r20.0<1>:q    r20.0<0;1,0>:q    64:w
(W)     cmp (16|M0)   (gt)f1.1   null<1>:d     r6.5<0;1,0>:ud    0x3:uw
(W&f1.1) jmpi                    _inner
(f0.0)  while (16|M0)            _outer
DUMP
}
intel >"$out/intel"
expect intel '128 0 7 0.533 0.444 0.000 2.000 0.533 0.50 port' skl 128 "$out/intel"
expect 'intel with 256 registers' '256 0 4 0.533 0.444 0.000 2.000 0.533 2.00 issue' acm-g10 256 "$out/intel"
expect 'a port that six units share' '128 0 6 0.533 0.444 0.000 2.000 0.533 0.67 issue' apl 128 "$out/intel"
intel | sed 's/rd:4/rd:1/' >"$out/changed"
expect 'intel, a quarter of the bytes' '128 0 7 0.533 0.444 0.000 0.500 0.533 2.00 issue' skl 128 "$out/changed"
intel | sed 's/mad (16|M0)  /mad (8|M0)   /' >"$out/changed"
expect 'intel, half the lanes' '128 0 7 0.364 0.444 0.000 4.000 0.364 0.25 port' skl 128 "$out/changed"
intel | grep -v 'jmpi\|while' >"$out/changed"
expect 'no loop' "static_model: $out/changed has no loop that works" skl 128 "$out/changed"
expect 'no such GPU' "static_model: $machines has no gfx1" gfx1 128 "$out/amd"

[ "$failed" -eq 0 ] && echo 'model_test: passed'
