# SPDX-License-Identifier: Apache-2.0
"""blob_diff --weights on what PyTorch writes and what exporters and converters make of it: each planted cause is named,
healthy pairs are silent. It prints the table of doc/weights.md.

    weights_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import copy
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "golden"), str(HERE.parent / "tflite")]
import packages  # noqa: E402


def make_network():
    import torch
    torch.manual_seed(3)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
            self.bn1 = torch.nn.BatchNorm2d(8)
            self.conv2 = torch.nn.Conv2d(8, 8, 3, padding=1)
            self.deep = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
            self.conv3 = torch.nn.Conv2d(8, 16, 3, padding=1, stride=2)
            self.bn3 = torch.nn.BatchNorm2d(16)
            self.fc1 = torch.nn.Linear(16, 16)
            self.fc2 = torch.nn.Linear(16, 10)

        def forward(self, x):
            x = torch.relu(self.bn1(self.conv1(x)))
            x = torch.relu(self.deep(torch.relu(self.conv2(x))))
            x = torch.relu(self.bn3(self.conv3(x)))
            return self.fc2(torch.relu(self.fc1(x.mean((2, 3)))))

    globals()["Net"], Net.__qualname__ = Net, "Net"  # where a pickle of it is looked for
    net = Net().eval()
    for norm in (net.bn1, net.bn3):
        for tensor in (norm.running_mean, norm.bias.data):
            tensor.normal_(0, 0.3)
        for tensor in (norm.running_var, norm.weight.data):
            tensor.uniform_(0.05, 1.5)
    return net


class Case:
    """The original's files, and .onnx files with something planted."""

    def __init__(self, folder):
        import torch
        self.folder, self.net, self.x = folder, make_network(), torch.randn(1, 8, 8, 8)
        state = self.net.state_dict()
        torch.save(state, folder / "net.pt")
        torch.save({"epoch": 3, "state_dict": state}, folder / "checkpoint.pth")
        torch.save(self.net, folder / "module.pt")
        torch.jit.trace(self.net, self.x).save(str(folder / "script.pt"))
        save_safetensors(folder / "net.safetensors", {name: tensor.numpy() for name, tensor in state.items()})
        self.export("folded", self.net)
        self.export("preserved", self.net, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
        torch.onnx.export(self.net, (self.x,), folder / "dynamo.onnx", dynamo=True, external_data=False, verbose=False)

    def export(self, name, net, **options):
        import torch
        torch.onnx.export(net, (self.x,), self.folder / f"{name}.onnx", dynamo=False, **options)

    def plant(self, name, edit):
        """edit(arrays by name) changes them; an array that it takes away goes from its node, too."""
        import numpy as np
        import onnx
        from onnx import numpy_helper
        model = onnx.load(self.folder / "folded.onnx")
        arrays = {tensor.name: numpy_helper.to_array(tensor).copy() for tensor in model.graph.initializer}
        before = dict(arrays)
        edit(arrays)
        del model.graph.initializer[:]
        model.graph.initializer.extend(numpy_helper.from_array(np.ascontiguousarray(array), tensor)
                                       for tensor, array in arrays.items())
        for node in model.graph.node:
            kept = [tensor for tensor in node.input if tensor in arrays or tensor not in before]
            del node.input[:]
            node.input.extend(kept)
        onnx.save(model, self.folder / f"{name}.onnx")


def save_safetensors(path, arrays):
    kinds = {"float32": "F32", "int64": "I64"}
    header, values = {}, b""
    for name, array in arrays.items():
        data = array.tobytes()
        header[name] = {"dtype": kinds[str(array.dtype)], "shape": list(array.shape),
                        "data_offsets": [len(values), len(values) + len(data)]}
        values += data
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + values)


