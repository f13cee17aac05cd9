#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the shapes on which rows are timed, one per line as in bench/shapes: m n k trans_a trans_b.

shapes.py list   the products of the list in docs: twelve sizes, each in the four ways of transposing
shapes.py all    that list, bench/shapes, and 220 random shapes: sides evenly spread by logarithm, three quarters of
                 them rounded to multiples of 4, 8 or 16, like most shapes in practice
"""
import glob
import math
import os
import random
import sys

SIDES = [1000, 1024, 1536, 2047, 2048, 2560, 4096, 4097, 8192]
LIST = [(s, s, s) for s in SIDES] + [(4096, 64, 4096), (64, 4096, 4096), (64, 64, 65536)]
WAYS = [(a, b) for a in (0, 1) for b in (0, 1)]
MOST_ELEMENTS = 72 << 20


def the_list():
    return [shape + way for shape in LIST for way in WAYS] + [(3072, 3072, 3072, 0, 0)]


def bundled():
    """{name of a file of bench/shapes, without .txt: its shapes}"""
    here = os.path.dirname(os.path.abspath(__file__))
    found = {}
    for name in sorted(glob.glob(os.path.join(here, "..", "shapes", "*.txt"))):
        lines = [line.split() for line in open(name) if line[0].isdigit()]
        found[os.path.basename(name)[:-4]] = [tuple(int(w) for w in (words + ["0", "0"])[:5]) for words in lines]
    return found


def random_shapes(count, seed=28):
    source = random.Random(seed)
    found = []
    while len(found) < count:
        sides = [int(math.exp(source.uniform(math.log(16), math.log(6000)))) for _ in range(3)]
        step = source.choice([1, 4, 8, 16])
        m, n, k = (max(step, side // step * step) for side in sides)
        if max(m * k, k * n, m * n) <= MOST_ELEMENTS and m * n * k >= 1 << 20:
            found.append((m, n, k, source.randint(0, 1), source.randint(0, 1)))
    return found


def main():
    what = sys.argv[1] if len(sys.argv) == 2 else ""
    if what not in ("list", "all"):
        sys.exit(__doc__)
    shapes = the_list() if what == "list" else the_list() + sum(bundled().values(), []) + random_shapes(220)
    for shape in dict.fromkeys(shapes):
        print(*shape)


if __name__ == "__main__":
    main()
