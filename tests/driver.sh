#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# driver.sh DRIVER [--building] [--layer LAYER] PROGRAM ARGS...: runs PROGRAM with one OpenCL driver and no other; a
# complaint of the driver or the layer is a failure. --building: the driver has not compiled hx's kernels before.
# DRIVER: none, pocl, rusticl, oclgrind, intel, pocl6, or all (those installed). intel and pocl6 are in the folder
# TEST_DRIVERS (tests/drivers/fetch.sh).
set -eu
scratch=${TEST_TMPDIR:-$(mktemp -d)}
driver=$1
shift
layer=
if [ "$1" = --building ]; then
  export POCL_CACHE_DIR="$scratch/pocl"
  shift
fi
if [ "$1" = --layer ]; then
  layer=$(readlink -f "$2")
  shift 2
fi
complaints=$scratch/complaints
layer_log=$scratch/layer.log
: >"$complaints"
: >"$layer_log"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$scratch/pocl}"
mkdir -p "$POCL_CACHE_DIR"
drivers=${TEST_DRIVERS:-}
guard= loader=

case $driver in
  none)
    export OCL_ICD_VENDORS="$scratch/none"
    mkdir -p "$OCL_ICD_VENDORS"
    layer= # without a driver no layer is loaded
    ;;
  pocl)
    # One worker leaves the other core to OpenMP.
    export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_MAX_PTHREAD_COUNT=1
    ;;
  rusticl)
    export OCL_ICD_VENDORS=/etc/OpenCL/vendors/rusticl.icd RUSTICL_ENABLE=llvmpipe
    ;;
  oclgrind)
    # Its errors are in its log and do not change the exit status. Entries newer than OpenCL 1.2 never return. Its local
    # memory is the minimum; panels_rows_test uses as much as GPUs have.
    export OCL_ICD_VENDORS=/usr/lib/oclgrind/liboclgrind-rt-icd.so
    export OCLGRIND_DATA_RACES=1 OCLGRIND_LOG="$complaints"
    export LAYER_ONE_THREAD=1 # hx launches kernels on one thread and tests new ones on another
    case ${1##*/} in panels_rows_test*) export OCLGRIND_LOCAL_MEM_SIZE=65536 ;; esac
    guard='timeout -k 1 850'
    ;;
  intel)
    export OCL_ICD_VENDORS="$drivers/intel/libintelocl.so"
    ;;
  pocl6)
    export OCL_ICD_VENDORS="$drivers/pocl6/libpocl.icd" POCL_CPU_MAX_CU_COUNT=1
    lib=$(echo "$drivers"/pocl6/usr/lib/*-linux-gnu)
    loader="$lib/$(cat "$drivers/pocl6/loader") --library-path $lib"
    ;;
  all)
    export RUSTICL_ENABLE=llvmpipe POCL_MAX_PTHREAD_COUNT=1
    ;;
  *)
    echo "driver.sh: unknown driver $driver" >&2
    exit 2
    ;;
esac
[ -e "${OCL_ICD_VENDORS:-/}" ] || {
  echo "driver.sh: $OCL_ICD_VENDORS is not there"
  exit 2
}

if [ -n "$layer" ]; then
  export LAYER_LOG="$layer_log"
  OPENCL_LAYERS=$layer
  export OPENCL_LAYERS
fi
# Threads of drivers still run when a program ends, and the leak check of a sanitizer cannot stop them (PoCL: fatal
# errors). Tests without a driver check for leaks.
if [ "$driver" != none ]; then export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"; fi
status=0
# shellcheck disable=SC2086 # the two are command lines
$guard $loader "$@" || status=$?

if [ -s "$complaints" ]; then
  echo "driver.sh: $driver says:"
  head -40 "$complaints"
  status=1
fi
if [ -n "$layer" ]; then
  cat "$layer_log"
  # The loader silently ignores a layer that it cannot load.
  grep -q '^layer: .* loaded' "$layer_log" || { echo "driver.sh: the layer was never loaded"; status=1; }
  if grep -q '^layer: VIOLATION' "$layer_log"; then status=1; fi
fi
exit "$status"