def save_tflite(path, arrays, bits=None):
    """The folded network as .tflite has it: OHWI, depthwise 1HWC; `bits` 8: weights of int8, one scale per channel."""
    import lite
    import numpy as np
    network = lite.Network()

    def weight(name, array, axis):
        if not bits:
            return network.constant(name, array)
        others = tuple(i for i in range(array.ndim) if i != axis)
        scale = np.abs(array).max(axis=others) / 127
        shape = [-1 if i == axis else 1 for i in range(array.ndim)]
        q = np.round(array / scale.reshape(shape)).astype(np.int8)
        return network.constant(name, q, scale=list(scale), axis=axis)

    def conv(x, number, weights, bias, shape, kind="CONV_2D", **options):
        deep = kind != "CONV_2D"
        turned = arrays[weights].transpose((1, 2, 3, 0) if deep else (0, 2, 3, 1))
        reads = [x, weight(f"w{number}", turned, 3 if deep else 0), network.constant(f"b{number}", arrays[bias])]
        options = dict(strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1, fusedActivationFunction=1) | options
        return network.op(kind, reads, shape, options=options)

    x = network.input([1, 8, 8, 8])
    x = conv(x, 1, "conv1.w", "conv1.b", [1, 8, 8, 8])
    x = conv(x, 2, "conv2.weight", "conv2.bias", [1, 8, 8, 8])
    x = conv(x, 3, "deep.weight", "deep.bias", [1, 8, 8, 8], "DEPTHWISE_CONV_2D", depthMultiplier=1)
    x = conv(x, 4, "conv3.w", "conv3.b", [1, 4, 4, 16], strideH=2, strideW=2)
    axes = network.constant("axes", np.array([1, 2], np.int32))
    x = network.op("MEAN", [x, axes], [1, 16], options={"keepDims": False})
    for number, name, width in ((5, "fc1", 16), (6, "fc2", 10)):
        reads = [x, weight(f"w{number}", arrays[f"{name}.weight"], 0),
                 network.constant(f"b{number}", arrays[f"{name}.bias"])]
        x = network.op("FULLY_CONNECTED", reads, [1, width])
    network.save(path, [x])


def folded_arrays(folder):
    """By the names of the state dict; what is folded as conv1.w and conv1.b."""
    import onnx
    from onnx import numpy_helper
    model = onnx.load(folder / "folded.onnx")
    values = {tensor.name: numpy_helper.to_array(tensor).copy() for tensor in model.graph.initializer}
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    for name, node in (("conv1", convolutions[0]), ("conv3", convolutions[3])):
        values[f"{name}.w"], values[f"{name}.b"] = values[node.input[1]], values[node.input[2]]
    return values


def swap(arrays, a, b):
    arrays[a], arrays[b] = arrays[b], arrays[a]


def int8(array):
    import numpy as np
    step = np.abs(array).reshape(len(array), -1).max(1).reshape(-1, *[1] * (array.ndim - 1)) / 127
    return (np.round(array / step) * step).astype(np.float32)


def planted(case):
    """name: (original, converted, the tensor that is named first or None, what its cause says)."""
    import numpy as np
    random = np.random.default_rng(1)
    conv1 = sorted(name for name in onnx_names(case.folder / "folded.onnx") if name.startswith("onnx::Conv"))[0]

    def change(tensor, to):
        def edit(arrays):
            arrays[tensor] = to(arrays[tensor]).astype(np.float32)
        return edit
    edits = {
        "(3,2,0,1)": (change("conv2.weight", lambda a: a.transpose(3, 2, 0, 1).reshape(a.shape)), "conv2.weight",
                      "(3,2,0,1)"),
        "OHWI for OIHW": (change("conv2.weight", lambda a: a.transpose(0, 2, 3, 1).reshape(a.shape)), "conv2.weight",
                          "(0,2,3,1) of the original's axes (OHWI"),
        "product transposed": (change("fc1.weight", np.transpose), "fc1.weight", "(1,0)"),
        "bias missing": (lambda arrays: arrays.pop("conv2.bias"), "conv2.bias", "is missing"),
        "two tensors exchanged": (lambda arrays: swap(arrays, "conv2.weight", conv1), "conv1.weight",
                                  "is exchanged with 'conv2.weight'"),
        "two biases exchanged": (lambda arrays: swap(arrays, "conv2.bias", "deep.bias"), "conv2.bias",
                                 "is exchanged with 'deep.bias'"),
        "never loaded": (change("conv2.weight", lambda a: random.normal(0, 0.1, a.shape)), "conv2.weight",
                         "never loaded"),
        "never loaded, folded": (change(conv1, lambda a: random.normal(0, 0.1, a.shape)), "conv1.weight",
                                 "never loaded"),
        "all zeros": (change("fc2.weight", np.zeros_like), "fc2.weight", "is all zeros"),
        "divided by 255": (change("fc2.weight", lambda a: a / 255), "fc2.weight", "0.00392157 times"),
    }
    rows = {}
    for what, (edit, tensor, cause) in edits.items():
        name = "planted_" + "".join(c if c.isalnum() else "_" for c in what)
        case.plant(name, edit)
        rows[what] = ("net.pt", f"{name}.onnx", tensor, cause)
    for what, attribute, value, tensor, cause in (
            ("epsilon 1e-3 for 1e-5", "eps", 1e-3, "conv1.weight", "with the epsilon 0.001; the original's is 1e-05"),
            ("running mean left out", "running_mean", None, "bn1.bias", "leaves out the running mean")):
        net = copy.deepcopy(case.net)
        if value is None:
            getattr(net.bn1, attribute).zero_()
        else:
            setattr(net.bn1, attribute, value)
        case.export(f"planted_{attribute}", net)
        rows[what] = ("preserved.onnx", f"planted_{attribute}.onnx", tensor, cause)
    arrays = folded_arrays(case.folder)
    arrays["conv2.weight"] = np.ascontiguousarray(arrays["conv2.weight"].transpose(0, 2, 3, 1)).reshape(8, 8, 3, 3)
    save_tflite(case.folder / "planted_ohwi.tflite", arrays)
    rows["OHWI twice, .tflite"] = ("folded.onnx", "planted_ohwi.tflite", "conv2.weight", "(0,2,3,1)")
    for what, to in (("f16", lambda a: a.astype(np.float16)), ("int8", int8),
                     ("bf16", lambda a: (np.ascontiguousarray(a).view(np.uint32) & 0xFFFF0000).view(np.float32))):
        def edit(arrays, to=to):
            for name, array in arrays.items():
                if array.dtype == np.float32 and (what != "int8" or array.ndim > 1):
                    arrays[name] = to(array).astype(np.float32)
        case.plant(f"planted_{what}", edit)
        rows[f"rounded to {what}"] = ("net.pt", f"planted_{what}.onnx", None, what)
    return rows


