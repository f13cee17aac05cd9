#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh TREE BUILT PREFIX: installs the files for users of hx from a checkout and its build. DESTDIR is supported for packagers.
set -eu
tree=$1 built=$2 prefix=${DESTDIR:-}$3

number=$(sed -n 's/^#define HX_VERSION_NUMBER \([0-9]*\).*/\1/p' "$tree/runtime/hx.h")
version=$((number / 10000)).$((number / 100 % 100)).$((number % 100))
soname=libhx.so.$((number / 10000))

put() { # put MODE FROM TO: by a new file, so that a running program keeps the old one
  mkdir -p "${3%/*}"
  rm -f "$3"
  install -m "$1" "$2" "$3"
  echo "hx: $3"
}

link() { # link TARGET NAME
  ln -sfn "$1" "$2"
  echo "hx: $2 -> $1"
}

put 644 "$tree/runtime/hx.h" "$prefix/include/hx.h"
put 755 "$built/runtime/$soname" "$prefix/lib/libhx.so.$version"
link "libhx.so.$version" "$prefix/lib/$soname"
link "$soname" "$prefix/lib/libhx.so"
put 644 "$built/runtime/libhx.a" "$prefix/lib/libhx.a"
put 755 "$built/bench/hx-bench" "$prefix/bin/hx-bench"

pc=$prefix/lib/pkgconfig/hx.pc
mkdir -p "${pc%/*}"
sed "s/@VERSION@/$version/" "$tree/runtime/hx.pc.in" >"$pc"
chmod 644 "$pc"
echo "hx: $pc"

for page in "$tree"/docs/*.[1-7]; do
  [ -e "$page" ] || continue
  put 644 "$page" "$prefix/share/man/man${page##*.}/${page##*/}"
done
for page in LICENSE README.md docs/ARITHMETIC.md; do
  [ -e "$tree/$page" ] || continue
  put 644 "$tree/$page" "$prefix/share/doc/hx/${page##*/}"
done
