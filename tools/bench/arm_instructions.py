#!/usr/bin/env python3
"""Counts what an emulator cannot time: the instructions of one Forward on ARM against the multiply-adds needed.

  tools/bench/arm_instructions.py                             mobilenet_v1 and squeezenet_v1.0 on maps of 64 x 64
  tools/bench/arm_instructions.py NET.tnnproto --shape input=1,3,224,224
  tools/bench/arm_instructions.py --at-most 2.2               exit code 1 where a network takes more

One thread in qemu-user. A run with two Forwards minus a run with one leaves one Forward, the giving of its input and
the fetching of its output. A NEON instruction holds four multiply-adds, so the bound is 1.00 instruction per four
multiply-adds needed; what is above it loads, stores, counts, and computes what nobody asked for (padding, zeros).
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NETWORKS = [("mobilenet_v1", "input=1,3,64,64"), ("squeezenet_v1.0", "input=1,3,64,64")]
LANES = 4  # floats of a NEON vector


class Count(collections.Counter):
    """Instructions by (function, kind); a kind is a multiply-add, a load, a store or other."""

    def of(self, function=None, kind=None):
        return sum(n for (f, k), n in self.items() if function in (None, f) and kind in (None, k))


def kind_of(instruction):
    word = instruction.split()[0]
    if word in ("fmla", "fmls", "fmadd", "fmsub", "fnmadd", "fnmsub"):
        return "multiply-add"
    return "load" if word.startswith("ld") else "store" if word.startswith("st") else "other"


def trace(command):
    """The instructions that a command executes in qemu: each block of them is listed once, then named whenever it
    runs."""
    blocks, runs, names, current = {}, collections.Counter(), {}, None
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "fifo"
        subprocess.run(["mkfifo", log], check=True)
        process = subprocess.Popen(["qemu-aarch64", "-d", "in_asm,exec,nochain", "-D", log, *command],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with open(log, encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith("Trace"):
                    runs[line] += 1
                elif line.startswith("0x"):
                    address, _, rest = line.partition(":")
                    if current is None:
                        current = blocks[int(address, 16)] = collections.Counter()
                    current[kind_of(rest.split(None, 1)[1])] += 1
                else:
                    current = None
        errors = process.stderr.read()
        if process.wait() != 0:
            sys.exit(f"{' '.join(map(str, command))} failed in qemu-aarch64: {errors.strip()[-300:]}")
    count = Count()
    for line, times in runs.items():
        place, _, name = line.partition("]")
        for kind, n in blocks[int(place.split("/")[1], 16)].items():
            count[names.setdefault(name.strip(), name.strip() or "(library)"), kind] += n * times
    return count


def plain(names):
    """Names of functions without their parameters."""
    text = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    short = [re.sub(r"^void |plumb::|\(anonymous namespace\)::|simd::N_\w+::", "", line) for line in text.splitlines()]
    return dict(zip(names, short))


def measure(model, shape, build, top):
    """Prints what one Forward of the model takes; returns instructions per LANES multiply-adds."""
    words = ["-m", str(model)] + (["--shape", shape] if shape else [])
    start = ["-L", str(ROOT / "build/arm64-sysroot"), str(build / "bin/model_run"), *words, "-d", "ARM", "-t", "1"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "info.json"
        subprocess.run(["qemu-aarch64", *start[:2], str(build / "bin/model_info"), *words, "--json", path], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        layers = json.loads(path.read_text())["layers"]
    products = ("Convolution", "Deconvolution", "InnerProduct", "MatMul")
    needed = sum(layer["flops"] for layer in layers if layer["type"] in products) / 2
    twice = trace(start + ["-ic", "2"])
    twice.subtract(trace(start + ["-ic", "1"]))
    ratio = twice.of() / (needed / LANES)
    print(f"\n{pathlib.Path(model).stem} {shape or ''}: {needed / 1e6:.1f} M multiply-adds needed; "
          f"{twice.of() / 1e6:.2f} M instructions, {twice.of(kind='multiply-add') / 1e6:.2f} M of them multiply-add; "
          f"{ratio:.2f} instructions per {LANES} multiply-adds needed")
    functions = collections.Counter({f: twice.of(f) for f in {f for f, _ in twice}})
    names = plain(list(functions))
    print(f"  {'share':>6} {'multiply-add':>12} {'load':>6} {'store':>6} {'other':>6}  function")
    for function, total in functions.most_common(top):
        parts = [f"{100 * twice.of(function, kind) / max(total, 1):.0f} %" for kind in
                 ("multiply-add", "load", "store", "other")]
        print(f"  {100 * total / twice.of():5.1f}% {parts[0]:>12} {parts[1]:>6} {parts[2]:>6} {parts[3]:>6}  "
              f"{names[function]}")
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="instead of the two networks")
    parser.add_argument("--shape", help="of the models' input: NAME=1,3,64,64")
    parser.add_argument("--build", default=ROOT / "build/arm64-cross", type=pathlib.Path)
    parser.add_argument("--top", default=8, type=int, help="so many functions")
    parser.add_argument("--at-most", type=float, help="instructions per four multiply-adds")
    args = parser.parse_args()
    if not (args.build / "bin/model_run").exists():
        sys.exit(f"{args.build}/bin/model_run is not there: platforms/linux/arm64.sh builds it")
    models = [(model, args.shape) for model in args.models]
    if not models:
        models = [(ROOT / f"test/data/networks/{name}.tnnproto", shape) for name, shape in NETWORKS]
    slow = [model for model, shape in models
            if measure(model, shape, args.build, args.top) > (args.at_most or float("inf"))]
    if slow:
        sys.exit(f"more than {args.at_most} instructions per four multiply-adds: {', '.join(map(str, slow))}")


if __name__ == "__main__":
    main()
