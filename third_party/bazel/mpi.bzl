# SPDX-License-Identifier: Apache-2.0
"""The repository @mpi: a library for each MPI that is installed. There may be none: then list.bzl has an empty list."""

# What Debian calls them; each has a compiler mpicc.NAME, which names its options.
_NAMES = ["openmpi", "mpich"]

_LIBRARY = """
cc_library(
    name = "{name}",
    hdrs = glob(["{name}*/**"]),
    includes = {includes},
    linkopts = {linkopts},
)
"""

def _installed_mpi(ctx):
    found = []
    build = 'package(default_visibility = ["//visibility:public"])\n'
    for name in _NAMES:
        shown = ctx.execute(["mpicc." + name, "-show"]) if ctx.which("mpicc." + name) else None
        if not shown or shown.return_code:
            continue
        folders = []
        linkopts = []
        for word in shown.stdout.split(" "):
            word = word.strip()
            if word.startswith("-I"):
                folders.append(word[2:])
            elif word.startswith("-l") or word.startswith("-L"):
                linkopts.append(word)
        if not [f for f in folders if ctx.path(f + "/mpi.h").exists]:
            continue
        includes = []
        for folder in folders:
            includes.append("%s%d" % (name, len(includes)))
            ctx.symlink(folder, includes[-1])
        build += _LIBRARY.format(name = name, includes = includes, linkopts = linkopts)
        found.append(name)
    ctx.file("BUILD", build)
    ctx.file("list.bzl", '"""The MPIs that are installed."""\n\nMPIS = %s\n' % found)

installed_mpi = repository_rule(implementation = _installed_mpi, local = True, environ = ["PATH"])
