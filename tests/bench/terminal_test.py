# SPDX-License-Identifier: Apache-2.0
"""terminal_test.py path/to/hx-bench: what hx-bench prints on a terminal. Every subcommand fits the terminal's width,
colours appear on terminals alone, Ctrl-C prints and writes what has been measured, the progress bar says how much is
left, and --help, --md and --jsonl are as documented."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

BENCH = os.path.abspath(sys.argv[1])
VERBS = "info env reduce matmul sweep peak call ladder tune explain sim share report".split()
FAILED = []
CHECKS = 0
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "TERM": "xterm", "LC_ALL": "C.UTF-8", "HX_THREADS": "1", "POCL_MAX_PTHREAD_COUNT": "1",
    "OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd",
}
SIM = {"HX_SIM": "rate=2e9"}
SMALL = ["--reps", "2"]


def check(condition, what, text=""):
    global CHECKS
    CHECKS += 1
    if not condition:
        FAILED.append(what)
        print("FAILED:", what)
        print("\n".join("    " + line for line in text.splitlines()[:40]))


def run(*arguments, columns=80, env=None, until=None, seconds=150):
    """Runs hx-bench on a terminal of this width. Returns its status and all that it wrote. until: Ctrl-C is sent once
    this pattern has been written."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([BENCH, *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                               env={**ENVIRONMENT, **(env or {})}, start_new_session=True)
    os.close(slave)
    text, end = b"", time.monotonic() + seconds
    while True:
        if time.monotonic() > end:
            process.kill()
            check(False, f"{' '.join(arguments)} takes more than {seconds} s", text.decode())
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
        if until and re.search(until, text.decode(errors="replace")):
            process.send_signal(signal.SIGINT)
            until = None
    os.close(master)
    return process.wait(), text.decode()


def visible(text):
    """The lines as a terminal shows them: what was erased by the progress bar is not in them."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.replace("\r\n", "\n"))
    lines = []
    for line in plain.split("\n"):
        for part in line.split("\r"):
            lines.append(part.replace("\x1b[K", ""))
    return lines


def fits(name, text, columns):
    """Messages of the library (hx: warning: ...) and of compilers (3 warnings generated) are not hx-bench's."""
    for line in visible(text):
        if line.startswith("hx: ") or line.endswith(" generated."):
            continue
        check(len(line) <= columns, f"{name}: {len(line)} columns on a terminal of {columns}: {line}")


