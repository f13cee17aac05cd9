#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the programs of NVIDIA's set that are worth their build time: prune_rows.py TABLE [--without PREFIX,...]

Begins with all programs of a table of timings (timings.py) and drops programs one by one, always the one whose
loss costs all shapes together least, as long as
  - no product of the list (shapes.py) falls below 0.975 of its speed with all programs, and
  - no family of shapes falls below 0.97 of its tenth of the speed relative to cuBLAS.
Then tries each dropped program once more, in case it replaces two others. A shape's speed is that of its fastest
program; fit_plan.py takes care of whether the planner finds it. --without: families of rows that must go.
"""
import math
import sys

import shapes
import timings

LIST, TENTH = 0.975, 0.97
FIRST = "128x64x8/nn"  # the one that does every product, ready first


def families():
    return {"list": shapes.the_list(), "random": shapes.random_shapes(220), **shapes.bundled()}


def tenth(values):
    return sorted(values)[(len(values) - 1) // 10]


class Pruner:
    def __init__(self, table):
        times, self.peer = timings.load(table)
        self.best = {s: {p: min(t)[0] for p, t in programs.items()} for s, programs in times.items()}
        self.order = {s: sorted(best, key=best.get) for s, best in self.best.items()}
        self.all = {p for best in self.best.values() for p in best}
        self.families = families()
        self.full = self.speeds(self.all)

    def speeds(self, programs):
        first = {s: next((p for p in order if p in programs), None) for s, order in self.order.items()}
        return {s: self.peer[s] / self.best[s][p] if p else 0.0 for s, p in first.items()}

    def score(self, programs):
        """(passes, geometric mean of what is kept of the speed, the least kept of the list, of a family's tenth)"""
        now, full = self.speeds(programs), self.full
        least = min(now[s] / full[s] for s in self.families["list"])
        tenths = [
            tenth([now[s] for s in some]) / tenth([full[s] for s in some])
            for name, some in self.families.items()
            if name != "list"
        ]
        mean = math.exp(sum(math.log(max(now[s], 1e-9) / full[s]) for s in full) / len(full))
        return least >= LIST and min(tenths) >= TENTH, mean, least, min(tenths)

    def prune(self, programs):
        programs = set(programs)
        while True:
            scores = {p: self.score(programs - {p}) for p in programs - {FIRST}}
            passing = [p for p in sorted(scores) if scores[p][0]]
            if not passing:
                return programs
            programs.discard(max(passing, key=lambda p: scores[p][1]))


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    pruner = Pruner(sys.argv[1])
    banned = tuple(sys.argv[3].split(",")) if len(sys.argv) == 4 else ()
    pool = {p for p in pruner.all if not banned or not p.startswith(banned)}
    kept = pruner.prune(pool)
    for program in sorted(pool - kept):
        other = pruner.prune(kept | {program})
        if len(other) < len(kept):
            kept = other
    print("%d of %d programs, %d rows" % (len(kept), len(pruner.all), len({p.split("/")[0] for p in kept})))
    print("kept: mean %.3f, least of the list %.3f, least tenth of a family %.3f" % pruner.score(kept)[1:])
    for program in sorted(kept):
        without = pruner.score(kept - {program})
        print("%-26s without it: mean %.3f, list %.3f, tenth %.3f" % ((program,) + without[1:]))


if __name__ == "__main__":
    main()
