# SPDX-License-Identifier: Apache-2.0
"""blob_diff --suggest-names beside the truth: graphs that ONNX Runtime fused, renamed. Both sides run on one input, and
a pair is right when both tensors hold the same values. It prints the table of doc/names.md.

    names_test.py --bin build/release/bin --work build/release/golden_test [MODEL.onnx ...]
"""
import argparse
import csv
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "golden")]
import packages  # noqa: E402

# Of the tensors that the model has. ONNX Runtime writes attention anew, and pushes transposes about.
LEAST_SHARE = {"residual": 0.95, "mobile": 0.95, "transformer": 0.4}
LEVELS = ("BASIC", "EXTENDED", "ALL")


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


def draw_feeds(path):
    import numpy as np
    import onnxruntime
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(5)
    feeds = {}
    for value in session.get_inputs():
        size = 64 if any(not isinstance(d, int) for d in value.shape[1:]) else 1
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


def same(a, b):
    import numpy as np
    if a.size != b.size or a.dtype.kind != b.dtype.kind:
        return False
    a, b = np.nan_to_num(a.ravel().astype(np.float64)), np.nan_to_num(b.ravel().astype(np.float64))
    scale = max(np.abs(a).max(initial=0), 1e-30)
    return bool(np.abs(a - b).max(initial=0) <= 1e-3 * scale + 1e-6)


def suggest(tool, model, other, folder):
    """([(name in the model, name in the other)], [names without a partner], how many have one)."""
    target = folder / "names.csv"
    run = subprocess.run([tool, "--suggest-names", model, other, "--all", "--csv", target], capture_output=True,
                         text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(run.stderr)
    last = run.stdout.strip().splitlines()[-1].split()
    left = [line.partition(": ")[2] for line in run.stdout.splitlines() if line.startswith("no partner: ")]
    with open(target, encoding="utf-8") as file:
        rows = [row for row in csv.reader(line for line in file if not line.startswith("# "))]
    return rows, left, int(last[0])


def measure(tool, folder, path, level):
    fused, renamed = folder / "fused.onnx", folder / "renamed.onnx"
    optimise(path, level, fused)
    rename(fused, renamed)
    feeds = draw_feeds(path)
    mine, other = run_all(path, feeds), run_all(renamed, feeds)
    rows, left, paired = suggest(tool, path, renamed, folder)
    total = paired + len(left)
    wrong = [(a, b) for a, b in rows if a not in mine or b not in other or not same(mine[a], other[b])]
    # Of those without a partner, what the model has not at all: steps of another decomposition.
    new = [name for name in left if name in other and not any(same(x, other[name]) for x in mine.values())]
    return paired, total - len(new), len(new), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "names_venv", ["torch", "onnx", "onnxscript", "onnxruntime", "numpy"],
                    ["torch", "onnx", "onnxruntime"])
    folder = options.work / "names"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tool, failures = options.bin.absolute() / "blob_diff", 0
    print("| network | ONNX Runtime's graph | tensors that the model has | paired | wrong | others |")
    print("|---|---|---|---|---|---|")
    for path in options.models or export_networks(folder):
        for level in LEVELS:
            paired, total, new, wrong = measure(tool, folder, path, level)
            print(f"| {path.stem} | {level.lower()} | {total} | {paired} | {len(wrong)} | {new} |", flush=True)
            least = LEAST_SHARE.get(path.stem.partition("_")[0], 0)
            if wrong or paired < least * total:
                failures += 1
                print(f"FAILED: {path.stem} {level}: {paired} of {total}, wrong {wrong[:3]}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
