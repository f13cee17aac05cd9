#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# share_test.sh HX_BENCH CHECK SCHEMA REPORT_CHECK: hx-bench share, shortened, writes a document of all
# its parts without the name of a host or a user, and the checker of results/ accepts it. The checker refuses documents
# that have such a name, a path, or members that the schema does not have.
set -u
unset HX_DEVICES HX_SPLIT HX_SIM HX_OFFLOAD HX_MEMORY HX_SCHEDULE
bench=$1 check=$2 schema=$3 report_check=$4
command -v python3 >/dev/null || { echo 'share_test: there is no python3, which the checker is written in'; exit 1; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
mkdir "$dir/ann"
export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_MAX_PTHREAD_COUNT=1 POCL_CACHE_DIR="$dir/ann/pocl"
export HX_CACHE_DIR="$dir/ann/hx" HX_THREADS=1 HOME="$dir/ann"

fail() {
  echo "FAILED: $*"
  head -n 40 "$dir/out" "$dir/err"
  failed=$((failed + 1))
}

# With kernels in the caches the parts have their time for themselves.
timeout 250 "$bench" info --devices cpu,pocl >"$dir/out" 2>"$dir/err" </dev/null || fail "info: status $?"

timeout 250 "$bench" share --devices cpu,pocl --seconds 20 --json "$dir/share.json" >"$dir/out" 2>"$dir/err" </dev/null ||
  fail "share: status $?"
grep -q '^\[2/9\] reduce: at most .* s; .* s are left in all' "$dir/out" || fail 'no progress is shown'
tr -s ' \n' ' ' <"$dir/out" | grep -q 'open an issue of hx with the file, or a pull request' || fail 'nothing says what to do with the file'
grep -q 'stopping' "$dir/err" && fail 'a part that has used up its time says so as if it had been interrupted'
grep -q "$dir" "$dir/share.json" && fail 'a path is in the file'
grep -q '"HX_CACHE_DIR": "(a path)"' "$dir/share.json" || fail 'a variable whose value was left out is not named'
python3 "$check" "$schema" "$dir/share.json" || fail 'the checker refuses it'
python3 - "$dir/share.json" <<'END' || fail 'it is not complete'
import json, sys
document = json.load(open(sys.argv[1], encoding="utf-8"))
parts = {part["name"]: part for part in document["parts"]}
names = ["info", "reduce", "matmul", "sweep", "peak", "ladder reduce", "ladder matmul", "ladder offload", "tune"]
assert list(parts) == names, list(parts)
assert parts["info"]["status"] in (0, 3) and parts["info"]["document"]["devices"][1]["kind"] == "opencl-cpu"
rows = parts["reduce"]["document"]["rows"]
assert rows and all(row["verified"] for row in rows), rows
assert document["interrupted"] is False
END

# The page of a document that was measured, not made up.
"$bench" report --from "$dir/share.json" --out "$dir/share.html" --svg "$dir/charts" >"$dir/out" 2>"$dir/err" </dev/null ||
  fail "report: status $?"
python3 "$report_check" "$dir/share.html" "$dir/charts" 'PoCL' 'hx uses 1 thread and' 'Rate of the f32 sum over its size' \
  '!WRONG' >"$dir/out" ||
  fail 'the page of the document'

# planted WHAT PYTHON: the document, changed by a statement, is refused.
planted() {
  python3 -c "
import json
d = json.load(open('$dir/share.json', encoding='utf-8'))
$2
json.dump(d, open('$dir/bad.json', 'w', encoding='utf-8'))" || fail "planting $1"
  python3 "$check" "$schema" "$dir/bad.json" >"$dir/out" 2>"$dir/err" && fail "accepted: $1"
}

planted 'a host name as a member' "d['parts'][0]['document']['system']['hostname'] = 'x'"
planted 'a path' "d['parts'][0]['document']['system']['environment']['HX_TRACE'] = '/home/ann/t.json'"
planted 'a path within a text' "d['parts'][0]['document']['devices'][0]['why'] = 'see /root/log'"
planted 'a UUID' "d['parts'][0]['document']['devices'][0]['name'] = 'GPU-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f'"
planted 'an unknown member' "d['owner'] = 'Ann'"
planted 'a missing member' "del d['parts'][1]['document']['rows'][0]['bits']"
planted 'a wrong type' "d['parts'][0]['seconds'] = 'long'"
planted 'a truth value as a number' "d['parts'][0]['seconds'] = True"
planted 'another program' "d['program'] = 'bench'"
planted 'no parts' "d['parts'] = []"

# tune, which share may have to stop, ends with what it has timed and stores nothing. The signal comes once the device is
# open: PoCL's compiler removes its files at a signal, and the device would be lost with its first kernel. After that a
# build that fails is one kernel that was not timed. timeout would send the signal to PoCL's linker, too.
: >"$dir/tune.err"
HX_LOG=debug HX_CACHE_DIR="$dir/ann/tune" "$bench" tune --devices cpu,pocl --json "$dir/tune.json" \
  >"$dir/out" 2>"$dir/tune.err" </dev/null &
tune=$!
until grep -q 'opened, or refused' "$dir/tune.err" || ! kill -0 $tune 2>/dev/null; do sleep 0.05; done
kill -s TERM $tune
wait $tune
if ! grep -q '"not tried"' "$dir/tune.json" || ! grep -q '"interrupted": true' "$dir/tune.json"; then
  tail -n 20 "$dir/tune.err"
  fail 'tune that is stopped leaves no document'
fi
grep -q '"kept": true' "$dir/tune.json" && fail 'tune that is stopped keeps a winner'

# A run that is interrupted keeps the parts that it has, and asks for a whole one.
: >"$dir/out"
"$bench" share --devices cpu --json "$dir/part.json" >"$dir/out" 2>"$dir/err" </dev/null &
run=$!
until grep -q '^.2/9. reduce' "$dir/out" || ! kill -0 $run 2>/dev/null; do sleep 0.05; done
kill -s TERM $run
wait $run
[ $? = 143 ] || fail 'share that is stopped does not end by the signal'
tr -s ' \n' ' ' <"$dir/out" | grep -q 'please send a whole one' || fail 'a part of a run is to be sent'
grep -q '"name": "info", "status": [03]' "$dir/part.json" && grep -q '"interrupted": true' "$dir/part.json" ||
  fail 'share that is stopped leaves no document'

timeout 20 "$bench" share --csv "$dir/x.csv" >"$dir/out" 2>"$dir/err" </dev/null
[ $? = 2 ] || fail '--csv is not refused'

[ $failed = 0 ] && echo "share_test: passed" && exit 0
exit 1
