# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # read by tests, which set yield
# launch.sh: read by tests that run programs of MPI on several ranks of one machine; $yield is libyield.so.

# launcher MPI: the program that starts ranks.
launcher() {
  case $1 in
    openmpi) echo mpirun.openmpi ;;
    mpich) echo mpiexec.mpich ;;
  esac
}

# launch MPI RANKS PROGRAM ARGS...: a rank that waits for one that is dead is stopped after two minutes, which is a failure.
launch() {
  mpi=$1 ranks=$2
  shift 2
  case $mpi in
    openmpi) timeout 300 mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$@" ;;
    mpich) timeout 300 env LD_PRELOAD="$yield" mpiexec.mpich -n "$ranks" "$@" ;;
  esac
}
