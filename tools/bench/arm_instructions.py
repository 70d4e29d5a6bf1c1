#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what an emulator cannot time: the instructions of one Forward on ARM against the multiply-adds needed.

  tools/bench/arm_instructions.py                             mobilenet_v1 and squeezenet_v1.0 on maps of 64 x 64
  tools/bench/arm_instructions.py NET.tnnproto --shape input=1,3,224,224
  tools/bench/arm_instructions.py --at-most 2.2               exit code 1 where a network takes more
  tools/bench/arm_instructions.py --kernels                   a table of layers, one per kernel, each with its own limit

One thread in qemu-user, whose plugin count_instructions.c counts. A run with two Forwards minus a run with one leaves
one Forward, the giving of its input and the fetching of its output. A NEON instruction holds four multiply-adds, so
the bound is 1.00 instruction per four multiply-adds needed; what is above it loads, stores, counts, and computes what
nobody asked for (padding, zeros).
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
PRODUCTS = ("Convolution", "Convolution1D", "Deconvolution", "InnerProduct", "MatMul")


class Kernel:
    """A layer that one kernel computes, and how many instructions it may take per LANES multiply-adds needed: a little
    more than it took when the row was written."""

    def __init__(self, name, kernel, type_, parameters, input_, at_most, chained=True, precision="HIGH"):
        self.name, self.kernel, self.input, self.at_most, self.chained = name, kernel, input_, at_most, chained
        self.precision = precision
        self.layer = f"{type_} l{{i}} 1 1 {{x}} {{y}} {parameters}"


def convolution(name, kernel, window, channels, size, at_most, stride=1, groups=1, outputs=None,
                precision="HIGH"):
    """window: height, width."""
    outputs = outputs or channels
    pads = f"{window[0] // 2} {window[1] // 2}"
    parameters = f"{groups} {channels // groups} {outputs} {window[0]} {window[1]} {stride} {stride} {pads} 1 -1 1 1 0"
    return Kernel(f"{name}, {channels} to {outputs} channels, {size} x {size}", kernel, "Convolution", parameters,
                  f"1 {channels} {size} {size}", at_most, stride == 1 and outputs == channels, precision)


KERNELS = [
    convolution("1x1", "convolution_blocked", (1, 1), 64, 14, 2.2),
    convolution("3x3 stride 2", "convolution_blocked", (3, 3), 64, 28, 1.95, stride=2),
    convolution("3x3 stride 2", "convolution_panel", (3, 3), 3, 56, 3.45, stride=2, outputs=64),
    convolution("7x7 stride 2, F(4x4)", "convolution_winograd", (7, 7), 3, 56, 1.3, stride=2, outputs=64),
    convolution("3x3, 2 groups", "convolution_plain", (3, 3), 24, 14, 7.9, groups=2),
    convolution("3x3, F(4x4)", "convolution_winograd", (3, 3), 64, 28, 0.68),
    convolution("3x3, F(2x2)", "convolution_winograd", (3, 3), 64, 14, 1.12),
    convolution("3x3, F(4x4)", "convolution_winograd", (3, 3), 64, 28, 1.58, outputs=8),
    convolution("5x5, F(2x2)", "convolution_winograd", (5, 5), 32, 14, 1.12),
    convolution("1x5, F(4)", "convolution_winograd", (1, 5), 64, 17, 1.27),
    convolution("1x7, F(4)", "convolution_winograd", (1, 7), 64, 17, 1.2),
    convolution("7x1, F(4)", "convolution_winograd", (7, 1), 64, 17, 1.2),
    convolution("depthwise 3x3", "depthwise", (3, 3), 64, 28, 5.8, groups=64),
    convolution("depthwise 3x3 stride 2", "depthwise", (3, 3), 64, 28, 13.5, stride=2, groups=64),
    convolution("depthwise 5x5", "depthwise", (5, 5), 64, 28, 4.75, groups=64),
    Kernel("2x2 stride 2, 32 to 32 channels, 14 x 14", "deconvolution_tiles", "Deconvolution",
           "1 32 32 2 2 2 2 0 0 1 -1 1 1 0", "1 32 14 14", 3.8, chained=False),
    Kernel("512 to 512", "inner_product", "InnerProduct", "512 1 0 1", "1 512 1 1", 2.6),
    convolution("1x1, LOW", "half_convolution_blocked", (1, 1), 64, 14, 1.85, precision="LOW"),
    convolution("3x3 stride 2, LOW", "half_convolution_blocked", (3, 3), 64, 28, 1.25, stride=2, precision="LOW"),
    convolution("depthwise 3x3, LOW", "half_depthwise", (3, 3), 64, 28, 4.55, groups=64, precision="LOW"),
    Kernel("512 to 512, LOW", "half_inner_product", "InnerProduct", "512 1 0 1", "1 512 1 1", 1.7, precision="LOW"),
    convolution("3x3, F(4x4), NORMAL", "convolution_winograd", (3, 3), 64, 28, 0.71, precision="NORMAL"),
    convolution("1x1, NORMAL", "convolution_blocked", (1, 1), 64, 14, 2.5, precision="NORMAL"),
]


