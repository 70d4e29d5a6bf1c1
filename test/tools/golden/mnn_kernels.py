# SPDX-License-Identifier: Apache-2.0
"""MNN 3.6.1's int8 kernels in NumPy, as their source says, and its models with them: layers whose every tensor has a
scale and a zero point, made here or by its own tool."""
import json
import re
import subprocess
import sys

import numpy as np
import tnn_kernels as tnn

CONVERT = "import sys, _tools; _tools.mnnconvert(sys.argv)"  # what mnnconvert calls
# mnnquant aborts from its command line (MNN#2849).
QUANTISE = "import sys, _tools; _tools.mnnquant(sys.argv)"
LOW, HIGH = -127, 127


def f32(value):
    return np.asarray(value, np.float32)


def away(value):
    """What a half of its sign is added to in f32, cut off."""
    return np.trunc(value + np.where(value < 0, f32(-0.5), f32(0.5))).astype(np.int64)


def quantise(real, scale, zero):
    steps = real * (np.float32(1) / scale)
    return np.clip(np.sign(steps) * np.floor(np.abs(steps).astype(np.float64) + 0.5) + zero, LOW, HIGH).astype(np.int64)


def dense(x, weights, scales, bias, stride, into, onto, relu, round_all=away, low=LOW):
    """`into` and `onto`: scale and zero point. The kernel adds up x + 128; its bias in f32 takes that back."""
    (scale, zero), (y_scale, y_zero) = into, onto
    sums = tnn.sums_of(tnn.Blob(x - zero, 1), weights, np.zeros(len(weights), np.int64), stride,
                       weights.shape[-1] // 2, 1)
    of_weights = weights.reshape(len(weights), -1).sum(1)
    total = sums + (of_weights * (zero + 128)).reshape(1, -1, 1, 1)
    back = f32(f32(f32(of_weights) * scales) * np.float32(zero + 128)) * scale
    shift = f32(f32(bias - back) / y_scale) + np.float32(y_zero)
    factor = f32(f32(scales * scale) / y_scale)
    steps = f32(total) * factor.reshape(1, -1, 1, 1) + f32(shift).reshape(1, -1, 1, 1)
    return np.clip(round_all(steps), y_zero if relu else low, HIGH)


def depthwise(x, weights, scales, bias, stride, into, onto, relu, round_all=away, low=LOW):
    """Bias and zero point as whole steps of the sum, cut off."""
    (scale, zero), (y_scale, y_zero) = into, onto
    factor = f32(scales * (scale / y_scale))
    whole = sum(np.trunc(part).astype(np.int64) for part in (bias / f32(scale * scales), np.float32(y_zero) / factor))
    sums = tnn.sums_of(tnn.Blob(x - zero, 1), weights, whole, stride, weights.shape[-1] // 2, len(weights))
    return np.clip(round_all(f32(sums) * factor.reshape(1, -1, 1, 1)), y_zero if relu else low, HIGH)


def add(a, b, of_a, of_b, onto, relu):
    steps = (f32(a - of_a[1]) * of_a[0] + f32(b - of_b[1]) * of_b[0]) * (np.float32(1) / onto[0])
    return np.clip(np.sign(steps) * np.floor(np.abs(steps).astype(np.float64) + 0.5) + onto[1],
                   onto[1] if relu else LOW, HIGH).astype(np.int64)


def max_pool(x):
    n, c, h, w = x.shape
    return x[:, :, :h // 2 * 2, :w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


def buffer_of(weights):
    """MNN's packed weights: shape, the values that there are, each weight's place among these."""
    outputs, inner = weights.shape[0], weights[0].size
    head = [2, outputs % 256, outputs // 256, inner % 256, inner // 256, 0, *range(-128, 128)]
    places = [*head, *(weights.ravel() + 128)]
    return [int((value + 128) % 256 - 128) for value in places]


def model(layers, shape):
    """JSON of MNN's converter. layers: dicts with kind, name, inputs, onto, and a product's numbers."""
    names, ops = ["data"], [{"main_type": "Input", "main": {"dims": list(shape), "dtype": "DT_FLOAT",
                                                            "dformat": "NC4HW4"},
                             "name": "data", "outputIndexes": [0], "type": "Input", "defaultDimentionFormat": "NHWC"}]
    grids = {"data": layers[0]["into"]}
    for layer in layers:
        kind, name = layer["kind"], layer["name"]
        op = {"name": name, "inputIndexes": [names.index(i) for i in layer["inputs"]], "outputIndexes": [len(names)],
              "defaultDimentionFormat": "NHWC"}
        names.append(name)
        grids[name] = layer["onto"]
        if kind == "add":
            op.update(type="BinaryOp", main_type="BinaryOp",
                      main={"opType": "ADD", "T": "DT_FLOAT", "activationType": int(layer["relu"])})
        elif kind == "max":
            op.update(type="Pooling", main_type="Pool", main={
                "padX": 0, "padY": 0, "isGlobal": False, "kernelX": 2, "kernelY": 2, "strideX": 2, "strideY": 2,
                "type": "MAXPOOL", "padType": "CAFFE", "dataType": "DT_FLOAT", "ceilModel": False})
        else:
            op.update(product(layer))
        ops.append(op)
    described = [{"index": names.index(name), "quantInfo": {"scale": float(scale), "zero": float(zero), "min": LOW,
                                                            "max": HIGH, "type": "DT_INT8"}}
                 for name, (scale, zero) in grids.items()]
    return {"extraTensorDescribe": described, "extraInfo": {"version": "3.6.1"}, "oplists": ops, "tensorName": names,
            "preferForwardType": "CPU", "sourceType": "CAFFE", "tensorNumber": 0, "usage": "INFERENCE"}


def product(layer):
    weights, kernel = layer["weights"], layer["weights"].shape[-1]
    outputs, deep = len(weights), layer["kind"] == "depthwise"
    common = {"padX": kernel // 2, "padY": kernel // 2, "kernelX": kernel, "kernelY": kernel,
              "strideX": layer["stride"], "strideY": layer["stride"], "dilateX": 1, "dilateY": 1, "padMode": "CAFFE",
              "group": outputs if deep else 1, "outputCount": outputs,
              "inputCount": outputs if deep else weights.shape[1], "relu": layer["relu"], "relu6": False,
              "pads": [kernel // 2] * 4, "hasOutputShape": False}
    quantised = {"buffer": buffer_of(weights), "alpha": [float(s) for s in layer["scales"]], "type": 1,
                 "useInt32": False, "quantScale": 1.0, "scaleIn": float(layer["into"][0]),
                 "scaleOut": float(layer["onto"][0]), "aMaxOrBits": 8, "aMin": 0, "readType": 0,
                 "has_scaleInt": False, "shapeInt32": False, "weightSize": 0}
    symmetric = {"method": "DEFAULT", "nbits": 8, "zeroPoint": int(layer["into"][1]),
                 "outputZeroPoint": int(layer["onto"][1]), "clampMin": LOW, "clampMax": HIGH,
                 "outputDataType": "DT_INT8"}
    return {"type": "ConvolutionDepthwise" if deep else "Convolution", "main_type": "Convolution2D",
            "main": {"common": common, "bias": [float(b) for b in layer["bias"]], "quanParameter": quantised,
                     "symmetricQuan": symmetric}}


def call(tool, *arguments):
    done = subprocess.run([sys.executable, "-c", tool, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}: {done.returncode} {done.stdout[-500:]}{done.stderr[-500:]}"


def by_mnnquant(onnx, samples, method, winograd, work):
    """JSON of a float .onnx with one input 'data', quantised by MNN's own tool; its numbers have six digits there."""
    whole, made, text, config = (work / name for name in ("float.mnn", "quant.mnn", "quant.json", "config.json"))
    for number, sample in enumerate(samples):
        folder = work / "samples" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "data.txt").write_text("\n".join(repr(float(v)) for v in sample.ravel()))
        (folder / "input.json").write_text(json.dumps({"inputs": [{"name": "data", "shape": list(sample.shape)}],
                                                       "outputs": ["out"]}))
    config.write_text(json.dumps({
        "format": "RGB", "path": f"{work / 'samples'}/", "used_sample_num": len(samples), "model": str(whole),
        "feature_quantize_method": method, "weight_quantize_method": "MAX_ABS", "input_type": "sequence",
        "batch_size": 1, "winogradOpt": winograd}))
    call(CONVERT, "-f", "ONNX", "--modelFile", onnx, "--MNNModel", whole, "--bizCode", "MNN", "--keepInputFormat", "1")
    call(QUANTISE, whole, made, config)
    call(CONVERT, "-f", "MNN", "--modelFile", made, "--JsonFile", text)
    return json.loads(re.sub(r"-inf\b", "-Infinity", text.read_text()))


def layers_of(described):
    """The convolutions of such a JSON as layers, and the grids of its tensors."""
    names = described["tensorName"]
    info = {names[t["index"]]: t["quantInfo"] for t in described["extraTensorDescribe"]}
    grids = {name: (np.float32(q["scale"]), int(q.get("zero", 0))) for name, q in info.items()}
    layers = []
    for op in described["oplists"]:
        if "Convolution" not in op["type"]:
            continue
        numbers, (into, onto) = op["main"], (names[op[which][0]] for which in ("inputIndexes", "outputIndexes"))
        common, packed = numbers["common"], np.array(numbers["quanParameter"]["buffer"], np.int64) % 256
        places = packed[6 + 256:]  # behind the shape and the values that there are
        deep = op["type"] == "ConvolutionDepthwise"
        shape = (common["outputCount"], 1 if deep else common["inputCount"], common["kernelY"], common["kernelX"])
        layers.append({"kind": "depthwise" if deep else "conv", "name": onto, "inputs": [into], "into": grids[into],
                       "onto": grids[onto], "relu": common["relu"], "stride": common["strideX"],
                       "weights": (places - 128).reshape(shape), "low": int(info[onto]["min"]),
                       "winograd": "winogradAttr" in numbers["symmetricQuan"],
                       "scales": f32(numbers["quanParameter"]["alpha"]), "bias": f32(numbers["bias"])})
    return layers, grids


def run(MNN, described, names, data, work):
    """The named tensors of a JSON's model, which MNN hands out as reals."""
    text, file = work / "mnn_int8.json", work / "mnn_int8.mnn"
    text.write_text(json.dumps(described))
    call(CONVERT, "-f", "JSON", "--modelFile", text, "--MNNModel", file, "--bizCode", "MNN")
    network = MNN.Interpreter(str(file))
    session = network.createSession({"precision": "high", "backend": "CPU", "numThread": 1,
                                     "saveTensors": tuple(names)})
    port = network.getSessionInput(session, "data")
    network.resizeTensor(port, data.shape)
    network.resizeSession(session)
    port.copyFrom(MNN.Tensor(data.shape, MNN.Halide_Type_Float, data, MNN.Tensor_DimensionType_Caffe))
    network.runSession(session)
    found = {}
    for name in names:
        tensor = network.getSessionOutput(session, name)
        shape = tuple(tensor.getShape())
        host = MNN.Tensor(shape, MNN.Halide_Type_Float, np.zeros(shape, np.float32), MNN.Tensor_DimensionType_Caffe)
        tensor.copyToHostTensor(host)
        found[name] = np.array(host.getData(), np.float32).reshape(shape)
    return found
