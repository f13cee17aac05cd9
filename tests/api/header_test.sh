#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# header_test.sh HX_H: compiles the public header alone, as C99 and as C++11, with every compiler that is installed
# (gcc has to be).
set -eu
header=$(readlink -f "$1")
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
passed=0 failed=0
while read -r compiler language standard; do
  if ! command -v "$compiler" >/dev/null; then
    [ "$compiler" != gcc ] || { echo "no gcc"; exit 1; }
    echo "$compiler: not installed, left out"
    continue
  fi
  # shellcheck disable=SC2086 # a list of options
  if "$compiler" -x "$language" -std="$standard" $flags -I"${header%/*}" "$scratch/use.c"; then
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
