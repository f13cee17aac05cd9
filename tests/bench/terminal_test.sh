#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# terminal_test.sh path/to/terminal_test.py path/to/hx-bench: see terminal_test.py.
command -v python3 >/dev/null || { echo 'terminal_test: there is no python3, which it is written in'; exit 1; }
exec python3 "$@"
