#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# device_kind_test.sh path/to/hx-bench path/to/libdress_layer.so: an AMD APU whose driver denies that it shares the
# host's memory is an integrated GPU, is found as one, and is read in place; a card of the same vendor is not. PoCL
# computes behind the names.
set -u
unset HX_DEVICES HX_SPLIT HX_SIM HX_THREADS HX_OFFLOAD HX_MEMORY HX_SCHEDULE
bench=${1:?usage: device_kind_test.sh path/to/hx-bench path/to/libdress_layer.so}
case $2 in /*) layer=$2 ;; *) layer=$PWD/$2 ;; esac
export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_MAX_PTHREAD_COUNT=1 HX_CACHE_DIR=off OPENCL_LAYERS="$layer"
export DRESS=gpu DRESS_VENDOR=1002
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
  echo "FAILED: $*"
  head -n 40 "$dir/out" "$dir/err"
  failed=$((failed + 1))
}

# expect_kind KIND NAME: a device of this name is listed as of that kind.
expect_kind() {
  DRESS_NAME=$2 timeout 100 "$bench" info --devices all >"$dir/out" 2>"$dir/err" </dev/null ||
    fail "info of $2: status $?"
  grep -q " $1 " "$dir/out" || fail "$2 is not listed as $1"
}

for name in 'AMD Radeon Graphics (radeonsi, renoir, LLVM 15.0.6, DRM 3.49)' 'AMD Custom GPU 0405 (radeonsi, vangogh)' \
  gfx1103; do
  expect_kind igpu "$name"
  DRESS_NAME=$name timeout 100 "$bench" reduce --devices igpu --op sum --type f32 --size 2^20 --reps 3 \
    >"$dir/out" 2>"$dir/err" </dev/null || fail "reduce on $name by HX_DEVICES=igpu: status $?"
  grep -q ' 100 % .* 0 B ' "$dir/out" || fail "$name does not read its operand in place"
done

for name in 'AMD Radeon RX 6800 (radeonsi, navi21, LLVM 15.0.6)' gfx906 'AMD Radeon Graphics'; do
  expect_kind gpu "$name"
done

[ $failed = 0 ] && echo "device_kind_test: passed" && exit 0
exit 1
