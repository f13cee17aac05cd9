#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the planner of NVIDIA's set to timings: fit_plan.py TABLE [--check] [--write]

TABLE is docs/measurements/nvidia-rows.tsv or one like it (timings.py). Changes one constant after the other, of
kernels/device_constants.inc and the rates and chains of kernels/table/matmul_nvidia_rows.inc, as long as the planner
improves: by how much slower its choices are than the best program of each shape, and by the error of its predictions.
--check fits to every second shape and prints the improvement for the others; --write writes the files. Needs cc.
"""
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile

import shapes
import timings

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
CONSTANTS = os.path.join(ROOT, "kernels", "device_constants.inc")
ROWS = os.path.join(ROOT, "kernels", "table", "matmul_nvidia_rows.inc")
UNITS = 132  # of the measured device
OFF = 0.2  # what an error of a prediction counts beside a loss by a choice
LIST = 10.0  # what a product of the list (shapes.py) counts beside another
FIXED = ["few_rows_group_ns"]  # 100000 x 8 x 16 decides it (tests/kernels/gemm_plan_test.c), which the table does not have
STEPS = [0.12, 0.06, 0.03, 0.015]
RANGE = 2.0  # no constant changes by a larger factor


def build(folder):
    """The planner as a library; without `const`, so that its constants can be changed."""
    embedded = os.path.join(folder, "embedded.c")
    with open(embedded, "w") as f:
        sources = sorted(glob.glob(os.path.join(ROOT, "kernels", "*.cl")))
        subprocess.run(["sh", os.path.join(ROOT, "kernels", "embed.sh")] + sources, stdout=f, check=True)
    library = os.path.join(folder, "plan.so")
    files = [os.path.join(ROOT, "kernels", n) for n in ("gemm_plan.c", "gemm_model.c", "kernels.c")]
    files += [os.path.join(ROOT, "bench", "fit", "plan_fit.c"), embedded]
    command = ["cc", "-std=gnu11", "-O2", "-ffp-contract=off", "-w", "-Dconst=", "-shared", "-fPIC", "-I", ROOT]
    subprocess.run(command + ["-o", library] + files + ["-lm"], check=True)
    return ctypes.CDLL(library)


class Fit:
    def __init__(self, library, table):
        self.shared = library
        times, _ = timings.load(table)
        library.fit_name.restype = ctypes.c_char_p
        rows, i = {}, 0
        while library.fit_name(i) is not None:
            rows[library.fit_name(i).decode().replace(timings.PREFIX, "")] = i
            i += 1
        names = re.findall(r"^DEVICE\((\w+), ([\d.e+-]+)\)", open(CONSTANTS).read(), re.M)
        self.names = [name for name, _ in names]
        self.constants = (ctypes.c_double * len(names)).in_dll(library, "hx__gemm_nvidia")
        self.programs = {}
        self.floor = 1e9
        the_list = set(shapes.the_list())
        for shape, programs in times.items():
            first, weight = 1, LIST if shape in the_list else 1.0
            for program, cells in programs.items():
                name, layout = program.split("/")
                number = timings.LAYOUTS.index(layout)
                if name not in rows or not library.fit_rate(rows[name], number):
                    continue
                plain = next((ns for ns, joins in cells if not joins), 0.0)
                joined = next((ns for ns, joins in cells if joins), 0.0)
                self.floor = min(self.floor, min(ns for ns, _ in cells))
                library.fit_add(
                    *(ctypes.c_size_t(side) for side in shape[:3]), shape[3], shape[4], first,
                    ctypes.c_double(weight), rows[name], number,
                    ctypes.c_double(plain or joined), ctypes.c_double(joined))
                first = 0
                self.programs[(rows[name], number)] = name
        self.values = {name: self.constants[i] for i, name in enumerate(self.names) if name not in FIXED}
        for row, layout in self.programs:
            self.values[("rate", row, layout)] = library.fit_rate(row, layout)
            if library.fit_chain(row, layout):
                self.values[("chain", row, layout)] = library.fit_chain(row, layout)
        self.initial = dict(self.values)

    def apply(self, key):
        if isinstance(key, str):
            self.constants[self.names.index(key)] = self.values[key]
        else:
            _, row, layout = key
            chain = self.values.get(("chain", row, layout), 0)
            self.shared.fit_set(row, layout, self.values[("rate", row, layout)], chain)

    def score(self, of=1, rest=0):
        lost, off = ctypes.c_double(), ctypes.c_double()
        self.shared.fit_score(UNITS, ctypes.c_double(self.floor), of, rest, ctypes.byref(lost), ctypes.byref(off))
        return lost.value, off.value

    def stepped(self, key, step):
        value, first = self.values[key], self.initial[key]
        new = value * (1 + step)
        if isinstance(key, tuple):
            new = round(new) if key[0] == "rate" else round(new, -2)
            new += (new == value) * (1 if step > 0 else -1) * (1 if key[0] == "rate" else 100)
            return int(new) if 0 < new <= 105 or key[0] == "chain" else value
        if key == "uneven":  # a fair share at least
            new = max(1.0, 1 + (value - 1) * (1 + 10 * step))
        new = min(max(new, first / RANGE), first * RANGE)
        if first < 1.0:
            new = min(new, 1.0)
        return float("%.3g" % new)

    def fit(self, of=1, rest=0, quiet=False):
        def cost():
            lost, off = self.score(of, rest)
            return lost + OFF * off

        best = cost()
        for step in STEPS:
            for _ in range(3):
                before = best
                for key in list(self.values):
                    for signed in (step, -step):
                        old = self.values[key]
                        self.values[key] = self.stepped(key, signed)
                        self.apply(key)
                        now = cost()
                        if now < best - 1e-6:
                            best = now
                            break
                        self.values[key] = old
                        self.apply(key)
                if before - best < 1e-4:
                    break
            if not quiet:
                print("step %5.3f: lost %.4f, off %.4f" % ((step,) + self.score(of, rest)), flush=True)

    def write(self):
        text = open(CONSTANTS).read()
        for name in (n for n in self.names if n in self.values):
            value = "%r" % self.values[name]
            line = re.search(r"^DEVICE\(%s, [^)]*\)( *)" % name, text, re.M)
            new = "DEVICE(%s, %s)" % (name, value)
            pad = max(1, len(line.group(0)) - len(new))
            text = text.replace(line.group(0), new + " " * pad)
        open(CONSTANTS, "w").write(re.sub(r" +$", "", text, flags=re.M))
        text = open(ROWS).read()
        for row, name in {(row, name) for (row, _), name in self.programs.items()}:
            at = text.index('"%s%s"' % (timings.PREFIX, name))
            end = text.index(".defines", at)
            body = text[at:end]
            for what in ("rate", "chain"):
                pairs = [(l, self.values[(what, r, l)]) for r, l in sorted(self.programs) if r == row
                         and (what, r, l) in self.values]
                if pairs:
                    inner = ", ".join("[HX__LAYOUT_%s] = %d" % (timings.LAYOUTS[l].upper(), v) for l, v in pairs)
                    body = re.sub(r"\.%s = \{[^}]*\}" % what, ".%s = {%s}" % (what, inner), body)
            text = text[:at] + body + text[end:]
        open(ROWS, "w").write(text)


def main():
    options = sys.argv[2:]
    if len(sys.argv) < 2 or set(options) - {"--check", "--write"}:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        fit = Fit(build(folder), sys.argv[1])
        print("before: lost %.4f, off %.4f" % fit.score())
        if "--check" in options:
            before = fit.score(2, 1)
            fit.fit(2, 0, quiet=True)
            print("the other half: lost %.4f to %.4f, off %.4f to %.4f"
                  % (before[0], fit.score(2, 1)[0], before[1], fit.score(2, 1)[1]))
            fit.values = dict(fit.initial)
            for key in fit.values:
                fit.apply(key)
        fit.fit()
        print("after: lost %.4f, off %.4f" % fit.score())
        if "--write" in options:
            fit.write()


if __name__ == "__main__":
    main()
