#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# header_test.sh HX_H HX_MAP_H: compiles each public header alone, as C99 and as C++11, with every compiler that is installed
# (gcc has to be).
set -eu
header=$(readlink -f "$1") map=$(readlink -f "$2")
scratch=${TEST_TMPDIR:-$(mktemp -d)}
flags='-Wall -Wextra -Wpedantic -Werror -fsyntax-only'
cat >"$scratch/use.c" <<'SOURCE'
#include "hx.h"
#include "hx.h"
int main(void) {
  hx_value v;
  hx_settings s = HX_SETTINGS_DEFAULT;
  hx_task t = hx_reduce(HX_SUM, HX_F32, &v, 1, &v);
  t.matmul.m = 0;
  t.soa.nfields = 0;
  return hx_open(0, &s) == HX_OK && hx_offload(0, &t, 0) == HX_OK;
}
SOURCE
cat >"$scratch/map.c" <<'SOURCE'
#include "hx_map.h"
#include "hx_map.h"
int main(void) {
  hx_kernel *k = 0;
  hx_kernel_source s = {"x", "float x", 0, 0, {0}};
  float x = 0;
  const void *inputs[1];
  inputs[0] = &x;
  hx_task t = hx_map(k, inputs, 1, 0, &x);
  t.map.n = 0;
  return hx_compile(0, &s, &k) == HX_OK && hx_kernel_type(k) == HX_F32 && hx_offload(0, &t, 0) == HX_OK;
}
SOURCE
passed=0 failed=0
while read -r compiler language standard; do
  if ! command -v "$compiler" >/dev/null; then
    [ "$compiler" != gcc ] || { echo "no gcc"; exit 1; }
    echo "$compiler: not installed, left out"
    continue
  fi
  # shellcheck disable=SC2086 # a list of options
  if "$compiler" -x "$language" -std="$standard" $flags -I"${header%/*}" "$scratch/use.c" &&
    "$compiler" -x "$language" -std="$standard" $flags -I"${map%/*}" -I"${header%/*}" "$scratch/map.c"; then
    passed=$((passed + 1))
  else
    echo "FAILED: $compiler -x $language -std=$standard"
    failed=$((failed + 1))
  fi
done <<'ROWS'
gcc c c99
gcc c c11
gcc c c17
g++ c++ c++11
g++ c++ c++20
clang c c99
clang c c11
clang++ c++ c++11
ROWS
echo "header_test: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
