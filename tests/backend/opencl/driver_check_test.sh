#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# driver_check_test.sh path/to/hx-bench path/to/libX.so...: drivers that crash or hang while they are loaded, each
# beside PoCL. PoCL is found and computes, the other one is reported with what it did, and the second process does not
# try it again, unless the fault was not the driver's, or other libraries are preloaded.
set -u
unset HX_DEVICES HX_SPLIT HX_SIM HX_THREADS HX_OFFLOAD HX_MEMORY HX_SCHEDULE OCL_ICD_VENDORS OPENCL_LAYERS
bench=${1:?usage: driver_check_test.sh path/to/hx-bench path/to/libX.so...}
shift
case $bench in /*) ;; *) bench=$PWD/$bench ;; esac
here=$PWD
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0 checks=0
mkdir "$dir/vendors"
cp /etc/OpenCL/vendors/pocl.icd "$dir/vendors/"
export OCL_ICD_VENDORS="$dir/vendors" LOAD_COUNT="$dir/count" HX_CACHE_DIR="$dir/cache" POCL_MAX_PTHREAD_COUNT=1
# Signals of the drivers must not reach a handler of a sanitizer, which would turn them into an exit status.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:handle_segv=0:handle_sigbus=0:handle_abort=0:verify_asan_link_order=0"
cd "$dir" || exit 1

fail() {
  echo "FAILED: $*"
  cat out err 2>/dev/null | head -n 40
  failed=$((failed + 1))
}

# has FILE PATTERN WHAT
has() {
  checks=$((checks + 1))
  grep -q -- "$2" "$1" || fail "$3: no '$2' in $1"
}

# loads N WHAT: the driver was loaded N times so far
loads() {
  checks=$((checks + 1))
  [ "$(wc -l <"$LOAD_COUNT")" = "$1" ] || fail "$2: $(wc -l <"$LOAD_COUNT") loads, not $1"
}

info() {
  checks=$((checks + 1))
  timeout 120 "$bench" info --devices pocl >out 2>err </dev/null || fail "$1: status $?"
  has out 'opencl-cpu .*usable' "$1: PoCL"
}

for library in "$@"; do
  case $library in /*) ;; *) library=$here/$library ;; esac
  name=${library##*/lib}
  name=${name%.so}
  again=1
  case $name in
    bad_driver_killed) did='ended with SIGTERM while it was loaded' again=2 ;;
    bad_driver_preloaded) preloaded=$library && continue ;;
    bad_driver_abort) aborts=$library did='ended with SIGABRT while it was loaded' ;;
    bad_driver_crash) did='ended with SIGSEGV when asked for its platforms' ;;
    bad_driver_exit) did='ended the process with status 3 while it was loaded' ;;
    bad_driver_nonsense) did='ended with SIG.* when asked for its devices' ;;
    bad_driver_hang_platforms) did='did not return in 10 s when asked for its platforms' ;;
    bad_driver_hang_devices) did='did not return in 10 s when asked for its devices' ;;
    *) fail "$name: no row" ;;
  esac
  echo "$library" >vendors/bad.icd
  : >"$LOAD_COUNT"
  info "$name"
  loads 1 "$name, tried"
  # Without blanks and ends of lines, because a sentence may be wrapped, also within a path.
  tr -d ' \n' <out >flat
  has flat "$(echo "bad.icd names a driver that cannot be used: .*lib$name.so $did" | tr -d ' ')" "$name is named"
  has err "left out: .*lib$name.so $did" "$name in the log"
  info "$name again"
  loads $again "$name, again"
  has err "left out: .*lib$name.so $did" "$name in the log again"
done
# A verdict holds for processes that preload the same libraries.
echo "$preloaded" >vendors/bad.icd
: >"$LOAD_COUNT"
LD_PRELOAD=libm.so.6 info 'a driver beside a preloaded library'
has err 'left out: .*bad_driver_preloaded.so ended with SIGABRT' 'the driver beside a preloaded library'
loads 1 'the driver beside a preloaded library'
info 'the driver alone'
[ -s err ] && fail 'the driver alone is left out'
loads 4 'the driver alone' # tried, used, and asked for its version
LD_PRELOAD=libm.so.6 info 'the driver beside the library again'
loads 4 'the driver beside the library again'
# A changed file is tried again.
cp "$aborts" libchanged.so
echo "$dir/libchanged.so" >vendors/bad.icd
: >"$LOAD_COUNT"
info 'a driver'
cp "$aborts" other.so && mv other.so libchanged.so
info 'the same driver, changed'
loads 2 'a changed driver'
timeout 120 "$bench" reduce --devices cpu,pocl --size 2^20 --reps 2 >out 2>err </dev/null || fail "reduce: status $?"
has out '^2^20  *gpu .* 100 % .* ok *$' 'PoCL without the ICD loader'

[ $failed = 0 ] && echo "driver_check_test: $checks checks passed" && exit 0
echo "driver_check_test: $failed of $checks checks failed"
exit 1
