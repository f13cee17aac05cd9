#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# report_test.sh HX_BENCH DOCUMENTS CHECK BROWSER: the pages and charts that hx-bench report makes of documents, whole or
# not; what it refuses; what it finds to have changed; and, in Chromium, one page as a reader sees it.
set -u
bench=$1 documents=$2 check=$3 browser=$4
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
checks=0

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

# status N ARGUMENTS...: the exit status of hx-bench report
status() {
  want=$1
  shift
  checks=$((checks + 1))
  "$bench" report "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  [ $got = "$want" ] && return 0
  fail "hx-bench report $*: status $got, not $want"
  head -n 20 "$dir/out" "$dir/err"
  return 1
}

# page NAME WORD...: the document's page and charts are whole, and the page has these words
page() {
  name=$1
  shift
  status 0 --from "$dir/$name.json" --out "$dir/$name.html" --svg "$dir/$name" || return
  checks=$((checks + 1))
  python3 "$check" "$dir/$name.html" "$dir/$name" "$@" || fail "the page of $name"
}

# charts NAME N: how many charts the document allows
charts() {
  checks=$((checks + 1))
  got=$(find "$dir/$1" -name '*.svg' | wc -l)
  [ "$got" = "$2" ] || fail "$1 has $got charts, not $2"
}

# refused WORD ARGUMENTS...: status 2, one line on stderr that has WORD, nothing else
refused() {
  word=$1
  shift
  status 2 "$@" || return
  [ -s "$dir/out" ] && fail "hx-bench report $*: refused, but prints on the standard output"
  [ "$(wc -l <"$dir/err")" = 1 ] || fail "hx-bench report $*: more or less than one line: $(cat "$dir/err")"
  grep -q -- "$word" "$dir/err" || fail "hx-bench report $*: no '$word' in: $(cat "$dir/err")"
}

python3 "$documents" "$dir" || fail 'the documents were not written'

page nvidia 'NVIDIA Example 100' 'hx uses the device from 2^18 on' 'The device alone overtakes the CPU between 2^20 and 2^22' \
  'hx gains most for the f32 matmul 2048x2048x2048: 18.28x the CPU alone, as fast as the device alone.' 'best split: 90 %' "hx's choice" 'The best fixed split gives the GPU 90 %' "device's roof" 'cuBLAS' 'not run: out: libclblast' \
  'The fastest is global stride x8 with 2900 GB/s' 'published, K20M: trees within 1 %' \
  '"CUB" is faster from 2^20 elements on' 'published: below 2^14 the CPU is faster' \
  'All 117 results have the bits' "HX_THREADS='16; echo '\\''x'\\'''" '!Absent' '!WRONG'
charts nvidia 12
page pocl 'PoCL on Example Ryzen' '1.81x the CPU alone and 1.92x the device alone.' '!pthread' '!Absent'
charts pocl 12
page noisy 'NVIDIA Example 100' 'The device alone does not overtake the CPU, beyond noise' '!GPU overtakes CPU'
page hostile '<script>alert("x")</script>&' '"><img src=x onerror=alert(1)>'
charts hostile 12
page alone 'Example Xeon 9999' "CPU's roof" 'Absent: the document holds no part "sweep"' 'Only one side was measured'
charts alone 5
page lacking 'Absent: the part "reduce" had measured nothing of this when its time was over' \
  'Absent: the part "sweep" left no results: it failed, or a driver ended it' \
  'Absent: the document holds no part "peak"'
page interrupted 'Interrupted. This is what had been measured by then.'
page empty 'Interrupted.' 'The document does not describe the machine' 'The document holds no rows of results' '!Verified'
charts empty 0
page types 'NVIDIA Example 100' 'Absent: the part "reduce" has no such result'
page single 'Example Xeon 9999' 'Rate of the f32 argmin over its size' 'hx-bench reduce --json'

