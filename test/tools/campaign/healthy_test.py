# SPDX-License-Identifier: Apache-2.0
"""Healthy runs of other runtimes over the networks of zoo.py (LiteRT's and PyTorch's own: zoo_litert.py, zoo_torch.py):
none may be called wrong, and few steps grey (doc/check.md).

    healthy_test.py --bin build/release/bin --work build/release/golden_test [--only resnet --runtime ort,mnn --rounds
    2]

Prints a line per run that is not wholly aligned and a table at the end. Exit code: 0 when there are enough runs and the
bars hold. --resume goes on where a call was interrupted: healthy/finished.jsonl in the work folder holds what is done.
"""
import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(PYTHON)]
import packages  # noqa: E402

PACKAGES = ["onnx", "onnxruntime", "openvino", "MNN", "ncnn", "pnnx", "onnxconverter-common", "numpy", "ai-edge-litert",
            "flatbuffers"]
MODULES = ["onnx", "onnxruntime", "openvino", "MNN", "ncnn", "onnxconverter_common", "ai_edge_litert", "flatbuffers"]
WEIGHTS = ["normal", "outliers", "heavy", "sparse"]
INPUTS = ["normal", "sparse", "constant", "huge", "tiny"]
# What a runtime cannot take: its converter or its executor refuses or gives other values than ONNX Runtime without a
# word.
LACKS = {
    "mnn": {"detection", "lstm", "gru", "crnn", "face"},
    "ncnn": {"bert", "gpt", "llama", "detection", "swin", "spectrogram", "lstm", "gru", "rnn", "crnn", "group_norm"},
    "torch_bf16": {"unet"},  # PyTorch 1.13 has no transposed convolution of bf16 on CPUs, and no convolution of f16
}
LACKS["mnn_w8"] = LACKS["mnn_w4"] = LACKS["mnn"]
LACKS["ncnn_f16"] = LACKS["ncnn_bf16"] = LACKS["ncnn"]
LACKS["tract_f16"] = {"fpn", "gru"}  # its Resize and GRU take f32 alone
LACKS["onnx_reference"] = {"detection"}  # its GatherElements chooses among 64 arrays at most
LACKS["opencv"] = {"rnn", "deeplab"}  # no RNN; its Resize of one pixel gives 1e14
LACKS["jax"] = {  # operators that jaxonnxruntime 0.3.0 lacks, or calls as JAX had them
    "mobilenet_v2", "mobilenet_v3", "squeezenet", "unet", "fpn", "deeplab", "style", "super_resolution", "selu", "gpt",
    "vit", "swin", "mixer", "lstm", "gru", "rnn", "crnn", "detection", "face", "group_norm"}
# Deviations that the report calls wrong without naming them: (run, node). All are the runtimes'.
KNOWN = {
    ("ncnn_bf16 alexnet", "conv_9"), ("ncnn_bf16 alexnet", "lrn_11"),  # two groups in bf16: 1e14 to 1e32, by chance
    ("mnn_w4 deeplab", "softmax_38"),  # 0.2 of each of five logits up to 1e30, with weights of f32, too
    ("mnn_w8 bert", "mul_155"),  # a GELU by a rational tanh, as the other one, which is named
    ("mnn_w8 spectrogram", "conv_8"), ("mnn_w4 spectrogram", "conv_8"),  # weights of 1e-14 become 0
    ("mnn_w8 style", "convtranspose_32"), ("mnn_w4 style", "convtranspose_32"),  # the only one, scales of MNN's own
    ("torch_bf16 norms", "/4/InstanceNormalization"),  # GroupNorm's statistics summed in bf16
    ("openvino_bf16 crnn", "lstm_21"),  # states and outputs in bf16, and not of the x that is shown: 7 units off
    ("tract gru", "gru_5"),  # its Tanh and Sigmoid end 12 u from 1, and h moves 8 u further at every step
    # Tanh is NaN from x = 44.4 on: exp(2 x) overflows.
    ("opencv wavenet", "tanh_39"), ("opencv wavenet", "tanh_56"),
    # A map of 28x28 times a gate of 1x1 has the gate's shape, and so has what the next convolution makes of it.
    ("opencv mobilenet_v3", "mul_43"),
    ("tract_f16 crnn", "lstm_21"),  # gates, c and h in f16, operation by operation: 1.5e-3 off
    ("tract_f16 swin", "layernormalization_87"),  # statistics and scaling in f16: one unit off
    ("tract_f16 squeezenet", "conv_12"),  # sums in f16, in this layer alone: 4e-5 off where the terms reach 0.1
    ("tract_f16 resnet", "batchnormalization_74"),  # 18,275 is infinite: f16 overflows on the way, in what is not shown
    ("openvino_int8 mixer", "reducemean_49"),  # OpenVINO 2026.4.1: means of other numbers, from the second image on
}
FEWEST_RUNS, MOST_GREY = 500, 0.002


