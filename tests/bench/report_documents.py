#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_documents.py FOLDER: writes documents as hx-bench share writes them, for report_test. All names of devices
and all numbers are made up, by formulas: a rate approaches a peak as the work outgrows a latency."""

import copy
import json
import sys

HOSTILE = "<script>alert(\"x\")</script>&'\u202e\u0001 \U0001f409 " + "long" * 20


def row(op, size, mode, asked, share, rate, unit, ceiling):
    work = size["n"] * 4e-9 if op != "matmul" else 2e-9 * size["m"] * size["n"] * size["k"]
    work *= 2 if op == "dot" else 1
    seconds = work / rate
    return {"op": op, "type": "f32", **size, "mode": mode, "devices": [], "asked_share": asked, "median_s": seconds,
            "min_s": seconds * 0.9, "max_s": seconds * 1.6, "low_s": seconds * 0.97, "high_s": seconds * 1.05,
            "reps": 41, "rate": rate, "unit": unit, "ceiling": ceiling, "gpu_share": share, "bytes_copied": 0,
            "recovered": 0, "verified": True, "bits": "%016x" % hash((op, *size.values())), "joules": None}


def reached(peak, latency, work):
    return work / (latency + work / peak)


def hash(values):
    total = 14695981039346656037
    for byte in repr(values).encode():
        total = (total ^ byte) * 1099511628211 % 2**64
    return total


def rates(machine, op, size):
    """Of the CPU, the device and both, with the share of the device."""
    kind = "flops" if op == "matmul" else "bytes"
    work = size["n"] * 4e-9 if op != "matmul" else 2e-9 * size["m"] * size["n"] * size["k"]
    cpu = reached(machine["cpu_" + kind], 1e-7, work)
    gpu = reached(machine["gpu_" + kind], machine["latency"], work)
    both = 0.93 * (cpu + gpu)
    return (cpu, gpu, both, gpu / (cpu + gpu)) if both > 1.05 * cpu else (cpu, gpu, 0.99 * cpu, 0.0)


def modes(machine, op, size, unit):
    cpu, gpu, both, share = rates(machine, op, size)
    ceiling = machine["cpu_bytes" if unit == "GB/s" else "cpu_flops"] * 1.05
    rows = [row(op, size, "cpu", 0, 0, cpu, unit, ceiling)]
    if machine["gpu"]:
        rows += [row(op, size, "gpu", 1, 1, gpu, unit, ceiling), row(op, size, "both", None, share, both, unit, ceiling)]
    return rows


def sweep(machine, op, size, unit, first):
    """The slower side decides how long a split takes."""
    cpu, gpu, both, share = rates(machine, op, size)
    rows = []
    for percent in range(0, 101, 10):
        part = percent / 100
        rate = 1 / max((1 - part) / cpu, part / gpu, 1e-9) * (0.95 if 0 < part < 1 else 1)
        mode = "cpu" if part == 0 else "gpu" if part == 1 else "both"
        rows.append(row(op, size, mode, part, part, rate, unit, 0))
    best = min(rows, key=lambda r: r["median_s"])
    rows.append(row(op, size, "both", None, share, both, unit, 0))
    own = rows[-1]
    return rows, {"op": op, "type": "f32", **size, "first_row": first, "rows": len(rows), "rounds": 41,
                  "best_split": best["asked_share"], "best_s": best["median_s"], "own_s": own["median_s"],
                  "own_share": share, "eta": best["median_s"] / own["median_s"], "eta_quartile_1": 0.97,
                  "eta_quartile_3": 1.08}


def rung(machine, step, size, rate, unit, event=True):
    work = size["n"] * 4e-9 if unit == "GB/s" else 2e-9 * size["m"] * size["n"] * size["k"]
    seconds = work / rate if rate else None
    return {"device": machine["gpu"], "driver": machine["driver"], "step": step, **size,
            "event_s": seconds if event else None, "median_s": seconds, "min_s": seconds and seconds * 0.95,
            "max_s": seconds and seconds * 1.3, "reps": 21, "rate": rate, "unit": unit, "speedup": None,
            "bytes_copied": 0, "verified": True if rate else None, "note": "" if rate else "out: libclblast.so.1 is not installed"}


def lines(machine):
    """Steps that differ in the elements of an item: the good tree and the naive one, which is slow at few."""
    rungs = []
    for tree, loss in ("global stride", 1.0), ("naive tree", 2.5):
        for power in range(9):
            rate = machine["gpu_bytes"] * min(1, 0.2 * 2**power) / (1 + (loss - 1) / 2**power)
            rungs.append({**rung(machine, f"{tree} x{2**power}", {"n": 1 << 24}, rate, "GB/s"),
                          "family": tree, "axis": "elements per item", "place": 2**power})
    return rungs


def sizes(machine):
    """Two libraries at sizes of which the smallest is faster on the CPU; the other of them is OpenCV there."""
    return [rung(machine, step, {"n": 1 << power}, rate(1 << power), "GB/s", event=False) for power in (12, 16, 20)
            for step, rate in (("OpenCV, CPU", lambda n: 8.0), ("CUB", lambda n: reached(machine["gpu_bytes"], machine["latency"], 4e-9 * n)))]


def cube(side):
    return {"m": side, "n": side, "k": side}


def system(machine):
    return {"hx_version": "0.1.0", "compiler": "12.2.0", "cpu": machine["cpu"], "cores": 16, "hardware_threads": 32,
            "threads": 16, "isa": "avx512", "l1_bytes": 49152, "l2_bytes": 2 << 20, "l3_bytes": 300 << 20,
            "memory_bytes": 128 << 30, "kernel": "6.8.0", "machine": "x86_64", "governor": "performance", "stand_in": False,
            "arrays": "hx_alloc", "load_average": [0.1, 0.2, 0.1], "environment": {"HX_THREADS": "16; echo 'x'"}}


def part(machine, name, command, **lists):
    document = {"schema": 1, "program": "hx-bench", "command": command, "system": system(machine), **lists, "interrupted": False}
    return {"name": name, "status": 0, "timed_out": False, "seconds": 60.0, "document": document}


def share(machine):
    devices = [{"index": 0, "name": machine["cpu"], "vendor": "", "driver": "", "kind": "cpu", "state": "usable",
                "memory": "host", "compute_units": 16, "memory_bytes": 128 << 30, "why": ""}]
    if machine["gpu"]:
        devices.append({"index": 1, "name": machine["gpu"], "vendor": "", "driver": machine["driver"],
                        "kind": machine["kind"], "state": "usable", "memory": "copy", "compute_units": 132,
                        "memory_bytes": 80 << 30, "why": ""})
    lengths = [{"n": 1 << power} for power in range(10, 28, 2)]
    sides = [cube(side) for side in (256, 512, 1024, 2048)]
    first, one = sweep(machine, "sum", {"n": 1 << 24}, "GB/s", 0)
    second, two = sweep(machine, "matmul", cube(1024), "GFLOP/s", len(first))
    steps = [("naive", 0.1), ("local tile 16x16", 0.16), ("128-bit local reads", 0.25), ("register tile 8x8", 0.7),
             ("hx, kernels", 1.0), ("hx", 0.3), ("cuBLAS", 0.98), ("CLBlast", None)]
    peaks = [{"what": "fma", "isa": "avx512", "threads": t, "median": machine["cpu_flops"] * t / 16, "max": 1, "unit": "GFLOP/s"}
             for t in (1, 16)]
    peaks.append({"what": "read", "isa": "avx512", "threads": 16, "level": "memory", "streams": 1, "bytes": 1 << 30,
                  "median": machine["cpu_bytes"], "max": 1, "unit": "GB/s"})
    reductions = [r for op in ("sum", "dot", "argmin") for size in lengths for r in modes(machine, op, size, "GB/s")]
    products = [r for size in sides for r in modes(machine, "matmul", size, "GFLOP/s")]
    parts = [part(machine, "info", "info", devices=devices, rows=[], sweeps=[], verdict=""),
             part(machine, "reduce", "reduce", devices=devices, rows=reductions, sweeps=[],
                  verdict="the f32 sum gains. Every result has the bits of the scalar definition."),
             part(machine, "matmul", "matmul", devices=devices, rows=products, sweeps=[], verdict="both gains."),
             part(machine, "peak", "peak", peaks=peaks)]
    if machine["gpu"]:
        parts += [part(machine, "sweep", "sweep", devices=devices, rows=first + second, sweeps=[one, two], verdict="eta is good."),
                  part(machine, "ladder reduce", "ladder", ladder="reduce",
                       ladders=[rung(machine, step, {"n": 1 << 24}, f and f * machine["gpu_bytes"], "GB/s") for step, f in steps[:5]] + lines(machine) + sizes(machine)),
                  part(machine, "ladder matmul", "ladder", ladder="matmul",
                       ladders=[rung(machine, step, cube(1024), f and f * machine["gpu_flops"], "GFLOP/s") for step, f in steps])]
    return {"schema": 1, "program": "hx-bench", "command": "share", "hx_version": "0.1.0", "asked_seconds": 600,
            "parts": parts, "interrupted": False}


CARD = {"cpu": "Example Xeon 9999", "gpu": "NVIDIA Example 100", "driver": "580.1", "kind": "gpu", "cpu_bytes": 140.0,
        "cpu_flops": 2400.0, "gpu_bytes": 2900.0, "gpu_flops": 50000.0, "latency": 4e-5}
POCL = {**CARD, "cpu": "Example Ryzen", "gpu": "pthread-haswell-Example Ryzen", "driver": "3.1+debian", "kind": "opencl-cpu",
        "cpu_bytes": 12.0, "cpu_flops": 90.0, "gpu_bytes": 10.0, "gpu_flops": 85.0, "latency": 1e-4}


def lacking():
    """A driver has ended parts, and others were out of time."""
    document = share(CARD)
    for p in document["parts"]:
        if p["name"] in ("sweep", "ladder matmul"):
            p.update(document=None, status=-1)
        if p["name"] == "reduce":
            p["timed_out"] = True
            p["document"].update(rows=[], interrupted=True)
        if p["name"] == "ladder reduce":
            p["document"]["ladders"] = []
    document["parts"] = [p for p in document["parts"] if p["name"] not in ("peak", "matmul")]
    return document


def interrupted():
    document = share(CARD)
    document["interrupted"] = True
    document["parts"] = document["parts"][:2]
    document["parts"][1]["document"].update(rows=document["parts"][1]["document"]["rows"][:4], interrupted=True)
    return document


def of_other_types(value):
    """Every text becomes a number and every number a list: nothing is what the report expects."""
    if isinstance(value, dict):
        return {name: member if name in ("program", "schema", "command", "name") else of_other_types(member)
                for name, member in value.items()}
    if isinstance(value, list):
        return [of_other_types(member) for member in value]
    return 7 if isinstance(value, str) else [value]


def changed():
    """The sum on both is slower by half, the products are faster, and one result has other bits."""
    document = share(CARD)
    for p in document["parts"]:
        for r in p["document"].get("rows", []) if p["name"] in ("reduce", "matmul") else []:
            factor = 1.5 if r["op"] == "sum" and r["mode"] == "both" else 0.5 if r["op"] == "matmul" else 1.02
            for name in "median_s", "min_s", "max_s", "low_s", "high_s":
                r[name] *= factor
            r["rate"] /= factor
    return document


def narrow(factor, part=0.001):
    """Every time takes this much longer, and its interval is this part of it to both sides."""
    document = share(CARD)
    for p in document["parts"]:
        for r in p["document"].get("rows", []):
            median = r["median_s"] * factor
            r.update(median_s=median, low_s=(1 - part) * median, high_s=(1 + part) * median, rate=r["rate"] / factor)
    return document


def other_bits():
    document = share(CARD)
    document["parts"][1]["document"]["rows"][0]["bits"] = "0123456789abcdef"
    return document


def main():
    hostile = {**CARD, "cpu": HOSTILE, "gpu": HOSTILE, "driver": "\"><img src=x onerror=alert(1)>"}
    documents = {"nvidia": share(CARD), "pocl": share(POCL), "hostile": share(hostile), "lacking": lacking(),
                 "interrupted": interrupted(), "alone": share({**CARD, "gpu": ""}), "changed": changed(), "bits": other_bits(),
                 "narrow": narrow(1), "later": narrow(1.04), "slower": narrow(1.06), "noisy": narrow(1, 0.999),
                 "types": of_other_types(copy.deepcopy(share(CARD))),
                 "empty": {"schema": 1, "program": "hx-bench", "command": "share", "parts": [], "interrupted": True},
                 "single": share(CARD)["parts"][1]["document"]}
    for name, document in documents.items():
        with open(f"{sys.argv[1]}/{name}.json", "w", encoding="utf-8") as f:
            json.dump(document, f, ensure_ascii=name != "hostile", indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
