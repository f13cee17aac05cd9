#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# blas_test.sh LIBHX_BLAS LIBBLAS CALLS ERRORS LIMITS LIBHX THREADS STUB: libhx_blas.so over the BLAS of this system, by LD_PRELOAD and
# as libblas.so.3. netlib's testers (Debian's libblas-test) and random calls, without a device and with fixed shares on
# PoCL. Then which calls hx computes, and which it forwards.
set -eu
preload=$(readlink -f "$1") alternative=$(readlink -f "$2") calls=$(readlink -f "$3") errors=$(readlink -f "$4")
limits=$(readlink -f "$5") hx=$(dirname "$(readlink -f "$6")") threads=$(readlink -f "$7") stub=$(readlink -f "$8")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir alternative none
ln -s "$alternative" alternative/libblas.so.3
export POCL_MAX_PTHREAD_COUNT=1 HX_CACHE_DIR="$scratch/hx"
failed=0 passed=0

fail() {
  echo "blas_test: $*"
  failed=$((failed + 1))
}
pass() { passed=$((passed + 1)); }

testers=$(dirname "$(find /usr/lib -name xblat1s -path '*/blas/*' | head -n 1)")
[ -x "$testers/xblat1s" ] || { echo "blas_test: netlib's testers are missing: Debian's libblas-test"; exit 1; }

# The line of a call that hx computed, and of a forwarded one, at HX_LOG=info.
by_hx='^hx: info: i\{0,1\}s[a-z]*(.*) [0-9.]* ms, \(cpu\|device\)'
forwarded='^hx: info: i\{0,1\}s[a-z]*(.*) [0-9.]* ms, forwarded to /'

# tester NAME INPUT PASSED LEAST VARIABLES...: runs a tester; PASSED lines of its report say that a routine passes, and hx
# computes at least LEAST calls.
tester() {
  name=$1 input=$2 want=$3 least=$4
  shift 4
  rm -f ./*.out
  if [ "$input" != /dev/null ]; then input=$testers/$input; fi
  if ! env "LD_LIBRARY_PATH=$hx" "LD_PRELOAD=$preload" HX_LOG=info "$@" "$testers/$name" <"$input" >log 2>calls; then
    fail "$name ($*) fails: $(tail -n 3 log) $(grep -v '^hx: info' calls | tail -n 3)"
    return
  fi
  cat ./*.out >>log 2>/dev/null || true
  got=$(grep -c 'PASS' log) || true
  computed=$(grep -c "$by_hx" calls) || true
  if grep -E -i 'fail|suspect|\*{5}' log; then fail "$name ($*)"; fi
  [ "$got" -ge "$want" ] || fail "$name ($*): $got lines say PASS, not $want"
  [ "$computed" -ge "$least" ] || fail "$name ($*): hx has computed $computed calls, not $least"
  echo "$name ($*): hx computed $computed calls, $(grep -c "$forwarded" calls) were forwarded"
  pass
}

# The least number of calls by hx, for a share of the devices that is fixed; at the default small calls are forwarded.
every() { # every LEAST-FACTOR VARIABLES...
  f=$1
  shift
  tester xblat1s /dev/null 10 $((18 * f)) "$@"
  tester xblat2s sblat2.in 32 $((3000 * f)) "$@"
  tester xblat3s sblat3.in 12 $((10000 * f)) "$@"
  tester xscblat1 /dev/null 9 $((13 * f)) "$@"
  tester xscblat2 sin2 48 $((6000 * f)) "$@"
  tester xscblat3 sin3 18 $((20000 * f)) "$@"
}
pocl=OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd
every 0 "OCL_ICD_VENDORS=$scratch/none" HX_DEVICES=cpu
every 1 "$pocl" HX_DEVICES=cpu,pocl HX_SPLIT=50%
every 1 "$pocl" HX_DEVICES=cpu,pocl HX_SPLIT=100%

# random MODE CASES VARIABLES...: random calls by a program that is linked to libblas.so.3.
random() {
  mode=$1 cases=$2
  shift 2
  if env "LD_LIBRARY_PATH=$scratch/alternative:$hx" "$@" "$calls" "$mode" "$(date +%s)" "$cases" >log 2>&1; then
    echo "$* $(tail -n 1 log)"
    pass
  else
    tail -n 20 log
    fail "random calls, $mode ($*)"
  fi
}
random near 20 "OCL_ICD_VENDORS=$scratch/none"
random near 20 HX_OFFLOAD=disabled
random exact 20 HXBLAS_MIN=0 HX_DEVICES=cpu
random exact 6 "$pocl" HX_DEVICES=cpu,pocl HX_SPLIT=0.5
random exact 6 "$pocl" HX_DEVICES=pocl HX_OFFLOAD=mandatory

# Calls on both sides of the limits of the table in docs/BLAS.md: which of them hx computes.
# by_whom PROGRAM...: its calls are computed by hx, or forwarded, as it prints.
by_whom() {
  if env "LD_LIBRARY_PATH=$scratch/alternative:$hx" HX_DEVICES=cpu HX_LOG=info "$@" >want 2>calls; then
    sed -n 's/^hx: info: .* ms, forwarded to .*/forwarded/p; s/^hx: info: .* ms, \(cpu\|device\).*/hx/p' calls >got
    if diff want got; then pass; else fail "$*: $(cat calls)"; fi
  else
    fail "$*: $(cat calls)"
  fi
}
by_whom OPENBLAS_NUM_THREADS=1 "$limits"

