#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ladder_test.sh HX_BENCH CHECK: every ladder on PoCL at small sizes. Every step that PoCL supports runs, and every result
# is exact (hx-bench compares); for every other step the reason is printed. Each ladder draws itself.
set -u
unset HX_DEVICES HX_SPLIT HX_SIM HX_THREADS HX_OFFLOAD HX_MEMORY HX_SCHEDULE HX_TILE
bench=${1:?usage: ladder_test.sh HX_BENCH CHECK} check=$(dirname "$2")
case $bench in /*) ;; *) bench=$PWD/$bench ;; esac
case $check in /*) ;; *) check=$PWD/$check ;; esac
export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_MAX_PTHREAD_COUNT=1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0 checks=0

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

# climb ARGUMENTS...: checks for exit status 0; writes the files t.csv and t.json
climb() {
  checks=$((checks + 1))
  rm -f t.svg
  "$bench" ladder "$@" --reps 2 --csv t.csv --json t.json --svg t.svg >out 2>err </dev/null && return 0
  fail "hx-bench ladder $*: status $?"
  cat out err
}

# exact STEP ROWS: the step has this many rows, all of them verified
exact() {
  checks=$((checks + 1))
  rows=$(grep -c ",$1,.*,true," t.csv)
  [ "$rows" = "$2" ] || fail "$1: $rows verified rows, not $2: $(grep ",$1," t.csv)"
}

# refused STEP REASON
refused() {
  checks=$((checks + 1))
  grep -q ",$1,.*,,.*$2" t.csv || fail "$1: not left out because of '$2': $(grep ",$1," t.csv)"
}

# chart WORD...: the chart is a whole SVG image, and its texts contain these words; with a leading ! they must not
chart() {
  command -v python3 >/dev/null 2>&1 || return 0
  checks=$((checks + 1))
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$check python3 - "$@" <<'END' || fail "the chart is not as promised: $*"
import report_check, sys, xml.etree.ElementTree
faults = report_check.check_svg("t.svg")
text = [" ".join(e.itertext()) for e in xml.etree.ElementTree.parse("t.svg").getroot().iter() if e.tag.endswith("}text")]
for word in sys.argv[1:]:
    if any(word.lstrip("!") in t for t in text) == word.startswith("!"):
        faults.append(f"{word} in {text}")
print("\n".join(faults))
sys.exit(bool(faults))
END
}

climb reduce --devices cpu,pocl --size 1,1000,2^16,70001
for step in naive '"naive, relaunched"' 'strided words (Harris)' divergence-free 'own sum in a register' \
  '"all join, two barriers"' '"all join, two sides"' '"unrolled, all barriers"' '"8 per unit, relaunched"' \
  '"8 per unit, host adds"' '"8 per unit, ticket"' '"hx, kernels"' hx; do
  exact "$step" 4
done
for groups in 1 2 4 8 16; do exact "groups per unit: $groups" 4; done
for tree in 'local stride' 'global stride' 'naive tree'; do
  [ "$tree" = 'naive tree' ] || exact "$tree x1" 4
  exact "$tree x2" 3
  for times in 4 8 16 32 64 128 256; do exact "$tree x$times" 2; done
done
for step in 'rare case first x16' 'each tested x16'; do exact "$step" 2; done
refused 'completely unrolled' 'in step'
refused 'CUB' 'not an NVIDIA device'
refused work_group_reduce_add 'no reductions of a work-group'
awk 'length > 80 { exit 1 }' out || fail 'a line of the table is longer than 80 columns'
grep -q '^ *not run: CUB: not an NVIDIA device' out || fail 'no reason for a step that did not run'
grep -q -- ' - .* - .* - ' out && fail 'a line has no figure'
grep -q '^published' out || fail 'nothing is said of what was published'
grep -q '^naive tree x256 .* % ok' out || fail 'no gap between the naive tree and the good one'

grep -q '^hx, kernels  *#* [0-9.]*$' out || fail 'no bar of the kernels of hx'
grep -q '^  256 #.* [0-9.]*  *#.* [0-9.]*  *#.* [0-9.]*$' out || fail 'no bars of the three strides'
[ "$(grep -c '^naive tree x[0-9]*  *#' out)" -le 4 ] || fail 'a step of a line has a bar of its own'
chart 'A sum on the device, step by step: 70001' 'reduce 70001: the rate over elements per item' 'naive' 'hx, kernels' \
  'reduce 70001: the rate over groups per compute unit' 'published, K20M: trees within 1 %' \
  'published, K20M: 1.489 x naive' 'would be' '!2^16'

# series CONDITION: a condition in Python on d, the JSON document, and s, its series by step and x
series() {
  command -v python3 >/dev/null 2>&1 || return 0
  checks=$((checks + 1))
  python3 - "$1" <<'END' || fail "the series are not as promised: $1"
import json, sys
d = json.load(open("t.json"))
s = {(*([row["task"]] if "task" in row else []), row["step"], row["x"], row.get("size")): [x for x, rate in row["points"]] for row in d["series"]}
assert d["series"] and not d["failed"] and len(s) == len(d["series"])
assert all(len(set(x)) == len(x) for x in s.values())
assert {row["clock"] for row in d["ladders"] if row["rate"]} <= {"event", "wall"}
assert eval(sys.argv[1])
END
}
powers='[1 << i for i in range(9)]'
for family in 'naive tree' 'local stride' 'global stride'; do
  series "s['$family', 'elements per item', 1 << 16] == $powers"
done
series "s['groups per unit', 'groups per compute unit', 1] == [1, 2, 4, 8, 16]"
series "s['naive', 'elements', None] == [1, 1000, 1 << 16, 70001]"
# How much longer a step takes than the other way: the good tree with as many elements per item, or the tree that is named.
rate="{(r['step'], r['n']): r['rate'] for r in d['ladders']}"
good="'global stride x' + (r['step'][12:] or '1')"
other="{'own sum in a register': 'divergence-free', 'all join, two barriers': 'divergence-free',
  'all join, two sides': 'all join, two barriers',
  'rare case first x16': 'local stride x16', 'each tested x16': 'local stride x16'}"
series "(lambda rate, other: all(abs(rate[other[r['step']] if r['step'] in other else $good, r['n']] / r['rate'] - 1 - r['gap']) < 1e-6
  for r in d['ladders'] if r['gap'] is not None))($rate, $other)"
series "{r['step'] for r in d['ladders'] if r['gap'] is not None} == {'naive', *('naive tree x%d' % x for x in ${powers}[1:]), *$other}"
series "all(r['clock'] == ('wall' if r['event_s'] is None else 'event') for r in d['ladders'] if r['rate'])"

climb matmul --devices cpu,pocl --size 128,256x128x128,100x70x33
for step in naive 'local tile' '128-bit reads' 'register tile'; do exact "$step" 2; done
exact hx 3
exact '"hx, kernels"' 3
series "s['naive', 'multiply-adds', None] == [128 ** 3, 256 * 128 * 128]"
refused cp.async 'NVIDIA'

# hx's kernels use the requested tile, not the device's default.
export HX_TILE=16x32x16
climb matmul --devices cpu,pocl --size 64x96x80
unset HX_TILE
exact '"hx, kernels"' 1

chart '64x96x80' 'hx, kernels' '!the rate over'

# Patterns of reads from local memory, and the text's example: 32 integers reversed.
climb lds --devices cpu,pocl --size 32,160
for step in own '"64 bits, t1: half a warp"' '"64 bits, t2: both halves"' '"64 bits, t3: i and i^1"' '"64 bits, t4: two rules"' \
  '"64 bits, t5: same halves"' '"64 bits, own"' '"64 bits, every second"' '"128 bits, own"' '"128 bits, 0-15, i^1"' \
  '"128 bits, 8-23, i^1"' '"128 bits, two rules"' '"128 bits, i and i^1"' '"128 bits, column"' '"128 bits, padded"' \
  '"128 bits, swizzled"' 'one word for all' 'a word for two' 'column of a tile' '"column, padded"' '"column, swizzled"' \
  '"registers, 4 bytes"' '"registers, 8 bytes"' '"registers, 16 bytes"'; do
  exact "$step" 2
done
for n in 2 3 4 6 8 12 16 24 32; do exact "$n-way conflict" 2; done
for step in '"cp.async.ca, 8 bytes"' '".ca, 0 of 4 bytes"' '".ca, half by @p"' '".ca, half by a branch"' \
  '".cg, wait_group 3"' .cg.L2::128B; do
  refused "$step" 'only NVIDIA GPUs have cp.async'
done
grep -q 'local memory, registers, 4 bytes: right' out || fail 'the integers were not reversed'
grep -q 'local memory, cp.async.ca, 4 bytes: only' out || fail 'no reason why they were not reversed by cp.async'
grep -q 'runs on a CPU, whose' out || fail 'it is not said that a CPU has no banks'
grep -q '^64 bits, t4: two rules .* 2 *[0-9.]* ok' out || fail 'no rule beside the measured time'
awk 'length > 80 { exit 1 }' out || fail 'a line of ladder lds is longer than 80 columns'
series "s['conflicts', 'words of one bank', 160] == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]"
series "{r['step']: r['transactions'] for r in d['ladders'] if 'transactions' in r}['64 bits, t5: same halves'] == 2"
series "s['own', 'accesses per item', None] == [32, 160]"
chart 'Local memory' '64 bits, t1: half a warp' 'by the rule' 'the rate over words of one bank' 'x the time (rule: 4)'
checks=$((checks + 1))
"$bench" ladder lds --devices cpu,pocl --size 40 --reps 2 >out 2>err </dev/null
{ [ $? = 1 ] && grep -q 'multiples of 16 accesses.*not 40' err; } || fail "ladder lds --size 40: $(cat err)"

# The loops of the address-arithmetic study.
climb addressing --devices cpu,pocl --size 32,96
for step in 'p\[2 i]' 'p += 2' 'item per pixel' 'item per row' 'f: index per item' 'g: item added last' \
  'h: shared offset' 'two local arrays' 'one local array' 'scale: argument' 'scale: compiled' 'scale: constant memory' \
  'scale: divergent'; do
  exact "$step" 2
done
grep -q '^h: shared offset .* % ok' out || fail 'no gap beside the other way'
series "s['p[2 i]', 'passes per item', None] == [32, 96]"
checks=$((checks + 1))
"$bench" ladder addressing --devices cpu,pocl --size 40 --reps 2 >out 2>err </dev/null
{ [ $? = 1 ] && grep -q 'multiples of 32 passes.*not 40' err; } || fail "ladder addressing --size 40: $(cat err)"

climb offload --devices cpu,pocl --size 64x96x80 --step 25
grep -q '2.689 s and 1.784 s; on the GPU' out || fail 'the published seconds are not printed'
if [ "$(uname -m)" = x86_64 ]; then
  refused '"hx, CPU by neon"' 'this CPU does not have it'
  grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo && exact '"hx, CPU by avx2"' 1
fi
chart 'CPU and GPU together' 'serial C' 'hx decides' 'the rate over percent on the CPU' 'tiled C, OpenMP' \
  'published, 2 cores: 2.689 s' 'published: 0.439 s' 'hx, CPU by sse2'
for step in 'tiled C' '"tiled C, OpenMP"' 'serial C' OpenMP '"GPU, ordinary kernel"' '"GPU, tile per item"' \
  '"hx, CPU by sse2"' 'CPU 0 % (devices alone)' 'CPU 25 %' 'CPU 75 %' 'CPU 100 % (CPU alone)' 'hx decides' \
  '"tiled C, OpenMP, nested"' '"serial C, restrict"' '"serial C, no restrict"' '"GPU, row per item"' \
  '"GPU, row per item, restrict"'; do
  exact "$step" 1
done
# The tiles of --tiles. That of the study keeps its name.
climb offload --devices cpu,pocl --size 64x96x80 --step 50 --tiles 8x16x8,16x32x16,4x96x16,7x8x8,1x8x8
for tile in 8x16x8 4x96x16 1x8x8; do exact "\"GPU, tile $tile\"" 1; done
exact '"GPU, tile per item"' 1
refused '"GPU, tile 7x8x8"' 'multiples of its tile, 7x8x8'
climb offload --devices cpu,pocl --size 64x96x80 --step 50 --tiles 8x16x8
exact '"GPU, tile per item"' 0
# Many large tiles: PoCL crashes if a work-group has too many of them.
climb offload --devices cpu,pocl --size 1024x2048x16 --step 50 --tiles 16x64x16
exact '"GPU, tile 16x64x16"' 1
for tiles in 8x9x8 8x8x9 8x8 8 '' 0x8x8 16x32x16,16x32x16 64x64x64 16x32x16x1 '8x8x8,'; do
  checks=$((checks + 1))
  "$bench" ladder offload --tiles "$tiles" --size 64x64x64 >out 2>err </dev/null
  { [ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q -- "--tiles does not accept '$tiles'" err && [ ! -s out ]; } ||
    fail "--tiles '$tiles': $(cat err out)"
done

# Reductions: every loop, kernel and split of a sum, a dot product and the sums of three fields.
climb offload --devices cpu,pocl --size 1,4095,70001,64x96x80 --step 25
for step in 'serial C' OpenMP '"GPU, ordinary kernel"' '"GPU, tile per item"' 'CPU 25 %' 'hx decides' \
  'CPU 0 % (devices alone)' 'CPU 100 % (CPU alone)' '"hx, CPU by sse2"'; do
  exact "$step" 10
done
for step in '"GPU, pinned"' '"hx, devices, pinned"'; do exact "$step" 9; done
for step in aligned 'not aligned' '2-byte elements' '1-byte elements' '4-byte gathers' '2-byte gathers' '1-byte gathers'; do
  exact "\"serial C, $step\"" 3
done
for step in 'GPU, aligned loads' 'GPU, not aligned' 'GPU, 2-byte elements' 'GPU, 1-byte elements' 'GPU, 4-byte gathers' \
  'GPU, 2-byte gathers' 'GPU, 1-byte gathers' 'hx, CPU, not aligned' \
  'serial C, AoS' 'OpenMP, AoS' 'GPU, AoS' 'hx, CPU, AoS'; do
  exact "\"$step\"" 3
done
if grep -qw avx2 /proc/cpuinfo; then exact '"serial C, AVX2"' 9; else refused '"serial C, AVX2"' 'does not have it'; fi
awk 'length > 80 { exit 1 }' out || fail 'a line of ladder offload is longer than 80 columns'
grep -q '^offload SoA 70001$' out || fail 'the sums of a structure have no table'
grep -q '^x one thread of C, by percent on the CPU$' out || fail 'the tasks are not compared'
grep -q '^ *sum  *dot  *SoA  *product *$' out || fail 'a task is missing'
for task in sum dot SoA; do series "s['$task', 'split', 'percent on the CPU', 70001] == [0, 25, 50, 75, 100]"; done
series "s['split', 'percent on the CPU', 64 * 96 * 80] == [0, 25, 50, 75, 100]"
series "{r.get('task') for r in d['ladders']} == {'sum', 'dot', 'SoA', None}"
chart 'CPU and GPU together: sum 70001' 'CPU and GPU together: SoA 70001' 'offload dot 70001: the rate over percent on the CPU' \
  'CPU and GPU together: the product 64x96x80' 'Speed-up over one thread of C' '!4095'
climb offload --devices cpu --size 1000 --step 50
refused '"GPU, pinned"' 'no OpenCL device'
refused '"hx, devices, pinned"' 'no device'
exact '"hx, CPU, AoS"' 1

# Sides that are no multiples of the tiles.
climb offload --devices cpu,pocl --size 33x35x37 --step 50
for step in 'tiled C' '"tiled C, OpenMP"' '"hx, CPU by sse2"'; do exact "$step" 1; done
refused '"GPU, ordinary kernel"' 'multiples of its tile, 16x16x1'
refused '"GPU, tile per item"' 'multiples of its tile, 16x32x16'
# Work that the CPU did for a device that is lost, or missing, is not reported as a time of the device.
climb offload --devices cpu --size 64x96x80 --step 50
refused 'CPU 0 % (devices alone)' 'no device'
refused '"GPU, tile per item"' 'no OpenCL device'
exact 'CPU 100 % (CPU alone)' 1
checks=$((checks + 1))
HX_SIM='rate=1e9,fail=enqueue@1' "$bench" ladder offload --devices cpu,sim --size 64x96x80 --step 50 --reps 2 --quiet \
  --csv t.csv >out 2>err </dev/null && fail 'ladder offload: status 0 with a device that is lost'
refused 'CPU 50 %' 'of it'
climb offload --devices cpu,pocl --size 64x96x80 --step 50
series "s['split', 'percent on the CPU', 64 * 96 * 80] == [0, 50, 100]"

# Markdown has tables alone, and a chart that cannot be written is refused before anything is measured.
checks=$((checks + 2))
"$bench" ladder matmul --devices cpu,pocl --size 64 --reps 2 --md >out 2>err </dev/null || fail "--md: $(cat err)"
grep -q '##' out && fail 'bars in Markdown'
"$bench" ladder matmul --devices cpu,pocl --size 64 --svg nowhere/t.svg >out 2>err </dev/null
{ [ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ]; } || fail "--svg nowhere/t.svg: $(cat err out)"

for words in 'matmul --size 64,4294967296x1x1' 'reduce --size 2^31' 'offload --size 2^31'; do # it must not use its default sizes instead
  checks=$((checks + 1))
  # shellcheck disable=SC2086 # words
  timeout 60 "$bench" ladder $words --devices cpu,pocl --reps 2 >out 2>err </dev/null
  [ $? = 1 ] && grep -q '2^31' err || fail "ladder $words: $(cat err)"
done

for words in '' 'everest' 'reduce matmul'; do
  checks=$((checks + 1))
  # shellcheck disable=SC2086 # words
  "$bench" ladder $words >out 2>err </dev/null
  [ $? = 2 ] || fail "ladder $words: not refused"
done

[ $failed = 0 ] && echo "ladder_test: $checks checks passed" && exit 0
echo "ladder_test: $failed of $checks checks failed"
exit 1
