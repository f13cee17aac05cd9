#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pages_test.sh: what the pages and the examples show works with an installed hx. Every block of C in README.md and
# docs/*.md is compiled, and run if it is a whole program; every block of shell is run. Every example is built as its
# first lines say, run, and its output compared with tests/docs/examples.txt.
set -u
tree=$PWD # Bazel's runfiles, or a checkout with the results of the build in BUILT
built=${BUILT:-$PWD}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 checks=0

sh "$tree/runtime/install.sh" "$tree" "$built" "$scratch/usr" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
export PATH="$scratch/usr/bin:$PATH" PKG_CONFIG_PATH="$scratch/usr/lib/pkgconfig" LD_LIBRARY_PATH="$scratch/usr/lib"
# No driver, whose kernels would take minutes to compile, but a simulated device.
export HX_DEVICES=cpu,sim HX_SIM=rate=2e9 OCL_ICD_VENDORS="$scratch" HX_CACHE_DIR="$scratch/cache"
unset HX_SPLIT HX_THREADS HX_OFFLOAD HX_MEMORY HX_SCHEDULE

fail() {
  echo "FAILED: $*"
  head -n 40 "$scratch/log"
  failed=$((failed + 1))
}

# try WHAT COMMAND...: the command succeeds
try() {
  what=$1
  shift
  checks=$((checks + 1))
  "$@" >"$scratch/log" 2>&1 </dev/null || fail "$what: status $?"
}

# compile_c SOURCE PROGRAM
# shellcheck disable=SC2317 # try calls it
compile_c() {
  # shellcheck disable=SC2046 # lists of options; the first lines may name some: "Build with -O3 -fopenmp."
  cc -std=c11 -O1 -Wall -Wextra -Werror $(sed -n 's/^ \* Build with \([^.:]*\).*/\1/p' "$1") \
    "$1" -o "$2" $(pkg-config --cflags --libs hx) -lm
}

# shellcheck disable=SC2317 # try calls it
# A block without main is compiled inside a function, where the names that it may use are declared.
compile_fragment() {
  {
    echo '#include <hx_map.h>' # and hx.h
    echo '#include <stdio.h>'
    echo 'void fragment(hx_context *hx, size_t m, size_t n, size_t k, float *x, float *y, float *a, float *b, float *c);'
    echo 'void fragment(hx_context *hx, size_t m, size_t n, size_t k, float *x, float *y, float *a, float *b, float *c) {'
    cat "$1"
    echo '}'
  } >"$scratch/fragment.c"
  # shellcheck disable=SC2046
  cc -std=c11 -fsyntax-only -Wall -Wno-unused $(pkg-config --cflags hx) "$scratch/fragment.c"
}

# shellcheck disable=SC2317 # try calls it
# The status of hx-bench info is 3 if the machine has a GPU that hx cannot use.
run_shell() {
  sh -eu "$1"
  status=$?
  [ "$status" = 3 ] && grep -q '^hx-bench info' "$1" && return
  return "$status"
}

check_block() { # check_block FILE LANGUAGE WHERE
  case $2 in
    c)
      if grep -q 'main(' "$1"; then
        cp "$1" example.c # the shell blocks of the page compile it
        try "$3" compile_c "$1" "$scratch/program"
        try "$3, run" "$scratch/program"
      else
        try "$3" compile_fragment "$1"
      fi
      ;;
    sh)
      sed "s|\\bDIR\\b|$scratch/usr|g" "$1" >"$scratch/block.sh" # DIR: where hx is installed
      try "$3" run_shell "$scratch/block.sh"
      ;;
    cmake | python | text) ;;
    *) fail "$3: a block of '$2': name it c, sh, cmake, python or text" ;;
  esac
}

mkdir "$scratch/blocks" "$scratch/work"
cd "$tree" || exit 1
awk -v out="$scratch/blocks" -f tests/docs/blocks.awk README.md docs/*.md >"$scratch/list"
cd "$scratch/work" || exit 1
while read -r number language where reason; do
  if [ "$reason" != - ]; then
    echo "not run: $where: $reason"
  else
    check_block "$scratch/blocks/$number.$language" "$language" "$where"
  fi
done <"$scratch/list"
[ "$(grep -c -e ' c ' -e ' sh ' "$scratch/list")" -ge 14 ] || fail "only $(wc -l <"$scratch/list") blocks were found"

# run_example NAME ARGUMENTS...: appends what it prints to the file `out`, without times and shares
run_example() {
  example=$1
  shift
  echo "== $example" >>"$scratch/out"
  "$scratch/$example" "$@" 2>"$scratch/log" | sed -e '/^device /d' -e 's/[,:] [0-9.]* ms, .*//' >>"$scratch/out"
}

