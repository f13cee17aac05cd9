#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compdb.py ROOT: reads what `bazel aquery --output=jsonproto` prints of the C and C++ compilations and prints them as a
compilation database (compile_commands.json) for clang-tidy, cppcheck, clangd and editors."""

import json
import os
import sys

# Options of gcc that clang does not know: clang-tidy would complain of each of them once a file.
GCC_ONLY = ("-fno-canonical-system-headers", "-Wno-free-nonheap-object")


def entries(actions, root):
    """One entry for each source file of the tree. A file that is compiled in several ways stands in its first one, and
    generated files, which hold only embedded text, are left out."""
    seen = set()
    base = os.path.join(os.path.realpath(os.path.join(root, "bazel-out")), "../../..")  # where external/ is
    for action in actions:
        arguments = [a for a in action["arguments"] if a not in GCC_ONLY]
        arguments = [os.path.normpath(os.path.join(base, a)) if a.startswith("external/") else a for a in arguments]
        source = arguments[arguments.index("-c") + 1]
        if source in seen or not os.path.exists(os.path.join(root, source)) or source.startswith("bazel-"):
            continue
        seen.add(source)
        yield {"directory": root, "file": source, "arguments": arguments}


def main():
    root = os.path.abspath(sys.argv[1])
    actions = json.load(sys.stdin)["actions"]
    json.dump(sorted(entries(actions, root), key=lambda e: e["file"]), sys.stdout, indent=1)
    print()


main()
