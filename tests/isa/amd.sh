# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read by isa.sh, which sets work; a row has more fields than each vendor reads
# AMD GPUs, by clang and libclc: for isa.sh. The vendor's drivers have another version of clang.

library=/usr/lib/clc/amdgcn--amdhsa.bc
wanted='gfx902 gcn s
gfx90c gcn
gfx906 gcn
gfx90a gcn s
gfx1030 rdna s
gfx1035 rdna
gfx1103 rdna s'

compiler() {
  for clang in clang-15 clang-16 clang-19; do
    command -v "$clang" >/dev/null && break
    clang=
  done
  [ -n "$clang" ] || { echo "isa amd: there is no clang-15"; return 1; }
  [ -r "$library" ] || { echo "isa amd: there is no $library (Debian: libclc-15)"; return 1; }
}

targets() {
  "$clang" --target=amdgcn--amdhsa -nogpulib --print-supported-cpus 2>&1 | sed 's/^[[:space:]]*//' >"$work/known"
  echo "$wanted" | while IFS= read -r line; do
    if grep -q -x "${line%% *}" "$work/known"; then echo "$line"; else echo "isa amd: $clang knows no ${line%% *}" >&2; fi
  done
}

figure() { sed -n "s/^ *-\{0,1\} *\.$1: *\([0-9]*\).*/\1/p" "$2" | sort -n | tail -n 1; }

# to_text SOURCE TARGET OPTIONS OUT: the assembly text; what the compiler says goes to OUT.log.
to_text() {
  # shellcheck disable=SC2086 # a list of options
  "$clang" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target amdgcn--amdhsa "-mcpu=$2" -nogpulib -O3 \
    -Xclang -mlink-builtin-bitcode -Xclang "$library" -S $3 "$1" -o "$4" 2>"$4.log"
}

job() {
  compiler
  echo "$1" | while IFS='|' read -r folder row what file lanes registers options targets; do
    out=$(mktemp "$folder/XXXXXX")
    for target in $targets; do
      if ! to_text "$folder/$file" "$target" "$options" "$out"; then
        echo "$row|$what|$target|it does not compile: $(grep -m 1 error: "$out.log" | tr '|' ' ')|0|0"
        continue
      fi
      scratch=$(figure private_segment_fixed_size "$out") wave=$(figure wavefront_size "$out") verdict=ok
      spills=$(($(figure vgpr_spill_count "$out") + $(figure sgpr_spill_count "$out")))
      case $target in gfx9*) want=64 ;; *) want=32 ;; esac
      if [ "$spills" -ne 0 ] || [ "$scratch" -ne 0 ]; then
        verdict="it spills $spills registers, $scratch bytes of scratch memory an item"
      elif [ "$wave" -ne "$want" ]; then
        verdict="wavefronts of $wave instead of $want"
      elif grep -q s_swappc "$out"; then
        verdict="it calls a function that $library lacks"
      elif ! "$clang" -target amdgcn--amdhsa "-mcpu=$target" -c -x assembler "$out" -o /dev/null 2>"$out.log"; then
        verdict="clang's assembler refuses what clang wrote: $(grep -m 1 error: "$out.log" | sed 's/.*error: //')"
      elif [ -n "${ISA_EMULATE:-}" ] && ! "$ISA_EMULATE" "$row" "$what" "$out" >"$out.log" 2>&1; then
        verdict="executed: $(head -n 1 "$out.log" | tr '|' ' ')"
      fi
      echo "$row|$what|$target|$verdict|$(figure vgpr_count "$out")|$wave"
    done
    rm -f "$out" "$out.log"
  done
}