# What a recipe says where the CPU has no such arithmetic: the row is not run, and says so.
NO_ARITHMETIC = re.compile(r"OpenVINO computes in \w+ on this CPU when it is asked for (\w+)")


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


# Those that zoo_runtimes.py runs: packages of PyPI beyond PACKAGES, modules.
OWN = {
    "tract": (["tract"], ["tract"]),
    "tract_f16": (["tract"], ["tract"]),
    "opencv": (["opencv-python-headless"], ["cv2"]),
    "jax": (["jax", "jaxonnxruntime", "absl-py"], ["jaxonnxruntime.backend"]),
    "onnx_reference": ([], ["onnx.reference"]),
    "iree": (["iree-base-compiler[onnx]", "iree-base-runtime"], ["iree.runtime", "iree.compiler"]),
}
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
    "ncnn_f16": ("ncnn", ["--precision", "f16"], None),
    "ncnn_bf16": ("ncnn", ["--precision", "bf16"], None),
    "litert": ("litert", [], None),
    "torch": ("torch", [], "float32"),
    "torch_bf16": ("torch", [], "bfloat16"),
    "mnn_w8": ("mnn", ["--weight-bits", "8"], None),
    "mnn_w4": ("mnn", ["--weight-bits", "4"], None),
    "openvino_int8": ("openvino", [], "static"),
    "openvino_dynamic": ("openvino", [], "dynamic"),
    "openvino_f16": ("openvino", ["--precision", "f16"], None),
    "openvino_bf16": ("openvino", ["--precision", "bf16"], None),
    **{name: ("zoo_runtimes", [], None) for name in OWN},
    "torch_f16": ("torch", [], "float16"),
    "torch_autocast": ("torch", [], "autocast"),
}


@functools.lru_cache(None)
def torch_python():
    """With Debian's PyTorch, or the tests' own Python."""
    wanted = [python for python in ("/usr/bin/python3", os.environ.get("PLUMB_TEST_PYTHON")) if python]
    return next((python for python in wanted if packages.has(python, ["torch", "onnx"])), None)


@functools.lru_cache(None)
def networks_of(runtime):
    import zoo
    import zoo_litert
    known = {"litert": zoo_litert.NETWORKS}.get(runtime, zoo.NETWORKS)
    if runtime.startswith("torch"):
        known = TORCH_NETWORKS if torch_python() else []
    elif runtime == "iree":
        known = IREE_NETWORKS
    return [name for name in known if name not in LACKS.get(runtime, ())]


# Half a minute each, and more, to compile.
IREE_NETWORKS = ["tabular", "selu", "bert", "vgg", "mixer", "wavenet"]
# Of zoo_torch.py, which this Python cannot load.
TORCH_NETWORKS = ["cnn", "mobile", "norms", "table", "transformer", "unet", "segmentation", "audio", "lstm", "gru"]


