#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install_test.sh: a C program can be built with the files that ./hx install writes, by pkg-config and by CMake, shared
# and static, from any folder to which they are moved. Nothing that the pages name is missing, and uninstalling leaves
# nothing.
set -eu
tree=$PWD # Bazel's runfiles, or a checkout with the results of the build in BUILT
built=${BUILT:-$PWD}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "install_test: $*"
  exit 1
}

install_to() { sh "$tree/runtime/install.sh" "$tree" "$built" "$@"; }

libdir=lib/$(cc -print-multiarch 2>/dev/null) || libdir=lib # Debian's name of the folder, the deepest in use
install_to "$scratch/first place" "$libdir" >/dev/null
mv "$scratch/first place" "$scratch/usr"
lib=$scratch/usr/${libdir%/}
export PKG_CONFIG_PATH="$lib/pkgconfig"
export HX_CACHE_DIR=off HX_DEVICES=cpu
version=$(pkg-config --modversion hx)
cp -L "$tree/tests/api/consumer/sum.c" "$tree/tests/api/consumer/CMakeLists.txt" "$scratch"

# runs PROGRAM: it computes the right sum and says the version.
runs() {
  "$1" >"$scratch/out" || fail "$1 fails"
  grep -qx "$version 100000" "$scratch/out" || fail "$1: wrong: $(cat "$scratch/out")"
}

# carries PROGRAM: it holds hx and does not need libhx.so.
carries() {
  ldd "$1" | grep libhx && fail "$1 needs libhx.so"
  runs "$1"
}

# By pkg-config: shared, found by LD_LIBRARY_PATH or by the path that the program holds; and static.
# shellcheck disable=SC2046 # lists of options
build() { cc -o "$scratch/$1" "$scratch/sum.c" $(pkg-config --cflags hx) $(shift && pkg-config "$@" hx) || fail "$1 does not link"; }
build plain --libs
(export LD_LIBRARY_PATH="$lib" && runs "$scratch/plain") || exit 1
LD_LIBRARY_PATH=$lib ldd "$scratch/plain" | grep -q "libhx.so.0 => $lib" || fail "the SONAME is not libhx.so.0"
# shellcheck disable=SC2046
cc -o "$scratch/rpath" "$scratch/sum.c" $(pkg-config --cflags --libs hx) $(pkg-config --variable=rpath hx)
runs "$scratch/rpath"
build static --variable=static_libs
carries "$scratch/static"

# By CMake: the same two, with no variable but the prefix.
log=$scratch/cmake.log
cmake_build() { # cmake_build FOLDER OPTIONS...
  folder=$scratch/$1
  shift
  { cmake -S "$scratch" -B "$folder" -Wdev -Werror=dev "$@" && cmake --build "$folder"; } >"$log" 2>&1 || { cat "$log"; fail "cmake $*"; }
}
cmake_build cmake "-DCMAKE_PREFIX_PATH=$scratch/usr"
runs "$scratch/cmake/shared"
carries "$scratch/cmake/static"
# A program that asks for a version with another SONAME, or for more than there is, is refused.
for wrong in 1.0 0.99; do
  sed "s/find_package(hx 0.1/find_package(hx $wrong/" "$tree/tests/api/consumer/CMakeLists.txt" >"$scratch/CMakeLists.txt"
  cmake -S "$scratch" -B "$scratch/cmake-$wrong" "-DCMAKE_PREFIX_PATH=$scratch/usr" >"$log" 2>&1 && fail "cmake accepts version $wrong"
  grep -q "version: $version" "$log" || { cat "$log"; fail "cmake does not say which version it has found"; }
done

# Names: libhx.so exports hx_* and no hx__* (lower case: defined, but not exported); all other names in libhx.a have to
# be such that they cannot clash.
nm -D --defined-only "$lib/libhx.so" | awk '$2 ~ /[B-Z]/ { sub(/@.*/, "", $3); print $3 }' >"$scratch/exported"
grep -v '^hx_[a-z]' "$scratch/exported" && fail "exported by mistake"
sed -n 's/^HX_API .*\<\(hx_[a-z0-9_]*\)(.*/\1/p' "$tree/runtime/hx.h" "$tree/runtime/hx_map.h" | sort >"$scratch/declared"
sort -o "$scratch/exported" "$scratch/exported"
diff "$scratch/declared" "$scratch/exported" || fail "declared (<) and exported (>) differ"
nm --defined-only -g "$lib/libhx.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^hx_/ { print $3 }' >"$scratch/strays"
[ ! -s "$scratch/strays" ] || fail "libhx.a defines $(head -n 5 "$scratch/strays")"

