#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# info_test.sh path/to/hx-bench path/to/libbad_driver_crash.so: what `hx-bench info` says of this machine when OpenCL
# drivers are broken, and that its report says nothing of whose machine it is.
set -u
unset HX_DEVICES HX_SPLIT HX_SIM HX_THREADS HX_OFFLOAD HX_MEMORY HX_SCHEDULE OCL_ICD_FILENAMES OPENCL_LAYERS
bench=${1:?usage: info_test.sh path/to/hx-bench path/to/libbad_driver_crash.so}
crash=${2:?usage: info_test.sh path/to/hx-bench path/to/libbad_driver_crash.so}
case $bench in /*) ;; *) bench=$PWD/$bench ;; esac
case $crash in /*) ;; *) crash=$PWD/$crash ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# A driver that crashes is to end its process, also under a sanitizer.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:handle_segv=0:handle_sigbus=0:handle_abort=0"
export TSAN_OPTIONS="${TSAN_OPTIONS:-}:handle_segv=0:handle_sigbus=0:handle_abort=0"
export POCL_MAX_PTHREAD_COUNT=1 HX_CACHE_DIR="$dir/cache"
failed=0 checks=0
mkdir "$dir/vendors"
cd "$dir" || exit 1

fail() {
  echo "FAILED: $*"
  cat flat err 2>/dev/null | head -n 40
  failed=$((failed + 1))
}

# has PATTERN WHAT: in the output, whose lines are joined because a sentence may be wrapped
has() {
  checks=$((checks + 1))
  grep -q -e "$1" flat || fail "$2: no '$1'"
}

has_no() {
  checks=$((checks + 1))
  grep -q -i -e "$1" flat && fail "$2: '$1'"
}

# info WHAT ARGUMENTS...: the exit status is 3 if a GPU of this machine cannot be used, else 0
info() {
  what=$1
  shift
  checks=$((checks + 1))
  timeout 120 "$bench" info "$@" >out 2>err </dev/null
  got=$?
  tr -s ' \n' ' ' <out >flat
  want=0
  if grep -q -e 'hx cannot use it' -e '(device [0-9]*) is refused' -e 'no OpenCL driver shows one' flat; then want=3; fi
  if grep -q 'set aside for virtual machines' flat; then want=$got; fi
  [ "$got" = "$want" ] || fail "$what: status $got, not $want"
}

info 'this machine'
has 'OpenCL drivers:' 'the list of drivers'
# A sanitizer's run sets OCL_ICD_VENDORS to a folder that does not exist.
if [ -e /etc/OpenCL/vendors/pocl.icd ] && [ -z "${OCL_ICD_VENDORS:-}" ]; then
  has 'pocl.icd: Portable Computing Language, 1 device' PoCL
fi

export OCL_ICD_VENDORS="$dir/vendors"
info 'no driver'
has 'OpenCL drivers: none' 'no driver'
has "OCL_ICD_VENDORS=$dir/vendors: the ICD loader looks for OpenCL drivers only there" 'the variable'

[ ! -e /etc/OpenCL/vendors/pocl.icd ] || cp /etc/OpenCL/vendors/pocl.icd vendors/
echo libhx-nowhere.so >vendors/a.icd
echo /proc/version >vendors/b.icd
echo libc.so.6 >vendors/c.icd
echo "$crash" >vendors/d.icd
info 'broken drivers'
has 'a.icd: libhx-nowhere.so: cannot open shared object file: No such file or directory' 'a missing library'
has 'b.icd: /proc/version: ' 'a file that is no library'
has 'c.icd: libc.so.6 is not an OpenCL driver: it has no clIcdGetPlatformIDsKHR' 'another library'
has 'd.icd: .* ended with SIGSEGV when asked for its platforms' 'a driver that crashes'
has '- a.icd names a driver that cannot be used: libhx-nowhere.so: cannot open' 'what is missing'
[ ! -e vendors/pocl.icd ] || has 'pocl.icd: Portable Computing Language, 1 device' 'PoCL beside broken drivers'

# The report is text that tests/bench/doctor_test.c reads, without names.
mkdir -p "$dir/jdoe-home/vendors"
cp vendors/*.icd "$dir/jdoe-home/vendors/"
export HOME="$dir/jdoe-home" USER=jdoe LOGNAME=jdoe OCL_ICD_VENDORS="$dir/jdoe-home/vendors" HX_MIN_OFFLOAD=2^10
info 'a report' --report
has '^hx: [0-9]' 'the version'
has ' os: .* kernel: .* libOpenCL.so.1: ' 'the system'
has ' icd: ~/vendors/a.icd | libhx-nowhere.so | - | libhx-nowhere.so: cannot open' 'a driver'
has ' variable: HX_MIN_OFFLOAD | 2^10 ' 'a variable'
has ' variable: OCL_ICD_VENDORS | ~/vendors ' 'a variable with a path'
has ' device: cpu | usable | ' 'the CPU'
has ' hint: a.icd names a driver' 'a hint'
has_no jdoe "the user's name"
host=$(hostname 2>/dev/null || uname -n)
host=${host%%.*}
[ ${#host} -lt 3 ] || has_no "[^[:alnum:]]${host}[^[:alnum:]]" "the host's name"
info 'a report as JSON' --report --quiet --json f.json
[ -s out ] && fail '--quiet prints'
[ -s f.json ] || fail 'no JSON document'

[ $failed = 0 ] && echo "info_test: $checks checks passed" && exit 0
echo "info_test: $failed of $checks checks failed"
exit 1
