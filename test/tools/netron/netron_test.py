# SPDX-License-Identifier: Apache-2.0
"""Files that model_convert writes, opened by Netron's parser: the same layers, blobs and weight shapes.

Netron comes from PyPI and its parser is JavaScript, so this needs node and the package registry; without one of them
the test is skipped (exit code 77) and says why. The .tnnmodel is what is opened: through the .tnnproto Netron drops a
resource file that it does not understand without a word.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import zipfile

VERSION = "9.3.3"
# Types whose weights Netron does not read: such a network opens through its tnnproto, without them; so does one with
# constants.
NO_WEIGHTS = ("Convolution1D",)
HERE = pathlib.Path(__file__).resolve().parent


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def netron_folder(work):
    """The scripts of the netron package, downloaded once."""
    folder = work / "package" / "netron"
    if not folder.exists():
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work), f"netron=={VERSION}"]
        if subprocess.run(download, capture_output=True).returncode != 0:
            skip(f"pip cannot download netron {VERSION} here")
        with zipfile.ZipFile(next(work.glob("netron-*.whl"))) as wheel:
            wheel.extractall(work / "package")
        (folder / "package.json").write_text('{"type": "module"}\n')
    return folder


def layers_of(proto):
    """(type, name, inputs, outputs) of every layer line of a tnnproto."""
    lines = [line.strip().strip('",') for line in proto.read_text().splitlines()]
    for line in lines[5:]:
        words = line.split()
        if len(words) < 4:
            continue
        inputs, outputs = int(words[2]), int(words[3])
        yield words[0], words[1], words[4:4 + inputs], words[4 + inputs:4 + inputs + outputs]


def unknown(prefix):
    """Whether Netron refuses the tnnmodel: such weights, or blobs that nobody writes, which stand in the constants
    section."""
    proto = pathlib.Path(f"{prefix}.tnnproto")
    layers = list(layers_of(proto))
    written = {words.split()[0] for words in proto.read_text().splitlines()[1].strip('",').split(":")}
    written.update(blob for *_, outputs in layers for blob in outputs)
    constants = any(blob not in written for _, _, inputs, _ in layers for blob in inputs)
    return constants or any(kind in NO_WEIGHTS for kind, *_ in layers)


def check(proto, seen):
    layers = list(layers_of(proto))
    assert seen["format"].startswith("TNN"), seen["format"]
    assert len(seen["nodes"]) == len(layers), f"{proto}: {len(layers)} layers, Netron shows {len(seen['nodes'])}"
    filters = 0
    for (kind, name, inputs, outputs), node in zip(layers, seen["nodes"]):
        found = (node["type"], node["name"], node["inputs"], node["outputs"])
        assert found == (kind, name, inputs,
                         outputs), f"{proto}: layer {(kind, name, inputs, outputs)}, Netron shows {found}"
        if kind in ("Convolution", "InnerProduct", "BatchNormCxx"):
            assert node["weights"], f"{proto}: Netron shows no weights of {name}"
            assert all(0 not in weight["shape"] for weight in node["weights"]), f"{proto}: {name}: {node['weights']}"
            filters += 1
    print(f"{proto.name}: {len(layers)} layers, {filters} with weights")
    return filters


def from_onnx(args):
    """Converts what model_convert takes: every refusal is a sentence and exit code 2."""
    written = []
    for model in sorted(args.onnx.glob("*/model.onnx")):
        prefix = args.work / model.parent.name
        done = subprocess.run([args.convert, str(model), "-o", str(prefix)], capture_output=True, text=True)
        assert done.returncode in (0, 2), f"{model}: exit {done.returncode}: {done.stderr}"
        written += [prefix] if done.returncode == 0 else []
    assert len(written) >= 50, f"only {len(written)} of the models in {args.onnx} can be converted"
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--convert", required=True, help="the tool model_convert")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="folder for what is downloaded and written")
    parser.add_argument("--onnx", type=pathlib.Path,
                        help="folder of folders with a model.onnx each, converted where they can be")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    if shutil.which("node") is None:
        skip("Netron's parser needs node (Debian package nodejs)")
    args.work.mkdir(parents=True, exist_ok=True)
    folder = netron_folder(args.work)
    written = []
    for model in args.models:
        prefix = args.work / model.stem
        weights = [] if model.with_suffix(".tnnmodel").exists() or model.suffix == ".onnx" else ["--random-weights"]
        subprocess.run([args.convert, str(model), "-o", str(prefix), *weights], check=True, stdout=subprocess.DEVNULL)
        written.append(prefix)
    if args.onnx and args.onnx.is_dir():
        written += from_onnx(args)
    files = [f"{prefix}.tnn{'proto' if unknown(prefix) else 'model'}" for prefix in written]
    command = ["node", str(HERE / "open_models.mjs"), str(folder), *files]
    models = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    filters = [check(pathlib.Path(f"{prefix}.tnnproto"), seen) for prefix, seen in zip(written, models)]
    assert all(filters[:len(args.models)]), "a network without layers with weights"


if __name__ == "__main__":
    main()
