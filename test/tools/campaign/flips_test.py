# SPDX-License-Identifier: Apache-2.0
"""What changed an answer: faults that flip the top-1 of networks of zoo.py, run by ONNX Runtime, and ties that rounding
alone decides. Of a flip the report must give the planted layer the largest part of what moved the two scores
(`runs[].outputs[].effect`) and name it among the choices (`runs[].choices`); a tie must be aligned and within what
rounding may move.

    flips_test.py --bin build/release/bin --work build/release/golden_test [--flips 200 --ties 60]

Exit code 0: at least 95 % of the flips and all ties are told.
"""
import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402

LEAST, SEEDS = 0.95, 60
FACTORS = (1.3, 2, 0.3, 4, -1)  # of a part of the weights, the first that flips


def scores_of(outputs, names):
    """The first output that is read as scores of classes, or None."""
    for name in names:
        value = outputs[name]
        if value.dtype.kind == "f" and max(value.shape, default=0) == value.size >= 5:
            return name
    return None


def scaled(model, at, factor):
    """The model with every third output of a product's weights scaled; None where it has no such weights."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    node = changed.graph.node[at]
    for weight in changed.graph.initializer:
        if len(node.input) < 2 or weight.name != node.input[1]:
            continue
        values = numpy_helper.to_array(weight).copy()
        axis = 0 if node.op_type == "Conv" else values.ndim - 1
        np.moveaxis(values, axis, 0)[::3] *= factor
        weight.CopyFrom(numpy_helper.from_array(values, weight.name))
        return changed
    return None


def judged(o, model, tensors):
    """The report's only run."""
    import numpy as np
    import onnx
    onnx.save(model, o.work / "net.onnx")
    np.savez(o.work / "subject.npz", **tensors)
    report = o.work / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([f"{o.bin}/model_check", "-m", o.work / "net.onnx", "--subject", o.work / "subject.npz",
                           "--json", report, "--quiet"], capture_output=True, text=True, timeout=600)
    assert report.exists(), done.stderr
    return json.loads(report.read_text())["runs"][0]


def effect_on(run, output):
    return next(one["effect"] for one in run["outputs"] if one["name"] == output)


def plant_flip(name, seed):
    """(model, tensors, output, guilty node) of a fault that changes the top-1, or None."""
    import zoo
    from faults_test import run_all
    model = zoo.build(name, seed=seed)
    arrays = zoo.inputs(model, "normal", seed)
    healthy = run_all(model, arrays)
    output = scores_of(healthy, [value.name for value in model.graph.output])
    products = [at for at, node in enumerate(model.graph.node) if node.op_type in ("Conv", "Gemm", "MatMul")]
    if output is None or not products:
        return None
    at = random.Random(seed).choice(products)
    for factor in FACTORS:
        faulty = scaled(model, at, factor)
        if faulty is None:
            return None
        values = run_all(faulty, arrays)
        if values[output].argmax() != healthy[output].argmax():
            return model, {**arrays, **values}, output, model.graph.node[at].name
    return None


def flips(o):
    import zoo
    told, planted = 0, 0
    for seed, name in itertools.product(range(1, SEEDS), zoo.NETWORKS):
        if planted == o.flips:
            break
        made = plant_flip(name, seed)
        if made is None:
            continue
        model, tensors, output, guilty = made
        run = judged(o, model, tensors)
        if run["outputs"] and run["outputs"][0].get("top1_changed") is False:
            continue  # ONNX Runtime and the reference had not agreed before
        planted += 1
        effect = effect_on(run, output) or {"layers": []}
        parts = [(abs(layer["margin"]), layer["name"]) for layer in effect["layers"]]
        right = bool(parts) and max(parts)[1] == guilty and max(parts)[0] > abs(effect["others"]["margin"])
        blamed = [choice["layers"][0]["name"] for choice in run["choices"] if choice["layers"]]
        right = right and set(blamed) == {guilty}
        told += right
        if not right:
            print(f"not told: {name} {guilty} (seed {seed}): {json.dumps(effect)[:300]}", flush=True)
    return told, planted


def tie(model, seed):
    """The model whose last Gemm gives its two best classes the same score, but for rounding, and its inputs."""
    import numpy as np
    import zoo
    from faults_test import run_all
    from onnx import numpy_helper
    last = next((node for node in reversed(model.graph.node) if node.op_type == "Gemm"), None)
    bias = next((one for one in model.graph.initializer if last and len(last.input) > 2 and one.name == last.input[2]),
                None)
    arrays = zoo.inputs(model, "normal", seed)
    if bias is None:
        return None
    scores = run_all(model, arrays)[last.output[0]].ravel()
    if scores.size < 5 or scores.size != numpy_helper.to_array(bias).size:
        return None
    first, second = np.argsort(scores)[::-1][:2]
    values = numpy_helper.to_array(bias).copy()
    values[second] += scores[first] - scores[second]
    bias.CopyFrom(numpy_helper.from_array(values, bias.name))
    return arrays


def ties(o):
    import zoo
    from faults_test import run_all
    changed, explained, made = 0, 0, 0
    for seed, name in itertools.product(range(1, SEEDS), zoo.NETWORKS):
        if made == o.ties:
            break
        model = zoo.build(name, seed=seed)
        arrays = tie(model, seed)
        if arrays is None:
            continue
        made += 1
        run = judged(o, model, {**arrays, **run_all(model, arrays)})
        if not any(output.get("top1_changed") for output in run["outputs"]):
            continue
        changed += 1
        told = run["wrong"] == 0 and any((output["effect"] or {}).get("moved") for output in run["outputs"])
        told = told and any(choice["by_rounding"] for choice in run["choices"])
        told = told and not any(choice["unexplained"] or choice["layers"] for choice in run["choices"])
        explained += told
        if not told:
            print(f"a tie is no rounding: {name} (seed {seed}): {run['summary'][:300]}", flush=True)
    return explained, changed, made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--ties", type=int, default=60)
    o = parser.parse_args()
    packages.ensure(o.work / "campaign_packages", ["onnx", "onnxruntime", "numpy"], ["onnx", "onnxruntime", "numpy"])
    o.work = o.work / "flips"
    o.work.mkdir(parents=True, exist_ok=True)
    told, planted = flips(o)
    print(f"{planted} planted flips: of {told} the planted layer moved the scores most")
    explained, changed, made = ties(o)
    print(f"{made} ties: rounding changed the top-1 of {changed}, {explained} explained by it")
    sys.exit(0 if planted and told >= LEAST * planted and explained == changed else 1)


if __name__ == "__main__":
    main()
