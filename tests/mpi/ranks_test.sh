#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ranks_test.sh LIBYIELD.SO [NAME_MPI...]: runs a program, built for each MPI, on 1 to 16 ranks, or on those of TEST_RANKS,
# which have to print the same hash, and lets a rank die. Without a program, no MPI is installed.
set -eu
yield=$(readlink -f "$1")
shift
if [ $# -eq 0 ]; then
  echo "ranks_test: skipped: no MPI is installed: Debian's libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich"
  exit 0
fi
# MPI keeps sockets in TMPDIR, whose names may not be long.
TMPDIR=$(mktemp -d -p /tmp)
TEST_SEED=${TEST_SEED:-$(date +%N | sed 's/^0*//')} # one for all ranks
export TMPDIR TEST_SEED HX_CACHE_DIR=off HX_LOG=error
trap 'rm -rf "$TMPDIR"' EXIT

. tests/mpi/launch.sh

# run_all MPI PROGRAM: on every number of ranks.
run_all() {
  for ranks in ${TEST_RANKS:-1 2 3 4 6 8 16}; do
    if ! launch "$1" "$ranks" "$2" >"$TMPDIR/log" 2>&1; then
      echo "ranks_test: $1, $ranks ranks: FAILED"
      tail -n 20 "$TMPDIR/log"
      failed=1
    fi
    hash=$(sed -n 's/^hash //p' "$TMPDIR/log")
    hashes="$hashes ${hash:-none}"
    grep -q ' 0 failed' "$TMPDIR/log" || failed=1
    echo "$1, $ranks ranks: $(grep -E '^seed |^hash |^sum |^traffic |checks,' "$TMPDIR/log" | tr '\n' ';')"
  done
}

# let_die MPI PROGRAM: a rank dies in the middle. The launcher has to end the others and to say so.
let_die() {
  status=0
  launch "$1" 3 "$2" die >"$TMPDIR/log" 2>&1 || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || ! grep -qiE 'signal 9|signal: 9|exit code: 9' "$TMPDIR/log"; then
    echo "ranks_test: $1: a rank died, and the others ended with status $status:"
    tail -n 20 "$TMPDIR/log"
    failed=1
  else
    echo "$1: a rank died, and the others ended with status $status"
  fi
}

hashes='' failed=0 run=0
for program in "$@"; do
  mpi=${program##*_}
  if ! command -v "$(launcher "$mpi")" >/dev/null; then
    echo "ranks_test: skipped for $mpi: there is no $(launcher "$mpi")"
    continue
  fi
  run_all "$mpi" "$program"
  let_die "$mpi" "$program"
  run=$((run + 1))
done
[ "$run" -gt 0 ] || exit 0
# shellcheck disable=SC2086 # a list of words
different=$(printf '%s\n' $hashes | sort -u | wc -l)
echo "ranks_test: $different different hashes of hx"
[ "$failed" -eq 0 ] && [ "$different" -eq 1 ]
