#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutated models, manifests, tensor files and dumps of other tools through the command line of the release tools.

Whatever the file: no signal, no time-out, exit code 0 to 3, no control byte on the screen, memory within --max-memory.

    mutate_test.py --bin build/release/bin --work FOLDER [--cases N] [--seed S] [--jobs J] [--full] [--only KIND]
    [--case I] [--more FOLDER]

A case is drawn from the seed and its number alone, so `--case I` runs it again; what failed is kept in FOLDER/failed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import mutations
import seeds

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BUDGET = 512 << 20       # --max-memory
OUTSIDE = 300 << 20      # code, libraries, bookkeeping
ADDRESS_SPACE = 6 << 30  # ulimit -v: the last resort if a check is missing
WAITING = 5              # the wall's time limit in units of the CPU's: a machine that others use, too
WEIGHTS = {"onnx": 6, "tflite": 4, "tnnproto": 2, "tnnmodel": 1, "tensor": 3, "manifest": 2, "foreign": 2,
           "option": 1, "graph": 1}


def special_files(folder):
    """What a name in a file may point to beside files."""
    os.mkfifo(folder / "fifo")
    os.symlink("loop", folder / "loop")
    here = os.open(folder, os.O_DIRECTORY)  # a socket's own path may be 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"/proc/self/fd/{here}/socket")
    finally:
        os.close(here)


def commands(rng, kind, path, folder):
    digits = REPOSITORY / "examples/digits"
    if kind in ("onnx", "tflite"):
        return [rng.choice([["model_info", "-m", path], ["model_convert", path, "-o", folder / "out"],
                            ["model_run", "-m", path, "-d", rng.choice(["NAIVE", "X86"])],
                            ["model_check", "-m", path, "-d", "X86"]])]
    if kind == "tnnproto":
        return [rng.choice([["model_info", "-m", path], ["model_run", "-m", path, "-d", rng.choice(["NAIVE", "X86"])],
                            ["model_check", "-m", path, "-d", "X86"],
                            ["model_convert", path, "-o", folder / "out", "--random-weights"]])]
    if kind == "tnnmodel":
        proto = digits / "digits.tnnproto"
        return [rng.choice([["model_run", "-p", proto, "-m", path],
                            ["model_convert", "-p", proto, "-m", path, "-o", folder / "out"],
                            ["model_info", "-p", proto, "-m", path]])]
    if kind == "tensor":
        return [rng.choice([["model_run", "-m", digits / "digits.tnnproto", "-i", path],
                            ["blob_diff", path, folder / "original" / path.name],
                            ["blob_diff", folder / "original" / path.name, path]])]
    if kind == "option":
        check = ["model_check", "-m", digits / "digits.tnnproto"]
        return [{"baseline.json": [*check, "-d", "NAIVE", "--baseline", path],
                 "outputs.json": [*check, "--subject", path],
                 "names.csv": [*check, "--subject", folder / "original", "--names", path],
                 "plain.txt": ["model_run", "-m", digits / "digits.tnnproto", "-ip", path]}[path.name]]
    if kind == "graph":
        return [rng.choice([["model_check", "--subject", path.parent], ["model_info", "-m", path.parent]])]
    if kind == "foreign":
        return [["model_check", "-m", digits / "digits.tnnproto", "--subject", path]]
    whole = folder / "original"
    return [rng.choice([["blob_diff", path.parent, whole], ["blob_diff", whole, path.parent],
                        ["model_check", "-m", digits / "digits.tnnproto", "--subject", path.parent]])]


def forbidden(output):
    """The first thing in a tool's output that must not reach a terminal, or None."""
    for character in output.decode("utf-8", "surrogateescape"):
        code = ord(character)
        if character == "\n":
            continue
        ranges = (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0xDC80, 0xDCFF)
        hidden = any(first <= code <= last for first, last in ranges)
        if code < 32 or 127 <= code < 160 or hidden:
            return hex(code)
    return None