iris=$tree/examples/data/iris.csv
for source in "$tree"/examples/*.c; do
  name=${source##*/}
  try "$name" compile_c "$source" "$scratch/${name%.c}"
done
# shellcheck disable=SC2046
try products.cc c++ -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror -I"$tree/examples/cpp" \
  "$tree/examples/cpp/products.cc" -o "$scratch/products" $(pkg-config --cflags --libs hx)
run_example adam 5000
run_example async
run_example black_scholes 5000
run_example distance
run_example jacobi 67
run_example kmeans "$iris"
run_example kmeans "$iris" 20
run_example kmeans_step 5000
run_example matmul
run_example memory
run_example moments 5000
run_example products
run_example saxpy 5000
run_example softmax 50
run_example statistics
run_example ten_calls 100000
checks=$((checks + 1))
diff "$tree/tests/docs/examples.txt" "$scratch/out" >"$scratch/log" || fail 'the examples print something else'
# The same digits if the CPU does everything, and if the device does half.
for how in HX_DEVICES=cpu HX_SPLIT=50%; do
  checks=$((checks + 1))
  env "$how" "$scratch/kmeans" "$iris" >"$scratch/again" 2>"$scratch/log"
  sed -n '/^150 rows/,/ are in the cluster/p' "$tree/tests/docs/examples.txt" | diff - "$scratch/again" >>"$scratch/log" ||
    fail "kmeans prints something else with $how"
done
grep -q 'products: .*, 50 % of them on GPUs' "$scratch/log" || fail 'the device did not do half of the work'

# run_sgemm VARIABLE=VALUE...: the Fortran program multiplies by hx and prints the right elements
# shellcheck disable=SC2317 # try calls it
run_sgemm() {
  env HXBLAS_MIN=0 HX_LOG=info "$@" "$scratch/sgemm" >"$scratch/printed" 2>"$scratch/calls" || return
  cat "$scratch/calls"
  grep -q 'sgemm(N,N,300,200,400,.* ms, cpu' "$scratch/calls" || return # else forwarded, or not seen
  printf '%s\n' 'c(1, 1) is 5, c(300, 200) is -2.' 'All elements are those of matmul.' | diff - "$scratch/printed"
}

if ! command -v gfortran >/dev/null 2>&1; then
  echo 'not run: examples/fortran: there is no gfortran'
elif [ ! -e "$scratch/usr/lib/libhx_blas.so" ]; then
  echo 'not run: examples/fortran: hx has no BLAS on this processor'
else
  try sgemm.f90 gfortran -std=f2008 -Wall -Werror "$tree/examples/fortran/sgemm.f90" -o "$scratch/sgemm" \
    -L"$scratch/usr/lib" -lhx_blas
  try 'sgemm, linked with hx' run_sgemm
  try sgemm.f90 gfortran "$tree/examples/fortran/sgemm.f90" -o "$scratch/sgemm" -l:libblas.so.3
  try 'sgemm, under hx' run_sgemm "LD_PRELOAD=$scratch/usr/lib/libhx_blas.so"
fi

if ! command -v cmake >/dev/null 2>&1; then
  echo 'not run: examples/cmake: there is no cmake'
elif ! ls "$scratch"/usr/lib/cmake/hx/*onfig.cmake >/dev/null 2>&1; then
  echo 'not run: examples/cmake: this hx installs no files for CMake'
else
  cp -RL "$tree/examples" "$scratch/consumer"
  try 'cmake, configure' cmake -S "$scratch/consumer/cmake" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/usr"
  try 'cmake, build' cmake --build "$scratch/build"
  try 'cmake, run' env -u LD_LIBRARY_PATH "$scratch/build/example" "$iris"
fi
echo 'not run: examples/bazel: a test of Bazel cannot run Bazel'

[ $failed = 0 ] && echo "pages_test: $checks checks passed" && exit 0
echo "pages_test: $failed of $checks checks failed"
exit 1
