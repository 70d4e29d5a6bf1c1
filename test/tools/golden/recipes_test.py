# SPDX-License-Identifier: Apache-2.0
"""The recipes of doc/subjects.md, run: another runtime computes a network, plumb-golden dumps it, model_check judges
the dump. Then the runtime gets other weights in one layer, which must be named.

    recipes_test.py --bin build/release/bin --work build/release/golden_test onnx|openvino|mnn|ncnn|torch
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]
import packages  # noqa: E402

# runtime: (packages, modules, options of model_check, the fewest layers or groups that must be aligned, and the tensors
# that must be there).
RECIPES = {
    "onnx": (["onnxruntime", "onnx", "numpy"], ["onnxruntime", "onnx"], [], 12, ["left", "right", "relu2", "prob"]),
    "openvino": (["openvino", "onnx", "numpy"], ["openvino", "onnx"], [], 12, ["left", "right", "prob"]),
    "mnn": (["MNN", "onnx", "numpy"], ["MNN", "onnx"], ["--arithmetic", "fp32+winograd"], 12,
            ["relu1", "pool1", "left", "relu_right", "minus", "swish", "relu2", "both", "mean", "fc", "prob"]),
    "ncnn": (["ncnn", "pnnx", "onnx", "numpy"], ["ncnn", "onnx"], ["--arithmetic", "fp32+winograd"], 10,
             ["relu1", "pool1", "left", "relu_right", "minus", "swish", "relu2", "both", "mean", "fc", "prob"]),
    "torch": ([], ["torch", "onnx"], [], 8, []),
}


def build(path):
    """A small network that every converter takes: branches, a residual, 3x3 and 1x1 convolutions, pools, a
    classifier."""
    import network
    import numpy as np
    from onnx import TensorProto, helper, save
    b = network.Builder()
    b.node("Conv", "conv1", ["data", b.weight("conv1_w", 16, 3, 3, 3), b.weight("conv1_b", 16, scale=0.3)],
           pads=[1] * 4, strides=[2, 2])
    b.node("Relu", "relu1", ["conv1"])
    b.node("MaxPool", "pool1", ["relu1"], kernel_shape=[2, 2], strides=[2, 2])
    # Two of one shape that read one tensor, and a difference: order alone does not tell them apart.
    b.node("Conv", "left", ["pool1", b.weight("left_w", 32, 16, 3, 3), b.weight("left_b", 32, scale=0.3)], pads=[1] * 4)
    b.node("Conv", "right", ["pool1", b.weight("right_w", 32, 16, 3, 3), b.weight("right_b", 32, scale=0.3)],
           pads=[1] * 4)
    b.node("Relu", "relu_right", ["right"])
    b.node("Sub", "minus", ["relu_right", "left"])
    b.node("Sigmoid", "gate", ["minus"])
    b.node("Mul", "swish", ["minus", "gate"])
    b.node("Conv", "conv2", ["swish", b.weight("conv2_w", 32, 32, 3, 3), b.weight("conv2_b", 32, scale=0.3)],
           pads=[1] * 4)
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


def check_small(runtime, golden, environment, work):
    """Integers in and out, and the names where a converter moves things: the values are those of numpy, whatever they
    are called."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
    from plumb_golden.foreign import read_tensors
    rng = np.random.default_rng(2)
    weights = {name: rng.standard_normal(shape).astype(np.float32) * 0.3
               for name, shape in (("rows", (257, 4)), ("kernel", (16, 8, 3)), ("first", (16, 12)), ("bias", (12,)),
                                   ("second", (12, 5)))}
    half = np.array(0.5, np.float32)

    def dump(name, nodes, inputs, outputs, constants):
        graph = helper.make_graph([helper.make_node(kind, reads, [makes], **attributes) for kind, reads, makes,
                                   attributes in nodes], name,
                                  [helper.make_tensor_value_info(*one) for one in inputs],
                                  [helper.make_tensor_value_info(*one, None) for one in outputs],
                                  [numpy_helper.from_array(value, key) for key, value in constants.items()])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7),
             str(work / f"{name}.onnx"))
        run([*golden, work / f"{name}.onnx", "-o", work / name, "--json", work / f"{name}.json"], env=environment)
        left_out = json.loads((work / f"{name}.json").read_text())["left_out"]
        assert all(one["count"] > 0 for one in left_out), left_out
        return read_tensors(work / name)

    if runtime != "ncnn":  # which has no Gather
        found = dump("integers",
                     [("Gather", ["rows", "ids"], "e", {}), ("ArgMax", ["e"], "best", {"axis": 2, "keepdims": 0}),
                                  ("Greater", ["e", "half"], "big", {})], [("ids", TensorProto.INT64, [1, 50])],
                     [("best", TensorProto.INT64), ("big", TensorProto.BOOL)], {"rows": weights["rows"], "half": half})
        e = weights["rows"][found["ids"]]
        for name, values in {"e": e, "best": e.argmax(2), "big": e > half}.items():
            same = found[name].dtype == values.dtype and np.array_equal(found[name], values)
            assert same, f"{runtime}: '{name}' is {found[name]}"
    found = dump("moved", [("Conv", ["x", "kernel"], "conv", {"pads": [1, 1]}), ("Relu", ["conv"], "relu", {}),
                           ("Transpose", ["relu"], "turned", {"perm": [0, 2, 1]}),
                           ("MatMul", ["turned", "first"], "product", {}),
                           ("Add", ["product", "bias"], "sum", {}), ("Relu", ["sum"], "relu2", {}),
                           ("MatMul", ["relu2", "second"], "out", {})],
                 [("x", TensorProto.FLOAT, [1, 8, 20])], [("out", TensorProto.FLOAT)],
                 {k: v for k, v in weights.items() if k != "rows"})
    padded = np.pad(found["x"].astype(np.float64), ((0, 0), (0, 0), (1, 1)))
    right = {"conv": sum(np.einsum("oc,ncw->now", weights["kernel"][:, :, k], padded[:, :, k:k + 20])
                         for k in range(3))}
    right["relu"] = np.maximum(right["conv"], 0)
    right["turned"] = right["relu"].transpose(0, 2, 1)
    right["product"] = right["turned"] @ weights["first"]
    right["sum"] = right["product"] + weights["bias"]
    right["relu2"] = np.maximum(right["sum"], 0)
    right["out"] = right["relu2"] @ weights["second"]
    for name in set(found) - {"x"}:
        same = found[name].shape == right[name].shape and np.allclose(found[name], right[name], atol=1e-4)
        assert same, f"{runtime}: '{name}' holds other values"
    assert len(found) >= 5, f"{runtime}: {sorted(found)}"


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
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.layer1, self.fc = nn.Sequential(Block(8), Block(8)), nn.Linear(8, 5)
    def forward(self, x):
        return F.softmax(self.fc(self.layer1(F.relu(self.stem(x))).mean((2, 3))), 1)
