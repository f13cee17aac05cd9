# SPDX-License-Identifier: Apache-2.0
"""A layer of the runtime is one folder. It may include files of lower layers only."""

load("@rules_cc//cc:defs.bzl", "cc_library")

# The arithmetic is defined operation by operation (docs/ARITHMETIC.md): nothing may be contracted or re-associated.
HX_COPTS = [
    "-std=gnu11",
    "-O2",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-D_GNU_SOURCE=",
    "-DCL_TARGET_OPENCL_VERSION=300",
    "-Wall",
    "-Wextra",
]

# Options that make an overflow harder to exploit, for everything except the inner loops of cpu/. They are here and not
# in .bazelrc, so that builds of the library as a part of something else have them, too. Sanitizers check more than FORTIFY does, and
# do not work beside it.
HX_HARDENING = [
    "-fstack-protector",
    "-fstack-clash-protection",
] + select({
    "//runtime:sanitized": [],
    "//conditions:default": [
        "-U_FORTIFY_SOURCE",
        "-D_FORTIFY_SOURCE=2",
    ],
})

# Intel's control-flow enforcement holds for a library only if all of its objects have it, so cpu/ is no exception.
HX_CET = select({
    "@platforms//cpu:x86_64": ["-fcf-protection"],
    "//conditions:default": [],
})

# Link options of installed files. Bazel links every program with libstdc++ and asks the linker to keep it.
HX_HARD_LINK = ["-Wl,-z,relro,-z,now,-z,noexecstack", "-Wl,--as-needed"]

# The layers from low to high, one rank per line. A layer may include files of the ranks before its own and of its own
# folder, but not of another layer in its rank. hx.h is below all of them. tests/layers_test.sh reads this list, too.
RANKS = [
    ["//runtime:base"],
    ["//runtime:topo", "//runtime:task", "//runtime:expr", "//cpu", "//kernels", "//runtime:driver_check"],
    ["//runtime:backend", "//runtime:sched"],
    ["//runtime:memory", "//runtime:plan"],
    ["//runtime:run"],
    ["//runtime:api"],
]

# The folders above them, which are not part of the library. tests/layers_test.sh reads this list, too, and limits them further.
OUTSIDE = ["//reference", "//sim", "//blas", "//mpi"]

def lower(label):
    """The labels of all ranks below that of label."""
    below = ["//runtime:header"]
    for rank in RANKS:
        if label in rank:
            return below
        below = below + rank
    fail("%s is in no rank" % label)

def hx_layer(name, copts = [], linkopts = []):
    cc_library(
        name = name,
        srcs = native.glob([name + "/**/*.c"]),
        hdrs = native.glob([name + "/**/*.h"]),
        copts = HX_COPTS + HX_HARDENING + HX_CET + copts,
        linkopts = linkopts,
        linkstatic = True,
        alwayslink = True,
        visibility = ["//visibility:public"],
        deps = lower("//runtime:" + name),
    )
