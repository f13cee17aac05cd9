#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readme_test.sh README HX_BENCH: the environment table of the README is the one that the library has.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Rows `| HX_NAME | values | default |`, whatever the blanks and back-quotes between.
rows() { sed -n '/^| *`\{0,1\}HX_[A-Z_]*`\{0,1\} *|/{s/`//g;s/  */ /g;s/ *| */|/g;p;}' | LC_ALL=C sort; }

rows <"$1" >"$scratch/readme"
"$2" env | rows >"$scratch/library"
count=$(wc -l <"$scratch/library")
[ "$count" -ge 16 ] || { echo "hx-bench env prints $count rows"; "$2" env; exit 1; }
diff "$scratch/readme" "$scratch/library" || { echo "README (<) and hx-bench env (>) differ"; exit 1; }
echo "readme_test: $count variables"
