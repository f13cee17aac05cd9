#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install_test.sh: a C program can be built with the files that ./hx install writes, shared and static, from any folder
# to which they are moved.
set -eu
tree=$PWD # Bazel's runfiles, or a checkout with the results of the build in BUILT
built=${BUILT:-$PWD}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "install_test: $*"
  exit 1
}

sh "$tree/runtime/install.sh" "$tree" "$built" "$scratch/first place" >/dev/null
mv "$scratch/first place" "$scratch/usr"
lib=$scratch/usr/lib
export PKG_CONFIG_PATH="$lib/pkgconfig"
export HX_CACHE_DIR=off HX_DEVICES=cpu

cat >"$scratch/sum.c" <<'SOURCE'
#include <hx.h>
#include <stdio.h>

int main(void) {
  static float x[100000];
  for (int i = 0; i < 100000; i++) x[i] = 1.0f;
  hx_context *hx;
  hx_value sum;
  if (hx_open(&hx, NULL) != HX_OK) return puts(hx_error_detail()), 1;
  hx_task task = hx_reduce(HX_SUM, HX_F32, x, 100000, &sum);
  if (hx_offload(hx, &task, NULL) != HX_OK) return puts(hx_error_detail()), 1;
  hx_close(hx);
  printf("%s %g\n", hx_version(), sum.f32);
  return sum.f32 != 100000.0f;
}
SOURCE
version=$(pkg-config --modversion hx)

# shellcheck disable=SC2046 # lists of options
cc -o "$scratch/shared" "$scratch/sum.c" $(pkg-config --cflags --libs hx) || fail "does not link"
LD_LIBRARY_PATH=$lib "$scratch/shared" >"$scratch/out" || fail "the program that is linked to libhx.so fails"
grep -qx "$version 100000" "$scratch/out" || fail "wrong: $(cat "$scratch/out")"
LD_LIBRARY_PATH=$lib ldd "$scratch/shared" | grep -q "libhx.so.0 => $lib" || fail "the SONAME is not libhx.so.0"

# Static: links the archive by its name, and the libraries that hx.pc says it needs.
# shellcheck disable=SC2046
cc -o "$scratch/static" "$scratch/sum.c" $(pkg-config --cflags hx) \
  $(pkg-config --static --libs hx | sed 's/-lhx\>/-l:libhx.a/') || fail "does not link statically"
ldd "$scratch/static" | grep -q libhx && fail "the static program needs libhx.so"
"$scratch/static" >"$scratch/out" || fail "the static program fails"
grep -qx "$version 100000" "$scratch/out" || fail "wrong: $(cat "$scratch/out")"

# Names: libhx.so exports hx_* and no hx__* (lower case: defined, but not exported); all other names in libhx.a have to
# be such that they cannot clash.
nm -D --defined-only "$lib/libhx.so" | awk '$2 ~ /[B-Z]/ { sub(/@.*/, "", $3); print $3 }' >"$scratch/exported"
grep -v '^hx_[a-z]' "$scratch/exported" && fail "exported by mistake"
sed -n 's/^HX_API .*\<\(hx_[a-z_]*\)(.*/\1/p' "$tree/runtime/hx.h" | sort >"$scratch/declared"
sort -o "$scratch/exported" "$scratch/exported"
diff "$scratch/declared" "$scratch/exported" || fail "declared (<) and exported (>) differ"
nm --defined-only -g "$lib/libhx.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^hx_/ { print $3 }' >"$scratch/strays"
[ ! -s "$scratch/strays" ] || fail "libhx.a defines $(head -n 5 "$scratch/strays")"

"$scratch/usr/bin/hx-bench" env >/dev/null || fail "hx-bench env fails"
echo "install_test: hx $version: shared, static, $(wc -l <"$scratch/declared") functions"