# The same document gives the same bytes.
status 0 --from "$dir/nvidia.json" --out "$dir/again.html" && cmp "$dir/nvidia.html" "$dir/again.html"
checks=$((checks + 1))
"$bench" report --from - --out - <"$dir/nvidia.json" >"$dir/again.html" 2>/dev/null
cmp "$dir/nvidia.html" "$dir/again.html" || fail 'a page from and to a pipe is another one'

# What has changed: nothing since itself, some times faster and some slower, and one result's bits.
status 0 --from "$dir/nvidia.json" --compare "$dir/nvidia.json" --out "$dir/same.html" &&
  { grep -q '^0 of [1-9][0-9]* times have changed: 0 faster, 0 slower$' "$dir/out" || fail "itself: $(cat "$dir/out")"; }
status 0 --from "$dir/changed.json" --compare "$dir/nvidia.json" --out "$dir/changes.html" &&
  { grep -q '^21 of [1-9][0-9]* times have changed: 12 faster, 9 slower$' "$dir/out" || fail "changed: $(cat "$dir/out")"; }
python3 "$check" "$dir/changes.html" "$dir" 'What has changed' '21 of 153 times have changed' '0.67x slower' '2.00x faster' ||
  fail 'the page of changes'
# Less than 5 % is noise, however narrow the intervals are.
status 0 --from "$dir/later.json" --compare "$dir/narrow.json" --out "$dir/later.html" &&
  { grep -q '^0 of [1-9][0-9]* times have changed: 0 faster, 0 slower$' "$dir/out" || fail "by 4 %: $(tail -n 1 "$dir/out")"; }
status 0 --from "$dir/slower.json" --compare "$dir/narrow.json" --out "$dir/slower.html" &&
  { grep -q 'times have changed: 0 faster, 1[0-9][0-9] slower$' "$dir/out" || fail "by 6 %: $(tail -n 1 "$dir/out")"; }
status 1 --from "$dir/bits.json" --compare "$dir/nvidia.json" --out "$dir/bits.html" &&
  { grep -q '1 results have OTHER BITS' "$dir/out" || fail "other bits: $(cat "$dir/out")"; }
status 0 --from "$dir/alone.json" --compare "$dir/nvidia.json" --out "$dir/other.html" &&
  { grep -q 'only in the old document' "$dir/out" || fail "another machine: $(cat "$dir/out")"; }

printf '{\n  "schema": 1,\n  "program" "hx-bench"\n}\n' >"$dir/bad.json"
refused "bad.json': line 3, column 13: a colon is expected" --from "$dir/bad.json" --out "$dir/none.html"
refused 'line 1, column 1: the document ends too early' --from /dev/null --out "$dir/none.html"
echo '[1, 2]' >"$dir/bad.json"
refused 'no document of hx-bench' --from "$dir/bad.json" --out "$dir/none.html"
refused 'No such file' --from "$dir/nowhere.json" --out "$dir/none.html"
refused 'No such file' --from "$dir/nvidia.json" --compare "$dir/nowhere.json" --out "$dir/none.html"
refused 'Is a directory' --from "$dir/nvidia.json" --out "$dir"
refused 'report takes no --csv' --from "$dir/nvidia.json" --csv "$dir/none.csv"
[ -e "$dir/none.html" ] && fail 'a page was written of what was refused'
echo 'what was there' >"$dir/old.html"
refused 'line 1' --from /dev/null --out "$dir/old.html"
[ "$(cat "$dir/old.html")" = 'what was there' ] || fail 'an old page is lost'

if command -v chromium >/dev/null; then
  checks=$((checks + 1))
  python3 "$browser" "${TEST_UNDECLARED_OUTPUTS_DIR:-$dir}" "$dir/nvidia.html" "$dir/hostile.html" || fail 'a page in Chromium'
else
  fail 'there is no chromium (Debian package chromium)'
fi

[ $failed = 0 ] && echo "report_test: $checks checks passed" && exit 0
echo "report_test: $failed of $checks checks failed"
exit 1
