#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call costs from Python, beside NumPy: a table of nanoseconds, the least of interleaved rounds.

usage: calls.py [ROUNDS]; needs the packages hx and numpy.
"""
import sys
import timeit

import numpy as np

import hx

N = 64
x, y = np.ones(N, np.float32), np.empty(N, np.float32)
a, b, c = (np.ones((8, 8), np.float32) for _ in range(3))
rows = np.ones((64, 64), np.float32)
task = hx.Context(devices="cpu")
kernel = hx.Kernel("x * 2 + y", "float x, float y")
scale = hx.Kernel("x * s", "float x", "float s")
two = np.float32(2)

# What is called, and the same in NumPy.
ROWS = [
    ("sum of 64", "hx.sum(x)", "np.sum(x)"),
    ("sum of 64, context=", "hx.sum(x, context=task)", "x.sum()"),
    ("argmax of 64", "hx.argmax(x)", "x.argmax()"),
    ("dot of 64", "hx.dot(x, x)", "np.dot(x, x)"),
    ("mean of 64", "hx.mean(x)", "np.mean(x)"),
    ("64 x 64 by rows", "hx.sum(rows, 1)", "np.sum(rows, 1)"),
    ("64 x 64 by columns", "hx.sum(rows, 0)", "np.sum(rows, 0)"),
    ("8 x 8 x 8, out=", "hx.matmul(a, b, c)", "np.matmul(a, b, c)"),
    ("8 x 8 x 8", "hx.matmul(a, b)", "np.matmul(a, b)"),
    ("8 x 8 x 8, transposed", "hx.matmul(a.T, b)", "np.matmul(a.T, b)"),
    ("var of 64", "hx.var(x)", "np.var(x)"),
    ("norm of 64", "hx.norm(x)", "np.linalg.norm(x)"),
    ("8 x 8 times a vector", "hx.matmul(a, x[:8])", "np.matmul(a, x[:8])"),
    ("x * 2 + y of 64", "kernel.map(x, x)", "x * two + x"),
    ("x * s of 64, out=", "scale.map(x, s=2, out=y)", "np.multiply(x, two, out=y)"),
    ("sum of x * 2 + y of 64", "kernel.reduce('sum', x, x)", "(x * two + x).sum()"),
    ("task of 64", "hx.reduce_async('sum', x).wait()", None),
]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    timers = [[timeit.Timer(s, globals=globals()) if s else None for s in row[1:]] for row in ROWS]
    best = [[float("nan")] * 2 for _ in ROWS]
    for _ in range(rounds):
        for i, pair in enumerate(timers):
            for j, timer in enumerate(pair):
                if timer:
                    best[i][j] = min(timer.timeit(2000) / 2000 * 1e9, best[i][j] if best[i][j] > 0 else float("inf"))
    print("call\thx\tnumpy")
    for row, (mine, numpy) in zip(ROWS, best):
        print(f"{row[0]}\t{mine:.0f}\t{numpy:.0f}")


if __name__ == "__main__":
    main()