def piped(*arguments, env=None):
    done = subprocess.run([BENCH, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150,
                          env={**ENVIRONMENT, **(env or {})}, check=False)
    return done.returncode, done.stdout, done.stderr


def test_width():
    """Every subcommand, with devices whose names are long, at several widths."""
    both, simulated = ["--devices", "cpu,pocl"], ["--devices", "cpu,sim"]
    long_name = {"HX_SIM": "rate=2e9;profile=xe;profile=rdna3"}
    jobs = [
        (["--help"], {}), (["info", *simulated], long_name), (["env"], long_name),
        ([*both, "--size", "1000,64K,64x64x64", *SMALL], {}),
        (["reduce", *simulated, "--size", "1,1e6,2^20", "--op", "all", *SMALL], {**SIM, "HX_SPLIT": "30%"}),
        (["matmul", *simulated, "--size", "33,20x4096x70,128x1x100000", *SMALL], SIM),
        (["sweep", *simulated, "--size", "64K", "--op", "sum", "--step", "50", "--reps", "21"], SIM),
        (["peak", *SMALL], {}), (["call", *SMALL], {}), (["explain", *simulated, "--size", "16M"], SIM),
        (["explain", *simulated, "--size", "16M,512x512x512"], {**long_name, "HX_OBJECTIVE": "edp"}),
        (["explain", *simulated, "--size", "4M"], {**SIM, "HX_SPLIT": "0.25"}),
        (["sim", "--profile", "xe"], {}), # ladder_test checks the other ladders
        (["ladder", "offload", *simulated, "--size", "64x96x80,3000", "--step", "50", *SMALL], SIM),
        (["reduce", "--vs", "openblas,blis", "--op", "sum_abs,argmax", "--size", "3000", "--reps", "15"], {}),
        (["matmul", "--vs", "openblas,blis", "--size", "33,12x2000x1700", "--reps", "15"], {}),
    ]
    for arguments, env in jobs:
        for columns in (80,) if arguments[0] in ("matmul", "reduce", "peak") else (80, 60, 120):
            status, text = run(*arguments, columns=columns, env=env)
            check(status == 0, f"{' '.join(arguments)}: status {status}", text)
            fits(" ".join(arguments), text, columns)
    status, text = run("reduce", "--devices", "cpu", "--size", "1000", *SMALL, columns=200)
    fits("a wide terminal", text, 120)
    status, text = run("tune", *both, until="hx uses", seconds=200)
    check(status == -signal.SIGINT, f"tune, interrupted: status {status}", text)
    fits("tune", text, 80)
    status, out, _ = piped("env", env={"COLUMNS": "70"})
    check(status == 0 and 60 < max(map(len, out.splitlines())) <= 70, "COLUMNS=70 of a pipe", out)
    status, out, _ = piped("env")
    check(status == 0 and 70 < max(map(len, out.splitlines())) <= 80, "a pipe has 80 columns", out)
    status, out, _ = piped("env", env={"COLUMNS": "many"})
    check(status == 0 and max(map(len, out.splitlines())) <= 80, "a COLUMNS that is no number", out)


def test_columns():
    """Columns that say nothing are left out, and one group has one unit."""
    arguments = ["reduce", "--devices", "cpu,sim", "--size", "1000,4M", "--reps", "3"]
    _, text = run("reduce", "--devices", "cpu", "--size", "1000,4M", "--reps", "3", columns=120)
    shown = "\n".join(visible(text))
    head = next(line for line in visible(text) if line.startswith("size"))
    for word in ("copied", "bits"):
        check(word not in head, f"the column {word} says the same in each row", shown)
    for word in ("mode", "asked", "median", "min", "max", "runs", "GB/s", "ceiling", "x CPU", "on GPU", "check"):
        check(word in head, f"no column {word} at 120 columns", shown)
    _, text = run(*arguments, env=SIM)
    rows = [line for line in visible(text) if re.match(r"(1000|2\^22) ", line)]
    check(len(rows) == 6, "two sizes have six rows", text)
    for group in rows[:3], rows[3:]:
        units = {re.search(r" [0-9.]+ (ns|us|ms|s) ", row).group(1) for row in group}
        check(len(units) == 1, f"the units {units} in one group", "\n".join(group))
    check("copied" not in text, "there is room for the column copied", text)
    _, text = run(*arguments, env=SIM, columns=120)
    check(re.search(r" 16\.0[0-9]? MiB", text), "what was copied is not shown", text)
    check("1.00" in rows[0], "the CPU is not 1.00x the CPU", "\n".join(rows))
    _, text = run("reduce", "--devices", "cpu,sim", "--size", "4M", "--reps", "3", env={**SIM, "HX_SPLIT": "30%"})
    check(re.search(r"both +30 %", text), "HX_SPLIT=30% is not shown as asked", text)
    _, out, _ = piped("reduce", "--devices", "cpu,sim", "--size", "4M", "--reps", "3", "--json", "-",
                      env={**SIM, "HX_SPLIT": "30%"})
    check([round(row["asked_share"], 3) for row in json.loads(out)["rows"]] == [0, 1, 0.3], "asked_share in JSON", out)


def test_names():
    """Platforms are named, and what is only not in use is not refused."""
    for arguments in (["info"], ["reduce", "--devices", "cpu,pocl", "--size", "1000", *SMALL]):
        _, text = run(*arguments)
        check("PoCL: " in text and "pthread-" not in text, f"{arguments[0]}: PoCL is not named", text)
    _, text = run("info")
    check("not in use" in text and "refused  " not in text and "compute units" in text, "info", text)
    _, out, _ = piped("info", "--json", "-", "--quiet")
    device = json.loads(out)["devices"][1]
    check(device["platform"] == "PoCL" and device["state"] == "refused", "the JSON document of info", out)
    _, text = run("explain", "--devices", "cpu,pocl", "--op", "matmul", "--size", "512")
    check(re.search("CPU \\+ 1 PoCL", text) and "GMAC" not in text, "explain names devices", text)


def test_colours():
    arguments = ["reduce", "--devices", "cpu,sim", "--size", "1000", "--reps", "3"]
    _, text = run(*arguments, env=SIM)
    bold = [line for line in text.splitlines() if line.startswith("\x1b[1m1000")]
    check(len(bold) == 1 and bold[0].endswith("\x1b[0m"), "the winner of a group is not bold", text)
    for name, env in (("NO_COLOR", {"NO_COLOR": "1"}), ("a dumb terminal", {"TERM": "dumb"})):
        _, text = run(*arguments, env={**SIM, **env})
        check("\x1b[1" not in text and "1000" in text, f"{name}: colours", text)
    _, text = run(*arguments, env={**SIM, "NO_COLOR": ""})
    check("\x1b[1m" in text, "an empty NO_COLOR turns colours off", text)
    _, out, err = piped(*arguments, env=SIM)
    check("\x1b" not in out + err, "colours in a pipe", out)
    with tempfile.TemporaryDirectory() as folder:
        files = [f"--json={folder}/j", f"--csv={folder}/c", f"--jsonl={folder}/l", f"--md={folder}/m"]
        run(*arguments, *files, env=SIM)
        for name in "jclm":
            with open(f"{folder}/{name}", encoding="utf-8") as file:
                check("\x1b" not in file.read(), f"colours in a file ({name})")
    _, text = run("reduce", "--devices", "sim", "--size", "4M", "--reps", "3", env={"HX_SIM": "rate=2e9,fail=enqueue@1",
                                                                                 "HX_OFFLOAD": "mandatory"})
    check("\x1b[1;31m" in text, "an error is not red", text)


def test_progress():
    # Arrays of which a thousand runs take longer than the time of a row, so that the whole takes over three seconds.
    _, text = run("reduce", "--devices", "cpu", "--size", "8M,16M,32M,64M", "--seconds", "0.9")
    bars = re.findall(r"\[[#.]{20}\] +[0-9]+ %  ([0-9]) of 4, ([0-9]+) s left  f32 sum 2\^2[3-6]", text)
    check(len(bars) > 3 and int(bars[0][1]) >= int(bars[-1][1]), f"the progress bar says {bars}", text)
    check(not any("of 4" in line for line in text.replace("\r\x1b[K", "\n\n").split("\n\n") if "verdict" in line),
          "the bar is left", text)
    _, text = run("reduce", "--devices", "cpu", "--size", "32M,64M", "--seconds", "0.9", "--quiet")
    check(text == "", "--quiet is not quiet", text)
    _, out, err = piped("reduce", "--devices", "cpu", "--size", "32M,64M", "--seconds", "0.9")
    check("left" not in out + err, "a bar in a pipe", err)


def test_interrupt():
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}" for name in ("json", "jsonl", "csv", "md")}
        for name in files:
            with open(files[name], "w", encoding="utf-8") as file:
                file.write("what was there\n")
        options = [f"--{name}={path}" for name, path in files.items() if name != "md"]
        arguments = ["reduce", "--devices", "cpu", "--size", "1K,32M", "--seconds", "60"]
        status, text = run(*arguments, *options, until=r"2\^10 +cpu")
        check(status == -signal.SIGINT, f"Ctrl-C: status {status}", text)
        check("Interrupted: " in " ".join(text.split()), "Ctrl-C prints no verdict", text)
        document = json.load(open(files["json"], encoding="utf-8"))
        check(document["interrupted"] is True and [row["n"] for row in document["rows"]] == [1024], "the document")
        lines = [json.loads(line) for line in open(files["jsonl"], encoding="utf-8")]
        check(lines[-1] == {"record": "end", "interrupted": True}, "the last line", str(lines))
        check(len(list(csv.DictReader(open(files["csv"], encoding="utf-8")))) == 1, "the table")
        status, text = run(*arguments, f"--md={files['md']}", until=r"[0-9] s left  f32 sum 2\^25")
        check("| 2^10 |" in open(files["md"], encoding="utf-8").read(), "Markdown after Ctrl-C", text)
        check(not [name for name in os.listdir(folder) if name.endswith(".part")], "a temporary file is left")
    status, text = run(*arguments, until=r"2\^10 +cpu")  # without files
    check(status == -signal.SIGINT and "Interrupted: " in " ".join(text.split()), "Ctrl-C without files", text)
    status, text = run("ladder", "offload", "--devices", "cpu", "--size", "64x64x64,2000x4000x2000", "--step", "50",
                       until="devices alone")
    check(status == -signal.SIGINT and "hx decides" in text, "Ctrl-C in a ladder", text)