class Count(collections.Counter):
    """Instructions by (function, kind); a kind is a multiply-add, a load, a store or other."""

    def of(self, function=None, kind=None):
        return sum(n for (f, k), n in self.items() if function in (None, f) and kind in (None, k))


def kind_of(word):
    if word in ("fmla", "fmls", "fmadd", "fmsub", "fnmadd", "fnmsub"):
        return "multiply-add"
    return "load" if word.startswith("ld") else "store" if word.startswith("st") else "other"


def counter(folder):
    """count_instructions.c as a plugin of qemu, compiled into `folder`."""
    plugin = pathlib.Path(folder) / "count_instructions.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", plugin, ROOT / "tools/bench/count_instructions.c"],
                   check=True)
    return plugin


def trace(command):
    """The instructions that a command executes in qemu."""
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder) / "counts"
        words = ["qemu-aarch64", "-plugin", f"{counter(folder)},to={written}", *map(str, command)]
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)} failed: {done.stderr.strip()[-300:]}")
        for line in written.read_text().splitlines():
            runs, name, mnemonics = line.split("\t")
            for word in mnemonics.split():
                count[name or "(library)", kind_of(word)] += int(runs)
    return count


def plain(names):
    """Names of functions without their parameters."""
    text = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    short = [re.sub(r"^void |plumb::|\(anonymous namespace\)::|simd::N_\w+::", "", line) for line in text.splitlines()]
    return dict(zip(names, short))


def forward(build, words, precision="HIGH"):
    """What one Forward takes, with its input and outputs: two Forwards less one."""
    command = ["-L", ROOT / "build/arm64-sysroot", build / "bin/model_run", *words, "-d", "ARM", "-t", "1",
               "--precision", precision]
    count = trace(command + ["-ic", "2"])
    count.subtract(trace(command + ["-ic", "1"]))
    return count


def needed_by(build, words):
    """The multiply-adds of a model's sums of products."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "info.json"
        subprocess.run(["qemu-aarch64", "-L", ROOT / "build/arm64-sysroot", build / "bin/model_info", *words, "--json",
                        path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        layers = json.loads(path.read_text())["layers"]
    return sum(layer["flops"] for layer in layers if layer["type"] in PRODUCTS) / 2


def measure(model, shape, build, top):
    """Prints what one Forward of the model takes; returns instructions per LANES multiply-adds."""
    words = ["-m", model] + (["--shape", shape] if shape else [])
    needed, count = needed_by(build, words), forward(build, words)
    ratio = count.of() / (needed / LANES)
    print(f"\n{pathlib.Path(model).stem} {shape or ''}: {needed / 1e6:.1f} M multiply-adds needed; "
          f"{count.of() / 1e6:.2f} M instructions, {count.of(kind='multiply-add') / 1e6:.2f} M of them multiply-add; "
          f"{ratio:.2f} instructions per {LANES} multiply-adds needed")
    functions = collections.Counter({f: count.of(f) for f in {f for f, _ in count}})
    names = plain(list(functions))
    print(f"  {'share':>6} {'multiply-add':>12} {'load':>6} {'store':>6} {'other':>6}  function")
    for function, total in functions.most_common(top):
        parts = [f"{100 * count.of(function, kind) / max(total, 1):.0f} %" for kind in
                 ("multiply-add", "load", "store", "other")]
        print(f"  {100 * total / count.of():5.1f}% {parts[0]:>12} {parts[1]:>6} {parts[2]:>6} {parts[3]:>6}  "
              f"{names[function]}")
    return ratio


def chain(folder, kernel, layers):
    """A model of that many layers of the kernel's shape, one after the other."""
    lines = [f"{kernel.layer.format(i=i, x='x' if i == 0 else f'y{i - 1}', y=f'y{i}')} ," for i in range(layers)]
    lines = [f"1 {layers} 1 4206624772 ,", f"x 4 {kernel.input} 0 ,", " ,", f"y{layers - 1} ,", f" {layers} ,"] + lines
    model = pathlib.Path(folder) / f"{layers}.tnnproto"
    model.write_text("\n".join(f'"{line}"' for line in lines) + "\n")
    return model


