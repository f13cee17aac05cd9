#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# measure.sh: products over grids of ranks of Open MPI, by hx_mpi_matmul and by psgemm; prints the tables of
# docs/measurements/mpi-traffic.tsv and mpi-psgemm.tsv. Needs Debian's libopenmpi-dev, openmpi-bin and
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
  export ROUNDS=1
  run "$2" "$3" --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename \
    "$scratch/sent/of" -- "$@" >/dev/null 2>&1
  cat "$scratch"/sent/of* | awk -F '\t' '$1 == "E" || $1 == "I" { for (i = 4; i <= 4; i++) { sub(/ bytes/, "", $i); sum += $i } } END { printf "%d", sum }'
}

case ${1:-all} in
  traffic)
    printf 'by\tP\tQ\tm\tn\tk\tblock\tbytes sent\tbound\tratio\n'
    for grid in '1 2' '2 1' '2 2' '2 3' '1 8' '4 2' '4 4'; do
      # shellcheck disable=SC2086 # two words
      set -- $grid
      for how in hx psgemm; do
        for block in 32 64 500; do
          bytes=$(($(sent "$how" "$1" "$2" 1024 1024 2048 "$block" "$block") - $(sent "$how" "$1" "$2" 0 0 0 "$block" "$block")))
          bound=$((4 * 2048 * (1024 * ($2 - 1) + 1024 * ($1 - 1))))
          printf '%s\t%s\t%s\t1024\t1024\t2048\t%s\t%s\t%s\t%s\n' "$how" "$1" "$2" "$block" "$bytes" "$bound" "$(awk "BEGIN { printf \"%.4f\", $bytes / $bound }")"
        done
      done
    done
    ;;
  psgemm)
    printf 'by\tBLAS\tP\tQ\tblock\thash of C\tms\n'
    for grid in '1 1' '1 2' '2 1' '2 2' '2 3' '3 2' '4 4'; do
      # shellcheck disable=SC2086 # two words
      set -- $grid
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
    done
    ;;
esac
