#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reductions along axes and maps from Python, beside NumPy: a table of microseconds, medians of interleaved rounds.

usage: axes.py [ROUNDS]; needs the packages hx and numpy. To compare two builds, run them in turns.
"""
import statistics
import sys
import time

import numpy as np

import hx

random = np.random.default_rng(0)
flat, wide, line = (
    random.standard_normal(shape, np.float32) for shape in ((10, 100_000), (5, 1_000_000), (1, 100_000))
)
image, square, tall = (random.standard_normal(s, np.float32) for s in ((3, 512, 512), (3000, 3000), (1_000_000, 4)))
integers = random.integers(-100, 100, tall.shape).astype(np.int32)
batch, cube, points = (random.standard_normal(s, np.float32) for s in ((32, 64, 56, 56), (500, 500, 100), (100_000, 3)))
pair, four, eight, middle, inner, deep = (
    random.standard_normal(shape, np.float32)
    for shape in ((2, 1_000_000), (4, 1_000_000), (8, 100_000), (2000, 3, 300), (500, 500, 100), (200, 30, 50))
)
kernel = hx.Kernel("x * 2 + y", "float x, float y")

# What is called, and the same in NumPy.
ROWS = (
    [
        (f"{name} of {text} along 0", f"M.{name}({array}, 0)")
        for array, text in (
            ("flat", "10 x 100000"),
            ("wide", "5 x 1000000"),
            ("line", "1 x 100000"),
            ("image", "3 x 512 x 512"),
        )
        for name in ("sum", "max", "argmax")
    ]
    + [
        (f"{name} of {text} along {axis}", f"M.{name}({array}, {axis})")
        for array, text, axis in (
            ("pair", "2 x 1000000", 0),
            ("four", "4 x 1000000", 0),
            ("eight", "8 x 100000", 0),
            ("middle", "2000 x 3 x 300", 1),
            ("inner", "500 x 500 x 100", 1),
            ("deep", "200 x 30 x 50", 1),
        )
        for name in ("sum", "max", "mean")
    ]
    + [
        ("sum of 1000000, reversed", "M.sum(pair[0, ::-1])"),
        ("sum of 1000000 x 4 along 1", "M.sum(tall, 1)"),
        ("the same, rows reversed", "M.sum(tall[::-1], 1)"),
        ("sum of 3000 x 3000 along 0, rows reversed", "M.sum(square[::-1], 0)"),
        ("max of the same", "M.max(square[::-1], 0)"),
        ("var of int32 1000000 x 4 along 1", "M.var(integers, 1)"),
        ("max of 3000 x 3000 along 0", "M.max(square, 0)"),
        ("sum of 3000 x 3000 along 1, columns reversed", "M.sum(square[:, ::-1], 1)"),
        ("sum of 32 x 64 x 56 x 56 along 0, 2, 3", "M.sum(batch, (0, 2, 3))"),
        ("max of 32 x 64 x 56 x 56 along 0, 2, 3", "M.max(batch, (0, 2, 3))"),
        ("sum of 500 x 500 x 100 along 0, 2", "M.sum(cube, (0, 2))"),
        ("max of 3000 x 3000, columns reversed", "M.max(square[:, ::-1])"),
        ("sum of a column of 100000 x 3", "M.sum(points[:, 0])"),
        ("max of every second of 1000000", "M.max(wide[0, ::2])"),
        ("x * 2 + y, 3000 x 3000, transposed", None),
    ]
)


def seconds(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    calls = [[eval("lambda: " + text, {**globals(), "M": m}) for m in (hx, np)] for _, text in ROWS[:-1]]
    calls.append([lambda: kernel.map(square.T, square.T), lambda: square.T * np.float32(2) + square.T])
    print("call\thx\tnumpy")
    for (name, _), pair in zip(ROWS, calls):
        times = [[seconds(call) for call in pair] for _ in range(rounds + 2)][2:]
        print(name, *(f"{1e6 * statistics.median(column):.0f}" for column in zip(*times)), sep="\t")


if __name__ == "__main__":
    main()
