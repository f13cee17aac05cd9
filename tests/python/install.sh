# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154,SC2164 # read by tests, which set self, under set -e
# install.sh: read by the tests of the Python package; $self is the name of the test. Builds the wheel, installs it into a new
# virtual environment, $scratch/environment, and goes to $scratch, which is removed at the end.
tree=$PWD # Bazel's runfiles, or a checkout with the results of the build in BUILT
built=${BUILT:-$PWD}
scratch=$(mktemp -d -p /tmp) # MPI keeps sockets there, whose names may not be long
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "$self: $*"
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
cd "$scratch"

export CFLAGS=-Werror PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
HX_LIBRARY=$built/runtime/libhx.so.0 python3 -m pip wheel -q --no-build-isolation --no-deps -w . "$scratch/tree" ||
  fail "the wheel does not build"
python3 -m venv --without-pip --system-site-packages environment
python3 -m pip --python environment/bin/python install -q --no-index --no-deps hx-*.whl ||
  fail "the wheel does not install"
