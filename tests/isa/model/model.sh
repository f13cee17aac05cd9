#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# model.sh ROWS PROFILE: what the machine code of each product row, and of a few reductions, allows at most on GPUs of AMD and
# Intel, as a table (static_model.py says what the columns are). ROWS: the program of ../rows.c; PROFILE: that of
# tests/emulator/profile.c. A vendor whose compiler is missing is left out, with the reason.
set -eu
here=$(dirname "$(readlink -f "$0")")
isa=${here%/*}
rows=$(readlink -f "$1") profile=$(readlink -f "$2")
reductions='sum-f32 dot-f32 argmax-f32'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# wanted ROW WHAT: whether the model has this program
wanted() {
  case $1 in
    matmul-*) return 0 ;;
    reduce-any*) return 1 ;;
    reduce-*) case " $reductions " in *" $2 "*) return 0 ;; *) return 1 ;; esac ;;
    *) return 1 ;;
  esac
}

option() { printf '%s\n' "$2" | tr ' ' '\n' | sed -n "s/^-D$1=//p"; }

# print_figures ROW WHAT TARGET REGISTERS SPILLS FILE
print_figures() {
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(python3 "$here/static_model.py" "$here/machines.tsv" "$3" "$4" "$5" "$6")"
}

# The rows that a class of rows.c uses, with their options: for VENDOR's function `one`
each_program() { # CLASS TARGETS
  mkdir -p "$work/$1"
  "$rows" "$work/$1" "$1" >"$work/$1/programs"
  # shellcheck disable=SC2034 # a row has more fields than are used here
  while IFS='|' read -r row what file lanes registers options; do
    wanted "$row" "$what" || continue
    for target in $2; do one "$work/$1/$file" "$row" "$what" "$registers" "$options" "$target"; done
  done <"$work/$1/programs"
}

amd() (
  # shellcheck source=/dev/null # checked by itself
  . "$isa/amd.sh"
  compiler || return 0
  one() {
    to_text "$1" "$6" "$5" "$work/text" || { echo "model: $2 does not compile for $6" >&2; return 1; }
    case $2 in
      matmul-*) shape="product $(option HX_TILE_M "$5") $(option HX_TILE_N "$5") $(option HX_LOCAL0 "$5") $(option HX_LOCAL1 "$5")" ;;
      *) shape="reduction $(option HX_LEAVES "$5") $(option HX_LOCAL0 "$5")" ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    "$profile" "$work/text" $shape >"$work/counts" || { echo "model: $2 on $6: $(head -n 1 "$work/counts")" >&2; return 1; }
    print_figures "$2" "$3" "$6" "$(figure vgpr_count "$work/text")" "$(figure vgpr_spill_count "$work/text")" "$work/counts"
  }
  each_program gcn 'gfx902 gfx90c gfx906 gfx90a'
  each_program rdna 'gfx1030 gfx1035 gfx1103'
)

intel() (
  # shellcheck source=/dev/null # checked by itself
  . "$isa/intel.sh"
  compiler || return 0
  one() {
    out=$(mktemp -d "$work/XXXXXX")
    IGC_ShaderDumpEnable=1 IGC_DumpToCustomDir="$out" ocloc compile -file "$1" -device "$6" -out_dir "$out" -output binary \
      -output_no_suffix --format zebin -options "$5" >"$out/log" 2>&1 || { echo "model: $2 does not compile for $6" >&2; return 1; }
    dump=$(grep -l -E '^//.kernel "?hx_(matmul|reduce)"?$' "$out"/*.asm | head -n 1)
    print_figures "$2" "$3" "$6" "$4" "$(sed -n 's/^\/\/.spill size //p' "$dump" | grep . || echo 0)" "$dump"
    rm -rf "$out"
  }
  each_program intel-apl apl
  each_program intel 'bdw skl icllp tgllp adl-p dg1'
  each_program intel-grf256 acm-g10
  each_program intel-wide pvc
)

printf 'row\twhat\ttarget\t%s\n' "$(sed -n 's/^COLUMNS = "\(.*\)".split()$/\1/p' "$here/static_model.py" | tr ' ' '\t')"
amd
intel
