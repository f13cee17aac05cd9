#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# draw.sh HX_BENCH MEASUREMENTS FOLDER: draws the charts of the pages from the tables in docs/measurements. It makes a
# document of a table, as hx-bench would have written it, and hx-bench report draws that. tests/bench/charts_test.sh
# compares the result with the files in docs/charts; after a change of a table or of the drawing run
#   bazel build //bench:hx-bench && sh docs/charts/draw.sh bazel-bin/bench/hx-bench docs/measurements docs/charts
set -eu
bench=$1 tables=$2 folder=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# draw LADDER DEVICES CHART=FIGURE...: reads the rungs as a table whose first line names the members, and draws the
# figures that hx-bench calls so as CHART.svg. DEVICES: kind:name, separated by ";".
draw() {
  ladder=$1 devices=$2
  shift 2
  rm -rf "$scratch/figures"
  {
    printf '{"schema": 1, "program": "hx-bench", "command": "ladder", "ladder": "%s", "interrupted": false, ' "$ladder"
    echo "$devices" | awk -F ';' '{
      printf "\"devices\": ["
      for (i = 1; i <= NF; i++) {
        split($i, d, ":")
        printf "%s{\"index\": %d, \"name\": \"%s\", \"kind\": \"%s\", \"state\": \"usable\"}", (i > 1 ? ", " : ""), i - 1, d[2], d[1]
      }
      printf "],\n\"ladders\": [" }'
    awk -F '\t' '
      NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; next }
      {
        printf "%s\n{", (NR > 2 ? "," : "")
        for (i = 1; i <= NF; i++)
          if ($i != "") printf "%s\"%s\": %s", (i > 1 ? ", " : ""), name[i], ($i ~ /^[0-9.]+(e[-+]?[0-9]+)?$/ ? $i : "\"" $i "\"")
        printf "}"
      }'
    printf ']}\n'
  } | "$bench" report --from - --svg "$scratch/figures" --quiet
  for pair in "$@"; do cp "$scratch/figures/${pair#*=}.svg" "$folder/${pair%%=*}.svg"; done
}

# Products on the H200. A column of the table is a size.
awk -F '\t' '
  /^#/ { next }
  !head { head = 1; for (i = 2; i <= NF; i++) if ($i ~ /^h200_/) side[i] = substr($i, 6)
          print "step\tdevice\tm\tn\tk\trate\tunit\tmedian_s\tevent_s"; next }
  { sub(/, .*/, "", $1)
    for (i in side) if ($i != "") { n = side[i]; s = 2e-12 * n * n * n / $i
      printf "%s\tNVIDIA H200\t%d\t%d\t%d\t%.6g\tGFLOP/s\t%.6g\t%.6g\n", $1, n, n, n, 1000 * $i, s, s } }
' "$tables/ladder-matmul.tsv" | draw matmul 'cpu:16 Xeon cores;gpu:NVIDIA H200' ladder-matmul=ladder-matmul

# offload MACHINE: its rows of the table. A variant begins with the task and its size, or is of the study's product.
offload() {
  awk -F '\t' -v machine="$1" '
    BEGIN {
      task["sum of"] = "sum"; task["dot product of"] = "dot"; task["sums of three fields of"] = "SoA"; task["product"] = ""
      arrays["sum"] = 1; arrays["dot"] = 2; arrays["SoA"] = 3
      print "step\ttask\tm\tn\tk\trate\tunit\tmedian_s\tspeedup\tfamily\taxis\tplace"
    }
    $1 != machine { next }
    {
      what = "product 2048x4096x2048"; step = $2
      if (match($2, /^[a-z ]+ [0-9x^]+: /)) { what = substr($2, 1, RLENGTH - 2); step = substr($2, RLENGTH + 1) }
      if (step == "card alone") step = "CPU 0 %"
      if (step == "hx, CPU alone") step = "CPU 100 %"
      if (step ~ /^hx, [0-9]+ % on the CPU$/) { sub(/^hx, /, "CPU ", step); sub(/ on the CPU$/, "", step) }
      size = what; sub(/.* /, "", size)
      name = what; sub(/ [^ ]*$/, "", name)
      if (step == (task[name] == "" ? "tiled C" : "serial C")) base[what] = $3
      ++count; named[count] = what; steps[count] = step; seconds[count] = $3; sizes[count] = size; tasks[count] = task[name]
    }
    END {
      for (i = 1; i <= count; i++) {
        s = seconds[i]
        if (tasks[i] == "") { split(sizes[i], d, "x"); size = d[1] "\t" d[2] "\t" d[3]; rate = 2e-9 * d[1] * d[2] * d[3] / s; unit = "GFLOP/s" }
        else { n = 2 ^ substr(sizes[i], 3); size = "\t" n "\t"; rate = 1e-6 * arrays[tasks[i]] * n / s; unit = "M/s" }
        line = "\t\t"
        if (match(steps[i], /^CPU [0-9]+ %/)) line = "split\tpercent on the CPU\t" substr(steps[i], 5, RLENGTH - 6)
        speedup = named[i] in base ? base[named[i]] / s : ""
        printf "%s\t%s\t%s\t%.6g\t%s\t%.6g\t%s\t%s\n", steps[i], tasks[i], size, rate, unit, s, speedup, line
      }
    }
  ' "$tables/ladder-offload.tsv"
}
offload 'H200 and 16 Xeon cores' | awk -F '\t' -v OFS='\t' '{ $10 = $11 = $12 = ""; print }' |
  draw offload 'cpu:16 Xeon cores;gpu:NVIDIA H200' ladder-offload=ladder-offload
