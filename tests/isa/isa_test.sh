#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# isa_test.sh ROWS EMULATE: runs samples of ./hx isa amd, intel and nvidia, and checks that they can fail: they do for a
# program that fits into no register file, and for sub-groups of another size. A vendor without a compiler here is left
# out, with the reason.
set -eu
here=$(dirname "$(readlink -f "$0")")
rows=$1 emulate=$2
out=${TEST_TMPDIR:-$(mktemp -d)}/out

# expect STATUS WORDS ARGUMENTS...
expect() {
  want=$1 words=$2
  shift 2
  status=0
  sh "$here/isa.sh" "$@" >"$out" 2>&1 || status=$?
  cat "$out"
  [ "$status" -ne 3 ] || { echo "isa_test: left out: $*"; return 0; }
  [ "$status" -eq "$want" ] || { echo "isa_test: status $status instead of $want: $*"; exit 1; }
  grep -q "$words" "$out" || { echo "isa_test: no '$words': $*"; exit 1; }
}

expect 1 'FAIL matmul-too-large f32 on bdw: it spills' intel "$rows" too-large-intel
expect 1 'FAIL matmul-wrong-lanes f32 on bdw: sub-groups of 8 instead of 16' intel "$rows" wrong-lanes
expect 1 'FAIL matmul-too-large f32 on gfx902: it spills' amd "$rows" too-large-amd
expect 1 'FAIL matmul-too-large f32 on sm_80: it spills' nvidia "$rows" too-large-nvidia
expect 0 ', 0 failed$' intel "$rows" --sample
expect 0 ', executed, 0 failed$' amd "$rows" --sample --execute "$emulate"
expect 0 ', 0 failed$' nvidia "$rows" --sample
expect 0 'item per row' addressing
# Every form has a loop that the counts find, or is counted as a whole.
if grep -E '(^| )(0|0/0/0)( |$)' "$out"; then echo 'isa_test: a form without instructions'; exit 1; fi
# In PTX the second of two local arrays costs an address that is added; in one array it is a constant offset.
if grep -q 'PTX' "$out" && ! grep -q 'no PTX' "$out"; then
  awk '/local array/ { count[++rows] = substr($0, 137) + 0 } END { exit !(rows == 2 && count[2] > 0 && count[2] < count[1]) }' \
    "$out" || { echo 'isa_test: one local array has no fewer instructions of PTX than two'; exit 1; }
fi
# The study's loop: today an index times two costs no more than a pointer that goes on by two.
if grep -q 'PTX' "$out" && ! grep -q 'no PTX' "$out"; then
  awk '/unrolled four times/ { count[++rows] = substr($0, 137) + 0 } END { exit !(rows == 2 && count[1] > 0 && count[1] == count[2]) }' \
    "$out" || { echo 'isa_test: p[2 i] and p += 2 have other numbers of instructions in PTX'; exit 1; }
fi
# A compiler knows how to divide by a power of two.
if grep -q '^place' "$out"; then
  awk '/^place: / { counts[++rows] = substr($0, 41) } END { exit !(rows == 2 && counts[1] == counts[2]) }' "$out" ||
    { echo 'isa_test: shifts and masks are not what division and remainder become'; exit 1; }
fi
echo 'isa_test: passed'
