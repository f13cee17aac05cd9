#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_test.sh [TEST...]: builds the wheel, installs it into a new virtual environment, and runs the tests there, or
# those named (reduce, matmul, ...).
set -eu
tree=$PWD # Bazel's runfiles, or a checkout with the results of the build in BUILT
built=${BUILT:-$PWD}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "python_test: $*"
  exit 1
}

command -v python3 >/dev/null || fail "there is no python3"
for module in hypothesis numpy pip setuptools venv wheel; do
  python3 -c "import $module" || fail "python3 has no module $module; ./hx test installs it"
done
python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
  fail "there is no Python.h; ./hx test installs python3-dev"

# A copy, because setup.py writes beside itself, and Bazel has links to the sources.
mkdir -p "$scratch/tree/runtime" "$scratch/tree/docs" "$scratch/tests"
cp -RL "$tree/python" "$tree/pyproject.toml" "$tree/setup.py" "$tree/LICENSE" "$scratch/tree"
cp -L "$tree/runtime/hx.h" "$tree/runtime/hx_map.h" "$scratch/tree/runtime"
cp -L "$tree/docs/PYTHON.md" "$scratch/tree/docs"
cp -L "$tree"/tests/python/*.py "$scratch/tests"
cp -RL "$tree/examples" "$scratch/examples"
cd "$scratch"

export PYTHON_MD="$scratch/tree/docs/PYTHON.md"
export CFLAGS=-Werror PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
HX_LIBRARY=$built/runtime/libhx.so.0 python3 -m pip wheel -q --no-build-isolation --no-deps -w . "$scratch/tree" ||
  fail "the wheel does not build"
python3 -m venv --without-pip --system-site-packages environment
python3 -m pip --python environment/bin/python install -q --no-index --no-deps hx-*.whl ||
  fail "the wheel does not install"
package=$(environment/bin/python -c 'import os, hx; print(os.path.dirname(hx.__file__))') || fail "import hx fails"
case $package in "$scratch"/environment/*) ;; *) fail "import hx finds $package" ;; esac
[ -e "$package/py.typed" ] || fail "the wheel lacks py.typed"
# The library is the one in the wheel, wherever it is installed.
ldd "$package"/_native*.so | grep -q "libhx.so.0 => $package/libhx.so.0" ||
  fail "the library is $(ldd "$package"/_native*.so | grep libhx)"

[ $# -gt 0 ] || set -- errors memory matmul reduce kernel concurrency docs
for test in "$@"; do
  (cd tests && ../environment/bin/python -X dev -W error::ResourceWarning "test_$test.py") || fail "test_$test.py failed"
done

# The example prints what the same program in C prints.
for copies in 1 20; do
  echo '== kmeans'
  environment/bin/python -X dev examples/python/kmeans.py examples/data/iris.csv "$copies" || fail "kmeans.py fails"
done >printed
awk '/^== / { of_kmeans = $0 == "== kmeans" } of_kmeans' "$tree/tests/docs/examples.txt" | diff - printed || fail "kmeans.py differs"
