#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# isa.sh intel|amd|nvidia|mesa ROWS [--sample] [--execute EMULATE] [--launch LAUNCH] [CLASS]: compiles every program of every row of kernels/kernels.c
# with the vendor's compiler for every GPU that it knows, and fails if one does not compile, spills, uses scratch memory,
# has another sub-group size than the row says or takes more registers than allowed. ROWS: the program of rows.c;
# --sample: all rows and targets, but most reductions for one target each; --execute: AMD's machine code is executed by
# EMULATE, the program of tests/emulator, and fails if a result differs from the scalar definition; --launch: mesa's
# kernels are launched by LAUNCH, the program of launch.c; CLASS: a class of
# rows.c that replaces the targets' own, for one target of each.
# isa.sh addressing SOURCE: addressing.sh. Exit status: 0, 1 (a program fails), 3 (there is no compiler).
set -eu
here=$(dirname "$(readlink -f "$0")")

# The vendor's part: targets (one line for each: target, class, and s if it is in the sample), job (a line of rows.c and
# its targets; prints one line for each target: row|what|target|verdict|figures, the verdict being ok or the reason).
vendor=$1
case $vendor in
  intel | amd | nvidia | mesa)
    # shellcheck source=/dev/null # one of four, each checked by itself
    . "$here/$vendor.sh"
    ;;
  addressing) shift; exec sh "$here/addressing.sh" "$@" ;;
  *) echo "isa.sh: unknown vendor $vendor" >&2; exit 2 ;;
esac
shift
if [ "$1" = --job ]; then # for xargs
  shift
  job "$@"
  exit 0
fi

rows=$(readlink -f "$1")
shift
sample= only= executed=
while [ $# -gt 0 ]; do
  case $1 in
    --sample) sample=1 ;;
    --execute)
      ISA_EMULATE=$(readlink -f "$2") executed=', executed'
      export ISA_EMULATE # to the jobs
      shift
      ;;
    --launch)
      ISA_LAUNCH=$(readlink -f "$2")
      export ISA_LAUNCH
      shift
      ;;
    *) only=$1 ;;
  esac
  shift
done
compiler || exit 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
targets >"$work/targets"
[ -s "$work/targets" ] || { echo "isa $vendor: the compiler names no target"; exit 1; }

[ -n "$only" ] || echo "isa $vendor: reductions of lines are left out: some spill, and AMD's emulator lacks their divisions"

# One job for each program, with the targets for which it is compiled.
: >"$work/jobs"
# shellcheck disable=SC2013 # the lines are words
for class in $(cut -d' ' -f2 "$work/targets" | sort -u); do
  mkdir "$work/$class"
  "$rows" "$work/$class" "${only:-$class}" >"$work/$class/programs"
  all=$(awk -v c="$class" '$2 == c {printf "%s ", $1}' "$work/targets")
  few=$(awk -v c="$class" '$2 == c && $3 == "s" {printf "%s ", $1}' "$work/targets")
  turn=0
  while IFS='|' read -r row what rest; do
    for_these=$all
    [ -z "$only" ] || { echo "$work/$class|$row|$what|$rest|${few%% *}" >>"$work/jobs"; continue; }
    case $sample:$row:$what in
      :* | 1:matmul*:* | 1:*:sum-f32) ;;
      *)
        turn=$((turn + 1))
        for_these=$(echo "$few" | awk -v turn="$turn" '{print $(turn % NF + 1)}')
        ;;
    esac
    echo "$work/$class|$row|$what|$rest|$for_these" >>"$work/jobs"
  done <"$work/$class/programs"
done

xargs -d '\n' -P "$(nproc)" -n 1 sh "$here/isa.sh" "$vendor" --job <"$work/jobs" >"$work/results" || true

# One line for each row, then the failures.
awk -F'|' -v vendor="$vendor" -v executed="$executed" '
  { n[$1]++; total++; targets[$3] = 1
    if (!($1 in order)) { order[$1] = ++count; name[count] = $1 }
    if ($4 != "ok") { failed++; bad[$1]++; lines[failed] = "FAIL " $1 " " $2 " on " $3 ": " $4 }
    if ($5 + 0 > most[$1]) most[$1] = $5 + 0
    if (!($1 in least) || $5 + 0 < least[$1]) least[$1] = $5 + 0
    if (index(" " lanes[$1] " ", " " $6 " ") == 0) lanes[$1] = lanes[$1] (lanes[$1] == "" ? "" : " ") $6 }
  END { for (t in targets) m++
    for (i = 1; i <= count; i++) { r = name[i]
      registers = least[r] == most[r] ? most[r] : least[r] "-" most[r]
      printf "%-28s %5d compiled  %s, %s registers, lanes %s\n", r, n[r],
             bad[r] ? bad[r] " FAILED" : "no spill, no scratch", registers, lanes[r] }
    for (i = 1; i <= failed && i <= 60; i++) print lines[i]
    printf "isa %s: %d programs for %d targets%s, %d failed\n", vendor, total, m, executed, failed
    exit failed > 0 || total == 0 }' "$work/results" || exit 1
asked=$(awk -F'|' '{print $NF}' "$work/jobs" | wc -w)
[ "$asked" -eq "$(wc -l <"$work/results")" ] || { echo "isa $vendor: of $asked compilations some did not end"; exit 1; }
