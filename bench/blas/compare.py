#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py TIME_BLAS LIBHX_BLAS [--cases GROUP,...] [--rounds N] [NAME=VALUE...]: a BLAS with libhx_blas.so preloaded
beside the same BLAS without it. The processes of a round time every case, one with and one without, in turn. Prints a
table: the fastest round of each, and the ratio (above 1: slower with libhx_blas). NAME=VALUE is set only with it:
HXBLAS_MIN=0 has hx compute every call, to see from which size on it is the faster one."""
import argparse
import math
import os
import random
import re
import subprocess
import sys

CUBES = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024, 1536, 2048, 3072, 4096]
VECTORS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 32768, 65536, 131072, 1 << 18, 1 << 19, 1 << 20, 1 << 22, 1 << 24]
THIN = [(1, 64, 64), (64, 1, 64), (1, 1024, 1024), (1024, 1, 1024), (4, 1024, 1024), (1024, 4, 1024), (4096, 8, 256),
        (16, 2048, 2048), (2048, 16, 2048), (64, 64, 4096), (2048, 2048, 16), (2048, 2048, 1), (4096, 4096, 8),
        (127, 257, 63), (1000, 10, 1000), (100, 3000, 30), (32, 32, 65536), (16, 4096, 16), (4096, 16, 16)]
SIDES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096]


def shapes(count, least, most):
    """Products of random shapes and layouts."""
    dice, found = random.Random(31), []
    while len(found) < count:
        m, n, k = (dice.choice(SIDES) for _ in range(3))
        if least <= m * n * k <= most:
            found.append("sgemm%s:%dx%dx%d" % (dice.choice(["", "_tn", "_nt", "_tt"]), m, n, k))
    return found


GROUPS = {
    "small": shapes(200, 2 ** 8, 2 ** 17),
    "medium": shapes(200, 2 ** 17, 2 ** 23),
    "sgemm": ["sgemm:%dx%dx%d" % (n, n, n) for n in CUBES],
    "thin": ["sgemm:%dx%dx%d" % s for s in THIN],
    "ssyrk": ["ssyrk:%dx%d" % (n, n) for n in CUBES if n <= 2048] + ["ssyrk:%dx%d" % s for s in
              [(64, 4096), (256, 4096), (2048, 16), (1024, 64), (512, 128)]],
    "sgemv": ["sgemv%s:%dx%d" % (t, m, n) for m, n in [(n, n) for n in CUBES] +
              [(16, 16384), (16384, 16), (64, 8192), (8192, 64)] for t in ("", "_t")],
    "sdot": ["sdot:%d" % n for n in VECTORS],
    "sasum": ["sasum:%d" % n for n in VECTORS],
    "isamax": ["isamax:%d" % n for n in VECTORS],
    "increments": ["%s:%d/%d" % (r, n, i) for r in ("sdot", "sasum", "isamax") for n in (64, 65536, 1 << 20)
                   for i in (2, 7)] + ["%s:%dx%d/%d" % (r, n, n, i) for r in ("sgemv", "sgemv_t") for n in (64, 1024) for i in (2, 7)],
}


def times(program, cases, extra):
    out = subprocess.run([program] + cases, env=dict(os.environ, **extra), check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return {case: float(seconds) for case, seconds in (line.split("\t") for line in out.splitlines())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("preload")
    parser.add_argument("--cases", default=",".join(GROUPS))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--most", type=float, default=math.inf, help="multiply-adds or elements of a case, at most")
    parser.add_argument("variables", nargs="*")
    options = parser.parse_intermixed_args()
    cases = [case for group in options.cases.split(",") for case in GROUPS[group]
             if math.prod(map(int, re.findall(r"\d+", case.split("/")[0]))) <= options.most]
    preloaded = dict([v.split("=", 1) for v in options.variables], LD_PRELOAD=os.path.abspath(options.preload))
    best = [{}, {}]
    for n in range(options.rounds):
        for side in ((0, 1) if n % 2 else (1, 0)):
            for case, seconds in times(options.program, cases, preloaded if side else {}).items():
                best[side][case] = min(seconds, best[side].get(case, seconds))
    print("case\tns without\tns with\tratio")
    for case in cases:
        without, with_it = best[0][case], best[1][case]
        print("%s\t%.4g\t%.4g\t%.3f" % (case, without * 1e9, with_it * 1e9, with_it / without))


if __name__ == "__main__":
    sys.exit(main())
