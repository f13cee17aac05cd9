#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the instructions of one hx_offload of a few elements, counted by callgrind, with the recorded numbers, so
# that the path of small calls does not grow unnoticed. Usage: call_cost_test.sh path/to/hx-bench
set -u
bench=${1:?usage: call_cost_test.sh path/to/hx-bench}

# n, instructions recorded (f32 sum, AVX2 kernels, one thread, GCC 12 -O2). A count that is more than
# margin percent higher fails; one that is this much lower should be recorded here.
recorded='0 392
64 208'
margin=15
calls=2000 # calls in a sample: CALLS in bench/cmd_call.c

skip() {
  echo "call_cost_test: left out: $1"
  exit 0
}
command -v valgrind >/dev/null 2>&1 || skip 'valgrind is not installed'
grep -q -w avx2 /proc/cpuinfo 2>/dev/null || skip 'the counts are those of the AVX2 kernels, which this CPU cannot run'
for variable in $(env | sed -n 's/^\(HX_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export HX_ISA=avx2 HX_THREADS=1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# count N REPS: prints the instructions within hx_offload of a whole run
count() {
  valgrind --tool=callgrind --callgrind-out-file="$dir/out" --toggle-collect=hx_offload \
    "$bench" call --size "$1" --reps "$2" --devices cpu --quiet >"$dir/log" 2>&1 || { cat "$dir/log" >&2; return 1; }
  sed -n 's/^\(totals\|summary\): \([0-9]*\).*/\2/p' "$dir/out" | tail -n 1
}

failed=0
while read -r n want; do
  few=$(count "$n" 1) && many=$(count "$n" 2) || exit 1
  got=$(((many - few) / calls))
  echo "call_cost_test: n = $n: $got instructions, recorded $want"
  if [ "$got" -le 0 ] || [ $((100 * got)) -gt $(((100 + margin) * want)) ]; then
    echo "call_cost_test: n = $n: FAILED: more than $margin % above the record"
    failed=1
  elif [ $((100 * got)) -lt $(((100 - margin) * want)) ]; then
    echo "call_cost_test: n = $n: FAILED: more than $margin % below the record: write $got into $0"
    failed=1
  fi
done <<END
$recorded
END
[ $failed = 0 ] && echo 'call_cost_test: passed'
exit $failed
