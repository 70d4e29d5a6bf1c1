"""Healthy runs of other runtimes over the networks of zoo.py: none may be called wrong, and few steps grey
(doc/check.md).

    healthy_test.py --bin build/release/bin --work build/release/golden_test [--only resnet --runtime ort,mnn --rounds
    2]

Prints a line per run that is not wholly aligned and a table at the end. Exit code: 0 when there are enough runs and the
bars hold.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(PYTHON)]
import packages  # noqa: E402

PACKAGES = ["onnx", "onnxruntime", "openvino", "MNN", "ncnn", "pnnx", "onnxconverter-common", "numpy"]
MODULES = ["onnx", "onnxruntime", "openvino", "MNN", "ncnn", "onnxconverter_common"]
WEIGHTS = ["normal", "outliers", "heavy", "sparse"]
INPUTS = ["normal", "sparse", "constant", "huge", "tiny"]
# What a runtime cannot take: its converter or its executor refuses or gives other values than ONNX Runtime without a
# word.
LACKS = {
    "mnn": {"detection", "lstm", "gru", "crnn", "face"},
    "ncnn": {"bert", "gpt", "llama", "detection", "swin", "spectrogram", "lstm", "gru", "rnn", "crnn", "group_norm"},
}
# Healthy, and called wrong as yet: a Winograd convolution among others that are exact; MNN's softplus of huge inputs,
# which writes over its input. One that is right by now fails the test.
OPEN = {"mnn alexnet", "mnn selu", "ncnn resnet_bottleneck"}
# Real deviations that the report calls wrong without naming them, by runtime and type: ONNX Runtime's softmax of 8
# bits multiplies by 1 / scale as a whole number (254 for 254.99998); behind a QuantizeLinear whose ties fall to either
# side no replay shows it.
KNOWN = {"ort_int8": "Softmax"}
FEWEST_RUNS, MOST_GREY = 120, 0.005


def half(model):
    from onnxconverter_common import float16
    return float16.convert_float_to_float16(model, keep_io_types=False)


def int8(model, path, dynamic, arrays):
    from onnxruntime import quantization as q
    import onnx
    plain, made = path.with_suffix(".plain.onnx"), path.with_suffix(".int8.onnx")
    onnx.save(model, plain)
    if dynamic:
        q.quantize_dynamic(plain, made, reduce_range=True)  # else 8-bit products saturate on x86 without VNNI
    else:
        class Reader(q.CalibrationDataReader):
            def __init__(self):
                self.left = [arrays]

            def get_next(self):
                return self.left.pop() if self.left else None
        q.quantize_static(plain, made, Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True, reduce_range=True)
    return onnx.load(made)


# runtime: (plumb-golden's command, its options, how the model is changed)
RUNTIMES = {
    "ort": ("onnx", [], None),
    "ort_optimized": ("onnx", ["--optimized", "all"], None),
    "ort_fp16": ("onnx", [], "half"),
    "ort_int8": ("onnx", ["--optimized", "all"], "static"),
    "ort_dynamic": ("onnx", [], "dynamic"),
    "openvino": ("openvino", [], None),
    "mnn": ("mnn", [], None),
    "ncnn": ("ncnn", [], None),
}


def one(o, name, runtime, turn):
    """A run: its network, what came of it, and the counts of the verdicts."""
    import numpy as np
    import onnx
    import zoo
    index = list(zoo.NETWORKS).index(name) + 3 * list(RUNTIMES).index(runtime) + turn
    weights, kind, batch = WEIGHTS[index % 4], INPUTS[index // 2 % 5], (1, 4)[index // 3 % 2]
    command, arguments, change = RUNTIMES[runtime]
    if runtime == "ncnn":
        batch = 1
    if change == "half" and kind in ("huge", "tiny"):
        kind = "normal"  # beyond f16's range
    what = f"{runtime} {name} (weights {weights}, input {kind}, batch {batch})"
    folder = o.work / f"{runtime}_{name}_{turn}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model, path = zoo.build(name, weights, batch, seed=1 + turn), folder / "net.onnx"
    arrays = zoo.inputs(model, kind, seed=1 + turn)
    if change == "half":
        model = half(model)
        arrays = {k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in arrays.items()}
    elif change:
        model = int8(model, path, change == "dynamic", arrays)
    onnx.save(model, path)
    np.savez(folder / "net.npz", **arrays)
    environment = {**os.environ, "PYTHONPATH": str(PYTHON),
                   "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    made = subprocess.run([sys.executable, "-m", "plumb_golden", command, str(path), "-i", str(folder / "net.npz"),
                           "-o", str(folder / "dump"), "-q", *arguments],
                          capture_output=True, text=True, env=environment, timeout=1200)
    if made.returncode != 0:
        return what, "no dump: " + (made.stderr.strip().splitlines() or ["?"])[-1], None
    done = subprocess.run([f"{o.bin}/model_check", "-m", str(path), "--subject", str(folder / "dump"), "--json",
                           str(folder / "report.json"), "--quiet"],
                          capture_output=True, text=True, timeout=1200)
    if not (folder / "report.json").exists():
        return what, f"exit {done.returncode}: {done.stderr.strip()}", None
    run = json.loads((folder / "report.json").read_text())["runs"][0]
    # A real deviation of the runtime is wrong by a cause that the report names.
    for layer in run["layers"]:
        known = KNOWN.get(runtime)
        types = layer["type"] + " ".join(member["type"] for member in layer.get("members", []))
        if layer["verdict"] == "wrong" and (layer.get("cause") or (known and known in types)):
            layer["verdict"] = "named"
    counts = collections.Counter(layer["verdict"] for layer in run["layers"])
    said = [f"    {layer['verdict']}: {layer['name']} ({layer['type']}): {layer.get('reason', '')}"
            for layer in run["layers"] if layer["verdict"] in ("wrong", "named", "grey")]
    if not counts["wrong"] and not o.keep:
        shutil.rmtree(folder)
    return what, "\n".join([done.stdout.strip(), *said[:4]]), counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--runtime", default=",".join(RUNTIMES))
    parser.add_argument("--rounds", type=int, default=1, help="how often, each time with other weights and inputs")
    parser.add_argument("--keep", action="store_true", help="keep the folders of healthy runs")
    o = parser.parse_args()
    packages.ensure(o.work / "campaign_packages", PACKAGES, MODULES)
    import zoo
    o.work = o.work / "healthy"
    jobs = [(name, runtime, turn) for turn in range(o.rounds) for runtime in o.runtime.split(",")
            for name in zoo.NETWORKS
            if o.only in name and name not in LACKS.get(runtime, ())]
    table, failed, runs, none = collections.defaultdict(collections.Counter), [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (name, runtime, turn), (what, text, counts) in zip(jobs, pool.map(lambda job: one(o, *job), jobs)):
            if counts is None:
                none += 1
                failed.append(what)
                print(f"{what}: {text}", flush=True)
                continue
            runs += 1
            table[runtime] += counts
            table[runtime]["runs"] += 1
            if counts["wrong"]:
                failed.append(what)
            if counts["wrong"] or counts["named"] or counts["grey"]:
                print(f"{what}: {text}", flush=True)
    words = ["runs", "aligned", "grey", "named", "wrong", "not tested"]
    print(f"{'':14}" + "".join(f"{word:>12}" for word in words))
    for runtime, counts in table.items():
        print(f"{runtime:14}" + "".join(f"{counts[word]:12}" for word in words))
    judged = sum(c["aligned"] + c["grey"] + c["named"] + c["wrong"] for c in table.values())
    grey = sum(c["grey"] for c in table.values()) / max(judged, 1)
    print(f"{runs} runs, {judged} steps judged, {grey:.2%} grey; {len(failed)} runs failed: {'; '.join(failed)}")
    whole = not o.only and o.runtime == ",".join(RUNTIMES)
    if whole:
        assert runs >= FEWEST_RUNS, f"{runs} runs, expected {FEWEST_RUNS}"
        assert grey <= MOST_GREY, f"{grey:.2%} grey, expected at most {MOST_GREY:.2%}"
    wrong = {" ".join(what.split()[:2]) for what in failed}
    assert wrong <= OPEN, wrong - OPEN
    assert not whole or o.rounds > 1 or wrong == OPEN, f"right by now: {OPEN - wrong}"


if __name__ == "__main__":
    main()
