#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# draw.sh HX_BENCH MEASUREMENTS FOLDER: draws the charts of the README from the tables in docs/measurements. It makes a
# document of those tables, as hx-bench would have written it, and hx-bench report draws that. tests/bench/charts_test.sh
# compares the result with the files in docs/charts; after a change of a table or of the drawing run
#   bazel build //bench:hx-bench && sh docs/charts/draw.sh bazel-bin/bench/hx-bench docs/measurements docs/charts
set -eu
bench=$1 tables=$2 folder=$3

# rungs NAME AWK: a part of the document; the program prints a rung per line: step TAB m TAB n TAB k TAB rate TAB seconds
# TAB 1 if the seconds are by the device's clock.
rungs() {
  printf '{"name": "ladder %s", "status": 0, "timed_out": false, "seconds": 0, "document": {"schema": 1,\n' "$1"
  printf '"program": "hx-bench", "command": "ladder", "ladder": "%s", "interrupted": false, "devices": [\n' "$1"
  printf '{"index": 0, "name": "16 Xeon cores", "kind": "cpu", "state": "usable"},\n'
  printf '{"index": 1, "name": "NVIDIA H200", "kind": "gpu", "state": "usable"}],\n"ladders": ['
  awk -F '\t' "$2" "$tables/ladder-$1.tsv" | awk -F '\t' -v ladder="$1" '
    { printf "%s\n{\"device\": \"%s\", \"step\": \"%s\", \"m\": %d, \"n\": %d, \"k\": %d, \"rate\": %.6g, \"unit\": \"GFLOP/s\", ",
             (NR > 1 ? "," : ""), (ladder == "matmul" ? "NVIDIA H200" : ""), $1, $2, $3, $4, $5
      printf "\"median_s\": %.6g, \"event_s\": %s}", $6, ($7 ? sprintf("%.6g", $6) : "null") }'
  printf ']}}\n'
}

{
  printf '{"schema": 1, "program": "hx-bench", "command": "share", "interrupted": false, "parts": [\n'
  # shellcheck disable=SC2016 # a program of awk
  rungs matmul '/^#/ { next }
    !head { head = 1; for (i = 2; i <= NF; i++) if ($i ~ /^h200_/) side[i] = substr($i, 6); next }
    { for (i in side) if ($i != "") { n = side[i]; sub(/, .*/, "", $1)
        printf "%s\t%d\t%d\t%d\t%.9g\t%.9g\t1\n", $1, n, n, n, 1000 * $i, 2e-12 * n * n * n / $i } }'
  printf ','
  # shellcheck disable=SC2016
  rungs offload '$1 != "H200 and 16 Xeon cores" { next }
    { step = $2
      if (step == "card alone") step = "CPU 0 %"
      if (step == "hx, CPU alone") step = "CPU 100 %"
      if (step ~ /^hx, [0-9]+ % on the CPU$/) { sub(/^hx, /, "CPU ", step); sub(/ on the CPU$/, "", step) }
      printf "%s\t2048\t4096\t2048\t%.9g\t%.9g\t0\n", step, 2e-9 * 2048 * 4096 * 2048 / $3, $3 }'
  printf ']}\n'
} | "$bench" report --from - --svg "$folder" --quiet
