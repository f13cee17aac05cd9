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
    --json "$dir/json" >"$dir/out" 2>"$dir/err" </dev/null || fail "reduce on $name by HX_DEVICES=igpu: status $?"
  grep -q '"gpu_share": 1, "bytes_copied": 0,' "$dir/json" || fail "$name does not read its operand in place"
done

for name in 'AMD Radeon RX 6800 (radeonsi, navi21, LLVM 15.0.6)' gfx906 'AMD Radeon Graphics'; do
  expect_kind gpu "$name"
done

# On rusticl, chips before GFX10.3 compute fma in software: products are refused, and the option that repairs it is
# named, unless it is set or cannot help.
expect_fma() {
  DRESS_PLATFORM=$1 DRESS_NAME=$2 timeout 100 "$bench" info --devices all >"$dir/out" 2>"$dir/err" </dev/null ||
    fail "info of $2 on $1: status $?"
  tr -s ' \n' ' ' <"$dir/out" >"$dir/words"
  case $3 in
    named) grep -q 'refuses matmul (its driver computes fma in software unless radeonsi_force_use_fma32=true' "$dir/words" &&
      grep -q -- '- AMD Radeon.*radeonsi_force_use_fma32=true in the environment makes' "$dir/words" ;;
    refused) grep -q 'refuses matmul (its driver computes fma in software)' "$dir/words" ;;
    silent) ! grep -q -e 'computes fma' -e 'in the environment makes' "$dir/words" ;;
  esac || fail "$2 on $1: expected: $3"
}

renoir='AMD Radeon Graphics (radeonsi, renoir, ACO, DRM 3.61, 6.12.48)'
expect_fma rusticl "$renoir" named
expect_fma rusticl 'AMD Radeon RX 580 (radeonsi, polaris10, LLVM 19.1.7)' refused
expect_fma rusticl 'AMD Custom GPU 0405 (radeonsi, vangogh, LLVM 19.1.7)' silent
expect_fma 'AMD Accelerated Parallel Processing' "$renoir" silent
radeonsi_force_use_fma32=true expect_fma rusticl "$renoir" silent
DRESS_PLATFORM=rusticl DRESS_NAME=$renoir timeout 100 "$bench" matmul --devices cpu,igpu --size 256 --reps 3 \
  >"$dir/out" 2>"$dir/err" </dev/null || fail "matmul on $renoir: status $?"
tr -s ' \n' ' ' <"$dir/out" | grep -q 'the device took no part in matmul' || fail 'a product ran on software fma'

[ $failed = 0 ] && echo "device_kind_test: passed" && exit 0
exit 1
