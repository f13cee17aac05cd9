#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lds_ptx_test.sh LADDER_LDS_CL LADDER_LDS_STEPS_C: every copy of `hx-bench ladder lds` that only NVIDIA GPUs have becomes
# PTX with the instruction that its row names, which NVIDIA's assembler takes for sm_80 and sm_90, if it is installed (it
# comes with CUDA, not with Debian). The rows are read from the table in the source.
set -u
source=$1 steps=$2
library=/usr/lib/clc/nvptx64--nvidiacl.bc
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0 checks=0

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

if ! command -v clang-15 >/dev/null || [ ! -r $library ]; then
  echo "lds_ptx_test: skipped: there is no clang-15, or no $library"
  exit 0
fi
ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)

# A row ends in: width, stages, method, bytes that odd items copy, bytes that the L2 cache reads at once.
sed -n '/^const lds_copy lds_copies/,/^};/s/^ *{\(.*\)},$/\1/p' "$steps" | tr -d ' ' |
  awk -F, '{ print $(NF - 4), $(NF - 3), $(NF - 2), $(NF - 1), $NF }' >"$dir/rows"
[ "$(wc -l <"$dir/rows")" -ge 18 ] || fail "there are fewer than 18 rows in $steps"

while read -r width stages method fill fetch; do
  [ "$method" = REGISTERS ] && continue
  checks=$((checks + 1))
  case $method in
    CA) number=1 cache=ca ;;
    CG) number=2 cache=cg ;;
    CA_PREDICATE) number=3 cache=ca ;;
    CA_BRANCH) number=4 cache=ca ;;
  esac
  set -- "-DWIDTH=$width" "-DSTAGES=$stages" "-DMETHOD=$number" "-DFETCH=$fetch"
  wanted="cp\\.async\\.$cache\\.shared\\.global"
  [ "$fetch" = 0 ] || wanted="$wanted\\.L2::${fetch}B"
  wanted="$wanted \\[%r[0-9]*\\], \\[%rd[0-9]*\\], $((4 * width))"
  if [ "$fill" -ge 0 ]; then
    set -- "$@" "-DFILL=$fill"
    [ "$number" -gt 2 ] || wanted="$wanted, %r"
  fi
  [ "$number" != 3 ] || wanted="@p $wanted"
  if ! clang-15 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target nvptx64--nvidiacl -nogpulib -O3 \
    -Xclang -mlink-builtin-bitcode -Xclang $library -Xclang -target-cpu -Xclang sm_80 -Xclang -target-feature \
    -Xclang +ptx75 -DMODE=1 -DLOCAL=256 "$@" -S "$source" -o "$dir/ptx"; then
    fail "$*: clang"
    continue
  fi
  grep -q "$wanted" "$dir/ptx" || fail "$*: no $wanted in $(grep cp.async "$dir/ptx")"
  [ "$stages" = 1 ] || grep -q "cp\\.async\\.wait_group $((stages - 1));" "$dir/ptx" || fail "$*: waits for another group"
  for target in ${ptxas:+sm_80 sm_90}; do
    "$ptxas" "-arch=$target" "$dir/ptx" -o "$dir/cubin" || fail "$*: ptxas for $target"
  done
done <"$dir/rows"

[ -n "$ptxas" ] || echo 'lds_ptx_test: there is no ptxas, so its opinion of the PTX is not known'
[ $failed = 0 ] && echo "lds_ptx_test: $checks copies checked" && exit 0
echo "lds_ptx_test: $failed faults in $checks copies"
exit 1
