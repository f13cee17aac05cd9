#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# card_test.sh SET_TEST CARD_LAYER: a device that looks like an NVIDIA GPU uses the set of programs and computes the
# right bits. A second process loads the whole set from the cache, and so does a third one beside busy threads.
set -eu
program=$1 layer=$2
here=${0%/*}
scratch=${TEST_TMPDIR:-$(mktemp -d)}
export HX_CACHE_DIR="$scratch/cache"
mkdir -p "$HX_CACHE_DIR"

fail() {
  tail -n 30 "$2"
  echo "card_test: $1 FAILED"
  exit 1
}
run() {
  log=$1
  shift
  HX_LOG=info sh "$here/driver.sh" pocl --layer "$layer" "$program" "$@" >"$log" 2>&1 </dev/null || fail "a run" "$log"
  ! grep -q "is lost" "$log" || fail "the device is lost, which" "$log"
  ! grep -q "matmul-nvidia-.*: its bits differ" "$log" || fail "a program has other bits, which" "$log"
  ! grep -q "matmul-nvidia-.*: it gave no answer" "$log" || fail "a program computes nothing, which" "$log"
}
programs() { grep -c "matmul-nvidia-.*, layout [0-2]: $1" "$2" || true; }

run "$scratch/first.log"
built=$(programs "built and tested" "$scratch/first.log")
[ "$built" -ge 3 ] || fail "only $built programs beside the first of the set, which" "$scratch/first.log"
run "$scratch/second.log"
kept=$(programs "from the cache" "$scratch/second.log")
[ "$kept" -eq "$built" ] || fail "$kept of $built programs from the cache, which" "$scratch/second.log"
grep "^nvidia_set_test:" "$scratch/second.log"
run "$scratch/third.log" busy
echo "card_test: $built programs of a set, kept for the next process, 0 failed"
