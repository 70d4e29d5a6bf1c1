# SPDX-License-Identifier: Apache-2.0
"""One network, trained once, through PyTorch, ONNX and TFLite: every runtime's tensors are judged by the file that it
ran, and the differences stand in one table, operator by runtime (doc/case.md).

    case_test.py --bin build/release/bin --work build/release/golden_test

The TFLite file is written here from the same weights (a converter's work: [out,in,h,w] becomes [out,h,w,in], the
images' channels come last). A second PyTorch module pads its strided convolution on both sides, as many ports do: its
tensors are wrong there, with the cause, and nowhere else.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(PYTHON)]
import packages  # noqa: E402

SIZE, CHANNELS, CLASSES, SAME = 16, 8, 4, 0
SCRIPT = '''import pathlib
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
here = pathlib.Path(__file__).resolve().parent


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, {c}, 3, stride=2, padding={padding})
        self.depth = nn.Conv2d({c}, {c}, 3, padding=1, groups={c})
        self.point = nn.Conv2d({c}, 2 * {c}, 1)
        self.dense = nn.Linear(2 * {c}, {k})

    def forward(self, x):
        x = F.relu6(self.first({pad}))
        x = F.relu(self.point(F.hardswish(self.depth(x))))
        return F.softmax(self.dense(x.mean((2, 3))), 1)


model = Net()
if (here / "weights.npz").exists():
    model.load_state_dict({{k: torch.from_numpy(v) for k, v in np.load(here / "weights.npz").items()}})
model.eval()
inputs = torch.from_numpy(np.load(here / "x.npy")) if (here / "x.npy").exists() else torch.zeros(1, 3, {s}, {s})
'''
TORCH = {"torch": ("F.pad(x, (0, 1, 0, 1))", 0), "torch, pads on both sides": ("x", 1)}


def pictures(count, random):
    """Waves in four directions, and which one."""
    import numpy as np
    kind = random.integers(0, CLASSES, count)
    place = np.arange(SIZE)
    angle = kind * np.pi / CLASSES
    along = (np.cos(angle)[:, None, None] * place[None, :, None] + np.sin(angle)[:, None, None] * place[None, None, :])
    waves = np.sin(0.9 * along + random.uniform(0, 6, (count, 1, 1)))
    images = waves[:, None] + 0.3 * random.normal(size=(count, 3, SIZE, SIZE))
    return images.astype(np.float32), kind


def train(work):
    """Writes the scripts, the weights and an input; the share of fresh pictures that the network gets right."""
    import numpy as np
    import torch
    from plumb_golden.torch_golden import load_script
    torch.manual_seed(1)
    torch.set_num_threads(1)
    random = np.random.default_rng(1)
    for name in ("weights.npz", "x.npy"):
        (work / name).unlink(missing_ok=True)
    for number, (pad, padding) in enumerate(TORCH.values()):
        (work / f"net{number}.py").write_text(SCRIPT.format(c=CHANNELS, k=CLASSES, s=SIZE, pad=pad, padding=padding))
    model = load_script(torch, work / "net0.py")[0].train()
    step = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(300):
        images, kind = pictures(64, random)
        loss = -torch.log(model(torch.from_numpy(images))[range(64), kind] + 1e-6).mean()
        step.zero_grad()
        loss.backward()
        step.step()
    np.savez(work / "weights.npz", **{k: v.detach().numpy() for k, v in model.state_dict().items()})
    images, kind = pictures(256, random)
    np.save(work / "x.npy", images[:1])
    np.save(work / "x_last.npy", np.ascontiguousarray(images[:1].transpose(0, 2, 3, 1)))
    return float((model.eval()(torch.from_numpy(images)).argmax(1).numpy() == kind).mean())


def write_tflite(work):
    import numpy as np
    from lite import ACTIVATIONS, Network
    weights, net, half = np.load(work / "weights.npz"), Network(), SIZE // 2
    x = net.input([1, SIZE, SIZE, 3])

    def constant(name, order=None):
        value = weights[name]
        return net.constant(name, np.ascontiguousarray(value if order is None else value.transpose(order)))

    def convolve(kind, source, name, order, channels, stride, activation, **more):
        return net.op(kind, [source, constant(f"{name}.weight", order), constant(f"{name}.bias")],
                      [1, half, half, channels],
                      options={"padding": SAME, "strideH": stride, "strideW": stride,
                               "fusedActivationFunction": ACTIVATIONS[activation], **more})

    first = convolve("CONV_2D", x, "first", (0, 2, 3, 1), CHANNELS, 2, "RELU6")
    depth = convolve("DEPTHWISE_CONV_2D", first, "depth", (1, 2, 3, 0), CHANNELS, 1, "", depthMultiplier=1)
    swish = net.op("HARD_SWISH", [depth], [1, half, half, CHANNELS])
    point = convolve("CONV_2D", swish, "point", (0, 2, 3, 1), 2 * CHANNELS, 1, "RELU")
    mean = net.op("MEAN", [point, net.constant("axes", np.array([1, 2], np.int32))], [1, 2 * CHANNELS])
    dense = net.op("FULLY_CONNECTED", [mean, constant("dense.weight"), constant("dense.bias")], [1, CLASSES])
    y = net.op("SOFTMAX", [dense], [1, CLASSES], options={"beta": 1.0})
    net.save(work / "case.tflite", [y])


def write_onnx(work):
    import warnings
    import torch
    from plumb_golden.torch_golden import load_script
    warnings.simplefilter("ignore")  # of the exporter that needs no other package
    for number in range(len(TORCH)):
        model, inputs, _ = load_script(torch, work / f"net{number}.py")
        torch.onnx.export(model, tuple(inputs.values()), str(work / f"case{number}.onnx"), dynamo=False,
                          input_names=["input"], output_names=["y"])


def golden(work, folder, *arguments):
    command = [sys.executable, "-m", "plumb_golden", *arguments, "-o", str(work / folder), "--force"]
    done = subprocess.run(command, capture_output=True, text=True, env=packages.environment(PYTHON))
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}")


def judged(options, model, folder):
    """(the run of the report, the last output's values)."""
    import numpy as np
    report = options.work / "report.json"
    report.unlink(missing_ok=True)
    subprocess.run([f"{options.bin}/model_check", "-m", str(model), "--subject", str(options.work / folder), "--all",
                    "--json", str(report)], capture_output=True, text=True)
    manifest = json.loads((options.work / folder / "manifest.json").read_text(encoding="utf-8"))
    outputs = [entry for entry in manifest["files"] if entry["shape"] == [1, CLASSES]]
    return json.loads(report.read_text())["runs"][0], np.load(options.work / folder / outputs[-1]["file"])


def measured(options):
    """{runtime: (run, output)}."""
    work, runs = options.work, {}
    for number, name in enumerate(TORCH):
        golden(work, f"d{number}", "torch", str(work / f"net{number}.py"), "--onnx", str(work / f"case{number}.onnx"))
    # The port with pads on both sides is judged by the network that it should be.
    runs["PyTorch"] = judged(options, work / "case0.onnx", "d0")
    golden(work, "ort", "onnx", str(work / "case0.onnx"), "-i", f"input={work / 'x.npy'}")
    runs["ONNX Runtime"] = judged(options, work / "case0.onnx", "ort")
    for kernels in ("optimised", "reference", "xnnpack"):
        golden(work, kernels, "litert", str(work / "case.tflite"), "-i", f"x0={work / 'x_last.npy'}", "--kernels",
               kernels)
        runs[f"LiteRT, {kernels}"] = judged(options, work / "case.tflite", kernels)
    return runs


# Plumb's operators by what they are called in the table.
NAMES = {"Convolution": "convolution", "ReLU6": "convolution", "Clip": "convolution", "ReLU": "convolution",
         "HardSwish": "hard swish", "InnerProduct": "dense", "ReduceMean": "mean", "Pooling": "mean",
         "Softmax": "softmax"}


def table(runs):
    """Lines: the largest error that each operator introduces, and by how much the result differs from PyTorch's."""
    rows = collections.defaultdict(dict)
    for runtime, (run, _) in runs.items():
        for layer in run["layers"]:
            name = next((NAMES[m["type"]] for m in layer["members"] if m["type"] in NAMES), None)
            for output in layer["outputs"] if name else ():
                error = float(output["introduced"]["max_abs"])
                rows[name][runtime] = max(error, rows[name].get(runtime, 0.0))
    lines = ["| operator | " + " | ".join(runs) + " |", "|---" * (len(runs) + 1) + "|"]
    for name in dict.fromkeys(NAMES.values()):
        cells = [f"{rows[name][r]:.1e}" if r in rows[name] else "-" for r in runs]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    first = runs["PyTorch"][1]
    ends = [f"{float(abs(y - first).max()):.1e}" for _, y in runs.values()]
    return [*lines, "| the result, beside PyTorch's | " + " | ".join(ends) + " |"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "case", ["torch", "onnx", "onnxruntime", "ai-edge-litert==2.3.0"],
                    ["torch", "onnx", "onnxruntime", "ai_edge_litert"])
    options.work = options.work / "case_work"
    options.work.mkdir(parents=True, exist_ok=True)
    right = train(options.work)
    write_tflite(options.work)
    write_onnx(options.work)
    runs = measured(options)
    print(f"trained once: {100 * right:.1f} % of 256 fresh pictures")
    print("\n".join(table(runs)))
    failed = [] if right > 0.9 else ["the network has not learnt"]
    for runtime, (run, y) in runs.items():
        wrong = [f"{layer['name']}: {layer['reason']}" for layer in run["layers"] if layer["verdict"] != "aligned"]
        failed += [f"{runtime}: {line}" for line in wrong]
        if not float(abs(y - runs["PyTorch"][1]).max()) < 1e-5:
            failed.append(f"{runtime}: another result")
    failed += port(options)
    print("\n".join(failed) or "every layer of every runtime is aligned with its file")
    sys.exit(1 if failed else 0)


def port(options):
    """What is not as it should be: the module that pads both sides, judged by the network that it should be."""
    run, _ = judged(options, options.work / "case0.onnx", "d1")
    wrong = [layer for layer in run["layers"] if layer["verdict"] == "wrong"]
    cause = wrong[0]["cause"] if wrong else ""
    print(f"a port that pads on both sides: {len(wrong)} wrong; {cause}")
    named = len(wrong) == 1 and "with the pads of begin and end exchanged" in cause
    return [] if named else [f"the port: {[(w['name'], w['reason']) for w in wrong]}"]


if __name__ == "__main__":
    main()
