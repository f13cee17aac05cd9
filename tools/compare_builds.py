#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_builds.py BAZEL CMAKE: compares two compilation databases (compile_commands.json). Both builds have to compile the
same files of the library and of hx-bench with the same options, apart from what Bazel's toolchain adds to every file."""

import json
import os
import re
import shlex
import sys

SHIPPED = re.compile(r"(runtime|cpu|kernels|reference|sim|blas|mpi)/|bench/[^/]*$")  # folders of bench/ have tools of maintainers
OPTION = re.compile(r"-([mfWODU]|std=)")
# What the toolchains add, and what does not change the code: debug information, names, warnings, where code is placed.
TOOLCHAIN = re.compile(
    r"-(g\d?|fPIC|fPIE|fstack-protector|D_FORTIFY_SOURCE=1|fno-omit-frame-pointer|ffunction-sections|fdata-sections"
    r"|frandom-seed=.*|D__(DATE|TIME|TIMESTAMP)__=.*|Wunused-but-set-parameter|Wno-free-nonheap-object"
    r"|Wno-builtin-macro-redefined|fno-canonical-system-headers|M[DTFQ]?)$")


def effective(arguments):
    """The options that count: of -O, -D and -U the last one for each name."""
    last = {}
    for option in arguments:
        if not OPTION.match(option) or TOOLCHAIN.match(option):
            continue
        name = option
        if option.startswith("-O"):
            name = "-O"
        elif option[:2] in ("-D", "-U"):
            name = option[2:].split("=")[0]
        last[name] = option
        if option.startswith("-U"):
            del last[name]
    return set(last.values())


def read(path):
    files = {}
    with open(path, encoding="utf-8") as f:
        for entry in json.load(f):
            source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), os.getcwd())
            if SHIPPED.match(source):
                arguments = entry.get("arguments") or shlex.split(entry["command"])
                files[source] = effective(arguments)
    return files


def main():
    bazel, cmake = read(sys.argv[1]), read(sys.argv[2])
    wrong = 0
    for source in sorted(bazel.keys() | cmake.keys()):
        if source not in bazel or source not in cmake:
            print("%s: only in the build by %s" % (source, "Bazel" if source in bazel else "CMake"))
        elif bazel[source] != cmake[source]:
            print("%s: only by Bazel: %s; only by CMake: %s" % (
                source, " ".join(sorted(bazel[source] - cmake[source])), " ".join(sorted(cmake[source] - bazel[source]))))
        else:
            continue
        wrong += 1
    print("%d files in both builds, %d differ" % (len(bazel.keys() & cmake.keys()), wrong))
    return 1 if wrong or not bazel else 0


sys.exit(main())
