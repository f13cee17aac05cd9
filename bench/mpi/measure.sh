#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# measure.sh traffic|transposed|psgemm|speed [PxQ...]: products over grids of ranks of Open MPI, by hx_mpi_gemm and by
# psgemm; prints the table of docs/measurements/mpi-traffic.tsv, mpi-traffic-transposed.tsv, mpi-psgemm.tsv or
# mpi-speed.tsv, for which SIZES may name other numbers of rows. Needs Debian's libopenmpi-dev, openmpi-bin and
# libscalapack-openmpi-dev, and `./hx build`. Bytes are counted by Open MPI itself (pml_monitoring), in every message.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d -p /tmp)
trap 'rm -rf "$scratch"' EXIT
built=$PWD/bazel-bin
mpicc.openmpi -std=gnu11 -O2 -ffp-contract=off -D_GNU_SOURCE= -iquote . -Iruntime bench/mpi/product.c mpi/*.c \
  reference/*.c -o "$scratch/product" -L"$built/runtime" -l:libhx.so.0 -Wl,-rpath,"$built/runtime" \
  -lscalapack-openmpi -lm -lpthread
export TMPDIR="$scratch" HX_CACHE_DIR=off HX_LOG=error HX_DEVICES=cpu HX_THREADS=1 OPENBLAS_NUM_THREADS=1

# run P Q [OPTIONS OF MPIRUN] -- ARGUMENTS
run() {
  ranks=$(($1 * $2)) options=
  shift 2
  while [ "$1" != -- ]; do options="$options $1" && shift; done
  shift
  # shellcheck disable=SC2086 # a list of words
  mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" $options "$scratch/product" "$@"
}

# sent HOW P Q M N K MB NB: the bytes that all ranks send in one product, by messages of the program (E) and within
# collectives (I); what a product of no element sends is subtracted.
sent() {
  rm -rf "$scratch/sent" && mkdir "$scratch/sent"
  run "$2" "$3" --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename \
    "$scratch/sent/of" -- "$@" >/dev/null 2>&1
  cat "$scratch"/sent/of* | awk -F '\t' '$1 == "E" || $1 == "I" { for (i = 4; i <= 4; i++) { sub(/ bytes/, "", $i); sum += $i } } END { printf "%d", sum }'
}

traffic() { # P Q
  for how in hx psgemm; do
    for block in 32 500; do
      bytes=$(($(sent "$how" "$1" "$2" 1024 1024 2048 "$block" "$block") - $(sent "$how" "$1" "$2" 0 0 0 "$block" "$block")))
      bound=$((4 * 2048 * (1024 * ($2 - 1) + 1024 * ($1 - 1))))
      printf '%s\t%s\t%s\t%s\t%s\t%s\t' "$how" "$1" "$2" "$block" "$bytes" "$bound"
      awk "BEGIN { printf \"%.4f\\n\", $bytes / $bound }"
    done
  done
}

# The same of transposed operands. What changes places is an operand less the blocks that stay where they are.
transposed() { # P Q
  for trans in NT TN TT; do
    for how in hx psgemm; do
      bytes=$(($(sent "$how" "$1" "$2" 1024 1024 2048 32 32 "$trans") - $(sent "$how" "$1" "$2" 0 0 0 32 32 "$trans")))
      bound=$((4 * 2048 * (1024 * ($2 - 1) + 1024 * ($1 - 1))))
      printf '%s\t%s\t%s\t%s\t%s\t%s\t' "$how" "$trans" "$1" "$2" "$bytes" "$bound"
      awk "BEGIN { printf \"%.4f\\n\", $bytes / $bound }"
    done
  done
}

psgemm() { # P Q
  for block in 32 64 512; do
    arguments="$1 $2 600 500 1500 $block $block"
    # shellcheck disable=SC2086 # a list of words
    {
      printf 'hx_mpi_matmul\t\t%s\t%s\t%s\t%s\n' "$1" "$2" "$block" "$(run "$1" "$2" -- hx $arguments)"
      printf 'psgemm\tlibhx_blas\t%s\t%s\t%s\t%s\n' "$1" "$2" "$block" \
        "$(run "$1" "$2" -x "LD_PRELOAD=$built/blas/libhx_blas.so" -x HXBLAS_MIN=0 -- psgemm $arguments)"
      printf 'psgemm\tinstalled\t%s\t%s\t%s\t%s\n' "$1" "$2" "$block" "$(run "$1" "$2" -- psgemm $arguments)"
    }
  done
}

speed() { # P Q
  for n in ${SIZES:-256 512 1024 2048 4096}; do
    for block in 64 512; do
      printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$n" "$block" "$(run "$1" "$2" -- speed "$1" "$2" "$n" "$n" "$n" "$block" "$block")"
    done
  done
}

table=$1
shift
[ $# -gt 0 ] || set -- 1x2 2x1 2x2 2x3 4x4
for grid in "$@"; do
  "$table" "${grid%x*}" "${grid#*x}"
done
