#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fault_test.sh BITS_TEST FAULT_LAYER STALL_TEST: one OpenCL call fails once, or an upload stalls, or a command that
# hx_sync waits for. The bits are right nevertheless, and hx continues.
set -eu
program=$1 layer=$2 stalled=$3
here=${0%/*}
scratch=${TEST_TMPDIR:-$(mktemp -d)}
passed=0 failed=0

# run LOG NTH: a short conformance run in one context; the call number NTH of FAULT_FN fails. A static split makes the
# same calls every time. The cases of this seed make calls of every entry below after the self-test.
run() {
  rm -f "$scratch"/*.hxc # removes the programs that an earlier run has cached, because building them makes calls, too
  FAULT_NTH=$2 sh "$here/driver.sh" pocl --layer "$layer" "$program" --devices pocl --memory copy --schedule static \
    --cases 60 --batch 60 --seed 7 >"$1" 2>&1 </dev/null
}

right() {
  echo "$1: right"
  passed=$((passed + 1))
}
wrong() {
  echo "$1: FAILED"
  tail -n 30 "$log"
  failed=$((failed + 1))
}

# Entries, and the error that one call of each returns.
while read -r FAULT_FN FAULT_CODE; do
  export FAULT_FN FAULT_CODE
  log=$scratch/$FAULT_FN.log
  # Counts the calls; then one of the last calls fails, when the device has passed the self-test and computes.
  run "$log" 1000000000 && calls=$(sed -n "s/^layer: calls: $FAULT_FN //p" "$log") || calls=0
  nth=$((calls > 20 ? calls - 10 : calls))
  if [ "$nth" -gt 0 ] && run "$log" "$nth" && grep -q "^layer: fault: $FAULT_FN call $nth" "$log"; then
    right "$FAULT_FN call $nth of $calls -> $FAULT_CODE"
  else
    wrong "$FAULT_FN call $nth of $calls -> $FAULT_CODE"
  fi
done <<'ROWS'
clEnqueueNDRangeKernel -5
clEnqueueBarrierWithWaitList -5
clEnqueueWriteBuffer -5
clEnqueueMapBuffer -12
ROWS

# A compiler that adds and multiplies in another order: the self-test notices it in each operation that differs, and
# the operations that the device may still compute have the right bits.
unset FAULT_FN
log=$scratch/order.log
if FAULT_OPTIONS=-cl-fast-relaxed-math HX_LOG=debug run "$log" 1 &&
  grep -q -- '-DHX_ARITHMETIC=1 .*-DHX_OP=1 -DHX_TYPE=1 ' "$log" &&
  grep -q -- '-DHX_ARITHMETIC=1 .*-DHX_OP=9 -DHX_TYPE=1 ' "$log"; then
  right "another order"
else
  wrong "another order"
fi

# stall TASK: runs the task; the log says what was called, and how often.
stall() {
  sh "$here/driver.sh" pocl --layer "$layer" "$stalled" "$1" "$FAULT_STALL_MS" >"$log" 2>&1 </dev/null
}

# Of the calls of FAULT_FN with at least FAULT_LEAST bytes, the nth begins late (from 1; 0 and less: counted from the
# last). Whole MiB are calls for the staging ring, whose halves the self-test maps as well, and for larger copies.
# FAULT_THEN: the next call of that entry has no memory, so that hx gives up a run before its last command has ended.
export FAULT_STALL_MS=4000 FAULT_CODE=-4
while read -r task FAULT_FN FAULT_LEAST nth FAULT_THEN; do
  export FAULT_FN FAULT_LEAST FAULT_THEN
  log=$scratch/stall.log
  FAULT_NTH=1000000000
  export FAULT_NTH
  stall "$task" || true # nothing stalls here
  calls=$(sed -n "s/^layer: calls: $FAULT_FN //p" "$log")
  FAULT_NTH=$((nth > 0 ? nth : calls + nth))
  if [ "$FAULT_NTH" -gt 0 ] && stall "$task" && grep -q "^layer: fault: $FAULT_FN call $FAULT_NTH" "$log" &&
    { [ -z "$FAULT_THEN" ] || grep -q "^layer: fault: $FAULT_THEN .* after another fault" "$log"; }; then
    right "$task: $FAULT_FN call $FAULT_NTH of $calls stalls${FAULT_THEN:+, $FAULT_THEN fails}"
  else
    wrong "$task: $FAULT_FN call $FAULT_NTH of $calls stalls${FAULT_THEN:+, $FAULT_THEN fails}"
  fi
done <<'ROWS'
sum clEnqueueWriteBuffer 1048576 1
matmul clEnqueueWriteBuffer 1048576 1
sum clEnqueueMapBuffer 8388608 -1
sync clEnqueueReadBuffer 9437184 0
sum clEnqueueWriteBuffer 1048576 1 clEnqueueNDRangeKernel
matmul clEnqueueWriteBuffer 1048576 1 clEnqueueNDRangeKernel
matmul clEnqueueWriteBuffer 1048576 1 clCreateBuffer
ROWS

# When hx_sync reads a part of C, there is no memory, once or twice.
unset FAULT_STALL_MS FAULT_LEAST
export FAULT_FN=clEnqueueReadBuffer FAULT_CODE=-4 FAULT_NTH=1 FAULT_THEN FAULT_ARM="$scratch/armed"
log=$scratch/shortage.log
for task in shortage longer-shortage; do
  FAULT_THEN=
  if [ $task = longer-shortage ]; then FAULT_THEN=clEnqueueReadBuffer; fi
  rm -f "$FAULT_ARM"
  if sh "$here/driver.sh" pocl --layer "$layer" "$stalled" $task 0 >"$log" 2>&1 </dev/null &&
    grep -q '^layer: fault: clEnqueueReadBuffer call 1 -> error -4' "$log"; then
    right "hx_sync: no memory for a read: $task"
  else
    wrong "hx_sync: no memory for a read: $task"
  fi
done
echo "fault_test: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