def test_files():
    arguments = ["reduce", "--devices", "cpu,sim", "--size", "1000,4M", "--op", "sum,argmax", "--reps", "3"]
    status, out, _ = piped(*arguments, "--md", env=SIM)
    tables = [block for block in re.split("\n\n+", out) if block.startswith("|")]
    check(status == 0 and len(tables) == 3, f"{len(tables)} tables in Markdown, not 3", out)
    for table in tables:
        lines = table.splitlines()
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in lines}
        check(len(cells) == 1 and re.fullmatch(r"(\|:?-+:?)+\|", lines[1]), "a table of Markdown", table)
    check(len(tables[1].splitlines()) == 8 and "verdict: " in out, "the rows of a table of Markdown", tables[1])
    status, out, err = piped(*arguments, "--jsonl", "-", env=SIM)
    lines = [json.loads(line) for line in out.splitlines()]
    kinds = [line["record"] for line in lines]
    check(status == 0 and kinds == ["run", "system"] + ["row"] * 12 + ["end"], f"JSON lines: {kinds}", out)
    check(lines[0]["program"] == "hx-bench" and lines[0]["command"] == "reduce" and lines[1]["cpu"], "the first lines")
    check({"op", "n", "mode", "median_s", "bits", "speedup", "low_s"} <= set(lines[2]), "a line of a row", str(lines[2]))
    check("verdict: " in err, "the table does not go to stderr", err)
    for verb, rows in (("info", 2), ("env", 16), ("peak", 3), ("call", 6), ("explain", 4), ("sim", 8)):
        extra = {"peak": SMALL, "call": SMALL, "sim": ["--profile", "xe"]}.get(verb, [])
        extra += ["--devices", "cpu,sim"] if verb == "explain" else []
        status, out, _ = piped(verb, *extra, "--quiet", "--jsonl", "-", env=SIM)
        lines = [json.loads(line, object_pairs_hook=unique) for line in out.splitlines()]
        count = sum(line["record"] == "row" for line in lines)
        check(status == 0 and count >= rows, f"{verb}: {count} lines of rows, not {rows} or more", out)
    status, _, err = piped("reduce", "--json", "-", "--jsonl", "-")
    check(status == 2 and "only one of" in err, "two documents on the standard output", err)
    status, out, _ = piped("sim", "--profile", "xe", "--csv", "-", "--quiet")
    rows = list(csv.DictReader(io.StringIO(out)))
    better = [min(float(row["cpu_ms"]), float(row["gpu_ms"])) / float(row["tenth_ms"]) for row in rows]
    check(all(abs(float(row["gain"]) - x) < 1e-6 for row, x in zip(rows, better)), "the gain of sim", out)


