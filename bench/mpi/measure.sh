#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# measure.sh traffic|transposed|psgemm|speed [PxQ...]: products over grids of ranks of Open MPI, by hx_mpi_gemm and by
# psgemm; prints the table of docs/measurements/mpi-traffic.tsv, mpi-traffic-transposed.tsv, mpi-psgemm.tsv or
# mpi-speed.tsv, for which SIZES may name other numbers of rows. Needs Debian's libopenmpi-dev, openmpi-bin and
# libscalapack-openmpi-dev, and `./hx build`. Bytes are counted by Open MPI itself (pml_monitoring), in every message.
# measure.sh sums [RANKS...]: reductions by hx_mpi_reduce, by that of the commit BEFORE if it is set, and by
# MPI_Allreduce, over Open MPI and MPICH: the table of mpi-sums-speed.tsv. Needs both MPIs, binutils and
# `bazel build //tests/mpi:libyield.so`, but no ScaLAPACK.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d -p /tmp)
trap 'rm -rf "$scratch"' EXIT
built=$PWD/bazel-bin
cflags='-std=gnu11 -O2 -ffp-contract=off -D_GNU_SOURCE='

# build MPI PROGRAM OPTIONS FILES
build() {
  mpi=$1 program=$2
  shift 2
  # shellcheck disable=SC2086 # a list of words
  "mpicc.$mpi" $cflags -iquote . -Iruntime "bench/mpi/$program.c" mpi/*.c reference/*.c -o "$scratch/$program" "$@" \
    -L"$built/runtime" -l:libhx.so.0 -Wl,-rpath,"$built/runtime" -lm -lpthread
}

# build_before MPI: libhx_mpi of the commit BEFORE as one object, of which only hx_mpi_reduce is seen, by another name.
build_before() {
  rm -rf "$scratch/before" && mkdir "$scratch/before"
  git archive "$BEFORE" mpi runtime | tar -x -C "$scratch/before"
  for file in "$scratch"/before/mpi/*.c; do
    # shellcheck disable=SC2086 # a list of words
    "mpicc.$1" $cflags -iquote "$scratch/before" -I"$scratch/before/runtime" -c "$file" -o "${file%.c}.o"
  done
  ld -r "$scratch"/before/mpi/*.o -o "$scratch/before.o"
  objcopy --redefine-sym hx_mpi_reduce=before_reduce --keep-global-symbol=before_reduce "$scratch/before.o"
}

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

# On more ranks than cores, those that wait for a message give up their core.
sums() { # RANKS
  yield=$([ "$1" -le "$(nproc)" ] || echo "$built/tests/mpi/libyield.so")
  for mpi in openmpi mpich; do
    before=
    if [ -n "${BEFORE:-}" ]; then
      build_before "$mpi"
      before="-DBEFORE $scratch/before.o"
    fi
    # shellcheck disable=SC2086 # a list of words
    build "$mpi" sums $before
    case $mpi in
      openmpi) set -- "$1" Open\ MPI mpirun.openmpi --allow-run-as-root --oversubscribe ;;
      mpich) set -- "$1" MPICH env "LD_PRELOAD=$yield" mpiexec.mpich ;;
    esac
    ranks=$1 name=$2
    shift 2
    # shellcheck disable=SC2086 # a list of words
    "$@" -n "$ranks" "$scratch/sums" ${SIZES:-8 1000 8192 100000 1000000 10000000} | sed "s/^/$name\t/"
    set -- "$ranks"
  done
}

table=$1
shift
if [ "$table" = sums ]; then
  for ranks in "${@:-2}"; do sums "$ranks"; done
  exit 0
fi
build openmpi product -lscalapack-openmpi
[ $# -gt 0 ] || set -- 1x2 2x1 2x2 2x3 4x4
for grid in "$@"; do
  "$table" "${grid%x*}" "${grid#*x}"
done