def kernel_of(build, model, precision):
    """Which kernel computes the first layer."""
    run = subprocess.run(["qemu-aarch64", "-L", ROOT / "build/arm64-sysroot", build / "bin/model_run", "-m", model,
                          "-d", "ARM", "-t", "1", "--profile", "--precision", precision],
                         check=True, capture_output=True, text=True)
    return re.search(r"\barm/(.*?)(?: points .*)?\s*$", run.stdout, re.M).group(1)


def measure_kernels(build):
    """Prints a row per kernel; returns those that take more than they may. Where a layer's output has its input's
    shape, what two layers more of a chain take is counted, so that nothing but the layer is."""
    slow = []
    print(f"| kernel | layer | multiply-adds | instructions | multiply-add | per {LANES} | at most |\n"
          "|---|---|---|---|---|---|---|")
    for kernel in KERNELS:
        with tempfile.TemporaryDirectory() as folder:
            one = chain(folder, kernel, 1)
            needed, count = needed_by(build, ["-m", one]), forward(build, ["-m", one], kernel.precision)
            name = kernel_of(build, one, kernel.precision)
            if kernel.chained:
                three = forward(build, ["-m", chain(folder, kernel, 3)], kernel.precision)
                three.subtract(count)
                count = Count({key: n / 2 for key, n in three.items()})
        ratio = count.of() / (needed / LANES)
        print(f"| {name} | {kernel.name} | {needed / 1e6:.2f} M | {count.of() / 1e6:.2f} M | "
              f"{100 * count.of(kind='multiply-add') / count.of():.0f} % | {ratio:.2f} | {kernel.at_most} |",
              flush=True)
        if not name.startswith(kernel.kernel):
            sys.exit(f"{kernel.name} is computed by '{name}', not by {kernel.kernel}")
        if ratio > kernel.at_most:
            slow.append(f"{kernel.name} ({ratio:.2f}, at most {kernel.at_most})")
    return slow


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="instead of the two networks")
    parser.add_argument("--shape", help="of the models' input: NAME=1,3,64,64")
    parser.add_argument("--build", default=ROOT / "build/arm64-cross", type=pathlib.Path)
    parser.add_argument("--top", default=8, type=int, help="so many functions")
    parser.add_argument("--at-most", type=float, help="instructions per four multiply-adds")
    parser.add_argument("--kernels", action="store_true", help="the table of kernels instead of networks")
    args = parser.parse_args()
    if not (args.build / "bin/model_run").exists():
        sys.exit(f"{args.build}/bin/model_run is not there: platforms/linux/arm64.sh builds it")
    if args.kernels:
        slow = "; ".join(measure_kernels(args.build))
        sys.exit(f"more instructions per {LANES} multiply-adds than the kernel may take: {slow}" if slow else 0)
    models = [(model, args.shape) for model in args.models]
    if not models:
        models = [(ROOT / f"test/data/networks/{name}.tnnproto", shape) for name, shape in NETWORKS]
    slow = [model for model, shape in models
            if measure(model, shape, args.build, args.top) > (args.at_most or float("inf"))]
    if slow:
        sys.exit(f"more than {args.at_most} instructions per four multiply-adds: {', '.join(map(str, slow))}")


if __name__ == "__main__":
    main()
