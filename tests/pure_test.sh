#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pure_test.sh PLAN RUN: archives of runtime/plan and of runtime/run. Planning is a pure function: its objects hold no
# variable, and call only functions of this list, none of which locks, logs, traces, or reads a clock, a counter or a
# file. The archive of run/, which does all of that, shows that the test finds violations.
set -eu
allowed='^(hx__(decide|first_trial_fraction|policy_of|prior_cpu|prior_of|reconcile|share_slices|size_class)|ceil|f(max|min)|mem(cpy|move|set)|__(memset|memcpy)_chk|__stack_chk_fail|__(asan|ubsan|tsan|msan|gcov|llvm)_.*|_GLOBAL_OFFSET_TABLE_)$'

# impure ARCHIVE: prints the undefined symbols that are not allowed, and variables.
impure() {
  nm "$1" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ { print $3 }' | sort -u >"$scratch/defined"
  nm "$1" | awk 'NF == 2 && $1 == "U" { print $2 }' | sort -u | grep -v -x -F -f "$scratch/defined" |
    grep -v -E "$allowed" || true
  nm "$1" | awk 'NF == 3 && $2 ~ /^[bBdDC]$/ && $3 !~ /^(__|\.L)/ { print $3 " (a variable)" }'
}

command -v nm >/dev/null || { echo "no nm here"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
seen=$(impure "$2")
for symbol in hx__model_of_process clock_gettime hx__registry_busy; do
  echo "$seen" | grep -q -x "$symbol" || { echo "pure_test: does not find $symbol in $2"; exit 1; }
done
found=$(impure "$1")
if [ -n "$found" ]; then
  echo "$found"
  echo "pure_test: planning is not pure"
  exit 1
fi
echo "pure_test: nothing impure in $(nm "$1" | grep -c ' T ') functions"