def run(command, folder, timeout):
    """(what is wrong or None, exit code, output)"""
    # By a program: a function of ours before the exec would copy this process for each call.
    limits = ["prlimit", f"--as={ADDRESS_SPACE}", f"--cpu={int(timeout)}", "--core=0", "--"]
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        process = subprocess.Popen(limits + command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        end = time.monotonic() + WAITING * timeout
        pid = 0
        while pid == 0 and time.monotonic() < end:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0.002)
        if pid == 0:
            process.kill()
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    output = (folder / "stdout").read_bytes() + (folder / "stderr").read_bytes()
    code = process.returncode
    peak = usage.ru_maxrss * 1024
    wrong = None
    if pid == 0:
        wrong = f"not done after {WAITING * timeout} s"
    elif -code in (signal.SIGXCPU, signal.SIGKILL):
        wrong = f"not done after {timeout} s of computing"
    elif code < 0:
        wrong = f"ended by signal {-code}"
    elif code not in (0, 1, 2, 3):
        wrong = f"exit code {code}"
    elif forbidden(output) is not None:
        wrong = f"the output has the raw character {forbidden(output)}"
    elif peak > BUDGET + OUTSIDE:
        wrong = f"it took {peak >> 20} MiB with --max-memory {BUDGET >> 20}M"
    return wrong, code, output


def run_case(options, found, index):
    rng = random.Random(f"{options.seed}:{index}")
    kinds = [options.only] if options.only else list(WEIGHTS)
    kind = rng.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
    source = rng.choice(found[kind])
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"case{index}_", dir=options.work))
    special_files(folder)
    if kind == "foreign":
        whole, name = source
        source = whole / name
        shutil.copytree(whole, folder / whole.name)
    target = folder / source.name
    if kind == "manifest":
        shutil.copytree(source.parent, folder / "original")
        shutil.copytree(source.parent, folder / "dump")
        target = folder / "dump" / source.name
    elif kind == "graph":
        shutil.copytree(source.parent, folder / "dump")
        target = folder / "dump" / "manifest.json"
    elif kind == "option":
        shutil.copytree(found["manifest"][0].parent, folder / "original")
    elif kind == "foreign":
        target = folder / whole.name / name
    elif kind == "tensor":
        (folder / "original").mkdir()
        shutil.copy(source, folder / "original")
    names = mutations.SPECIAL_FILES + [str(folder / name) for name in ("fifo", "socket", "loop")]
    target.write_bytes(mutations.mutate(rng, kind, source.name, source.read_bytes(), names))
    for words in commands(rng, kind, folder / whole.name if kind == "foreign" else target, folder):
        command = [str(options.bin / words[0]), *map(str, words[1:]), "--max-memory", f"{BUDGET >> 20}M"]
        wrong, code, output = run(command, folder, options.timeout)
        if wrong is None:
            continue
        kept = options.work / "failed" / f"{options.seed}_{index}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(exist_ok=True)
        shutil.move(folder, kept)
        shown = " ".join(command).replace(str(folder), str(kept))
        return code, f"case {index} ({kind}, {source.name}): {wrong}: {shown}\n    {output[-300:]!r}"
    shutil.rmtree(folder)
    return code, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--case", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=60, help="seconds of CPU for one call")
    parser.add_argument("--only", choices=list(WEIGHTS))
    parser.add_argument("--more", type=pathlib.Path, help="a folder of .tflite files below 64 kB, mutated, too")
    parser.add_argument("--full", action="store_true",
                        help="every small model of libonnx-testdata, the large tnnprotos")
    options = parser.parse_args()
    options.bin, options.work = options.bin.resolve(), options.work.resolve()
    found = seeds.collect(REPOSITORY, options.bin, options.work / "seeds", options.full)
    if options.more is not None:
        found["tflite"] += [path for path in sorted(options.more.rglob("*.tflite")) if path.stat().st_size < 1 << 16]
    indices = [options.case] if options.case is not None else range(options.first, options.first + options.cases)
    codes, failures = {}, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for code, failure in pool.map(lambda index: run_case(options, found, index), indices):
            codes[code] = codes.get(code, 0) + 1
            if failure is not None:
                failures.append(failure)
                print(failure, flush=True)
    print(f"{len(indices)} cases of seed {options.seed}, {len(failures)} failed; exit codes: "
          + ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
