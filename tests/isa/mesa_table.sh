#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mesa_table.sh ROWS LAUNCH CLASS...: what Mesa's compiler makes of the products of these classes of rows.c for each
# Intel GPU, as a table (docs/measurements/mesa-products.tsv). The main block is the one with the most multiply-adds:
# the body of the loop over k.
# shellcheck disable=SC2034 # a row has more fields than are read
set -eu
here=$(dirname "$(readlink -f "$0")")
rows=$1 ISA_LAUNCH=$(readlink -f "$2")
shift 2
# shellcheck source=tests/isa/mesa.sh
. "$here/mesa.sh"
compiler || exit 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A wait (sync) takes an issue slot, and so does each send. A line that begins a block may come in the middle of a loop,
# so that a block ends where the next one begins.
main_block() {
  awk '
    /SIMD[0-9]+ shader: .* spills:fills/ { width = $1; sub(/SIMD/, "", width); total = cycles = spills = ""
      for (i = 2; i <= NF; i++) {
        if ($i ~ /^instruction/) total = $(i - 1)
        if ($i ~ /^cycles/) cycles = $(i - 1)
        if ($i ~ /^spills:fills/) spills = $(i - 1)
      }
      next
    }
    /^ *START B[0-9]/ { instructions = mads = sends = 0; next }
    /^(\([^)]*\) )?[a-z][a-z0-9_.]* *[a-z]*\([0-9]+\)/ {
      instructions++
      if ($0 ~ /(^|\) )mad\(/) mads++
      if ($0 ~ /(^|\) )sends?c?\(/) sends++
      if (mads > most) {
        most = mads; best_width = width; best = total "\t" spills "\t" cycles
      }
      if (mads == most) { best_instructions = instructions; best_sends = sends }
    }
    END { printf "%s\t%s\t%d\t%d\t%d\t%.1f\n", best_width, best, best_instructions, most, best_sends,
            best_instructions ? 100 * most / best_instructions : 0 }'
}

printf 'row\tplatform\tmesa\tlanes\tinstructions\tspills:fills\tcycles\tblock\tmads\tsends\tmads %%\n'
for class in "$@"; do
  mkdir "$work/$class"
  "$rows" "$work/$class" "$class" | grep '^matmul' | while IFS='|' read -r row what file lanes registers options; do
    targets | sed -n 's/ mesa-intel.*//p' | while read -r target; do
      printf '%s\t%s\t%s\t' "$row" "${target%-*}" "${target#*-}"
      launch mesa-intel "$target" "$work/$class/$file" "$options" </dev/null 2>&1 | main_block
    done
  done
done
