#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# planted_test.sh ROWS AMD PLANTED: programs of some rows, compiled by clang for GPUs of each generation, with a fault of
# each kind: the emulator notices all of them. ROWS: tests/isa/rows.c; AMD: tests/isa/amd.sh; PLANTED: planted.c. The
# test is left out if there is no such clang, with the reason.
set -eu
rows=$(readlink -f "$1") planted=$(readlink -f "$3")
# shellcheck source=/dev/null # checked by itself
. "$(readlink -f "$2")"
compiler || { echo "planted_test: left out"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# plant TARGET CLASS ROW WHAT
plant() {
  mkdir -p "$work/$2"
  "$rows" "$work/$2" "$2" >"$work/programs"
  # shellcheck disable=SC2034 # a row has more fields than are used here
  IFS='|' read -r row what file lanes registers options <<LINE
$(grep "^$3|$4|" "$work/programs")
LINE
  to_text "$work/$2/$file" "$1" "$options" "$work/text" || { cat "$work/text.log"; exit 1; }
  echo "$1 $row $what"
  "$planted" "$row" "$what" "$work/text"
}

plant gfx90c gcn reduce-gcn-256 sum-f32
plant gfx90c gcn reduce-gcn-256 max-f32
plant gfx1103 rdna reduce-rdna-256 sum-f32
plant gfx90c gcn matmul-gcn-64x64x8 f32
plant gfx90a gcn matmul-gcn-64x64x8 f32
plant gfx1030 rdna matmul-rdna-64x64x8 f32
plant gfx1103 rdna matmul-rdna-64x64x8 f32
