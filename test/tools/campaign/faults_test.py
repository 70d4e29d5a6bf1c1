# SPDX-License-Identifier: Apache-2.0
"""Faults of mutations/, planted one by one into the networks of zoo.py and run by ONNX Runtime: each must be wrong,
at its node, and its cause named, with no wrong cause.

    faults_test.py --bin build/release/bin --work build/release/golden_test [--only Conv --network vgg --each 1]

Every kind (operator and mutation) is planted --each times, in different networks. A fault below eight times the
rounding noise of what it changes is no fault. Prints what was missed, misplaced, unnamed or named wrongly, and the
counts.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402

FEWEST_KINDS, FEWEST_NAMED, MOST_FALSELY = 1200, 0.8, 5


def run_all(model, arrays):
    """Every tensor that the model computes, by ONNX Runtime without optimisation."""
    import onnx
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    names = [o for n in model.graph.node for o in n.output if o
             and not re.search(r"_before|_fault_|_half|_turned|_warm", o)]
    have = {o.name for o in model.graph.output}
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in have)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    session = ort.InferenceSession(whole.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, arrays)))


def noise(healthy, faulty):
    """How many times the largest value's last bit the fault moves what it changes; infinite for integers and NaN."""
    import numpy as np
    if healthy.shape != faulty.shape:
        return None
    if healthy.dtype.kind != "f":
        return np.inf if (healthy != faulty).any() else 0
    if not np.isfinite(faulty).all():
        return np.inf
    difference = np.abs(healthy.astype(np.float64) - faulty).max()
    return difference / max(np.abs(healthy).max() * 2.0 ** -24, 1e-45)


def plant(name, batch, at, function):
    """The model with the fault, and the function in NumPy that makes it or None; None where it does not apply."""
    import onnx
    import zoo
    model = zoo.build(name, batch=batch)
    guilty = model.graph.node[at].name
    node = next(n for n in model.graph.node if n.name == guilty)
    try:
        made = function(model, node)
        if not made:
            return None
        onnx.checker.check_model(model)
    except (ValueError, IndexError, TypeError, KeyError):
        return None
    return model, made if callable(made) else None


def run_kernel(model, at, compute, arrays, healthy):
    """Every tensor of the model whose node `at` writes what `compute` makes of it; None where it does not apply."""
    import numpy as np
    from onnx import helper, numpy_helper
    node = model.graph.node[at]
    known = {**{w.name: numpy_helper.to_array(w) for w in model.graph.initializer}, **arrays, **healthy}
    written = compute([known[name] for name in node.input if name], healthy[node.output[0]], node)
    if written is None:
        return None
    made = {name: healthy[name] for name in node.output if name}
    made[node.output[0]] = np.ascontiguousarray(np.asarray(written, healthy[node.output[0]].dtype))
    model.graph.node.remove(node)
    model.graph.input.extend(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                             for name, x in made.items())
    for output in [value for value in model.graph.output if value.name in made]:
        model.graph.output.remove(output)
    return {**run_all(model, {**arrays, **made}), **made} if model.graph.node else made


def all_kinds(o):
    """(operator, mutation) -> [(network, batch, node index, function, cause)] in a drawn order."""
    import mutations
    import zoo
    kinds = collections.defaultdict(list)
    for name in zoo.ALL:
        if o.network and name not in o.network.split(","):
            continue
        nodes = zoo.build(name).graph.node
        for at, node in enumerate(nodes):
            for mutation, function, cause in mutations.candidates(node.op_type):
                if o.only and o.only not in f"{node.op_type}: {mutation}":
                    continue
                kinds[node.op_type, mutation].append((name, 4 if "batch" in mutation else 1, at, function, cause))
    for places in kinds.values():
        random.Random(1).shuffle(places)
    return kinds