def with_onnx(name, runtime, drawn, path):
    """Writes the .onnx and the inputs; returns the arguments of plumb-golden."""
    import numpy as np
    import onnx
    import zoo
    command, arguments, change = RUNTIMES[runtime]
    weights, kind, batch, seed = drawn
    model = zoo.build(name, weights, batch, seed)
    arrays = zoo.inputs(model, kind, seed)
    if change == "half":
        model = half(model)
        arrays = {k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in arrays.items()}
    elif change:
        model = int8(model, path, change == "dynamic", arrays)
    onnx.save(model, path)
    np.savez(path.with_suffix(".npz"), **arrays)
    return [command, str(path), "-i", str(path.with_suffix(".npz")), *arguments]


def with_litert(name, drawn, path):
    import numpy as np
    import zoo
    import zoo_litert
    weights, kind, batch, seed = drawn
    shape = zoo_litert.build(name, weights, batch, seed, path)
    x = zoo.draw(np.random.default_rng(seed), shape, kind)
    np.save(path.with_suffix(".npy"), x.transpose(0, 2, 3, 1) if x.ndim == 4 else x)
    return ["litert", str(path.with_suffix(".tflite")), "-i", str(path.with_suffix(".npy"))]


def with_torch(path, environment):
    made = subprocess.run([torch_python(), str(HERE / "zoo_torch.py"), str(path)], capture_output=True, text=True,
                          env=environment, timeout=600)
    assert made.returncode == 0, made.stderr
    return ["torch", str(HERE / "zoo_torch.py"), "--onnx", str(path)]


