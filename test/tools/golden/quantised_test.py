# SPDX-License-Identifier: Apache-2.0
"""ONNX networks in ten quantisations, as ONNX Runtime computes them at every level of its optimiser, judged to the
integer: no layer is grey, none wrong but what computes another function (MatMulNBits rounds its input to int8) and is
named, and every quantised tensor follows a rule. Then faults planted into integers: all wrong at their layer alone.

    quantised_test.py --bin build/release/bin --work build/release/golden_test [--only NAME] [--healthy] [--faults]
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "campaign")]
import expected  # noqa: E402
import packages  # noqa: E402
from expected import expect, lines  # noqa: E402

# So many integers on the other side of a tie may be anybody's f32.
MAY_PASS = 3
LEVELS = ["none", "basic", "extended", "all"]
IN_BLOCKS = "its input rounded to int8 as the network runs, in blocks of 32"


def golden(model, level, target):
    done = subprocess.run([sys.executable, "-m", "plumb_golden", "onnx", str(model), "-o", str(target), "--force",
                           *([] if level == "none" else ["--optimized", level])],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PYTHON)})
    assert done.returncode == 0, done.stderr


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
                run, done = expected.judge(OPTIONS, target, OPTIONS.work / "quantised_dump")
                all_of.add(run)
                off = [layer for layer in run["layers"] if layer["verdict"] in ("wrong", "grey")]
                named = [layer for layer in off if IN_BLOCKS in layer["cause"]]
                bad = [layer for layer in off if layer not in named]
                loose = [layer for layer in run["layers"]
                         if any(o["verdict"] == "aligned" and not o["rule"] for o in quantised(layer))]
                ruleless += [(name, way, level, layer["name"]) for layer in loose]
                expect(not bad and not loose and done.returncode == bool(named),
                       f"{name}, {way}, {level}: {len(run['layers'])} layers, {len(bad)} wrong or grey, {len(named)} "
                       f"named, {len(loose)} by no rule", lines(bad) + "\n" + lines(loose))
    print(dict(all_of.layers))
    for rule, count in all_of.rules.most_common():
        print(f"{count:6} tensors by {rule}")
    for one in ruleless:
        print("no rule:", *one)


def integers_of(model, feeds):
    """What the QuantizeLinear nodes of a model make in its integer kernels, by name, and what was fed."""
    import onnx
    import onnxruntime as ort
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    constants = {t.name for t in copy.graph.initializer}
    names = [n.output[0] for n in copy.graph.node if n.op_type == "QuantizeLinear" and n.input[0] not in constants]
    have = {o.name for o in copy.graph.output}
    for name in names:
        if name not in have:
            copy.graph.output.add().name = name
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = ort.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return {**feeds, **dict(zip(names, session.run(names, feeds)))}


def check_faults(networks):
    """One faulty convolution in an otherwise healthy run."""
    import re

    import numpy as np
    import onnx
    import quantised_faults as faults
    source, target = OPTIONS.work / "quantised_images.onnx", OPTIONS.work / "quantised.onnx"
    onnx.save(networks.images(), source)
    rng = np.random.default_rng(3)
    feeds = {"data": rng.standard_normal(networks.IMAGE).astype(np.float32)}
    named = planted = 0
    for way in ("qdq u8s8 per channel", "qdq u8u8", "qdq s8s8"):
        for ties in (False, True):
            networks.quantise(source, target, way, [feeds])
            model = onnx.load(target)
            if ties:
                faults.powers_of_two(model)
                onnx.save(model, target)
            for name in ("conv1", "depthwise", "pointwise", "left", "fire"):
                tensors = integers_of(model, feeds)
                blob, convolution = faults.convolution(model, name, tensors)
                what = f"{way}{', powers of two' if ties else ''}, {name}"
                same = np.array_equal(convolution.healthy(), tensors[blob])
                expect(same, f"{what}: healthy as in NumPy")
                for fault, kernel, cause in faults.FAULTS:
                    if OPTIONS.only and OPTIONS.only not in f"{what}: {fault}":
                        continue
                    faulty = kernel(convolution)
                    differing = np.count_nonzero(faulty != tensors[blob])
                    if differing <= MAY_PASS:
                        continue
                    rest = integers_of(faults.cut_in_front(model, blob), {**feeds, blob: faulty})
                    np.savez(OPTIONS.work / "quantised_fault.npz", **{**rest, **feeds, blob: faulty})
                    run, _ = expected.judge(OPTIONS, target, OPTIONS.work / "quantised_fault.npz")
                    wrong = [layer for layer in run["layers"] if layer["verdict"] == "wrong"]
                    right = len(wrong) == 1 and name in wrong[0]["nodes"]
                    planted += 1
                    named += bool(wrong) and bool(re.search(cause, wrong[0]["cause"]))
                    expect(right, f"{what}: {fault} ({differing} integers)"
                           + (f", named '{wrong[0]['cause']}'" if wrong else ""), lines(wrong))
    print(f"{planted} faults, {named} named")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", help="part of 'network way level'")
    parser.add_argument("--healthy", action="store_true", help="no faults")
    parser.add_argument("--faults", action="store_true", help="nothing else")
    OPTIONS = parser.parse_args()
    OPTIONS.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(OPTIONS.work / "venv-onnx", ["onnx", "onnxruntime", "numpy"],
                    ["onnx", "onnxruntime", "onnxruntime.quantization", "numpy"])
    import quantised_networks
    if not OPTIONS.faults:
        check_healthy(quantised_networks)
    if not OPTIONS.healthy:
        check_faults(quantised_networks)
    sys.exit(expected.finish("quantised subjects"))


if __name__ == "__main__":
    main()