def judge(o, folder, model, guilty):
    """(what the check found, its words, its cause): the first wrong step, and whether it holds the guilty node."""
    done = subprocess.run([f"{o.bin}/model_check", "-m", str(folder / "net.onnx"), "--subject",
                           str(folder / "dump.npz"), "--json", str(folder / "report.json"),
                           "--quiet"], capture_output=True, text=True, timeout=1200)
    if not (folder / "report.json").exists():
        return "error", done.stderr.strip(), ""
    run = json.loads((folder / "report.json").read_text())["runs"][0]
    wrong = [layer for layer in run["layers"] if layer["verdict"] == "wrong"]
    at = [layer for layer in wrong if guilty in layer["nodes"]]
    if not wrong:
        mine = [layer for layer in run["layers"] if guilty in layer["nodes"]]
        return "missed", mine[0]["verdict"] + ": " + mine[0].get("reason", "") if mine else "not among the steps", ""
    if not at:
        return "misplaced", f"{wrong[0]['name']} ({wrong[0]['type']}): {wrong[0].get('reason', '')}", ""
    if len(wrong) > 1:
        return "more", " | ".join(f"{w['name']}: {w.get('reason', '')}" for w in wrong), at[0].get("cause", "")
    return "found", at[0].get("reason", ""), at[0].get("cause", "")


def tensors_of(o, name, batch, at, function):
    """(model without the fault, inputs, tensors without and with it), or None where it does not apply or run."""
    import zoo
    planted = plant(name, batch, at, function)
    if planted is None:
        return None
    plain = zoo.build(name, batch=batch)
    arrays = zoo.inputs(plain)
    healthy = run_all(plain, arrays)
    try:
        model, compute = planted
        values = run_kernel(model, at, compute, arrays, healthy) if compute else run_all(model, arrays)
    except Exception as error:  # ONNX Runtime's own classes derive from Exception only
        if "CUDA" in str(error):
            raise
        return None
    return None if values is None else (plain, arrays, healthy, values)


def one_kind(o, kind, places):
    """Up to o.each plants of one kind: [(kind, network, outcome, words, named, named wrongly, size)]."""
    import numpy as np
    import onnx
    import mutations
    made = []
    for name, batch, at, function, cause in places:
        if len(made) == o.each:
            break
        ran = tensors_of(o, name, batch, at, function)
        if ran is None:
            continue
        plain, arrays, healthy, values = ran
        guilty, output = plain.graph.node[at].name, plain.graph.node[at].output[0]
        size = noise(healthy[output], values[output])
        if size is None or size == 0 or any(values[k].shape != healthy[k].shape for k in healthy):
            continue
        folder = o.work / f"{kind[0]}_{re.sub('[^a-z0-9]+', '_', kind[1].lower())}_{name}_{at}"
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(plain, folder / "net.onnx")
        np.savez(folder / "dump.npz", **arrays, **values)
        outcome, words, told = judge(o, folder, plain, guilty)
        if outcome == "missed" and size < 8:
            continue
        named = mutations.says(cause, words)
        made.append((kind, f"{name} {guilty}", outcome, words, named, bool(told) and not mutations.says(cause, told),
                     size))
        if outcome == "found" and not o.keep:
            shutil.rmtree(folder)
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="", help="part of 'Operator: mutation'")
    parser.add_argument("--network", default="", help="these networks, separated by commas")
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    o = parser.parse_args()
    packages.ensure(o.work / "campaign_packages", ["onnx", "onnxruntime", "numpy"], ["onnx", "onnxruntime", "numpy"])
    o.work = o.work / "faults"
    shutil.rmtree(o.work, ignore_errors=True)
    kinds, found, all_made, planted = all_kinds(o), collections.Counter(), [], 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for made in pool.map(lambda item: one_kind(o, *item), kinds.items()):
            planted += bool(made)
            all_made += made
            for kind, where, outcome, words, named, falsely, size in made:
                found[outcome] += 1
                found["named"] += outcome in ("found", "more") and named
                found["falsely"] += falsely
                if outcome != "found" or not named:
                    how = "" if named else "WRONGLY" if falsely else "unnamed"
                    print(f"{outcome:9} {how} {kind[0]}: {kind[1]} [{where}, {size:.3g} ulp of the largest]: {words}",
                          flush=True)
    total = len(all_made)
    print(f"{planted} kinds, {total} faults: {found['found']} wrong at their node alone, {found['more']} beside "
          f"others, {found['misplaced']} elsewhere, "
          f"{found['missed']} missed, {found['error']} errors; a right cause named for "
          f"{found['named'] / max(total, 1):.0%}, another one for {found['falsely']}")
    if not o.only and not o.network:
        assert planted >= FEWEST_KINDS, f"{planted} kinds, expected {FEWEST_KINDS}"
        assert found["named"] >= FEWEST_NAMED * total, f"{found['named']} of {total} named"
        assert found["falsely"] <= MOST_FALSELY, f"{found['falsely']} named wrongly"
    assert found["found"] + found["more"] == total


if __name__ == "__main__":
    main()
