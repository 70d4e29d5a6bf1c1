"""The recipes of doc/subjects.md, run: another runtime computes a network, plumb-golden dumps it, model_check judges the dump.

    recipes_test.py --bin build/release/bin --work build/release/golden_test openvino|mnn|ncnn|torch
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]
import packages  # noqa: E402

# runtime: (packages, modules, options of model_check, the fewest layers or groups that must be aligned, and the tensors that
# must be there).
RECIPES = {
    "openvino": (["openvino", "onnx", "numpy"], ["openvino", "onnx"], [], 12, ["left", "right", "prob"]),
    "mnn": (["MNN", "onnx", "numpy"], ["MNN", "onnx"], ["--arithmetic", "fp32+winograd"], 12,
            ["relu1", "pool1", "left", "relu_right", "minus", "swish", "relu2", "both", "mean", "fc", "prob"]),
    "ncnn": (["ncnn", "pnnx", "onnx", "numpy"], ["ncnn", "onnx"], ["--arithmetic", "fp32+winograd"], 10,
             ["relu1", "pool1", "left", "relu_right", "minus", "swish", "relu2", "both", "mean", "fc", "prob"]),
    "torch": ([], ["torch", "onnx"], [], 8, []),
}


def build(path):
    """A small network that every converter takes: branches, a residual, 3x3 and 1x1 convolutions, pools, a classifier."""
    import network
    import numpy as np
    from onnx import TensorProto, helper, save
    b = network.Builder()
    b.node("Conv", "conv1", ["data", b.weight("conv1_w", 16, 3, 3, 3), b.weight("conv1_b", 16, scale=0.3)], pads=[1] * 4, strides=[2, 2])
    b.node("Relu", "relu1", ["conv1"])
    b.node("MaxPool", "pool1", ["relu1"], kernel_shape=[2, 2], strides=[2, 2])
    # Two of one shape that read one tensor, and a difference: order alone does not tell them apart.
    b.node("Conv", "left", ["pool1", b.weight("left_w", 32, 16, 3, 3), b.weight("left_b", 32, scale=0.3)], pads=[1] * 4)
    b.node("Conv", "right", ["pool1", b.weight("right_w", 32, 16, 3, 3), b.weight("right_b", 32, scale=0.3)], pads=[1] * 4)
    b.node("Relu", "relu_right", ["right"])
    b.node("Sub", "minus", ["relu_right", "left"])
    b.node("Sigmoid", "gate", ["minus"])
    b.node("Mul", "swish", ["minus", "gate"])
    b.node("Conv", "conv2", ["swish", b.weight("conv2_w", 32, 32, 3, 3), b.weight("conv2_b", 32, scale=0.3)], pads=[1] * 4)
    b.node("Relu", "relu2", ["conv2"])
    b.node("Concat", "both", ["relu2", "swish"], axis=1)
    b.node("GlobalAveragePool", "mean", ["both"])
    b.node("Flatten", "flat", ["mean"])
    b.node("Gemm", "fc", ["flat", b.weight("fc_w", 10, 64), b.weight("fc_b", 10, scale=0.3)], transB=1)
    b.node("Softmax", "prob", ["fc"], axis=1)
    data = helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 32, 32])
    prob = helper.make_tensor_value_info("prob", TensorProto.FLOAT, [1, 10])
    graph = helper.make_graph(b.nodes, "recipe", [data], [prob], b.weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), str(path))
    np.save(path.with_suffix(".npy"), np.random.default_rng(1).uniform(-1, 1, (1, 3, 32, 32)).astype(np.float32))


TORCH_SCRIPT = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
    def forward(self, x):
        return F.relu(x + self.conv2(F.relu(self.bn(self.conv1(x)))))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.layer1, self.fc = nn.Conv2d(3, 8, 3, stride=2), nn.Sequential(Block(8), Block(8)), nn.Linear(8, 5)
    def forward(self, x):
        return F.softmax(self.fc(self.layer1(F.relu(self.stem(x))).mean((2, 3))), 1)
model, inputs = Net().eval(), torch.rand(1, 3, 33, 33) * 2 - 1
if __name__ == "__main__":
    torch.onnx.export(model, inputs, "net.onnx", opset_version=13, input_names=["input"], do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE)
"""


def run(command, **arguments):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **arguments)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("runtime", choices=RECIPES)
    options = parser.parse_args()
    wanted, modules, check_options, fewest, tensors = RECIPES[options.runtime]
    if wanted:
        packages.ensure(options.work / options.runtime, wanted, modules)
    elif not packages.has(sys.executable, modules):
        packages.skip(f"this Python lacks {' or '.join(modules)} (Debian packages python3-torch and python3-onnx)")
    work = options.work / f"recipe_{options.runtime}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    golden = [sys.executable, "-m", "plumb_golden", options.runtime]
    environment = {**os.environ, "PYTHONPATH": str(PYTHON), "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    if options.runtime == "torch":
        (work / "net.py").write_text(TORCH_SCRIPT)
        run([sys.executable, "net.py"], cwd=work)
        run([*golden, work / "net.py", "--onnx", work / "net.onnx", "-o", work / "dump"], env=environment)
    else:
        build(work / "net.onnx")
        run([*golden, work / "net.onnx", "-i", work / "net.npy", "-o", work / "dump"], env=environment)
    written = {file["blob"]: file for file in json.loads((work / "dump" / "manifest.json").read_text())["files"]}
    missing = [name for name in tensors if name not in written]
    assert not missing, f"{options.runtime}: the tensors {missing} are not among {sorted(written)}"
    report = work / "report.json"
    print(run([f"{options.bin}/model_check", "-m", work / "net.onnx", "--subject", work / "dump", "--json", report, *check_options]))
    verdicts = [layer["verdict"] for layer in json.loads(report.read_text())["runs"][0]["layers"]]
    assert verdicts.count("wrong") == 0 and verdicts.count("aligned") >= fewest, verdicts


if __name__ == "__main__":
    main()
