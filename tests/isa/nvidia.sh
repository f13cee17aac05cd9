# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read by isa.sh, which sets work; a row has more fields than each vendor reads
# NVIDIA GPUs from Ampere on, by clang, libclc and CUDA's ptxas: for isa.sh. NVIDIA's OpenCL compiler has another front
# end, so its registers may differ by a few. Turing lacks the instructions of most rows, and refuses them. libclc has no
# fence of OpenCL 3.0, and ptxas, unlike NVIDIA's OpenCL, takes at most 48 KiB of local memory in arrays of known size, so long
# arrays are made shorter: the code is the same, because nothing compares an offset with the size.
# All functions are inlined, as NVIDIA's compiler does.

library=/usr/lib/clc/nvptx64--nvidiacl.bc
oldest=sm_80

compiler() {
  for clang in clang-15 clang-16 clang-19; do
    command -v "$clang" >/dev/null && break
    clang=
  done
  [ -n "$clang" ] || { echo "isa nvidia: there is no clang-15"; return 1; }
  [ -r "$library" ] || { echo "isa nvidia: there is no $library (Debian: libclc-15)"; return 1; }
  ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null) ||
    { echo "isa nvidia: there is no ptxas (it comes with CUDA, not with Debian)"; return 1; }
}

targets() { printf '%s\n' 'sm_80 nvidia s' 'sm_86 nvidia' 'sm_89 nvidia' 'sm_90 nvidia s'; }

# The largest number before a word of ptxas's report.
figure() { sed -n "s/.*[ ,]\([0-9][0-9]*\) $1.*/\1/p" "$2" | sort -n | tail -n 1; }

job() {
  compiler
  echo "$1" | while IFS='|' read -r folder row what file lanes registers options targets; do
    out=$(mktemp "$folder/XXXXXX")
    # shellcheck disable=SC2086 # a list of options
    "$clang" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target nvptx64--nvidiacl -nogpulib -O3 -w -mllvm -inline-threshold=100000 \
      -Xclang -mlink-builtin-bitcode -Xclang "$library" -Xclang -target-cpu -Xclang "$oldest" \
      -Xclang -target-feature -Xclang +ptx75 '-Datomic_work_item_fence(flags,order,scope)=__nvvm_membar_gl()' \
      -S $options "$folder/$file" -o "$out" 2>"$out.log" || true
    sed -i 's/\(\.shared .*\[\)[0-9]\{5,\}\];/\18192];/' "$out"
    for target in $targets; do
      if grep -q error: "$out.log"; then
        echo "$row|$what|$target|it does not compile: $(grep -m 1 error: "$out.log" | tr '|' ' ')|0|0"
        continue
      fi
      if ! "$ptxas" -v "-arch=$target" "$out" -o "$out.cubin" 2>"$out.report"; then
        echo "$row|$what|$target|ptxas refuses it: $(grep -m 1 -E 'error|fatal' "$out.report" | tr '|' ' ')|0|0"
        continue
      fi
      verdict=ok spills=$(figure 'bytes spill stores' "$out.report") stack=$(figure 'bytes stack frame' "$out.report")
      if [ "${spills:-0}" -ne 0 ] || [ "${stack:-0}" -ne 0 ]; then
        verdict="it spills $spills bytes, and has $stack bytes of local memory"
      fi
      echo "$row|$what|$target|$verdict|$(figure registers "$out.report")|32"
    done
    rm -f "$out" "$out".*
  done
}
