# SPDX-License-Identifier: Apache-2.0
"""Runs .tflite files in Plumb and in LiteRT's reference kernels on the same inputs and compares every tensor.

Floats agree when the largest difference is below 1e-4 of the largest value; integers when they differ by one step at
most, as roundings of kernels differ there.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from ai_edge_litert import interpreter as litert

RELATIVE = 1e-4
SEED = 7


def random_inputs(lite):
    generator = np.random.RandomState(SEED)
    feeds = {}
    for detail in lite.get_input_details():
        kind = np.dtype(detail["dtype"])
        shape = tuple(detail["shape"])
        if kind.kind == "f":
            feeds[detail["name"]] = generator.uniform(-1, 1, shape).astype(kind)
        elif kind == np.bool_:
            feeds[detail["name"]] = generator.randint(0, 2, shape).astype(kind)
        else:
            info = np.iinfo(kind)
            low, high = (info.min, info.max) if kind.itemsize == 1 else (0, 2)
            feeds[detail["name"]] = generator.randint(low, high + 1, shape).astype(kind)
    return feeds


def run_litert(path):
    lite = litert.Interpreter(model_path=str(path), experimental_preserve_all_tensors=True,
                              experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    lite.allocate_tensors()
    feeds = random_inputs(lite)
    for detail in lite.get_input_details():
        lite.set_tensor(detail["index"], feeds[detail["name"]])
    lite.invoke()
    handles = {"VAR_HANDLE", "CALL_ONCE"}  # reading their outputs ends the interpreter
    tensors, seen, names = {}, set(), {}
    for detail in lite.get_tensor_details():
        name = detail["name"]
        names[detail["index"]] = f"{name}#{detail['index']}" if name in seen or not name else name
        seen.add(name)
    for operator in lite._get_ops_details():
        for index in operator["outputs"] if operator["op_name"] not in handles else ():
            try:
                tensors[names[index]] = np.array(lite.get_tensor(index))
            except ValueError:  # of a branch that was not taken
                continue
    return feeds, tensors


def run_plumb(tool, path, feeds, folder):
    np.savez(folder / "inputs.npz", **feeds)
    environment = {**os.environ, "DUMP_OUTPUT_BLOB": "1", "DUMP_BLOB_FORMAT": "npy", "DUMP_BLOB_UNFUSE": "1",
                   "DUMP_BLOB_DIR": str(folder / "dump")}
    ended = subprocess.run([tool, "-m", str(path), "-d", "NAIVE", "-i", str(folder / "inputs.npz"), "-o",
                            str(folder / "out.npz")], env=environment, capture_output=True, text=True)
    if ended.returncode != 0:
        return None, (ended.stderr or ended.stdout).strip().splitlines()[-1]
    manifest = json.loads((folder / "dump" / "manifest.json").read_text())
    return {entry["blob"]: np.load(folder / "dump" / entry["file"]) for entry in manifest["files"]}, ""


def difference(ours, theirs):
    """"" when they agree, else what differs."""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, expected {theirs.shape}"
    if ours.size == 0:
        return ""
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    worst = np.max(np.abs(a - b)) if np.array_equal(np.isnan(a), np.isnan(b)) else np.inf
    if theirs.dtype.kind == "f":
        return "" if worst <= RELATIVE * max(np.max(np.abs(b)), 1e-6) else f"by {worst:.3g} of {np.max(np.abs(b)):.3g}"
    return "" if worst <= 1 else f"by {worst:.0f} steps"


def compare(tool, path):
    """(tensors that agree, tensors compared, the first differences)."""
    feeds, theirs = run_litert(path)
    with tempfile.TemporaryDirectory() as name:
        ours, error = run_plumb(tool, path, feeds, pathlib.Path(name))
    if ours is None:
        return 0, 0, [error]
    wrong = [(blob, difference(value, theirs[blob])) for blob, value in ours.items() if blob in theirs]
    bad = [f"'{blob}' {text}" for blob, text in wrong if text]
    return len(wrong) - len(bad), len(wrong), bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, help="model_run")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    failed = 0
    for path in options.files:
        try:
            good, count, bad = compare(options.tool, path)
        except (RuntimeError, ValueError) as error:
            good, count, bad = 0, 0, [f"LiteRT: {str(error).strip().splitlines()[0]}"]
        failed += bool(bad) or count == 0
        print(f"{pathlib.Path(path).name}: {good} of {count} tensors agree", *bad[:3], sep="\n    ", flush=True)
    print(f"{len(options.files) - failed} of {len(options.files)} files agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
