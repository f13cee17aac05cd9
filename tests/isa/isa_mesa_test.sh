#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# isa_mesa_test.sh ROWS LAUNCH: runs a sample of ./hx isa mesa, and checks that it can fail: it does for a program with
# more sums than registers, on Intel and on AMD.
set -eu
here=$(dirname "$(readlink -f "$0")")
out=${TEST_TMPDIR:-$(mktemp -d)}/out

# expect STATUS WORDS ARGUMENTS...
expect() {
  want=$1 words=$2
  shift 2
  status=0
  sh "$here/isa.sh" mesa "$@" >"$out" 2>&1 || status=$?
  cat "$out"
  [ "$status" -eq "$want" ] || { echo "isa_mesa_test: status $status instead of $want: $*"; exit 1; }
  grep -q "$words" "$out" || { echo "isa_mesa_test: no '$words': $*"; exit 1; }
}

expect 1 'FAIL matmul-too-large f32 on skl-22.3: it spills' "$1" --launch "$2" too-large-mesa
grep -q 'FAIL matmul-too-large f32 on vangogh-25.0: it spills' "$out" || { echo 'isa_mesa_test: AMD does not fail'; exit 1; }
expect 0 ', 0 failed$' "$1" --launch "$2" --sample
echo 'isa_mesa_test: passed'