offload 'H100 and 16 Xeon cores' |
  draw offload 'cpu:16 Xeon cores;gpu:NVIDIA H100' offload-product=ladder-offload offload-sum=ladder-offload-2 \
    offload-fields=ladder-offload-4 offload-shares=shares

# sums SIZE: the steps and the libraries at one size, as 2^24, or at all of them. Of a step that has both clocks the
# rate is that of the device's.
sums() {
  awk -F '\t' -v size="$1" '
    BEGIN {
      axis["local stride"] = axis["global stride"] = axis["naive tree"] = "elements per item"
      axis["groups per unit"] = "groups per compute unit"
      print "step\tdevice\tn\trate\tunit\tmedian_s\tevent_s\tspeedup\tfamily\taxis\tplace"
    }
    /^#/ { next }
    !head { head = 1; for (i = 3; i <= NF; i++) if ($i ~ /^2\^/) n[i] = 2 ^ substr($i, 3); columns = NF; next }
    !($1 in known) { known[$1] = ++count; step[count] = $1 }
    { for (i in n) rate[$1, $2, i] = $i }
    END {
      for (i = 3; i <= columns; i++) {
        if (!(i in n) || (size != "all" && n[i] != 2 ^ substr(size, 3))) continue
        for (j = 1; j <= count; j++) {
          name = step[j]
          event = rate[name, "event", i]; wall = rate[name, "wall", i]
          if (event == "" && wall == "") continue
          family = name; place = ""
          if (name == "naive") { family = "naive tree"; place = 1 }
          else if (match(name, /( x|: )[0-9]+$/)) { family = substr(name, 1, RSTART - 1); place = substr(name, RSTART + 2) }
          if (!(family in axis)) family = ""
          bytes = 4e-9 * n[i]; shown = event == "" ? wall : event
          printf "%s\tNVIDIA H100\t%d\t%.6g\tGB/s\t%.6g\t%s\t%s\t%s\t%s\t%s\n", name, n[i], shown,
                 bytes / (wall == "" ? event : wall), event == "" ? "" : bytes / event,
                 shown / rate["naive", "event", i], family, family == "" ? "" : axis[family], family == "" ? "" : place
        }
      }
    }
  ' "$tables/ladder-reduce-h100.tsv"
}
sums 2^24 | draw reduce 'cpu:16 Xeon cores;gpu:NVIDIA H100' reductions-steps=ladder-reduce \
  reductions-elements=lines-reduce-1 reductions-groups=lines-reduce-2
sums all | draw reduce 'cpu:16 Xeon cores;gpu:NVIDIA H100' reductions-sizes=sizes-reduce-1

# Local memory: a warp of 32 makes 4096 accesses, eight warps are a group, and each of 132 units has four groups.
awk -F '\t' '
  /^#/ { next }
  !head { head = 1; print "step\tdevice\tn\trate\tunit\tmedian_s\tevent_s\tspeedup\ttransactions\tmeasured_transactions\tfamily\taxis\tplace"; next }
  {
    if ($1 == "own") own = $4
    place = $1 == "own" ? 1 : $1 ~ /-way conflict$/ ? $1 + 0 : ""
    printf "%s\tNVIDIA H100\t4096\t%.6g\tM/s\t%.6g\t%.6g\t%.6g\t%s\t%s\t%s\t%s\t%s\n", $1, 4096 * 8 * 132 * 4 / $4, $4 * 1e-6, $4 * 1e-6,
           own / $4, $2, $3, place == "" ? "" : "conflicts", place == "" ? "" : "words of one bank", place
  }
' "$tables/ladder-lds.tsv" | draw lds 'cpu:16 Xeon cores;gpu:NVIDIA H100' local-memory-conflicts=lines-lds-1 local-memory-patterns=ladder-lds

# Instructions per pass of the loops that the address-arithmetic study counted: today's and the study's.
awk -F '\t' '
  function all(counts) { sub(/.*\//, "", counts); return counts }
  function rung(step, count) { printf "%s\tgfx902 by clang 15, sm_75 by ptxas 13.0\t1\t%.6g\tinstructions\n", step, count }
  /^#/ { next }
  !head { head = 1; for (i = 1; i <= NF; i++) at[$i] = i; print "step\tdevice\tn\trate\tunit"; next }
  { sub(/: .*/, "", $1) }
  $at["published_gcn"] != "" {
    rung($1 ", gfx902", all($at["gfx902"]))
    rung("published, GCN", all($at["published_gcn"]))
  }
  $at["published_sass"] != "" {
    rung($1 ", sm_75", $at["sass"] / $at["sass_passes"])
    rung("published, sm_30", $at["published_sass"] / $at["published_passes"])
  }
' "$tables/addressing.tsv" | draw addressing 'cpu:compilers' address-arithmetic=ladder-addressing