# OpenBLAS's threads: with pthreads, with OpenMP, and a sequential build.
for parallel in 1 2 0; do
  by_whom "HXBLAS_LIB=$stub" "STUB_PARALLEL=$parallel" "$threads" "$stub" "$parallel"
  by_whom "HXBLAS_LIB=$stub" "STUB_PARALLEL=$parallel" "$pocl" HX_DEVICES=cpu,pocl "$threads" "$stub" "$parallel" device
done
by_whom "HXBLAS_LIB=$stub" STUB_PARALLEL=1 HXBLAS_MIN=0 OMP_NUM_THREADS=2 "$threads" "$stub" 1 all

# The program's own handlers of wrong arguments, whatever is covered.
for library in libblas.so.3 libopenblas.so.0; do
  [ -n "$(find /usr/lib /lib -name "$library" 2>/dev/null | head -n 1)" ] || { echo "without $library"; continue; }
  if env "LD_LIBRARY_PATH=$scratch/alternative:$hx" "HXBLAS_LIB=$library" "$errors" >log 2>&1; then
    pass
  else
    tail -n 20 log
    fail "wrong arguments over $library"
  fi
done

# one VARIABLES...: xblat1s by the alternative; standard error is in `calls`.
one() {
  env "LD_LIBRARY_PATH=$scratch/alternative:$hx" "$@" "$testers/xblat1s" >log 2>calls || fail "xblat1s ($*): $(tail calls)"
}
says() { # says WHAT PATTERN
  if grep -q "$2" calls; then pass; else fail "$1: nothing like '$2' in: $(head -n 3 calls)"; fi
}
# As libblas.so.3 it covers another library than itself, in whatever way it is named.
one HX_LOG=info
says 'as libblas.so.3' "$forwarded"
if grep "forwarded to $scratch\|forwarded to $alternative" calls; then fail 'it covers itself'; fi
one "HXBLAS_LIB=$preload" HX_LOG=info
says 'HXBLAS_LIB is itself' "HXBLAS_LIB=.* is not used: it is libhx_blas itself"
one HXBLAS_LIB=/nonexistent.so
says 'HXBLAS_LIB does not exist' 'warning: HXBLAS_LIB=/nonexistent.so is not used: '
one HXBLAS_MIN=many HX_LOG=info
says 'HXBLAS_MIN' 'warning: HXBLAS_MIN=many is not used'
one HX_SPLIT=half HX_LOG=info
says 'a wrong setting of hx' 'warning: every BLAS call is forwarded: HX_SPLIT=half'
one HX_OFFLOAD=disabled HX_SPLIT=0.5 HX_LOG=info
if grep "$by_hx" calls; then fail 'HX_OFFLOAD=disabled'; fi
# A message to a pipe without a reader does not end the program.
{
  status=0
  sleep 1
  env "LD_LIBRARY_PATH=$scratch/alternative:$hx" HX_LOG=info "$testers/xblat1s" 2>&1 >log || status=$?
  echo $status >status
} | true
if [ "$(cat status)" = 0 ]; then pass; else fail "without a reader of its messages xblat1s ends with $(cat status)"; fi
one
if [ -s calls ]; then fail "it prints without being asked: $(head -n 3 calls)"; fi

# Every routine that the system's BLAS exports is there.
nm -D --defined-only "$alternative" | awk '{ print $NF }' | sort >ours
find /usr/lib /lib -name libblas.so.3 -o -name libcblas.so.3 >libraries
while read -r library; do
  nm -D --defined-only "$(readlink -f "$library")" | awk '{ sub(/@.*/, "", $NF); print $NF }' | grep -v '^_' | sort >theirs
  comm -13 ours theirs >missing
  if [ -s missing ]; then fail "$library has $(tr '\n' ' ' <missing)"; else pass; fi
done <libraries

echo "blas_test: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