def healthy(case, bin_folder):
    arrays = folded_arrays(case.folder)
    save_tflite(case.folder / "net.tflite", arrays)
    save_tflite(case.folder / "int8.tflite", arrays, bits=8)
    for name in ("folded", "preserved"):
        subprocess.run([bin_folder / "model_convert", case.folder / f"{name}.onnx", "-o", case.folder / name],
                       check=True, capture_output=True)
    pairs = [(original, f"{name}.onnx") for name in ("folded", "preserved", "dynamo")
             for original in ("net.pt", "net.safetensors")]
    pairs += [(original, "folded.onnx") for original in ("checkpoint.pth", "module.pt", "script.pt", "preserved.onnx")]
    pairs += [("net.pt", "net.tflite"), ("folded.onnx", "net.tflite"), ("net.safetensors", "int8.tflite"),
              ("folded.onnx", "folded.tnnproto"), ("net.pt", "folded.tnnproto"),
              ("preserved.onnx", "preserved.tnnproto"), ("net.pt", "preserved.tnnmodel"),
              ("folded.tnnproto", "net.tflite")]
    return pairs


def onnx_names(path):
    import onnx
    return [tensor.name for tensor in onnx.load(path).graph.initializer]


def compare(bin_folder, folder, original, converted, *options):
    run = subprocess.run([bin_folder / "blob_diff", "--weights", folder / original, folder / converted, "--json", "-",
                          "--quiet", *options], capture_output=True, text=True)
    text = run.stdout
    assert "{" in text, (original, converted, run.stdout, run.stderr)
    report, _ = json.JSONDecoder().raw_decode(text[text.index("{"):])
    return run.returncode, report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "weights_venv", ["torch", "onnx", "onnxscript", "ai-edge-litert", "numpy"],
                    ["torch", "onnx", "onnxscript", "ai_edge_litert"])
    folder = options.work / "weights"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bin_folder = options.bin.absolute()
    case, failures = Case(folder), 0
    print("| planted | in | said |\n|---|---|---|")
    for what, (original, converted, tensor, cause) in planted(case).items():
        code, report = compare(bin_folder, folder, original, converted)
        different = [row for row in report["pairs"] if row["verdict"] == "different"]
        if tensor is None:
            rounded = [row for row in report["pairs"] if row["verdict"] == "rounded" or "rounded" in row["cause"]]
            right = code == 0 and rounded and all(row["cause"].endswith(cause) for row in rounded)
            said = f"{len(rounded)} rounded"
        else:
            right = code == 1 and different and different[0]["original"] == tensor and cause in different[0]["cause"]
            said = f"{different[0]['original']} {different[0]['cause']}" if different else "nothing"
        print(f"| {what} | `{pathlib.Path(converted).suffix}` | {said} |")
        failures += not right
        if not right:
            print(f"FAILED: {what}: exit {code}; expected {tensor} ... {cause}", file=sys.stderr)
    pairs = healthy(case, bin_folder)
    for original, converted in pairs:
        code, report = compare(bin_folder, folder, original, converted)
        unpaired = report["only_in_original"] + report["only_in_converted"]
        if code != 0 or unpaired:
            failures += 1
            print(f"FAILED: healthy {original} {converted}: exit {code}, unpaired {unpaired}, "
                  f"{[row for row in report['pairs'] if row['verdict'] == 'different']}", file=sys.stderr)
    print(f"{len(pairs)} healthy pairs")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
