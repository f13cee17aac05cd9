#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# beside_test.sh DEVICE: the examples of user kernels beside a plain OpenMP loop, with half of the work on a device of
# the driver that driver.sh has chosen. Each program compares its results with those of its loop, and fails if they differ.
set -u
tree=$PWD # Bazel's runfiles
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 checks=0

sh "$tree/runtime/install.sh" "$tree" "$tree" "$scratch/usr" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
export PKG_CONFIG_PATH="$scratch/usr/lib/pkgconfig" LD_LIBRARY_PATH="$scratch/usr/lib" HX_CACHE_DIR="$scratch/cache"
export HX_DEVICES="cpu,$1" HX_SPLIT=50%

for source in "$tree"/examples/*.c; do
  grep -q 'include "beside.h"' "$source" || continue
  name=$(basename "$source" .c)
  checks=$((checks + 1))
  # shellcheck disable=SC2046 # lists of options
  cc -std=c11 -Wall -Wextra -Werror $(sed -n 's/^ \* Build with \([^.:]*\).*/\1/p' "$source") "$source" \
    -o "$scratch/$name" $(pkg-config --cflags --libs hx) -lm &&
    case $name in jacobi) "$scratch/$name" 150 ;; *) "$scratch/$name" 20000 ;; esac >"$scratch/log" 2>&1 &&
    grep -E ' [1-9][0-9]* % of hx.s work on devices$' "$scratch/log" && continue
  echo "FAILED: $name: it failed, or the device did nothing"
  cat "$scratch/log"
  failed=$((failed + 1))
done
echo "beside_test: $checks examples, $failed failed"
[ "$checks" -ge 5 ] && [ "$failed" -eq 0 ]
