#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# addressing.sh: instructions in the last loop of each form of bench/ladder/ladder_addressing.cl, for GCN, RDNA and CDNA
# (vector, scalar, all), with and without the compiler's strength reduction, and for PTX and, if ptxas is installed, SASS.
# A form without a loop is counted as a whole. The counts are static, not times; `hx-bench ladder addressing` has times. A
# column that cannot be made is named with the reason.
set -eu
here=$(dirname "$(readlink -f "$0")")
clc=/usr/lib/clc
targets='gfx902 gfx1030 gfx1103 gfx90a'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for clang in clang-15 clang-16 clang-19 ''; do
  [ -z "$clang" ] || ! command -v "$clang" >/dev/null || break
done
[ -n "$clang" ] || { echo 'isa addressing: there is no clang-15'; exit 3; }
[ -r "$clc/amdgcn--amdhsa.bc" ] || { echo "isa addressing: there is no $clc/amdgcn--amdhsa.bc (Debian: libclc-15)"; exit 3; }

compile() { # FORM OUTPUT TARGET LIBRARY OPTIONS...
  define=-DFORM=$1 to=$2 triple=$3 library=$4
  shift 4
  "$clang" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target "$triple" -nogpulib -O3 -fno-vectorize \
    -Xclang -mlink-builtin-bitcode -Xclang "$library" "$define" "$@" -S "$here/../../bench/ladder/ladder_addressing.cl" -o "$to"
}

# The last loop of the kernel: from the label that a branch goes back to; without one, the whole kernel. Prints
# vector/scalar/all, or all.
count() {
  awk '
    { sub(/;.*/, ""); sub(/\/\/.*/, "") }
    /^[.$][A-Za-z_0-9]+:/ { l = $1; sub(/:.*/, "", l); at[l] = n; next }
    /^[ \t]+[a-z@]/ {
      text[n++] = $0
      if ($1 ~ /^(s_endpgm|ret)$/) ended = n
      if ($1 ~ /branch/ || $0 ~ /[ \t]bra(\.uni)?[ \t]/) { l = $NF; sub(/;.*/, "", l); if (l in at) { from = at[l]; to = n } }
    }
    END {
      if (!to) to = ended
      for (i = from; i < to; i++) {
        w = text[i]; sub(/^[ \t]+/, "", w)
        if (w ~ /^\./ || w ~ /^s_nop/) continue
        all++; if (w ~ /^v_/) v++; if (w ~ /^s_/) s++
      }
      if (amd) printf "%d/%d/%d", v, s, all; else printf "%d", all
      exit all == 0
    }' amd="$2" "$1"
}

# The last loop of a cubin for sm_75, and in parentheses how many passes of the source it does, because ptxas unrolls some
# loops: a pass stores once (386 or 986). Without a loop, the whole kernel up to its exit (94d). An instruction has 16 bytes, its operation in the low 12
# bits. A branch (947) has its distance from the next instruction in the second word; -16 is the endless loop behind the
# end of a kernel.
count_sass() {
  section=$(readelf -SW "$1" 2>/dev/null |
    sed -n 's/.* \.text\.loop  *PROGBITS  *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')
  od -A n -v -t x4 -w16 -j "$((0x${section% *}))" -N "$((0x${section#* }))" "$1" | awk '
    { operation[NR] = substr($1, 6) }
    operation[NR] == "947" && $2 ~ /^f/ {
      distance = 1
      for (i = 1; i <= 8; i++) distance += (16 - index("0123456789abcdef", substr($2, i, 1))) * 16 ^ (8 - i)
      if (distance > 16) { all = distance / 16; end = NR }
    }
    operation[NR] == "94d" { exits = NR }
    END {
      if (!all) all = end = exits
      for (i = end - all + 1; i <= end; i++) passes += operation[i] ~ /[39]86/
      printf "%d (%d)", all, passes
      exit all == 0
    }'
}

printf '%-40s' 'v_/s_/all in the loop'
for target in $targets; do printf '%-12s%-12s' "$target" "no LSR"; done
printf '%-8s%s\n' PTX 'SASS (passes)'
ptx=$clc/nvptx64--nvidiacl.bc reason=
[ -r "$ptx" ] || { ptx=; reason="no PTX: no $clc/nvptx64--nvidiacl.bc"; }
ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null || true)
[ -n "$ptxas" ] || reason="$reason${reason:+; }no SASS: no ptxas (it comes with CUDA, not with Debian)"
while IFS='|' read -r form name; do
  printf '%-40s' "$name"
  for target in $targets; do
    for lsr in '' '-mllvm -disable-lsr'; do
      # shellcheck disable=SC2086 # a list of options
      compile "$form" "$work/s" amdgcn--amdhsa "$clc/amdgcn--amdhsa.bc" "-mcpu=$target" $lsr
      printf '%-12s' "$(count "$work/s" 1)"
    done
  done
  if [ -n "$ptx" ]; then
    compile "$form" "$work/ptx" nvptx64--nvidiacl "$ptx" -Xclang -target-cpu -Xclang sm_75
    printf '%-8s' "$(count "$work/ptx" '')"
    if [ -n "$ptxas" ] && "$ptxas" -arch=sm_75 "$work/ptx" -o "$work/cubin" 2>/dev/null; then
      count_sass "$work/cubin"
    fi
  fi
  echo
done <<'ROWS'
INDEX_TWICE|p[2 i]
POINTER_BY_TWO|p += 2
INDEX_TWICE_BY_FOUR|p[2 i], unrolled four times
POINTER_BY_TWO_BY_FOUR|p += 2, unrolled four times
ITEM_PER_PIXEL|item per pixel, whole kernel
ITEM_PER_ROW|item per row
F|f: index per item
G|g: item added last, branch in the loop
H|h: pointer per item, shared offset
TWO_ARRAYS|two local arrays
ONE_ARRAY|one local array
SCALE_ARGUMENT|scale: argument
SCALE_COMPILED|scale: compile-time constant
SCALE_CONSTANT|scale: constant memory
SCALE_DIVERGENT|scale: set in a divergent branch
PLACE_DIVIDED|place: i / 32, i % 32
PLACE_SHIFTED|place: i >> 5, i & 31
TIMES_32|product of 32 bits
TIMES_24|product of 24 bits
KEY_BRANCH|key of a float by a branch
KEY_BITS|key of a float by bits
ROWS
[ -z "$reason" ] || echo "$reason"
