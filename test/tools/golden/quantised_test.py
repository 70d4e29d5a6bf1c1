# SPDX-License-Identifier: Apache-2.0
"""ONNX networks in ten quantisations, as ONNX Runtime computes them at every level of its optimiser, judged to the
integer: no layer is wrong or grey without a cause, each tensor that a rule can say follows one. Then faults planted
into integers: all wrong at their layer.

    quantised_test.py --bin build/release/bin --work build/release/golden_test [--only NAME] [--healthy] [--faults]
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "campaign")]
import packages  # noqa: E402

LEVELS = ["none", "basic", "extended", "all"]
FAILED = []


def expect(condition, what, more=""):
    print(f"{'ok  ' if condition else 'FAIL'} {what}")
    if not condition:
        FAILED.append(what)
        print(more)


def golden(model, level, target):
    done = subprocess.run([sys.executable, "-m", "plumb_golden", "onnx", str(model), "-o", str(target), "--force",
                           *([] if level == "none" else ["--optimized", level])],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PYTHON)})
    assert done.returncode == 0, done.stderr


def judge(model, subject):
    report = OPTIONS.work / "quantised_report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([f"{OPTIONS.bin}/model_check", "-m", str(model), "--subject", str(subject), "--json",
                           str(report)], capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text())["runs"][0], done


def lines(layers):
    return "\n".join(f"     {layer['verdict']} {layer['name']} ({'+'.join(m['type'] for m in layer['members'])}): "
                     f"{layer['reason']}" for layer in layers)


def quantised(layer):
    """The outputs that a QuantizeLinear of the step makes."""
    if not any(m["type"] == "PlumbQuantizeLinear" for m in layer["members"]):
        return []
    return [o for o in layer["outputs"] if o["dtype"] in ("u8", "i8")]


class Count:
    def __init__(self):
        self.layers = collections.Counter()
        self.rules = collections.Counter()

    def add(self, run):
        self.layers.update(layer["verdict"] for layer in run["layers"])
        for layer in run["layers"]:
            for output in quantised(layer):
                if output["verdict"] != "not tested":
                    self.rules[output["rule"] or "none"] += 1


def check_healthy(networks):
    """Every network in every quantisation at every level."""
    import numpy as np
    import onnx
    all_of, ruleless = Count(), []
    for name, build in networks.NETWORKS.items():
        source, target = OPTIONS.work / f"quantised_{name}.onnx", OPTIONS.work / "quantised.onnx"
        onnx.save(build(), source)
        rng = np.random.default_rng(3)
        inputs = [{"data": rng.standard_normal(networks.IMAGE).astype(np.float32)} for _ in range(4)]
        for way in networks.WAYS:
            networks.quantise(source, target, way, inputs)
            for level in LEVELS:
                if OPTIONS.only and OPTIONS.only not in f"{name} {way} {level}":
                    continue
                golden(target, level, OPTIONS.work / "quantised_dump")
                run, done = judge(target, OPTIONS.work / "quantised_dump")
                all_of.add(run)
                bad = [layer for layer in run["layers"] if layer["verdict"] in ("wrong", "grey")]
                loose = [layer for layer in run["layers"]
                         if any(o["verdict"] == "aligned" and not o["rule"] for o in quantised(layer))]
                ruleless += [(name, way, level, layer["name"]) for layer in loose]
                expect(not bad and done.returncode == 0, f"{name}, {way}, {level}: {len(run['layers'])} layers, "
                       f"{len(bad)} wrong or grey, {len(loose)} by no rule", lines(bad) + "\n" + lines(loose))
    print(dict(all_of.layers))
    for rule, count in all_of.rules.most_common():
        print(f"{count:6} tensors by {rule}")
    for one in ruleless:
        print("no rule:", *one)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", help="part of 'network way level'")
    OPTIONS = parser.parse_args()
    OPTIONS.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(OPTIONS.work / "venv-onnx", ["onnx", "onnxruntime", "numpy"],
                    ["onnx", "onnxruntime", "onnxruntime.quantization", "numpy"])
    import quantised_networks
    check_healthy(quantised_networks)
    print("failed: " + ", ".join(FAILED) if FAILED else "all quantised subjects are judged as they should be")
    sys.exit(bool(FAILED))


if __name__ == "__main__":
    main()
