#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# abi_test.sh HEADER LIBRARY OLD-HEADER OLD-SYMBOLS: programs that were built with the release to which the old files
# belong go on working with the library (docs/ABI.md). Additions are allowed; what goes away or changes is refused. The
# test first plants changes of both kinds in a copy of the header and sees what comes of them.
# abi_test.sh --update HEADER LIBRARY OLD-HEADER OLD-SYMBOLS: writes the old files anew, at a release.
set -eu
update=
if [ "$1" = --update ]; then
  update=yes
  shift
fi
header=$1 library=$2 old_header=$3 old_symbols=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "abi_test: $*"
  exit 1
}

# declarations HEADER: without comments.
declarations() { cc -E -fpreprocessed -dD -P -w -x c "$1" | sed 's/ *$//'; }

# exported LIBRARY: NAME@@NODE of each function.
exported() { nm -D --defined-only --with-symbol-versions "$1" | awk '$2 == "T" { print $3 }' | LC_ALL=C sort; }

# described HEADER OUT: a library that defines what the header declares, with debug information about all of its types.
described() {
  declarations "$1" | awk '/^HX_API/ { open = 1 } open && /;$/ { sub(/;$/, " { __builtin_trap(); }"); open = 0 } 1' >"$2.c"
  cc -std=c11 -g -shared -fPIC -o "$2" "$2.c"
}

if [ "$update" ]; then
  declarations "$header" >"$scratch/header"
  exported "$library" >"$scratch/symbols"
  cp "$scratch/header" "$old_header"
  cp "$scratch/symbols" "$old_symbols"
  exit
fi

# keeps OLD NEW: a program that was built with the header OLD works with a library of the header NEW.
keeps() { described "$1" "$scratch/old.so" && described "$2" "$scratch/new.so" && abidiff --no-added-syms "$scratch/old.so" "$scratch/new.so"; }

# Planted changes: whether they are allowed, what they are, and how to make them in the old header.
plant() {
  cat <<'ROWS'
refused a function is gone|/^HX_API .*hx_sync(/d
refused an argument has another type|/^HX_API .*hx_sync(/s/void \*p/double p/
refused a function returns something else|/^HX_API .*hx_done(/s/bool/double/
refused a member is gone|s/^  double joules;//
refused a member has moved|s/size_t m, n, k, lda/size_t n, m, k, lda/
refused a member is new and moves others|s/^  float gpu_share;/  float gpu_share, other;/
refused a constant has another value|s/HX_SUM = 1/HX_SUM = 2/
refused a constant is new in the middle|s/HX_MAX,/HX_MAX, HX_OTHER,/
refused an array is longer|s/name\[128\]/name[256]/
allowed a function is new|s/^HX_API void hx_close/HX_API int hx_other(int x);\n&/
allowed a constant is new at the end|s/HX_PROD$/HX_PROD, HX_OTHER/
allowed a kind of task is new|s/^    struct hx_matmul_args matmul;/&\n    struct hx_field other;/
ROWS
}
keeps "$old_header" "$old_header" >"$scratch/out" || fail "the old header does not even agree with itself"
plant | while IFS='|' read -r what edit; do
  sed "$edit" "$old_header" >"$scratch/planted.h"
  cmp -s "$old_header" "$scratch/planted.h" && fail "could not plant: $what"
  verdict=refused
  if keeps "$old_header" "$scratch/planted.h" >"$scratch/out" 2>&1; then verdict=allowed; fi
  grep -q error: "$scratch/out" && fail "does not compile: $what"
  [ "$verdict" = "${what%% *}" ] || { cat "$scratch/out"; fail "$verdict: ${what#* }"; }
done

keeps "$old_header" "$header" >"$scratch/out" 2>&1 || { cat "$scratch/out"; fail "hx.h breaks programs of the last release (docs/ABI.md)"; }

# A function keeps its node; a new one is in the node of the release that brings it.
exported "$library" >"$scratch/symbols"
number=$(sed -n 's/^#define HX_VERSION_NUMBER \([0-9]*\).*/\1/p' "$header")
node=HX_$((number / 10000)).$((number / 100 % 100))
LC_ALL=C comm -23 "$old_symbols" "$scratch/symbols" >"$scratch/gone"
[ ! -s "$scratch/gone" ] || fail "no longer exported: $(tr '\n' ' ' <"$scratch/gone")"
LC_ALL=C comm -13 "$old_symbols" "$scratch/symbols" | grep -v "@@$node$" >"$scratch/misplaced" || true
[ ! -s "$scratch/misplaced" ] || fail "new functions that are not in $node of hx.lds: $(tr '\n' ' ' <"$scratch/misplaced")"

echo "abi_test: $(wc -l <"$scratch/symbols") functions, $(wc -l <"$old_symbols") of them old; $(plant | wc -l) planted changes judged rightly"