def unique(pairs):
    check(len(dict(pairs)) == len(pairs), f"a member occurs twice: {pairs}")
    return dict(pairs)


def test_help():
    for verb in VERBS:
        for arguments in (["help", verb], [verb, "--help"]):
            status, text = run(*arguments)
            check(status == 0 and f"hx-bench {verb}" in text and "examples:" in text and "options:" in text,
                  f"{' '.join(arguments)}: status {status}", text)
            fits(" ".join(arguments), text, 80)
    texts = {run("help", verb)[1] for verb in VERBS}
    check(len(texts) == len(VERBS), "two subcommands have the same help")
    for arguments in (["help"], ["--help"], ["-h"], ["help", "--help"]):
        status, text = run(*arguments)
        check(status == 0 and all(f"  {verb} " in text for verb in VERBS), f"{' '.join(arguments)}: {status}", text)
    # The examples are accepted: they are parsed, and their devices, files and libraries are not opened.
    for verb in VERBS:
        _, text = run("help", verb, columns=120)
        for line in text.split("examples:")[1].splitlines():
            words = [word for word in line.split() if not re.match(r"HX_\w+=", word)]
            if not words:
                continue
            status, _, err = piped(*words[1:], "--out" if verb == "report" else "--json", "/nowhere/x")
            check("cannot write '/nowhere/x'" in err, f"an example is not accepted: {line}", err)