model, inputs = Net().eval(), torch.rand(1, 3, 33, 33) * 2 - 1
for norm in (m for m in model.modules() if isinstance(m, nn.BatchNorm2d)):
    nn.init.normal_(norm.running_mean), nn.init.uniform_(norm.running_var, 0.3, 2)
    nn.init.uniform_(norm.weight, 0.5, 2)
if __name__ == "__main__":
    torch.onnx.export(model, inputs, "net.onnx", opset_version=13, input_names=["input"], do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE)
    torch.onnx.export(model, inputs, "folded.onnx", opset_version=13, input_names=["image"])  # BatchNorm inside Conv
"""


def check_folded(golden, environment, work, bin_folder):
    """The default export: the folded convolutions' names are those of the BatchNorms' results, the input has the
    export's name."""
    run([*golden, work / "net.py", "--onnx", work / "folded.onnx", "-o", work / "folded", "--json",
         work / "folded.json"], env=environment)
    told = json.loads((work / "folded.json").read_text())
    assert "image" in told["tensors"] and any(note.startswith("2 BatchNorms are folded")
                                              for note in told["notes"]), told
    print(run([f"{bin_folder}/model_check", "-m", work / "folded.onnx", "--subject", work / "folded", "--json",
               work / "report.json"]))
    layers = json.loads((work / "report.json").read_text())["runs"][0]["layers"]
    folded = [one for one in layers if one["verdict"] == "aligned" and "conv1" in one["name"]]
    assert all(one["verdict"] != "wrong" for one in layers) and len(folded) == 2, layers


