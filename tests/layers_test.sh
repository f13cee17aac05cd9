#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layers_test.sh [TREE]: a file includes only files of lower layers, and each dependency is used in one place only. The
# test first plants a violation of each rule in a copy and checks that it is found.
set -eu
tree=$(cd "${1:-.}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The lists RANKS and OUTSIDE of runtime/layers.bzl: one rank per line, from low to high, without the labels' prefix.
ranks=$(sed -n -e '/^RANKS = \[/,/^\]/s/^ *\[\(.*\)\],$/\1/p' -e 's/^OUTSIDE = \[\(.*\)\]$/\1/p' "$tree/runtime/layers.bzl" | sed 's|"//\(runtime:\)*\([a-z_]*\)",*|\2|g')
case $ranks in
  base*mpi) ;;
  *) echo "layers_test: no list of ranks from base to mpi in runtime/layers.bzl"; exit 1 ;;
esac

# A pattern, and the only files that may contain it.
doors() {
  cat <<'ROWS'
#[[:space:]]*include[[:space:]]*<hwloc	^runtime/topo/
#[[:space:]]*include[[:space:]]*<CL/	^runtime/backend/opencl/
#[[:space:]]*include[[:space:]]*<mpi	^mpi/
(^|[^_[:alnum:]])(secure_)?getenv[[:space:]]*\(	^(runtime/base|blas)/
^[[:space:]]*#[[:space:]]*pragma[[:space:]]+omp|_Pragma\("omp	^(runtime/(run|backend/cpu)|cpu)/
ROWS
}

# violations TREE: prints one line for each violation.
violations() (
  cd "$1"
  find runtime cpu kernels reference sim blas mpi -name '*.[ch]' | sort >"$scratch/files"
  include='^[[:space:]]*#[[:space:]]*include[[:space:]]*"'
  xargs grep -n -E "$include" /dev/null <"$scratch/files" | awk -v ranks="$ranks" '
    BEGIN {
      count = split(ranks, line, "\n")
      for (r = 1; r <= count; r++) {
        n = split(line[r], name, " ")
        for (i = 1; i <= n; i++) rank[name[i]] = r
      }
      rank["hx.h"] = rank["hx_map.h"] = 0
    }
    function layer(path, part) {
      split(path, part, "/")
      return part[1] == "runtime" ? part[2] : part[1]
    }
    {
      file = $0; sub(/:.*/, "", file)
      target = $0; sub(/^[^"]*"/, "", target); sub(/".*/, "", target)
      from = layer(file); to = layer(target)
      if (file == "runtime/hx_map.h" && target == "hx.h") next # as they are installed, side by side
      if (!(to in rank) || target !~ "/") print file ": \"" target "\" is no path from the root into a layer"
      else if (from == to) next
      else if (rank[to] >= rank[from]) print file ": \"" target "\" is not in a lower layer"
      else if ((from == "cpu" || from == "kernels") && to != "base" && to != "hx.h")
        print file ": \"" target "\": kernels may include base and hx.h only"
      else if (from == "reference" && to != "hx.h") print file ": \"" target "\": the reference may include hx.h only"
      else if (from == "sim" && to !~ /^(base|task|sched|hx\.h)$/)
        print file ": \"" target "\": the simulator may include base, task and sched only"
      else if (from == "blas" && to != "hx.h" && target != "runtime/base/signal_guard.h")
        print file ": \"" target "\": the BLAS may include hx.h and signal_guard.h only"
      else if (from == "mpi" && to != "hx.h" && target != "runtime/base/fpenv.h")
        print file ": \"" target "\": libhx_mpi may include hx.h and fpenv.h only"
    }'
  tab=$(printf '\t')
  doors | while IFS=$tab read -r pattern place; do
    xargs grep -n -E -e "$pattern" /dev/null <"$scratch/files" | grep -v -E "$place" |
      sed 's/$/   (not allowed in this folder)/' || true
  done
)

# One planted line for each rule: file, then the line.
plant() {
  cat <<'ROWS'
runtime/base/planted.c #include "runtime/task/task.h"
runtime/task/planted.c #include "runtime/topo/topo.h"
runtime/sched/planted.h #include "runtime/run/planted.h"
runtime/sched/planted.c #include "runtime/backend/backend.h"
runtime/api/planted.c #include "planted.h"
cpu/planted.h #include "runtime/task/task.h"
kernels/planted.c #include "cpu/cpu.h"
reference/planted.c #include "cpu/cpu.h"
sim/planted.c #include "runtime/backend/backend.h"
blas/planted.c #include "runtime/base/log.h"
mpi/planted.c #include "runtime/base/log.h"
mpi/planted.c #include "blas/blas.h"
runtime/api/planted.c #include "sim/planted.h"
runtime/api/planted.c #include <hwloc.h>
runtime/memory/planted.c #include <CL/cl.h>
runtime/run/planted.c #include <mpi.h>
runtime/run/planted.c const char *s = getenv("HX_LOG");
kernels/planted.c #pragma omp parallel for
ROWS
}

copy=$scratch/copy
plant | while read -r file line; do
  rm -rf "$copy"
  mkdir -p "$copy/blas" "$copy/cpu" "$copy/kernels" "$copy/mpi" "$copy/reference" "$copy/runtime" "$copy/sim" "$copy/${file%/*}"
  printf '%s\n' "$line" >"$copy/$file"
  if [ -z "$(violations "$copy")" ]; then
    echo "layers_test: not found in the copy: $file: $line"
    exit 1
  fi
done

found=$(violations "$tree")
if [ -n "$found" ]; then
  echo "$found"
  echo "layers_test: $(echo "$found" | wc -l) violations"
  exit 1
fi
echo "layers_test: $(wc -l <"$scratch/files") files, $(plant | wc -l) planted violations found"
