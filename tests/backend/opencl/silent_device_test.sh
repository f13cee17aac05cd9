#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# silent_device_test.sh path/to/hx-bench path/to/libfault_layer.so: a device that ends a copy or a kernel without an error
# and writes nothing is reported as such, and not as one that rounds differently. It runs on PoCL.
set -u
unset HX_DEVICES HX_SPLIT HX_SIM HX_THREADS HX_OFFLOAD HX_MEMORY HX_SCHEDULE
bench=${1:?usage: silent_device_test.sh path/to/hx-bench path/to/libfault_layer.so}
case $2 in /*) layer=$2 ;; *) layer=$PWD/$2 ;; esac
export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_MAX_PTHREAD_COUNT=1 HX_CACHE_DIR=off OPENCL_LAYERS="$layer"
export FAULT_KIND=silent
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

# says TEXT: whether the output has the text, also across lines
says() { tr -s ' \n' ' ' <"$dir/out" | grep -q "$1"; }

fail() {
  echo "FAILED: $*"
  head -n 40 "$dir/out" "$dir/err"
  failed=$((failed + 1))
}

FAULT_FN=clEnqueueCopyBuffer FAULT_NTH=1 HX_LOG=debug timeout 100 "$bench" info --devices pocl >"$dir/out" 2>"$dir/err" \
  </dev/null || fail "info: status $?"
says 'its first copy ended without an error and wrote nothing' || fail 'the first copy'
grep -q ': build ' "$dir/err" && fail 'a kernel was compiled for a device that copies nothing'

export FAULT_FN=clEnqueueNDRangeKernel
FAULT_NTH=1 timeout 100 "$bench" info --devices pocl >"$dir/out" 2>"$dir/err" </dev/null || fail "info: status $?"
says 'its first kernel ended without an error and wrote nothing' || fail 'the first kernel'
says 'rounds differently' && fail 'rounding is blamed'

# The first launch of the sum's self-test is somewhere after the launches that examine the device.
found=
for nth in 6 7 8 9 10 11 12 13 14 15 16; do
  HX_LOG=debug FAULT_NTH=$nth timeout 100 "$bench" reduce --devices cpu,pocl --size 2^20 --reps 1 >"$dir/out" \
    2>"$dir/err" </dev/null || fail "reduce, launch $nth: status $?"
  grep -q 'it ended a small case without an error and wrote nothing' "$dir/err" && found=$nth && break
done
[ -n "$found" ] || fail 'no launch of the self-test was seen to write nothing'

[ $failed = 0 ] && echo "silent_device_test: passed; launch $found" && exit 0
exit 1
