#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the sizes of runtime/base/thresholds.h gain: thresholds.py build FOLDER | thresholds.py time BENCH [ROUNDS]

build makes FOLDER/hx-bench and FOLDER/time_batches from a copy of the committed tree, in which the environment variable
FIT="NAME=VALUE" sets one of the sizes. time measures two tasks for each of them, in turns: one between half its value
and its value, with half the value, and one between its value and twice that, with twice the value. So the other task
differs from the first in that one decision alone. The smallest of the rounds' least times counts (of a batch: of their
medians). A ratio above 1 means that the current value is faster. The output is the table of
docs/measurements/threshold-neighbours.tsv.
"""
import csv
import io
import os
import re
import subprocess
import sys

HEADER = "runtime/base/thresholds.h"

# name, value, threads, task between half of it and it, task between it and twice it; a task is MxNxK or elements.
# LAYOUT:MxNxK is a batch of such products, with a transposed A or B (time_batches.c).
CASES = [
    ("HX__TINY_UNITS", 8, 1, "2x3x1", "2x3x2"),
    ("HX__FEW_ROWS_COLUMNS", 16, 1, "4x48x60", "4x96x60"),
    ("HX__FEW_UNITS", 2048, 1, "2x64x12", "2x96x16"),
    ("HX__FEW_PACKED_UNITS", 512, 1, "nt:3x16x8", "nt:3x32x8"),
    ("HX__STRIP_UNITS", 1 << 19, 1, "nt:64x96x64", "nt:96x112x64"),
    ("HX__STRIP_K", 24, 1, "nt:24x4000x18", "nt:24x4000x36"),
    ("HX__STRIP_ROWS", 48, 1, "nt:36x4000x16", "nt:72x4000x16"),
    ("HX__ONE_COLUMN_UNITS", 256, 1, "16x1x12", "24x1x16"),
    ("HX__IN_PLACE_UNITS", 160**3, 1, "144x144x144", "192x192x192"),
    ("HX__UNPACKED_A_COLUMNS", 768, 1, "384x576x384", "384x1152x384"),
    ("HX__THIN_ROWS", 64, 1, "48x2048x512", "96x2048x512"),
    ("HX__THIN_COLUMNS", 32, 1, "2048x24x512", "2048x48x512"),
    ("HX__SMALL_SIDE", 128, 2, "96x96x16384", "192x192x16384"),
    ("HX__LONG_K", 4096, 2, "96x96x3072", "96x96x6144"),
    ("HX__AWAKE_ELEMENTS", 1 << 16, 2, "98304", "196608"),
    ("HX__AWAKE_UNITS", 1 << 16, 2, "44x44x44", "54x54x54"),
    ("HX__SERIAL_UNITS", 1 << 22, 1, "144x144x144", "176x176x176"),
    ("HX__SHORT_ELEMENTS", 1 << 22, 2, "3145728", "6291456"),
    ("HX__SHORT_UNITS", 1 << 25, 2, "288x288x288", "352x352x352"),
    ("HX__LONGER_UNITS", 1 << 27, 2, "456x456x456", "576x576x576"),
    ("HX__LONGER_SLICES", 96, 2, "144x512x512", "288x512x512"),
    ("HX__PACKING_SLICES", 96, 2, "1024x1024x1024", "1536x512x512"),
]


def build(folder):
    os.makedirs(folder)
    tree = subprocess.run(["git", "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=tree, check=True)
    path = os.path.join(folder, HEADER)
    text = open(path).read()
    for i, (name, value, *_) in enumerate(CASES):
        text, found = re.subn(r"#define %s .*" % name, "#define %s (hx__fit[%d])" % (name, i), text)
        assert found == 1, name
    text = text.replace("#include <stddef.h>", "#include <stddef.h>\nextern size_t hx__fit[];", 1)
    open(path, "w").write(text)
    with open(os.path.join(folder, "runtime/base/config.c"), "a") as config:
        names = ", ".join('"%s"' % case[0] for case in CASES)
        values = ", ".join(str(case[1]) for case in CASES)
        config.write(
            """
#include <stdlib.h>
#include <string.h>
size_t hx__fit[] = {%s};
static const char *const fit_names[] = {%s};
__attribute__((constructor)) static void read_fit(void) {
  const char *const fit = getenv("FIT");
  for (size_t i = 0; fit && i < sizeof fit_names / sizeof *fit_names; i++)
    if (strncmp(fit, fit_names[i], strcspn(fit, "=")) == 0 && fit_names[i][strcspn(fit, "=")] == 0)
      hx__fit[i] = strtoul(strchr(fit, '=') + 1, NULL, 0);
}
"""
            % (values, names)
        )
    subprocess.run(["bazel", "build", "//bench:hx-bench", "//bench/fit:time_batches"], cwd=folder, check=True)
    for program in ("bench/hx-bench", "bench/fit/time_batches"):
        subprocess.run(["cp", "-fL", os.path.join(folder, "bazel-bin", program), folder], check=True)


def least_time_of_batch(bench, threads, task, fit):
    layout, shape = task.split(":")
    program = os.path.join(os.path.dirname(bench) or ".", "time_batches")
    out = subprocess.run(
        [program, "-s", "0.2", "-n", "100", "-t", layout, "-k", shape],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "FIT": fit, "HX_DEVICES": "cpu", "OMP_NUM_THREADS": str(threads)},
        check=True,
    ).stdout
    return float(list(csv.DictReader(io.StringIO(out), delimiter="\t"))[-1]["us"]) * 1e-6


def least_time(bench, threads, task, fit):
    if ":" in task:
        return least_time_of_batch(bench, threads, task, fit)
    verb = ["matmul"] if "x" in task else ["reduce", "--op", "sum", "--type", "f32"]
    command = [
        bench,
        *verb,
        "--devices",
        "cpu",
        "--threads",
        str(threads),
        "--size",
        task,
        "--seconds",
        "0.05",
        "--quiet",
        "--csv",
        "-",
    ]
    out = subprocess.run(command, env={**os.environ, "FIT": fit}, stdout=subprocess.PIPE, text=True, check=True).stdout
    row = list(csv.DictReader(io.StringIO(out)))[-1]
    assert row["verified"] == "true", (task, fit)
    return float(row["min_s"])


def time(bench, rounds):
    print("threshold\tvalue\tthreads\ttask\tas_is_us\tother_value\tother_us\tother_over_as_is")
    for name, value, threads, below, above in CASES:
        for task, other in ((below, value // 2), (above, 2 * value)):
            fits = {"%s=%d" % (name, value): 1e9, "%s=%d" % (name, other): 1e9}
            for _ in range(rounds):
                for fit in fits:
                    fits[fit] = min(fits[fit], least_time(bench, threads, task, fit))
            as_is, changed = fits.values()
            row = (name, value, threads, task, "%.3f" % (as_is * 1e6), other, "%.3f" % (changed * 1e6))
            print(*row, "%.3f" % (changed / as_is), sep="\t", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "build":
        build(sys.argv[2])
    elif len(sys.argv) in (3, 4) and sys.argv[1] == "time":
        time(sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 7)
    else:
        sys.exit(__doc__)
