# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read by isa.sh, which sets work; a row has more fields than each vendor reads
# Intel GPUs, by Intel's offline compiler: for isa.sh.

compiler() {
  command -v ocloc >/dev/null || { echo "isa intel: there is no ocloc (Debian: intel-opencl-icd)"; return 1; }
}

# Every target that ocloc knows, without names of groups and aliases.
targets() {
  ocloc compile --help 2>&1 | sed -n 's/.*<device_type> can be: \(.*\), version .*/\1/p' | tr -d ',' | tr ' ' '\n' |
    while IFS= read -r target; do
      case $target in
        '' | gen* | xe | xe-* | dg2-* | ats-* | pvc-*) ;;
        pvc* | bmg* | lnl* | ptl*) echo "$target intel-wide s" ;;
        acm-g10 | mtl*) echo "$target intel-grf256 s" ;;
        acm-* | arl*) echo "$target intel-grf256" ;;
        apl) echo "$target intel-apl s" ;;
        bxt) echo "$target intel-apl" ;;
        bdw | skl | icllp | tgllp) echo "$target intel s" ;;
        *) echo "$target intel" ;;
      esac
    done
}

# From the part of the binary that describes the kernels: the widest sub-group, the most registers, and the bytes of
# scratch memory per thread (for spills, or for arrays that are not in registers, which have a separate entry), or 0.
figures() {
  LC_ALL=C grep -a -A 6 -E ' (simd_size|grf_count|per_thread_memory_buffers):' "$1" | LC_ALL=C awk '
    $1 == "simd_size:" && $2 > simd { simd = $2 }
    $1 == "grf_count:" && $2 > grf { grf = $2 }
    $1 == "per_thread_memory_buffers:" { within = 1; if (!bytes) bytes = "some" }
    within && $1 == "size:" { bytes = $2; within = 0 }
    END { print simd + 0, grf + 0, bytes == "" ? 0 : bytes }'
}

# The front end runs once: its result (SPIR-V) is used for every target.
job() {
  echo "$1" | while IFS='|' read -r folder row what file lanes registers options targets; do
    out=$(mktemp -d "$folder/XXXXXX")
    input=$folder/$file
    spirv=
    for target in $targets; do
      # shellcheck disable=SC2086 # -spirv_input or nothing
      if ! ocloc compile -file "$input" $spirv -device "$target" -out_dir "$out" -output "$target" -output_no_suffix \
        --format zebin -options "$options" >"$out/log" 2>&1 || [ ! -s "$out/$target" ]; then
        echo "$row|$what|$target|it does not compile: $(grep -m 1 -i error "$out/log" | tr '|' ' ')|0|0"
        continue
      fi
      verdict=ok
      read -r simd grf bytes <<END
$(figures "$out/$target")
END
      if [ "$bytes" != 0 ]; then
        verdict="it spills, or keeps an array in memory: $bytes bytes a thread"
      elif [ "$lanes" != 0 ] && [ "$simd" != "$lanes" ]; then
        verdict="sub-groups of $simd instead of $lanes"
      elif [ "$grf" -gt "$registers" ] || [ "$grf" -eq 0 ]; then
        verdict="$grf registers instead of $registers"
      fi
      echo "$row|$what|$target|$verdict|$grf|$simd"
      if [ -z "$spirv" ] && [ -s "$out/$target.spv" ]; then input=$out/$target.spv spirv=-spirv_input; fi
    done
    rm -rf "$out"
  done
}
