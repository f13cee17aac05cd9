#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi_test.sh [PROGRAM...]: runs reduce_openmpi and reduce_mpich on 1 to 16 ranks, all of which have to print the same
# hash, and lets a rank die. Without a program, no MPI is installed.
set -eu
if [ $# -eq 0 ]; then
  echo "mpi_test: skipped: no MPI is installed: Debian's libopenmpi-dev, libmpich-dev"
  exit 0
fi
# MPI keeps sockets in TMPDIR, whose names may not be long.
TMPDIR=$(mktemp -d -p /tmp)
export TMPDIR HX_CACHE_DIR=off HX_LOG=error
trap 'rm -rf "$TMPDIR"' EXIT

# launch MPI RANKS PROGRAM ARGS...: a rank that waits for one that is dead is stopped after a minute, which is a failure.
launch() {
  mpi=$1 ranks=$2
  shift 2
  case $mpi in
    openmpi) timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$@" ;;
    mpich) timeout 60 mpiexec.mpich -n "$ranks" "$@" ;;
  esac
}

hashes= sums= failed=0
for program in "$@"; do
  mpi=${program##*_}
  for ranks in 1 2 3 4 6 8 16; do
    [ "$mpi" = openmpi ] || [ "$ranks" -le 4 ] || continue # waiting ranks of MPICH do not yield the few cores
    if ! launch "$mpi" "$ranks" "$program" >"$TMPDIR/log" 2>&1; then
      echo "mpi_test: $mpi, $ranks ranks: FAILED"
      tail -n 20 "$TMPDIR/log"
      failed=1
    fi
    hash=$(sed -n 's/^hash //p' "$TMPDIR/log") sum=$(sed -n 's/^MPI_Allreduce //p' "$TMPDIR/log")
    echo "$mpi, $ranks ranks: hash $hash, of the sums by MPI_Allreduce $sum, $(grep 'checks,' "$TMPDIR/log")"
    hashes="$hashes $hash" sums="$sums $sum"
  done
  status=0
  launch "$mpi" 3 "$program" die >"$TMPDIR/log" 2>&1 || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
    echo "mpi_test: $mpi: a rank died, and the others ended with status $status"
    failed=1
  fi
done
# shellcheck disable=SC2086 # lists of words
different=$(printf '%s\n' $hashes | sort -u | wc -l) of_mpi=$(printf '%s\n' $sums | sort -u | wc -l)
echo "mpi_test: $different different hashes of hx; MPI_Allreduce gave $of_mpi different sums"
[ "$failed" -eq 0 ] && [ "$different" -eq 1 ]
