#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# charts_test.sh HX_BENCH DRAW CHART CHART TABLE TABLE: the charts of the README are what hx-bench report draws from the
# tables in docs/measurements.
set -u
bench=$1 draw=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/charts"
sh "$draw" "$bench" "$(dirname "$5")" "$dir/charts" || { echo 'FAILED: the charts were not drawn'; exit 1; }
failed=0
for chart in "$3" "$4"; do
  cmp "$chart" "$dir/charts/$(basename "$chart")" && continue
  echo "FAILED: ${chart#*docs/} is out of date: docs/charts/draw.sh says how to draw it again"
  failed=1
done
[ $failed = 0 ] && echo 'charts_test: passed'
exit $failed
