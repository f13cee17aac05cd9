#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh BUILT DIR: the Python package of this checkout as a wheel in DIR, with the library that was built in BUILT.
set -eu
root=$(readlink -f "$0")
root=${root%/python/*}
# pip builds with the setuptools that is installed. Without one, or without pip's "wheel", it downloads both.
installed=--no-build-isolation
python3 -c 'import setuptools, wheel' 2>/dev/null || installed=
# shellcheck disable=SC2086 # an option or none
HX_LIBRARY=$1/runtime/libhx.so.0 python3 -m pip wheel -q $installed --no-deps --wheel-dir "$2" "$root" >&2
ls "$2"/hx-*.whl