# The libraries that a machine needs: no C++ library, and no OpenCL, which hx loads if it is there.
for file in "$lib/libhx.so" "$scratch/usr/bin/hx-bench"; do
  LC_ALL=C objdump -p "$file" | sed -n 's/^ *NEEDED *//p' |
    grep -v -x -E '(libhwloc|libgomp|libomp|libm|libc|libdl|libpthread|ld-linux.*)\.so\.[0-9]*' && fail "$file needs more than it should"
done

# Pages: every function has one, no link dangles, and what hx-bench's page names is there.
while read -r name; do
  page=$scratch/usr/share/man/man3/$name.3
  [ -e "$page" ] || fail "there is no page for $name"
  # Without Python it is the page of the library.
  ! command -v python3 >/dev/null || sed -n '/^\.SH NAME/{n;p;}' "$page" | grep -qw "$name" || fail "$page is not of $name"
done <"$scratch/declared"
doc=$scratch/usr/share/doc/hx
find "$doc" -name '*.md' | while read -r page; do
  # examples/bazel is a workspace of its own, of which Bazel hands no file to this test.
  grep -oE '\]\([^)]*\)' "$page" | sed -e 's/^](//' -e 's/[)#].*//' | grep -v -e '^$' -e ':' -e '^bazel/' | while read -r target; do
    [ -e "${page%/*}/$target" ] || echo "${page#"$doc"/} links to $target"
  done
done >"$scratch/dangling"
[ ! -s "$scratch/dangling" ] || fail "$(cat "$scratch/dangling")"
pages=$(find "$doc" -name '*.md' | wc -l)
[ "$pages" -gt 10 ] || fail "only $pages pages"
grep -o "$scratch/first place/[A-Za-z0-9_/.]*" "$scratch/usr/share/man/man1/hx-bench.1" | sed "s|first place|usr|" >"$scratch/named"
[ -s "$scratch/named" ] || fail "hx-bench.1 names no file"
grep -h -o "$scratch/first place/[A-Za-z0-9_/.]*" "$scratch"/usr/share/man/man3/*.3 | sed "s|first place|usr|" >>"$scratch/named"
while read -r file; do [ -e "${file%.}" ] || fail "a manual page names $file"; done <"$scratch/named"
# The BLAS finds libhx.so.0 beside itself, or in the folder above.
for blas in "$lib/libhx_blas.so" "$lib/hx-blas/libblas.so.3" "$lib/hx-blas/libcblas.so.3"; do
  ldd "$blas" | grep -q 'libhx.so.0 => /' || fail "$blas does not find libhx.so.0"
  readelf -d "$blas" | grep -q "SONAME.*\[${blas##*/}\]" || fail "$blas has another SONAME"
done
LD_PRELOAD=$lib/libhx_blas.so HX_CACHE_DIR=off "$scratch/static" >"$scratch/out" || fail "a program fails with libhx_blas.so"

"$scratch/usr/bin/hx-bench" env >/dev/null || fail "hx-bench env fails"

# What was there before stays; DESTDIR is put in front of the prefix, and does not appear in the files.
mkdir -p "$scratch/root/opt/lib"
touch "$scratch/root/opt/lib/other"
DESTDIR=$scratch/root install_to /opt >"$scratch/out"
grep -q "$scratch" "$scratch/root/opt/lib/pkgconfig/hx.pc" "$scratch/root/opt/share/man/man1/hx-bench.1" && fail "DESTDIR stands in a file"
DESTDIR=$scratch/root sh "$tree/runtime/install.sh" --uninstall "$tree" - /opt >/dev/null
left=$(cd "$scratch/root/opt" && find . ! -type d)
[ "$left" = ./lib/other ] || fail "after uninstalling there is $left"
for folder in share/doc/hx share/hx lib/cmake/hx lib/hx-blas; do [ ! -e "$scratch/root/opt/$folder" ] || fail "$folder is left"; done

# Each installed file is in one of Debian's packages, and each of their patterns matches a file.
(cd "$scratch/root" && DESTDIR=$PWD install_to /usr lib/multiarch >/dev/null && find usr ! -type d | sort >"$scratch/all")
for list in "$tree"/packaging/debian/*.install; do
  while read -r pattern; do
    (cd "$scratch/root" && for path in $pattern; do find "$path" ! -type d; done) >"$scratch/matched" 2>/dev/null ||
      fail "${list##*/}: nothing matches $pattern"
    cat "$scratch/matched" >>"$scratch/packaged"
  done <"$list"
done
sort "$scratch/packaged" | diff "$scratch/all" - || fail "installed (<) and packaged (>) differ"

for wrong in ../lib /elsewhere; do
  install_to "$scratch/usr" "$wrong" >"$scratch/out" 2>&1 && fail "accepts --libdir $wrong"
done

echo "install_test: hx $version: shared, static, $(wc -l <"$scratch/declared") functions, $pages pages"
