#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""static_model.py MACHINES TARGET REGISTERS SPILLS FILE: what the machine code of one kernel allows at most.

FILE is what tests/emulator/profile.c prints (AMD: instructions as executed), or an assembly dump of Intel's compiler
(its innermost loop with the most multiply-adds). Prints the figures that COLUMNS names, separated by tabs. Work is
multiply-adds of a lane, or without any (reductions) words read from global memory. What the figures
do not know stands in docs/STATIC_MODEL.md.
"""
import re
import sys

COLUMNS = "registers spills threads work_per_slot work_share local_bytes global_bytes issue port limit".split()


def read_machine(path, target):
    with open(path, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    for row in rows[1:]:
        if row[0] == target:
            values = [float(value) if "." in value else int(value) for value in row[1:-1]]
            return dict(zip(rows[0][1:-1], values))
    sys.exit(f"static_model: {path} has no {target}")


class Counts:
    """Of one lane: work, issue slots, instructions that work and all of them, bytes of local and global memory."""

    def __init__(self):
        self.work = self.slots = self.working = self.all = self.local = self.global_ = 0

    def without_multiply_adds(self):
        """A reduction: work is what it reads."""
        if self.work == 0:
            self.work = self.global_ / 4
        return self


def amd_bytes(name):
    """ds_read2_b64, global_load_dwordx4: bytes that a lane reads or writes."""
    dwords = re.search(r"dwordx?(\d*)$", name)
    if dwords:
        return 4 * int(dwords.group(1) or 1)
    bits = re.search(r"_[biu](\d+)$", name)
    two = re.search(r"(read|write)2|_2addr", name)
    return (int(bits.group(1)) // 8 if bits else 0) * (2 if two else 1)


def amd_fma(name):
    if name.startswith("v_pk_fma_f32"):
        return 2
    return 1 if re.match(r"v_fma(c|mk|ak)?_f32", name) else 0


def read_amd(lines):
    counts = Counts()
    for line in lines[1:]:
        times, name, *pair = line.split()
        times = int(times)
        counts.all += 0 if pair else times
        counts.work += times * amd_fma(name)
        counts.working += times * (amd_fma(name) > 0)
        if name.startswith("v_") and not pair:  # the first of a pair shares the slot of the second
            counts.slots += times
        if name.startswith("ds_") and "swizzle" not in name:
            counts.local += times * amd_bytes(name)
        if re.match(r"(global|flat|buffer)_", name):
            counts.global_ += times * amd_bytes(name)
    return counts.without_multiply_adds()


def intel_loops(lines):
    """Innermost loops as lists of instructions."""
    instructions, labels, loops = [], {}, []
    for line in lines:
        label = re.match(r"^(\w+):", line)
        if label:
            labels[label.group(1)] = len(instructions)
        elif line.strip() and not line.startswith("//"):
            instructions.append(line)
    for at, line in enumerate(instructions):
        if re.match(r"(\([^)]*\)\s*)?(jmpi|while|goto|brc|brd)\b", line.strip()):
            loops += [(labels[t], at) for t in re.findall(r"\b(_?\w+)\b", line) if labels.get(t, at + 1) <= at]
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    return [instructions[first : last + 1] for first, last in inner]


CONTROL = "sync jmpi while goto brc brd break cont join if else endif nop".split()


def intel_bytes(line, text, register):
    """Bytes that an access reads and writes, by the registers that the dump names."""
    if "fence" in line or "barrier" in line:
        return 0
    read = re.search(r"rd:(\d+)", line) or re.match(r"load\S*\s+\(\d+\|M\d+\)\s+r\d+:(\d+)", text)
    written = re.match(r"store\S*\s+\(\d+\|M\d+\)\s+\S+\s+r\d+:(\d+)", text)
    written = written or (re.search(r"wr:\d+h?\+(\d+)", line) if "write" in line else None)
    return register * sum(int(part.group(1)) for part in (read, written) if part)


def count_intel(loop, machine):
    counts = Counts()
    for line in loop:
        text = re.sub(r"^\([^)]*\)\s*", "", line.strip())
        name = text.split()[0].split(".")[0]
        lanes = re.search(r"\((\d+)\|M\d+\)", text)
        lanes = int(lanes.group(1)) if lanes else 1
        memory = name.startswith("send") or name in ("load", "store")
        slots = 1 if memory or name in CONTROL else max(1, -(-lanes // machine["lanes"]))
        if re.search(r":u?q\b|:df\b", text.split("//")[0]) and not memory:
            slots *= 2
        counts.slots += slots * machine["lanes"]
        counts.all += 1
        counts.work += lanes if name in ("mad", "mac") else 0
        counts.working += name in ("mad", "mac")
        if memory and ("slm" in line.lower() or re.search(r"0x[0-9A-F]{6}FE\b", line)):
            counts.local += intel_bytes(line, text, 4 * machine["lanes"])
        elif memory:
            counts.global_ += intel_bytes(line, text, 4 * machine["lanes"])
    return counts


def read_intel(lines, machine):
    loops = [count_intel(loop, machine) for loop in intel_loops(lines)]
    best = max(loops, key=lambda counts: (counts.work, counts.global_), default=Counts())
    return best.without_multiply_adds()


def figures(counts, machine, registers, spills):
    allocated = -(-registers // machine["granule"]) * machine["granule"]
    threads = machine["threads"] // (2 if registers > 128 else 1)
    if machine["file"]:
        threads = min(machine["threads"], machine["file"] // max(allocated, 1))
    per_slot = counts.work / counts.slots if counts.slots else 0
    issue = per_slot / machine["per_slot"]
    through_port = counts.local if machine["file"] else counts.local + counts.global_
    wanted = through_port / counts.work * machine["lanes"] * machine["per_slot"] if counts.work else 0
    port = machine["port"] / wanted if wanted else float("inf")
    return {
        "registers": registers,
        "spills": spills,
        "threads": threads,
        "work_per_slot": f"{per_slot:.3f}",
        "work_share": f"{counts.working / counts.all:.3f}",
        "local_bytes": f"{counts.local / counts.work:.3f}",
        "global_bytes": f"{counts.global_ / counts.work:.3f}",
        "issue": f"{issue:.3f}",
        "port": f"{min(port, 9.99):.2f}",
        "limit": "issue" if issue <= port else "port",
    }


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    machine = read_machine(sys.argv[1], sys.argv[2])
    with open(sys.argv[5], encoding="utf-8", errors="replace") as file:
        lines = [line for line in file.read().split("\n") if line.strip()]
    amd = " waves " in lines[0]
    counts = read_amd(lines) if amd else read_intel(lines, machine)
    if counts.work == 0:
        sys.exit(f"static_model: {sys.argv[5]} has no loop that works")
    of = figures(counts, machine, int(sys.argv[3]), int(sys.argv[4]))
    if counts.working == 0:  # no device computes as fast as this reads: memory is the limit
        of["work_share"], of["issue"], of["port"], of["limit"] = "-", "-", "-", "memory"
    print("\t".join(str(of[column]) for column in COLUMNS))


main()
