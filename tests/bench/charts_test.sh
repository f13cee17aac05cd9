#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# charts_test.sh HX_BENCH DRAW CHART... TABLE...: the charts of the pages are what hx-bench report draws from the tables in
# docs/measurements, no more and no less.
set -u
bench=$1 draw=$2
shift 2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/charts"
for file in "$@"; do
  case $file in
    *.tsv) tables=$(dirname "$file") ;;
    *) echo "${file##*/}" >>"$dir/kept" ;;
  esac
done
sh "$draw" "$bench" "$tables" "$dir/charts" || { echo 'FAILED: the charts were not drawn'; exit 1; }
failed=0
ls "$dir/charts" >"$dir/drawn"
sort "$dir/kept" | diff - "$dir/drawn" || { echo 'FAILED: other charts are drawn than are kept'; failed=1; }
for chart in "$@"; do
  case $chart in *.tsv) continue ;; esac
  cmp "$chart" "$dir/charts/${chart##*/}" && continue
  echo "FAILED: ${chart#*docs/} is out of date: docs/charts/draw.sh says how to draw it again"
  failed=1
done
[ $failed = 0 ] && echo 'charts_test: passed'
exit $failed
