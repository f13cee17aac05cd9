# SPDX-License-Identifier: Apache-2.0
"""Tests that are scripts and get the paths of their data, in order."""

# What docs/charts/draw.sh draws, and from what.
_CHARTS = [
    "address-arithmetic",
    "ladder-matmul",
    "ladder-offload",
    "local-memory-conflicts",
    "local-memory-patterns",
    "offload-fields",
    "offload-product",
    "offload-shares",
    "offload-sum",
    "reductions-elements",
    "reductions-groups",
    "reductions-sizes",
    "reductions-steps",
]
_CHART_TABLES = ["addressing", "ladder-lds", "ladder-matmul", "ladder-offload", "ladder-reduce-h100"]

# Folder, name, size, data.
_SCRIPTS = [
    ("api", "abi_test", "small", [
        "//runtime:hx.h",
        "//runtime:libhx.so.0",
        "api/abi/header.txt",
        "api/abi/symbols.txt",
    ]),
    ("api", "call_cost_test", "small", ["//bench:hx-bench"]),
    ("api", "header_test", "small", ["//runtime:hx.h", "//runtime:hx_map.h"]),
    ("bench", "info_test", "medium", ["//bench:hx-bench", ":libbad_driver_crash.so"]),
    ("bench", "ladder_test", "large", ["//bench:hx-bench", "bench/report_check.py"]),
    ("bench", "lds_ptx_test", "small", ["//bench:ladder/ladder_lds.cl", "//bench:ladder_lds_steps.c"]),
    ("bench", "terminal_test", "large", ["bench/terminal_test.py", "//bench:hx-bench"]),
    ("blas", "blas_test", "large", ["//blas:libhx_blas.so", "//blas:libblas.so.3", ":blas_calls", ":blas_errors", ":blas_limits", "//runtime:libhx.so.0", ":blas_threads", ":libblas_stub.so"]),
    ("blas", "numpy_test", "medium", ["//blas:libhx_blas.so", "//runtime:libhx.so.0", "blas/numpy_test.py"]),
    ("bench", "share_test", "large", ["//bench:hx-bench", "//results:check.py", "//results:schema.json", "bench/report_check.py"]),
    ("bench", "report_test", "medium", [
        "//bench:hx-bench",
        "bench/report_documents.py",
        "bench/report_check.py",
        "bench/report_browser.py",
    ]),
    ("bench", "charts_test", "small", [
        "//bench:hx-bench",
        "//docs/charts:draw.sh",
    ] + ["//docs/charts:%s.svg" % chart for chart in _CHARTS] + ["//docs/measurements:%s.tsv" % table for table in _CHART_TABLES]),
    ("docs", "man_test", "small", ["//runtime:hx.h", "//runtime:hx_map.h", "//:docs/hx.3", "//:docs/hx-bench.1", "//:tools/api_pages.py"]),
    ("backend/opencl", "device_kind_test", "medium", ["//bench:hx-bench", ":libdress_layer.so"]),
    ("backend/opencl", "silent_device_test", "medium", ["//bench:hx-bench", ":libfault_layer.so"]),
]

def script_tests():
    """A test for each row."""
    for folder, name, size, data in _SCRIPTS:
        native.sh_test(
            name = name,
            size = size,
            srcs = ["%s/%s.sh" % (folder, name)],
            args = ["$(location %s)" % item for item in data],
            data = data,
        )
