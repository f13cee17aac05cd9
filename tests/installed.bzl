# SPDX-License-Identifier: Apache-2.0
"""Tests of what is installed, and programs over libhx_blas."""

# Programs that are linked to a libblas.so.3, which is libhx_blas.
_BLAS_PROGRAMS = ["calls", "errors", "limits", "threads"]

# What ./hx install needs, besides what a test of it names.
_INSTALLED = [
    "//:pages",
    "//:tools/api_pages.py",
    "//bench:hx-bench",
    "//bench:shapes",
    "//blas:libblas.so.3",
    "//blas:libcblas.so.3",
    "//blas:libhx_blas.so",
    "//runtime:archive",
    "//runtime:hx.h",
    "//runtime:hx_map.h",
    "//runtime:hx.pc.in",
    "//runtime:install.sh",
    "//runtime:libhx.so.0",
]

def installed_tests(copts):
    """The tests, and the programs that tests of the BLAS run."""
    for name in _BLAS_PROGRAMS:
        native.cc_binary(
            name = "blas_" + name,
            testonly = True,
            srcs = [
                "blas/%s.c" % name,
                "check.h",
            ],
            additional_linker_inputs = [
                "//blas:libblas.so.3",
                "//runtime:libhx.so.0",
            ],
            copts = copts,
            linkopts = [
                "$(location //blas:libblas.so.3)",
                "$(location //runtime:libhx.so.0)",
                "-ldl",
                "-lm",
                "-lpthread",
            ],
            deps = [
                "//blas:header",
                "//reference",
            ],
        )
    native.cc_binary(
        name = "libblas_stub.so",
        testonly = True,
        srcs = ["blas/stub.c"],
        copts = copts,
        linkshared = True,
    )
    native.sh_test(
        name = "install_test",
        size = "small",
        srcs = ["api/install_test.sh"],
        data = native.glob(["api/consumer/*"]) + _INSTALLED,
    )
    native.sh_test(
        name = "pages_test",
        srcs = ["docs/pages_test.sh"],
        data = [
            "docs/blocks.awk",
            "docs/examples.txt",
            "//examples",
        ] + _INSTALLED,
    )
    native.sh_test(
        name = "beside_pocl",
        size = "large",
        srcs = ["driver.sh"],
        args = [
            "pocl",
            "$(location docs/beside_test.sh)",
            "pocl",
        ],
        data = [
            "docs/beside_test.sh",
            "//examples",
        ] + _INSTALLED,
        tags = ["driver-pocl"],
    )