def test_mistakes():
    for arguments, word in (
            (["--sise", "10"], "did you mean --size?"), (["reduce", "--opp", "sum"], "did you mean --op?"),
            (["--jsno=x"], "did you mean --json?"), (["swep"], "did you mean sweep?"), (["expain"], "did you mean explain?"),
            (["matmull"], "did you mean matmul?"), (["help", "laddr"], "did you mean ladder?"), (["hlep"], "did you mean help?"),
            (["report", "--from", "x", "--json", "y"], "report --json is for measuring"),
            (["report", "--threads", "1", "--from", "x", "--devices", "cpu"], "report --devices is for measuring"),
            (["report", "--from", "x", "--seconds", "9"], "report --seconds is for measuring"),
            (["bogus"], "there is no subcommand 'bogus' (hx-bench help)"), (["--zzzzzz"], "unknown option '--zzzzzz' ("),
            (["info", "--size", "12"], "info takes no --size"), (["env", "--seconds", "1"], "env takes no --seconds"),
            (["peak", "--devices", "cpu"], "peak takes no --devices"), (["sim", "--type", "i32"], "sim takes no --type"),
            (["share", "--csv", "x"], "share takes no --csv"), (["ladder", "reduce", "--step", "5"], "takes no --step"),
            (["ladder", "reduce", "--tiles", "8x8x8"], "takes no --tiles"), (["sweep", "--tiles", "8x8x8"], "sweep takes no --tiles"),
            (["ladder", "offload", "--size", "1000", "--tiles", "8x8x8"], "no --size is MxNxK"),
            (["tune", "--reps", "3"], "tune takes no --reps"), (["reduce", "--profile", "xe"], "reduce takes no --profile"),
            (["--step", "5"], "the default run takes no --step"), (["sweep", "--vs", "blis"], "sweep takes no --vs"),
            (["reduce", "--devices", "foo"], "--devices=foo: accepted: "),
            (["info", "--devices", "foo"], "--devices=foo: accepted: "),
            (["reduce", "--threads", "none"], "--threads=none: accepted: "),
            (["reduce", "--size", "0"], "numbers above 0"), (["reduce", "--size", "1.5"], "'1.5'"),
            (["reduce", "--size", "1e40"], "'1e40'"), (["reduce", "--size", "99999999999G"], "'99999999999G'"),
            (["reduce", "--size", "1e"], "'1e'"), (["reduce", "--size", "3^4"], "'3^4'"),
            (["reduce", "--size", "1T"], "'1T'"), (["reduce", "--size", "1KK"], "'1KK'")):
        status, out, err = piped(*arguments)
        check(status == 2 and word in err and not out and err.count("\n") == 1, f"{' '.join(arguments)}: {status}", err)
        check("HX_DEVICES" not in err.split("accepted:")[0] and "hx_settings" not in err, f"{arguments} names it wrongly", err)
    _, _, err = piped("env", env={"HX_SPLIT": "50"})
    check('in percent it needs a % after "50"' in err, "HX_SPLIT=50", err)
    status, out, _ = piped("reduce", "--devices", "cpu", "--reps", "2", "--quiet", "--json", "-", "--size",
                           "64K,1e5,2^10,1.5k,0.5M,2.5e3,10,1E1,3m")
    got = [row["n"] for row in json.loads(out)["rows"]]
    check(got == [65536, 100000, 1024, 1536, 524288, 2500, 10, 10, 3 << 20], f"--size: {got}", out)
    status, out, _ = piped("matmul", "--devices", "cpu", "--reps", "2", "--quiet", "--json", "-", "--size", "1Kx2x1e1")
    got = [(row["m"], row["n"], row["k"]) for row in json.loads(out)["rows"]]
    check(got == [(1024, 2, 10)], f"--size of a shape: {got}", out)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        ENVIRONMENT.update({"HX_CACHE_DIR": folder + "/hx", "POCL_CACHE_DIR": folder + "/pocl", "HOME": folder})
        tests = [value for name, value in globals().items() if name.startswith("test_")]
        for test in tests:
            if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
                continue
            began = time.monotonic()
            test()
            print(f"{test.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    print(f"terminal_test: {len(FAILED)} of {CHECKS} checks failed" if FAILED else f"terminal_test: {CHECKS} checks passed")
    return 1 if FAILED else 0


sys.exit(main())
