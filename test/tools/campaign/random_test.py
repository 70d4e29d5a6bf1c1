# SPDX-License-Identifier: Apache-2.0
"""Random networks with values of any magnitude (random_net.py) on each device, and as ONNX Runtime computes them when
a share of the tensors between is given: all is healthy, so no step may be grey or wrong.

    random_test.py --bin build/release/bin --work build/release/golden_test [--networks 3000 --first 0 --on X86]

Prints a line per such step. A step whose values are all the same is not tested, so a run may be. Exit code: 0 when
there are enough runs and all are healthy.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402

SHARES = {"X86": 1, "ONNX Runtime": 2, "OPENCL": 10, "VULKAN": 10}  # of so many networks one: GPU kernels are compiled


def make_subject(model, x, seed, path):
    """What ONNX Runtime computes, with its optimisations, of the outputs and two tensors in five."""
    import numpy as np
    import onnx
    import onnxruntime
    rng = np.random.default_rng(seed)
    known = {output.name for output in model.graph.output}
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    for node in model.graph.node:
        for name in node.output:
            if name not in known and rng.random() < 0.4:
                shown.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    np.savez(path, x=x, **dict(zip(names, session.run(names, {"x": x}))))


def judge(o, seed, on):
    """The steps that are not as they should be, or None when hardly anything could be compared."""
    import numpy as np
    import onnx
    import random_net
    model, x = random_net.build(seed)
    path, report = o.work / f"{seed}.onnx", o.work / f"{seed}.json"
    report.unlink(missing_ok=True)
    onnx.save(model, path)
    np.savez(o.work / "x.npz", x=x)
    words = ["-d", on, "-i", str(o.work / "x.npz")]
    if on == "ONNX Runtime":
        make_subject(model, x, seed, o.work / "subject.npz")
        words = ["--subject", str(o.work / "subject.npz")]
    done = subprocess.run([f"{o.bin}/model_check", "-m", str(path), *words, "--json", str(report), "--quiet"],
                          capture_output=True, text=True, timeout=600)
    if not report.exists() or done.returncode > 1 or not json.loads(report.read_text())["runs"]:
        return [f"exit {done.returncode}: {(done.stderr or done.stdout).strip()}"]
    run = json.loads(report.read_text())["runs"][0]
    found = [f"{layer['verdict']}: {layer['name']} ({layer['type']}, {layer.get('kernel', '')}): "
             f"{layer.get('reason', '')} {[(out.get('E'), out.get('R')) for out in layer['outputs']]}"
             for layer in run["layers"] if layer["verdict"] in ("grey", "wrong")]
    if not found:
        path.unlink()
        report.unlink()
    return found if found or run["verdict"] == "aligned" else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--networks", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first network")
    parser.add_argument("--on", default="", help=f"one of {', '.join(SHARES)}")
    o = parser.parse_args()
    packages.ensure(o.work / "onnxruntime", ["onnx", "onnxruntime", "numpy"], ["onnx", "onnxruntime", "numpy"])
    o.work = o.work / "random"
    os.makedirs(o.work, exist_ok=True)
    bad = 0
    for on, share in SHARES.items():
        if o.on and on != o.on:
            continue
        runs = untested = 0
        for seed in range(o.first, o.first + o.networks // share):
            found = judge(o, seed, on)
            runs += 1
            untested += found is None
            bad += bool(found)
            for line in found or []:
                print(f"{on}, network {seed}: {line}", flush=True)
        print(f"{on}: {runs} networks, {untested} not tested", flush=True)
        assert untested < 0.1 * runs + 1, "too many networks say nothing"
    assert bad == 0, f"{bad} healthy networks were called grey or wrong; they are in {o.work}"


if __name__ == "__main__":
    main()
