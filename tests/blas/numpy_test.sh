#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# numpy_test.sh LIBHX_BLAS LIBHX PROGRAM: Debian's NumPy, which loads libblas.so.3, with libhx_blas.so preloaded: with
# half of each call on PoCL, on the CPU alone with every call through hx, and at the default without a driver.
set -eu
preload=$(readlink -f "$1") hx=$(dirname "$(readlink -f "$2")") program=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/none"
/usr/bin/python3 -c 'import numpy' || { echo "numpy_test: NumPy is missing: Debian's python3-numpy"; exit 1; }
unset PYTHONPATH PYTHONHOME

# run PATTERN VARIABLES...: the lines of the calls match PATTERN at least once.
run() {
  pattern=$1
  shift
  env "LD_LIBRARY_PATH=$hx" "LD_PRELOAD=$preload" HX_CACHE_DIR="$scratch/hx" POCL_MAX_PTHREAD_COUNT=1 HX_LOG=info "$@" \
    /usr/bin/python3 "$program" >"$scratch/out" 2>"$scratch/log" || {
    grep -v '^hx: info' "$scratch/log"
    echo "numpy_test: failed with $*"
    exit 1
  }
  grep -q "$pattern" "$scratch/log" || {
    tail -n 20 "$scratch/log"
    echo "numpy_test: no call like '$pattern' with $*"
    exit 1
  }
  cat "$scratch/out"
  sed -n 's/^hx: info: \([a-z]*\)(.* ms, \([a-z]*\).*/\1 \2/p' "$scratch/log" | sort | uniq -c
}
run '^hx: info: sgemm(.*, cpu [0-9]* %, device [0-9]* [0-9]* %$' \
  OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd HX_DEVICES=cpu,pocl HX_SPLIT=0.5
run '^hx: info: ssyrk(.*, cpu' HX_DEVICES=cpu HXBLAS_MIN=0
run '^hx: info: sgemm(' "OCL_ICD_VENDORS=$scratch/none"
