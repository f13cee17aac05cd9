#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_test.sh [TEST...]: builds the wheel, installs it into a new virtual environment, and runs the tests there, or
# those named (reduce, matmul, ...).
set -eu
self=python_test
. tests/python/install.sh
package=$(environment/bin/python -c 'import os, hx; print(os.path.dirname(hx.__file__))') || fail "import hx fails"
case $package in "$scratch"/environment/*) ;; *) fail "import hx finds $package" ;; esac
[ -e "$package/py.typed" ] || fail "the wheel lacks py.typed"
# The library is the one in the wheel, wherever it is installed.
ldd "$package"/_native*.so | grep -q "libhx.so.0 => $package/libhx.so.0" ||
  fail "the library is $(ldd "$package"/_native*.so | grep libhx)"

cp -RL "$tree/examples" examples
export PYTHON_MD="$scratch/tree/docs/PYTHON.md"
[ $# -gt 0 ] || set -- errors memory matmul reduce statistics kernel kernel_outputs concurrency docs
for test in "$@"; do
  (cd tests && ../environment/bin/python -X dev -W error::ResourceWarning "test_$test.py") || fail "test_$test.py failed"
done

# The example prints what the same program in C prints.
for copies in 1 20; do
  echo '== kmeans'
  environment/bin/python -X dev examples/python/kmeans.py examples/data/iris.csv "$copies" || fail "kmeans.py fails"
done >printed
awk '/^== / { of_kmeans = $0 == "== kmeans" } of_kmeans' "$tree/tests/docs/examples.txt" | diff - printed || fail "kmeans.py differs"
