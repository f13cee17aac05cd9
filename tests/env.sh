#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# env.sh PROGRAM ARGS...: runs a test with a home and caches of its own.
set -eu
HOME=${TEST_TMPDIR:-$(mktemp -d)}/home
export HOME
unset XDG_CACHE_HOME XDG_CONFIG_HOME
export POCL_CACHE_DIR="$HOME/pocl" # PoCL is not there at all where it cannot write
mkdir -p "$POCL_CACHE_DIR"
exec "$@"
