#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads and converts timings of an NVIDIA GPU's programs, as stored in docs/measurements.

timings.py RAW... > TABLE   turns what `time_rows rows` printed into such a table: a line for each shape, a column for
                            cuBLAS and for each program. A cell holds nanoseconds of a launch, back to back; with j,
                            panels are added by the product's own launch. Of two ways to add them the planner's is first.
"""
import collections
import sys

LAYOUTS = ["nn", "tn", "nt"]
PREFIX = "matmul-nvidia-ptx-"


def load(name):
    """{shape: {program: [(ns, joins), ...]}}, {shape: cuBLAS's ns}, with shape = (m, n, k, trans_a, trans_b)."""
    times, peer, columns = {}, {}, None
    for line in open(name):
        words = line.rstrip("\n").split("\t")
        if line.startswith("#"):
            continue
        if columns is None:
            columns = words
            continue
        shape = tuple(int(w) for w in words[:5])
        peer[shape] = float(words[5])
        times[shape] = {}
        for column, cell in zip(columns[6:], words[6:]):
            if cell:
                times[shape][column] = [(float(w.lstrip("j")), w[0] == "j") for w in cell.split(",")]
    return times, peer


def convert(names):
    cells, peer, programs, devices = collections.defaultdict(dict), {}, [], []
    for line in (line for name in names for line in open(name)):
        words = line.rstrip("\n").split("\t")
        if line.startswith("#"):
            devices.append(line[2:].strip())
        if len(words) < 10 or words[0] == "m":
            continue
        shape, ns = tuple(words[:5]), float(words[8])
        if words[5] == "cublas":
            peer[shape] = ns
            continue
        if words[9] == "WRONG":
            sys.exit("a wrong result: %s" % line)
        program = "%s/%s" % (words[5].replace(PREFIX, ""), LAYOUTS[int(words[6])])
        if program not in programs:
            programs.append(program)
        cell = ("j" if words[7] == "1" else "") + "%.0f" % ns
        cells[shape][program] = cells[shape].get(program, "") and cells[shape][program] + "," + cell or cell
    print("# Device: %s" % ", ".join(dict.fromkeys(devices)))
    print("\t".join(["m", "n", "k", "ta", "tb", "cublas"] + programs))
    for shape in peer:
        print("\t".join(list(shape) + ["%.0f" % peer[shape]] + [cells[shape].get(p, "") for p in programs]))


if __name__ == "__main__":
    convert(sys.argv[1:]) if len(sys.argv) > 1 else sys.exit(__doc__)