def run(command, **arguments):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **arguments)
    told = f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}\n{told}"
    return done.stdout


def check_fault(options, golden, environment, work):
    """Weights of one layer that are 5 % larger in the runtime than in the model. The group that holds the layer is
    wrong, no other one."""
    check_options = RECIPES[options.runtime][2]
    if options.runtime == "torch":
        guilty = "layer1.1.conv2"
        script = TORCH_SCRIPT.replace('if __name__', 'model.layer1[1].conv2.weight.data *= 1.05\nif __name__')
        (work / "faulty.py").write_text(script)
        run([*golden, work / "faulty.py", "--onnx", work / "net.onnx", "-o", work / "faulty"], env=environment)
    else:
        import onnx
        guilty = "conv2"
        model = onnx.load(str(work / "net.onnx"))
        weight = next(one for one in model.graph.initializer if one.name == "conv2_w")
        weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight) * 1.05, "conv2_w"))
        onnx.save(model, str(work / "faulty.onnx"))
        run([*golden, work / "faulty.onnx", "-i", work / "net.npy", "-o", work / "faulty"], env=environment)
    report = work / "faulty.json"
    done = subprocess.run([str(word) for word in (f"{options.bin}/model_check", "-m", work / "net.onnx", "--subject",
                                                  work / "faulty", "--json", report, *check_options)],
                          capture_output=True, text=True)
    print(done.stdout.splitlines()[-1])
    wrong = [layer for layer in json.loads(report.read_text())["runs"][0]["layers"] if layer["verdict"] == "wrong"]
    named = [name for layer in wrong for name in (layer["name"], *layer["nodes"],
                                                  *(member["name"] for member in layer["members"]))]
    assert done.returncode == 1 and len(wrong) == 1, done.stdout + done.stderr
    assert any(guilty.replace(".", "/") in name.replace(".", "/") for name in named), named


def main():
    options = packages.begin("recipe", RECIPES)
    _, _, check_options, fewest, tensors = RECIPES[options.runtime]
    work, environment = options.folder, packages.environment(PYTHON)
    golden = [sys.executable, "-m", "plumb_golden", options.runtime]
    if options.runtime == "torch":
        (work / "net.py").write_text(TORCH_SCRIPT)
        run([sys.executable, "net.py"], cwd=work)
        run([*golden, work / "net.py", "--onnx", work / "net.onnx", "-o", work / "dump"], env=environment)
        check_folded(golden, environment, work, options.bin)
    else:
        build(work / "net.onnx")
        run([*golden, work / "net.onnx", "-i", work / "net.npy", "-o", work / "dump"], env=environment)
        check_small(options.runtime, golden, environment, work)
    written = {file["blob"]: file for file in json.loads((work / "dump" / "manifest.json").read_text())["files"]}
    missing = [name for name in tensors if name not in written]
    assert not missing, f"{options.runtime}: the tensors {missing} are not among {sorted(written)}"
    report = work / "report.json"
    print(run([f"{options.bin}/model_check", "-m", work / "net.onnx", "--subject", work / "dump", "--json", report,
               *check_options]))
    verdicts = [layer["verdict"] for layer in json.loads(report.read_text())["runs"][0]["layers"]]
    assert verdicts.count("wrong") == 0 and verdicts.count("aligned") >= fewest, verdicts
    check_fault(options, golden, environment, work)


if __name__ == "__main__":
    main()
