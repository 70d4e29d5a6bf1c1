#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NAIVE computes the same bits on x86-64 and on 64-bit ARM: every blob of the examples, the five float networks and a
network of many operators, on small maps; and its transcendental functions, which come from each machine's own libm, in
float64 within one ULP and rounded to float32 to the same bits, in all but the cases of MOST_APART and
ROUNDED_OTHERWISE.

  same_bits_test.py --bin build/release/bin --arm build/arm64-cross/bin --work FOLDER [--emulator "qemu-aarch64 -L ..."]

Checksums of the dumps' manifests are compared, so that the first blob that differs is named. Exit code 77 without the
tools of this machine.
"""
import argparse
import array
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODELS = [  # model, what model_run is given beside it; {input}: the name of its input
    # The last two end in windows that fit no smaller map.
    ("examples/digits/digits.tnnproto", "-i examples/digits/images/digit_3.png -n 120 -s 0.0078125"),
    ("examples/squeezenet/squeezenet.tnnproto", ""),
    ("test/data/faults/faults.tnnproto", ""),
    ("test/data/networks/squeezenet_v1.0.tnnproto", "--shape {input}=1,3,64,64"),
    ("test/data/networks/mobilenet_v1.tnnproto", "--shape {input}=1,3,64,64"),
    ("test/data/networks/densenet.tnnproto", "--shape {input}=1,3,64,64"),
    ("test/data/networks/resnet50.tnnproto", "--shape {input}=1,3,197,197"),
    ("test/data/networks/inception_v3.tnnproto", ""),
]
# Beside the operators of unary.def: type and parameters; None: it takes two inputs, both of them x.
OTHER_FUNCTIONS = [("Elu", "1.0"), ("Selu", "1.67326 1.0507"), ("Power", "1.7 1 0"), ("LogSoftmax", "1"),
                   ("Softmax", "1"), ("PlumbPow", None)]
# Debian 12's libm (glibc 2.36) computes erf, acosh and hypot with fused multiply-adds on ARM and without them on
# x86-64; the others are the same code where an x86-64 has FMA. Function: how many ULP of a float64, where not 1.
MOST_APART = {}
# Functions whose float64 results lie on both sides of a float32's border. Function: how many of the values.
ROUNDED_OTHERWISE = {}
VALUES = 1 << 15


def values():
    """Both signs: evenly spaced in [-20, 20] and in [-1, 1], and of all magnitudes."""
    third = VALUES // 3
    yield from (-20 + 40 * i / third for i in range(third))
    yield from (-1 + 2 * i / third for i in range(third))
    rest = VALUES - 2 * third
    yield from ((-1) ** i * 10 ** (-40 + 78 * i / rest) for i in range(rest))


def functions_model(folder):
    """A network of one layer per function, of the float32 input and of the same in float64."""
    rows = (ROOT / "source/reference/unary.def").read_text()
    functions = [(name, "") for name in re.findall(r"^PLUMB_NAIVE_UNARY\w*\((\w+),", rows, re.M)] + OTHER_FUNCTIONS
    layers = ["PlumbCast wide 1 1 x wide f64 ,"]
    outputs = []
    for kind, parameters in functions:
        for source in ("x", "wide"):
            blob = f"{kind}_{source}"
            inputs = f"1 1 {source}" if parameters is not None else f"2 1 {source} {source}"
            layers.append(f"{kind} {blob} {inputs} {blob} {parameters or ''} ,".replace("  ", " "))
            outputs.append(blob)
    lines = [f"1 {len(layers)} 1 4206624772 ,", f"x 4 1 {VALUES} 1 1 0 ,", " ,", " ".join(outputs) + " ,",
             f" {len(layers)} ,"] + layers
    model = folder / "functions.tnnproto"
    model.write_text("\n".join(f'"{line}"' for line in lines) + "\n")
    data = array.array("f", (max(-3e38, min(3e38, value)) for value in values()))
    (folder / "x.raw").write_bytes(data.tobytes())
    return model


def dump(command, model, options, folder, write):
    """Runs NAIVE and returns its blobs: (layer, blob) -> entry of the manifest, in the order of the layers."""
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "DUMP_OUTPUT_BLOB": "1", "DUMP_BLOB_DIR": str(folder), "DUMP_BLOB_FORMAT": "raw"}
    if not write:
        environment["DUMP_BLOB_STATS"] = "1"
    words = [*command, "-m", str(model), "-d", "NAIVE", *shlex.split(options)]
    run = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(words)} failed ({run.returncode}): {run.stderr.strip()[-500:]}")
    manifest = json.loads((folder / "manifest.json").read_text())
    return {(file["layer"], file["blob"]): file for file in manifest["files"]}


def compare_model(tools, model, options, work):
    """The number of blobs; an exit with the first one that differs."""
    options = options.format(input=(ROOT / model).read_text().splitlines()[1].strip('"').split()[0])
    host, arm = (dump(command, model, options, work / name, False) for name, command in tools)
    if host.keys() != arm.keys():
        sys.exit(f"{model}: the blobs differ: {sorted(host.keys() ^ arm.keys())[:4]}")
    for place, file in host.items():
        if not file["values_xxh64"]:
            sys.exit(f"{model}: no checksum of {place}")
        if file["values_xxh64"] != arm[place]["values_xxh64"]:
            sys.exit(f"{model}: layer '{place[0]}' ({file['type']}), blob '{place[1]}' is the first that differs: "
                     f"{file['statistics']} on x86-64, {arm[place]['statistics']} on ARM")
    return len(host)


def steps(a, b, size):
    """How many values lie between two floats; infinite where only one is NaN."""
    if math.isnan(a) or math.isnan(b):
        return 0 if math.isnan(a) and math.isnan(b) else math.inf
    code, whole = ("<d", "<q") if size == 8 else ("<f", "<i")
    places = []
    for value in (a, b):
        bits = struct.unpack(whole, struct.pack(code, value))[0]
        places.append(bits if bits >= 0 else -(bits & ((1 << (8 * size - 1)) - 1)))
    return abs(places[0] - places[1])


def compare_functions(tools, work):
    model = functions_model(work)
    host, arm = (dump(command, model, f"-i {work / 'x.raw'}", work / name, True) for name, command in tools)
    failures = []
    for place, file in host.items():
        size = 8 if file["dtype"] == "f64" else 4
        pair = [array.array("d" if size == 8 else "f", (work / name / entry["file"]).read_bytes())
                for (name, _), entry in zip(tools, (file, arm[place]))]
        apart = [(steps(a, b, size), i) for i, (a, b) in enumerate(zip(*pair)) if a != b and not (a != a and b != b)]
        function = place[0].rpartition("_")[0]
        if not apart:
            continue
        worst, at = max(apart)
        print(f"{place[0]}: {len(apart)} of {len(pair[0])} values differ, by {worst} ULP of {file['dtype']} at most "
              f"({pair[0][at]!r} on x86-64, {pair[1][at]!r} on ARM)")
        most = 1 if size == 4 else MOST_APART.get(function, 1)
        if worst > most or (size == 4 and len(apart) > ROUNDED_OTHERWISE.get(function, 0)):
            failures.append(place[0])
    if failures:
        sys.exit(f"further apart than said here, or rounded to other float32 values: {', '.join(failures)}")
    return len(host)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="the tools of this machine (x86-64)")
    parser.add_argument("--arm", required=True, type=pathlib.Path, help="those for ARM")
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--emulator", default=f"qemu-aarch64 -L {ROOT / 'build/arm64-sysroot'}")
    args = parser.parse_args()
    if not (args.bin / "model_run").exists():
        print(f"skipped: {args.bin}/model_run is not there (cmake --build --preset release --target model_run)")
        sys.exit(77)
    tools = [("x86-64", [str(args.bin / "model_run")]),
             ("arm64", [*shlex.split(args.emulator), str(args.arm / "model_run")])]
    args.work.mkdir(parents=True, exist_ok=True)
    print(f"functions: {compare_functions(tools, args.work)} blobs")
    for model, options in MODELS:
        print(f"{model}: {compare_model(tools, model, options, args.work)} blobs, the same bits", flush=True)


if __name__ == "__main__":
    main()
