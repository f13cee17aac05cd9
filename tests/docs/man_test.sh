#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# man_test.sh HX_H HX_MAP_H HX.3 HX-BENCH.1 API_PAGES.PY: each function of the headers has a manual page with its name and
# its errors, the overview names it, no page refers to one that is not there, and mandoc or man finds nothing wrong in any.
set -eu
header=$(readlink -f "$1") map=$(readlink -f "$2") overview=$(readlink -f "$3") bench=$4 script=$(readlink -f "$5")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "man_test: $*"
  exit 1
}

pages=$scratch/pages
mkdir "$pages"
python3 "$script" "$header" "$map" "$pages" || fail "no pages"

sed -n 's/^HX_API .*\<\(hx_[a-z0-9_]*\)(.*/\1/p' "$header" "$map" >"$scratch/functions"
[ -s "$scratch/functions" ] || fail "no functions"
(cd "$pages" && printf '%s\n' *.3) | sed 's/\.3$//' >"$scratch/names"
cat "$scratch/functions" "$scratch/names" | sort -u | while read -r name; do
  sed -n '/^\.SH NAME/{n;p;}' "$pages/$name.3" | grep -qw "$name" || fail "no page of $name"
  grep -qw "$name" "$overview" || fail "$overview does not name $name"
done

# What comes after an error in a comment is an error in a page.
errors='HX_(INVALID_ARGUMENT|INVALID_CONFIG|OUT_OF_MEMORY|UNSUPPORTED|DEVICE_FAILED|INTERNAL)'
in_header=$(cat "$header" "$map" | grep -oE "$errors: " | wc -l)
in_pages=$(find "$pages" -type f -exec grep -E "^\.B $errors" {} + | wc -l)
[ "$in_header" = "$in_pages" ] || fail "$in_header errors in the headers, $in_pages in the pages"
grep -q 'HX_RESIDENT = 2u' "$pages/hx_advise.3" || fail "hx_advise lacks its constants"

cp -L "$overview" "$bench" "$pages"
cd "$pages"
sed -n 's/^\.BR \(\\%\)*\(hx[a-z_-]*\) (\([13]\)).*/\2.\3/p' ./* | sort -u | while read -r page; do
  [ -e "$page" ] || fail "a page refers to $page"
done

# No release has a date yet.
if command -v mandoc >/dev/null; then
  mandoc -Tlint -W warning ./* >"$scratch/found" || true
  if grep -v 'missing date' "$scratch/found"; then fail "mandoc warns"; fi
elif command -v man >/dev/null; then
  for page in *; do
    LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "./$page" 2>>"$scratch/found" >/dev/null
  done
  [ ! -s "$scratch/found" ] || fail "man warns: $(cat "$scratch/found")"
else
  echo 'not run: there is neither mandoc nor man'
fi

# A function without a comment is refused.
sed '/^\/\* Whether hx_wait would return at once/d' "$header" >"$scratch/hx.h"
mkdir "$scratch/planted"
python3 "$script" "$scratch/hx.h" "$scratch/planted" 2>"$scratch/found" && fail "a function without a comment is taken"
grep -q 'hx_done has no comment' "$scratch/found" || fail "wrong: $(cat "$scratch/found")"

echo "man_test: $(wc -l <"$scratch/functions") functions, $(wc -l <"$scratch/names") pages, $in_header errors"
