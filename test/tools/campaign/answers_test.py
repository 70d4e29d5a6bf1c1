# SPDX-License-Identifier: Apache-2.0
"""What reports say of changed answers: of healthy runs of several runtimes in f32, f16, bf16 and int8 that no layer is
to blame for a top-1 or for what a router chose, and of faults in front of a router that the planted layer is.

    answers_test.py --bin build/release/bin --work build/release/golden_test [--turns 3 --faults 60]

Prints a row per runtime. Exit code 0: no healthy run is blamed, and at least 95 % of the routers with a planted fault
name it first.
"""
import argparse
import collections
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402

LEAST, SEEDS = 0.95, 400
HEALTHY = ["ort", "ort_optimized", "ort_fp16", "ort_int8", "ort_dynamic", "openvino", "openvino_f16", "openvino_bf16",
           "openvino_int8", "mnn", "mnn_w8", "ncnn", "ncnn_f16", "ncnn_bf16", "tract", "tract_f16", "opencv", "jax",
           "onnx_reference"]
NETWORKS = ["experts", "tabular", "squeezenet", "vit"]
WORDS = ["runs", "no run", "named", "choices", "changed", "rounding", "following", "top-1 changed", "blamed"]


def told_by(run, table, unnamed):
    """Counts what a report says of choices and answers; the sentences that blame a layer. unnamed: how many layers are
    wrong without a cause; a deviation of the runtime that is named by its cause may be blamed."""
    blamed = [f"{layer['name']} is wrong" for layer in run["layers"] if unnamed and layer["verdict"] == "wrong"]
    for choice in run["choices"]:
        table["choices"] += choice["choices"]
        table["changed"] += choice["changed"]
        table["rounding"] += choice["by_rounding"]
        table["following"] += choice["following"]
        if choice["layers"] or choice["unexplained"]:
            blamed.append(choice["said"])
    for output in run["outputs"]:
        table["top-1 changed"] += bool(output.get("top1_changed"))
        if output["effect"] and output["effect"]["layers"]:
            blamed += output["effect"]["said"]
    named = run["wrong"] > 0 and not unnamed
    table["named"] += named
    return [] if named else blamed


def healthy_runs(o):
    """Rows by runtime, and what was blamed."""
    import healthy_test
    import zoo
    import zoo_experts
    zoo.NETWORKS["experts"] = zoo.ALL["experts"] = zoo_experts.experts
    o.keep, rows, blamed = True, collections.defaultdict(collections.Counter), []
    for runtime in o.runtime.split(","):
        why = packages.more(o.packages, *healthy_test.OWN[runtime]) if runtime in healthy_test.OWN else ""
        if why:
            print(f"{runtime}: not run: {why}", flush=True)
            continue
        for name in NETWORKS:
            if name in healthy_test.LACKS.get(runtime, ()):
                continue
            for turn in range(o.turns):
                what, text, counts = healthy_test.one(o, name, runtime, turn)
                if not counts:
                    rows[runtime]["no run"] += 1
                    print(f"{what}: {text.splitlines()[-1][:200]}", flush=True)
                    continue
                rows[runtime]["runs"] += 1
                report = json.loads((o.work / f"{runtime}_{name}_{turn}" / "report.json").read_text())
                told = told_by(report["runs"][0], rows[runtime], counts["wrong"])
                blamed += [f"{what}: {said}" for said in told]
    return rows, blamed


def planted(model, seed):
    """The model with another router, other experts or another function between them; and the node."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    made = onnx.ModelProto()
    made.CopyFrom(model)
    weights = {one.name: one for one in made.graph.initializer}
    last = max(at for at, node in enumerate(made.graph.node) if node.op_type == "TopK")
    nodes = [node for node in made.graph.node[:last] if node.op_type in ("Tanh", "Gather") or
             node.op_type == "MatMul" and node.input[1] in weights]
    node = nodes[seed % len(nodes)]
    if node.op_type == "Tanh":
        node.op_type = "Sigmoid"
        return made, node.name
    weight = weights[node.input[0 if node.op_type == "Gather" else 1]]
    values = numpy_helper.to_array(weight).copy()
    np.moveaxis(values, -1, 0)[::3] *= (1.5, 2, 0.5, -1)[seed % 4]
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    return made, node.name


def planted_runs(o):
    """Of how many planted faults the first changed router names the layer; how many there are."""
    import zoo_experts
    import zoo
    from faults_test import run_all
    from flips_test import judged
    zoo.ALL["experts"] = zoo_experts.experts
    told = count = 0
    for seed in range(1, SEEDS):
        if count == o.faults:
            break
        model = zoo.build("experts", seed=seed)
        arrays = zoo.inputs(model, "normal", seed)
        made, guilty = planted(model, seed)
        right, wrong = run_all(model, arrays), run_all(made, arrays)
        chosen = [node.output[-1] for node in model.graph.node if node.op_type in ("ArgMax", "TopK")]
        if all((right[name] == wrong[name]).all() for name in chosen):
            continue
        count += 1
        run = judged(o, model, {**arrays, **wrong})
        charged = [choice for choice in run["choices"] if choice["layers"]]
        named = bool(charged) and charged[0]["layers"][0]["name"] == guilty
        named = named and not any(choice["unexplained"] for choice in run["choices"])
        told += named
        if not named:
            print(f"not told: {guilty} (seed {seed}): {[choice['said'] for choice in run['choices']]}", flush=True)
    return told, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--runtime", default=",".join(HEALTHY))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--faults", type=int, default=60)
    o = parser.parse_args()
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    import healthy_test
    o.packages = o.work / "campaign_packages"
    packages.ensure(o.packages, healthy_test.PACKAGES, healthy_test.MODULES)
    o.work = o.work / "answers"
    o.work.mkdir(parents=True, exist_ok=True)
    told, count = planted_runs(o)
    print(f"{count} faults in front of a router: of {told} the report names the planted layer first", flush=True)
    rows, blamed = healthy_runs(o)
    print(f"{'':16}" + "".join(f"{word:>14}" for word in WORDS))
    for runtime, counts in rows.items():
        print(f"{runtime:16}" + "".join(f"{counts[word]:14}" for word in WORDS[:-1]) +
              f"{sum(line.startswith(runtime + ' ') for line in blamed):14}")
    print("\n".join(blamed))
    sys.exit(0 if count and told >= LEAST * count and not blamed and rows else 1)


if __name__ == "__main__":
    main()
