# SPDX-License-Identifier: Apache-2.0
"""A layer of the runtime: one folder, which sees the layers that stand lower and no others."""

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

# Low to high. hx.h lies under all of them.
RANKS = [
    ["//runtime:base"],
    ["//runtime:topo", "//runtime:task", "//cpu", "//kernels", "//runtime:look"],
    ["//runtime:backend"],
    ["//runtime:memory"],
    ["//runtime:sched"],
    ["//runtime:run"],
    ["//runtime:dispatch"],
    ["//runtime:api"],
]

def lower(label):
    """The labels that stand lower than label."""
    below = ["//runtime:header"]
    for rank in RANKS:
        if label in rank:
            return below
        below = below + rank
    fail("%s is in no rank" % label)

def hx_layer(name, copts = [], linkopts = []):
    native.cc_library(
        name = name,
        srcs = native.glob([name + "/**/*.c"]),
        hdrs = native.glob([name + "/**/*.h"]),
        copts = HX_COPTS + copts,
        linkopts = linkopts,
        linkstatic = True,
        alwayslink = True,
        visibility = ["//visibility:public"],
        deps = lower("//runtime:" + name),
    )
