#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command line of hx-bench: exit statuses, files, bad options.
# Usage: bench_test.sh path/to/hx-bench [file of shapes]...
set -u
unset HX_DEVICES HX_SPLIT HX_SIM HX_THREADS HX_OFFLOAD HX_MEMORY HX_SCHEDULE
bench=${1:?usage: bench_test.sh path/to/hx-bench [file of shapes]...}
shift
shapes= # absolute paths, separated by commas
for file in "$@"; do
  case $file in /*) ;; *) file=$PWD/$file ;; esac
  shapes=$shapes${shapes:+,}$file
done
case $bench in /*) ;; *) bench=$PWD/$bench ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
checks=0
vars= # NAME=VALUE words for the next runs

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

# status N ARGUMENTS...: checks the exit status; the output is in out and err
status() {
  want=$1
  shift
  checks=$((checks + 1))
  # shellcheck disable=SC2086
  env $vars "$bench" "$@" >out 2>err </dev/null
  got=$?
  [ $got = "$want" ] && return 0
  fail "hx-bench $*: status $got, not $want"
  head -n 20 out err
  return 1
}

# has FILE PATTERN WHAT: on one line of the file, or across lines that were wrapped
has() {
  checks=$((checks + 1))
  grep -q -- "$2" "$1" && return 0
  tr -s ' \n' ' ' <"$1" | grep -q -- "$2" && return 0
  fail "$3: no '$2' in $1"
  head -n 20 "$1"
}

# refused WORD ARGUMENTS...: status 2, nothing on stdout, one line on stderr that contains WORD
refused() {
  word=$1
  shift
  status 2 "$@" || return
  [ -s out ] && fail "hx-bench $*: refused, but prints on the standard output"
  [ "$(wc -l <err)" = 1 ] || fail "hx-bench $*: more or less than one line: $(cat err)"
  has err "$word" "hx-bench $*"
}

# valid_csv FILE COLUMN WHAT: every row has as many fields as the head, which has COLUMN
valid_csv() {
  checks=$((checks + 1))
  head -n 1 "$1" | grep -q "\(^\|,\)$2\(,\|\$\)" || fail "$3: no column $2 in $1"
  command -v python3 >/dev/null 2>&1 || return 0
  python3 -c '
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
assert len(rows) > 1 and len({len(r) for r in rows}) == 1' "$1" || fail "$3: $1 is no table"
}

# valid_json FILE ROWS: a document with this many rows, all verified
valid_json() {
  checks=$((checks + 1))
  if command -v python3 >/dev/null 2>&1; then
    python3 - "$1" "$2" <<'END' || fail "the JSON document $1 is not as promised"
import json, sys
document = json.load(open(sys.argv[1], encoding="utf-8"))
assert document["schema"] == 1 and document["program"] == "hx-bench"
for name in "hx_version", "cpu", "cores", "kernel", "environment", "load_average":
    assert name in document["system"], name
rows = document["rows"]
assert len(rows) % int(sys.argv[2]) == 0 and len(rows) > 0, len(rows)
bits = {}
for row in rows:
    for name in ("op type n mode devices median_s min_s max_s reps rate unit gpu_share joules bytes_copied verified "
                 "bits").split():
        assert name in row, name
    assert row["joules"] is None or row["joules"] > 0
    assert row["verified"] is True
    assert row["mode"] in ("cpu", "gpu", "both")
    assert 0 < row["min_s"] <= row["median_s"] <= row["max_s"] and row["reps"] >= 1 and row["rate"] > 0
    assert len(row["bits"]) == 16 and int(row["bits"], 16) >= 0
    task = (row["op"], row["type"], row.get("m"), row["n"], row.get("k"))
    assert bits.setdefault(task, row["bits"]) == row["bits"], task
END
  else
    grep -q '"schema": 1' "$1" && grep -q '"verified": true' "$1" && ! grep -q '"verified": false' "$1" ||
      fail "the JSON document $1 is not as promised"
  fi
}

status 0 --version && has out '^hx-bench [0-9]' version
status 0 --help && has out sweep help
status 0 info --devices cpu && has out ' cpu ' info && has out 'missing' info
status 0 info --devices cpu --quiet --json - && has out '"devices"' 'info as JSON'
status 0 info --devices cpu --quiet --csv - && valid_csv out name 'info as CSV'
status 0 env
for name in DEVICES SPLIT SCHEDULE CHUNK THREADS TILE MEMORY MIN_OFFLOAD TIMEOUT_MS CACHE_DIR OBJECTIVE TRACE ISA \
  OFFLOAD SIM LOG; do
  has out "^HX_$name " env
done
vars=HX_THREADS=1
status 0 env && has out '^HX_THREADS  *1 ' 'the current value'
for pair in OMP_THREAD_LIMIT=1:1 OMP_NUM_THREADS=9999:4096 'OMP_NUM_THREADS=3,2:3'; do # as libhx counts them
  vars=${pair%:*}
  status 0 info --devices cpu && has out "hx uses ${pair##*:} thread" "threads by $vars"
done
vars=HX_SPLIT=lots
status 2 env && has err 'HX_SPLIT=lots' 'a bad variable'
status 2 reduce --size 10 && has err '^hx-bench: HX_SPLIT=lots' 'a bad variable'
vars='HX_SPLIT=lots HX_SIM=rate=0 HX_treads=4'
status 2 env && has err 'HX_SPLIT=lots' 'the first bad variable' && has err 'rate takes 1 to 1e18' 'the second' &&
  has err 'HX_treads is not a variable of hx; the nearest is HX_THREADS' 'an unknown one beside them'
status 2 env --devices toaster && has err '^hx-bench: --devices=toaster: accepted: comma list' 'where a value is from'
vars='HX_LOG=info HX_DEVICES=cpu,sim,31 HX_SPLIT=0.2:0.2'
status 0 info && has err 'HX_DEVICES names sim: there is no such device' 'a word for nothing' &&
  has err 'HX_DEVICES names 31: the last device is' 'a number of nothing' &&
  has err 'HX_SPLIT has 2 shares, and 0 devices' 'shares without devices'
vars=
for what in --help env; do
  checks=$((checks + 1))
  [ ! -c /dev/full ] || { "$bench" $what >/dev/full 2>err && fail "$what to a full device: status 0"; }
  [ ! -c /dev/full ] || has err 'could not be written' "$what to a full device"
done
status 2 matmul --shapes / && has err "cannot read '/': Is a directory" 'a folder of shapes'

status 0 reduce --devices cpu --size 1,1000,2^12 --op all --type all --reps 2 --json r.json --csv r.csv
valid_json r.json 81
has out '^verdict: ' 'the verdict'
columns=op,type,m,n,k,mode,devices,asked_share,median_s,min_s,max_s,reps,rate,unit,ceiling,gpu_share,bytes_copied
has r.csv "^$columns,recovered,verified,bits,joules,low_s,high_s,speedup\$" 'columns'
checks=$((checks + 1))
[ "$(wc -l <r.csv)" = 82 ] || fail "the CSV table has $(wc -l <r.csv) lines, not 82"
awk 'length > 80 { exit 1 }' out || fail 'a line of the table is longer than 80 columns'

status 0 matmul --devices cpu --size 17,3x5x700 --reps 2 --quiet --json - && cp out m.json && valid_json m.json 2
[ -s err ] && fail "--quiet is not quiet: $(cat err)"
status 0 --devices cpu --size 100,8x8x8 --reps 2 --malloc --json d.json && valid_json d.json 2

# Laptops in virtual time, and a decision explained.
status 0 sim --profile xe --size 2^22,512x512x512 --json v.json --csv v.csv &&
  has v.json '"profile": "xe"' sim && valid_csv v.csv eta sim && has out matmul sim
status 0 sim --profile two-cards --size 2^10,4096x4096x4096 --json v.json && has v.json '"split": "0.5:0.5"' sim &&
  has v.json '"split": "0:0"' sim && has out HX_SPLIT sim
refused --profile sim --profile gen99
vars=HX_SIM=rate=2e9
status 0 explain --devices cpu,sim --op sum --size 2^24 --json e.json --csv e.csv &&
  has e.json '"expected_ms"' explain && has e.json '"n": 16777216' explain && valid_csv e.csv expected_ms explain &&
  has out 'after 10 calls' explain
# The decision is that of a call: it uses measurements of arrays at the same places, and a fixed share is not compared
# with other choices.
vars='HX_SIM=rate=2e9 HX_THREADS=1'
status 0 explain --devices cpu,sim --op sum --size 2^24
checks=$((checks + 1))
sed '1,/after 10 calls/d' out | grep -q 'nothing is known' && fail "explain does not know what its calls have shown"
status 0 explain --devices cpu,sim --op sum --size 1000 --json e.json && has out 'finishes before a device' 'a small task' &&
  has e.json '"objective": "time"' 'the objective of a small task'
vars='HX_SIM=rate=2e9 HX_SPLIT=0.25'
status 0 explain --devices cpu,sim --op sum --size 2^22 && has out 'CPU 75.0%, [0-9]* 25.0%' 'explain of a set share'
vars=

# A simulated device: three modes, and a sweep.
vars=HX_SIM=rate=2e9
status 0 reduce --devices cpu,sim --size 2^16 --reps 3 --json s.json && valid_json s.json 3
status 0 sweep --devices cpu,sim --op sum --size 2^16 --step 50 --reps 21 --json w.json &&
  valid_json w.json 4 && has w.json '"eta": [0-9]' sweep && has out 'best static split' sweep
vars=

# The verdict is about the work that was done: a device that is lost did nothing, and the CPU did everything.
vars='HX_SIM=rate=1e9,fail=enqueue@1'
status 0 reduce --devices sim --size 2^20 --reps 3 && has out ' 0 % ok' 'a lost device' &&
  has out 'only the CPU took part: hx-bench info' 'the verdict on a lost device'
vars='HX_SIM=rate=2e9'
status 0 reduce --devices sim --size 2^20 --reps 3 && has out 'only devices took part' 'the verdict on a device alone'
vars=

# Shapes from files, and threads.
printf '# one\n17 3 5 # two\n\n8 9 700 1 0\n' >one.txt
printf '5 5 5 1 1\n' >two.txt
status 0 matmul --devices cpu --shapes one.txt,two.txt --threads 1 --reps 2 --json f.json && valid_json f.json 3
has f.json '"trans_a": true, "trans_b": false' 'transposed'
has out '^8x9x700 tn ' 'a transposed shape'
has out 'hx uses 1 thread ' threads
echo '1 2 x' >bad.txt
: >empty.txt
if [ -n "$shapes" ]; then # there is only time to check that every file can be read
  refused 'standard output' matmul --shapes "$shapes" --json - --csv -
  status 2 matmul --shapes "$shapes" --devices toaster
  has err '[-]-devices=toaster' 'the shapes that hx has'
fi

# Other libraries, if they are installed, add columns, and hx's rows stay the same.
status 0 matmul --vs openblas,blis,opencv,mkl --size 33,17x200x9 --threads 1 --reps 15 --json v.json --csv v.csv
valid_json v.json 2
has v.json '"versus": \[' 'other libraries in JSON'
status 0 reduce --vs openblas,opencv --op sum,argmax --size 3000 --threads 1 --reps 15 --json u.json
valid_json u.json 2
awk 'length > 80 { exit 1 }' out || fail 'a line of the table of --vs is longer than 80 columns'
for pair in openblas:libopenblas.so.0 blis:libblis.so.4; do
  if ldconfig -p 2>/dev/null | grep -q "${pair#*:}"; then
    status 0 matmul --vs "${pair%:*}" --size 40 --threads 1 --reps 15 --json p.json
    has p.json "\"peer\": \"${pair%:*}\"" "${pair%:*} is installed"
    has out 'geometric means' 'means'
  else
    echo "bench_test: ${pair%:*} is not installed: its columns are left out"
  fi
done

status 0 peak --threads 1 --reps 1 --json k.json --csv k.csv && has k.json '"what": "fma"' peak &&
  valid_csv k.csv median peak && has out '^read L1 ' peak
if [ "$(cat /proc/sys/vm/overcommit_memory 2>/dev/null)" = 1 ]; then
  echo "not run: sizes that there is no memory for (this kernel promises any)"
else
  status 1 reduce --devices cpu --size 2^40,1000 --reps 2 --json n.json --csv n.csv && valid_csv n.csv reps 'the size that fits' &&
    has n.json 'NOT RUN: 1 size, .*Every result' 'the verdict on what did not run'
  status 1 reduce --devices cpu --size 2^40 --quiet --json n.json && has n.json 'NOT RUN: 1 size' 'nothing ran'
  grep -q 'Every result' n.json && fail 'the verdict on nothing calls every result right'
fi
status 1 tune --devices cpu && has err 'no OpenCL device' tune
status 0 call --reps 3 --json c.json --csv c.csv && has c.json '"n": 64, "offload_ns": ' call &&
  valid_csv c.csv offload_ns call && has out '^f32  sum  *1000 ' call

# A file keeps its contents until a new document is complete; after a signal the document has the rows that are measured
# by then.
# send SIGNAL STATUS PATTERN ARGUMENTS...: sends the signal once PATTERN is in the table of the run, which ends by it
send() {
  signal=$1
  want=$2
  pattern=$3
  shift 3
  checks=$((checks + 1))
  : >out # otherwise the pattern is found in the table of the previous run
  env --default-signal "$bench" "$@" >out 2>err </dev/null & # otherwise a background job of a shell ignores SIGINT
  process=$!
  tries=0
  until grep -q -- "$pattern" out || [ $tries = 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  kill "-$signal" $process
  [ -z "$twice" ] || { sleep 0.1 && kill "-$signal" $process; }
  wait $process
  got=$?
  [ $got = "$want" ] && return 0
  fail "hx-bench $* after SIG$signal: status $got, not $want"
  head -n 20 out err
  return 1
}

# unchanged WHAT: old.json has its old contents, and no other file is left
unchanged() {
  checks=$((checks + 1))
  [ "$(cat old.json)" = 'what was there' ] || fail "$1: the file holds $(head -n 3 old.json)"
  for rest in *.part; do [ -e "$rest" ] && fail "$1: $rest is left"; done
}
old() { echo 'what was there' >old.json; }

twice=
old
chmod 640 old.json
ln -s old.json link.json
status 1 reduce --devices 31 --size 1000 --json old.json && unchanged 'a run that measures nothing'
send INT 130 'hx uses' reduce --devices cpu --size 2^27 --json link.json && unchanged 'a run that had measured nothing'
twice=yes
send INT 130 '^2^10 ' reduce --devices cpu --size '2^10,2^27' --json link.json
[ -s old.json ] || fail 'a second SIGINT empties the file'
twice=
for pair in INT:130 TERM:143 HUP:129; do
  old
  send "${pair%:*}" "${pair#*:}" '^2^10 ' reduce --devices cpu --size '2^10,2^25' --seconds 60 --json link.json --csv i.csv
  valid_json old.json 1
  valid_csv i.csv median_s "the table after SIG${pair%:*}"
  has old.json 'Interrupted: .*"interrupted": true' "the document after SIG${pair%:*}"
done
[ -h link.json ] || fail 'a link to the file is replaced'
[ "$(stat -c %a old.json)" = 640 ] || fail "the file's mode is $(stat -c %a old.json)"
old
checks=$((checks + 1))
env --default-signal "$bench" reduce --devices cpu --size '2^10,2^25' --seconds 60 --json old.json 2>err </dev/null |
  head -n 1 >out
valid_json old.json 1
has old.json '"interrupted": true' 'the table is not read'
send TERM 143 '^f32  sum  *0 ' call --reps 100000 --json i.json
has i.json '"interrupted": true' 'call'
if command -v python3 >/dev/null 2>&1; then
  python3 -c 'import json; assert json.load(open("i.json"))["calls"]' || fail 'call: the document is not as promised'
fi
old
checks=$((checks + 1))
(ulimit -f 1 && env --ignore-signal=XFSZ "$bench" env --quiet --json old.json) >out 2>err </dev/null # as on a full disk
[ $? = 1 ] || fail "no room for the file: status $?"
has err 'old.json' 'no room for the file' && unchanged 'no room for the file'
[ ! -c /dev/full ] || { status 1 env --quiet --json /dev/full && has err '/dev/full.*No space' 'a full device'; }
chmod 400 old.json
[ "$(id -u)" = 0 ] || refused 'Permission denied' env --json old.json

refused 'unknown option' --foo
refused 'bad.txt:1' matmul --shapes bad.txt
refused 'no shape' matmul --shapes empty.txt
refused 'nowhere' matmul --shapes /nowhere
refused 'openblas,atlas' matmul --vs openblas,atlas
refused "'openblas:skx'" matmul --vs openblas:skx
refused 'without --devices' matmul --vs openblas --devices cpu --size 8
refused '[-]-threads=none' matmul --threads none --size 8
refused 'call takes' call --size 2x2x2
refused 'no subcommand' frobnicate
refused "'0'" reduce --size 0
refused '2^41' reduce --size 2^41
refused '2x3' matmul --size 2x3
for command in matmul 'sweep --op matmul' 'explain --op matmul' 'ladder matmul'; do
  # shellcheck disable=SC2086
  refused "'2147483648'" $command --size 64,2^31 # a side: its square is beyond what can be addressed
done
for command in 'reduce --op sum' 'explain --op sum' 'sim --op sum' 'sweep --op sum' 'ladder reduce'; do
  # shellcheck disable=SC2086
  refused 'no operation fits' $command --size 8x8x8
done
refused 'median' reduce --op median
refused 'f64' reduce --type f64
refused "'0'" reduce --reps 0
refused 'nan' reduce --seconds nan
refused 'missing' reduce --size
refused '21' sweep --reps 20
refused 'standard output' reduce --json - --csv -
refused '/nowhere' reduce --json /nowhere/x
refused '[-]-devices=toaster' reduce --size 10 --devices toaster

[ $failed = 0 ] && echo "bench_test: $checks checks passed" && exit 0
echo "bench_test: $failed of $checks checks failed"
exit 1