def one(o, name, runtime, turn):
    """A run: its network, what came of it, and the counts of the verdicts."""
    import zoo
    known = list(zoo.NETWORKS) if runtime in OWN else networks_of(runtime)
    index = known.index(name) + 3 * list(RUNTIMES).index(runtime) + turn
    weights, kind, batch = WEIGHTS[index % 4], INPUTS[index // 2 % 5], (1, 4)[index // 3 % 2]
    change = RUNTIMES[runtime][2]
    if runtime.startswith("ncnn"):
        batch = 1
    if (change == "half" or runtime.endswith("_f16")) and kind in ("huge", "tiny"):
        kind = "normal"  # beyond f16's range
    what = f"{runtime} {name} (weights {weights}, input {kind}, batch {batch})"
    folder = o.work / f"{runtime}_{name}_{turn}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path, drawn = folder / "net.onnx", (weights, kind, batch, 1 + turn)
    is_torch = runtime.startswith("torch")
    python = torch_python() if is_torch else sys.executable
    environment = {**os.environ, "PYTHONPATH": str(PYTHON), "PATH": f"{pathlib.Path(python).parent}:"
                   f"{os.environ['PATH']}", "PLUMB_ZOO": f"{name} {change} {weights} {kind} {batch} {1 + turn}"}
    words = (with_torch(path, environment) if is_torch else with_litert(name, drawn, path) if runtime == "litert"
             else with_onnx(name, runtime, drawn, path))
    dump = folder / "dump"
    if words[0] == "zoo_runtimes":
        dump = folder / "dump.npz"
        line = [str(HERE / "zoo_runtimes.py"), runtime, *words[1:4:2], str(dump)]
    else:
        line = ["-m", "plumb_golden", *words, "-o", str(dump), "-q"]
    made = subprocess.run([python, *line], capture_output=True, text=True, env=environment, timeout=1200)
    if made.returncode != 0:
        lacking = NO_ARITHMETIC.search(made.stderr)
        if lacking:
            return what, f"not run: the CPU has no {lacking[1]}", {}
        return what, "no dump: " + (made.stderr.strip().splitlines() or ["?"])[-1], None
    done = subprocess.run([f"{o.bin}/model_check", "-m", str(path), "--subject", str(dump), "--json",
                           str(folder / "report.json"), "--quiet"],
                          capture_output=True, text=True, timeout=1200)
    if not (folder / "report.json").exists():
        return what, f"exit {done.returncode}: {done.stderr.strip()}", None
    report = json.loads((folder / "report.json").read_text())
    if not report["runs"]:
        return what, f"exit {done.returncode}: {report['summary']}", None
    run = report["runs"][0]
    # A real deviation of the runtime is wrong by a cause that the report names.
    for layer in run["layers"]:
        known = any((f"{runtime} {name}", node) in KNOWN for node in layer["nodes"])
        lost = "that follow from the inputs were lost" in layer.get("reason", "")  # NaN of another layer
        if layer["verdict"] == "wrong" and (layer.get("cause") or known):
            layer["verdict"] = "named"
        if layer["verdict"] == "grey" and (layer.get("cause") or lost):
            layer["verdict"] = "named"
    counts = collections.Counter(layer["verdict"] for layer in run["layers"])
    said = [f"    {layer['verdict']}: {layer['name']} ({layer['type']}): {layer.get('reason', '')}"
            for layer in run["layers"] if layer["verdict"] in ("wrong", "named", "grey")]
    if not counts["wrong"] and not o.keep:
        shutil.rmtree(folder)
    return what, "\n".join([done.stdout.strip(), *said[:4]]), counts


class Finished:
    """The runs that are done, kept in a file line by line."""

    def __init__(self, path, resume):
        self.path, self.known = path, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            path.unlink(missing_ok=True)
        for line in path.read_text().splitlines() if path.exists() else []:
            job, *result = json.loads(line)
            self.known[tuple(job)] = result

    def run(self, o, job):
        if job not in self.known:
            what, text, counts = one(o, *job)
            self.known[job] = [what, text, counts]
            with self.path.open("a") as file:
                file.write(json.dumps([job, what, text, counts]) + "\n")
        what, text, counts = self.known[job]
        return what, text, None if counts is None else collections.Counter(counts)


def rows(o):
    """The rows that can run here; the others are said with the reason."""
    made = []
    for runtime in o.runtime.split(","):
        why = packages.more(o.work / "campaign_packages", *OWN[runtime]) if runtime in OWN else ""
        if runtime.startswith("torch") and not networks_of(runtime):
            why = "no Python here has torch and onnx (Debian's python3-torch and python3-onnx)"
        if why:
            print(f"{runtime}: not run: {why}", flush=True)
        else:
            made.append(runtime)
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--runtime", default=",".join(RUNTIMES))
    parser.add_argument("--rounds", type=int, default=1, help="how often, each time with other weights and inputs")
    parser.add_argument("--keep", action="store_true", help="keep the folders of healthy runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--resume", action="store_true", help="leave out what an interrupted call did")
    o = parser.parse_args()
    packages.ensure(o.work / "campaign_packages", PACKAGES, MODULES)
    there = rows(o)
    o.work = o.work / "healthy"
    jobs = [(name, runtime, turn) for turn in range(o.rounds) for runtime in there
            for name in networks_of(runtime) if o.only in name]
    table, failed, left_out, runs = collections.defaultdict(collections.Counter), [], set(), 0
    finished = Finished(o.work / "finished.jsonl", o.resume)
    with concurrent.futures.ThreadPoolExecutor(max_workers=o.jobs) as pool:
        results = pool.map(lambda job: finished.run(o, job), jobs)
        for (name, runtime, turn), (what, text, counts) in zip(jobs, results):
            if counts == {}:  # said once per row
                left_out |= {f"{runtime}: {text}"}
                continue
            if counts is None:
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
    print("\n".join(sorted(left_out)))
    for runtime, counts in table.items():
        print(f"{runtime:14}" + "".join(f"{counts[word]:12}" for word in words))
    judged = sum(c["aligned"] + c["grey"] + c["named"] + c["wrong"] for c in table.values())
    grey = sum(c["grey"] for c in table.values()) / max(judged, 1)
    print(f"{runs} runs, {judged} steps judged, {grey:.2%} grey; {len(failed)} runs failed: {'; '.join(failed)}")
    whole = not o.only and o.runtime == ",".join(RUNTIMES)
    if whole:
        assert runs >= FEWEST_RUNS, f"{runs} runs, expected {FEWEST_RUNS}"
        assert grey <= MOST_GREY, f"{grey:.2%} grey, expected at most {MOST_GREY:.2%}"
    assert not failed, failed


if __name__ == "__main__":
    main()
