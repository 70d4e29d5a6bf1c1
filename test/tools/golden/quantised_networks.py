# SPDX-License-Identifier: Apache-2.0
"""Small float networks with random weights of the kind that training leaves, and what onnxruntime.quantization makes of
them in ten ways."""
import logging

import numpy as np
import onnx
from onnx import TensorProto, helper

IMAGE = [1, 3, 24, 24]


def images():
    """Convolutions of all kinds, every operator that ONNX Runtime has a QLinear kernel for."""
    import network
    b = network.Builder()
    b.node("Conv", "conv1", ["data", b.weight("conv1_w", 16, 3, 3, 3), b.weight("conv1_b", 16, scale=0.3)],
           pads=[1] * 4, strides=[2, 2])
    b.node("Relu", "relu1", ["conv1"])
    b.node("Conv", "depthwise", ["relu1", b.weight("depthwise_w", 16, 1, 3, 3), b.weight("depthwise_b", 16, scale=0.1)],
           pads=[1] * 4, group=16)
    b.node("Conv", "pointwise",
           ["depthwise", b.weight("pointwise_w", 32, 16, 1, 1), b.weight("pointwise_b", 32, scale=0.3)])
    b.node("Relu", "relu2", ["pointwise"])
    b.node("MaxPool", "pool", ["relu2"], kernel_shape=[2, 2], strides=[2, 2])
    b.node("Conv", "left", ["pool", b.weight("left_w", 32, 32, 3, 3), b.weight("left_b", 32, scale=0.3)], pads=[1] * 4)
    b.node("Add", "residual", ["left", "pool"])
    b.node("LeakyRelu", "leaky", ["residual"], alpha=0.1)
    b.node("AveragePool", "average", ["leaky"], kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1])
    b.node("Conv", "fire", ["average", b.weight("fire_w", 16, 32, 1, 1), b.weight("fire_b", 16, scale=0.3)])
    b.node("Sigmoid", "gate", ["fire"])
    b.node("Mul", "gated", ["fire", "gate"])
    b.node("Concat", "join", ["gated", "leaky"], axis=1)
    b.node("GlobalAveragePool", "mean", ["join"])
    b.node("Flatten", "flat", ["mean"])
    b.node("Gemm", "fc", ["flat", b.weight("fc_w", 40, 48), b.weight("fc_b", 40, scale=0.3)], transB=1)
    b.node("Softmax", "prob", ["fc"], axis=1)
    return made(b, "images", IMAGE, [1, 40])


def mixer():
    """Products of two activations and of constants, reshaped and transposed between."""
    import network
    b = network.Builder()
    b.node("Conv", "patches", ["data", b.weight("patches_w", 32, 3, 4, 4), b.weight("patches_b", 32, scale=0.2)],
           strides=[4, 4])
    b.node("Relu", "first", ["patches"])
    b.constant("rows", np.array([1, 32, 36], np.int64))
    b.node("Reshape", "tokens", ["first", "rows"])
    b.node("Transpose", "turned", ["tokens"], perm=[0, 2, 1])
    b.node("MatMul", "query", ["turned", b.weight("query_w", 32, 32)])
    b.node("MatMul", "scores", ["query", "tokens"])
    b.constant("eighth", np.float32(0.125))
    b.node("Mul", "scaled", ["scores", "eighth"])
    b.node("Softmax", "weights", ["scaled"], axis=-1)
    b.node("MatMul", "mixed", ["weights", "turned"])
    b.node("Add", "sum", ["mixed", "turned"])
    b.node("MatMul", "out", ["sum", b.weight("out_w", 32, 24)])
    return made(b, "mixer", IMAGE, [1, 36, 24])


def squeeze():
    """SqueezeNet's modules, two of them."""
    import network
    b = network.Builder()

    def conv(name, x, cin, cout, k, **attributes):
        b.node("Conv", name, [x, b.weight(name + "_w", cout, cin, k, k), b.weight(name + "_b", cout, scale=0.1)],
               **attributes)
        b.node("Relu", name + "_relu", [name])
        return name + "_relu"
    x = conv("conv1", "data", 3, 16, 3, strides=[2, 2])
    b.node("MaxPool", "pool1", [x], kernel_shape=[3, 3], strides=[2, 2])
    x, channels = "pool1", 16
    for i in (2, 3):
        small = conv(f"fire{i}_squeeze", x, channels, 8, 1)
        left = conv(f"fire{i}_expand1", small, 8, 16, 1)
        right = conv(f"fire{i}_expand3", small, 8, 16, 3, pads=[1] * 4)
        b.node("Concat", f"fire{i}", [left, right], axis=1)
        x, channels = f"fire{i}", 32
    x = conv("conv10", x, channels, 20, 1)
    b.node("GlobalAveragePool", "pool10", [x])
    b.node("Flatten", "flat", ["pool10"])
    b.node("Softmax", "prob", ["flat"], axis=1)
    return made(b, "squeeze", IMAGE, [1, 20])


def made(b, name, shape, result):
    graph = helper.make_graph(b.nodes, name, [helper.make_tensor_value_info("data", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(b.nodes[-1].output[0], TensorProto.FLOAT, result)],
                              b.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model


NETWORKS = {"images": images, "mixer": mixer, "squeeze": squeeze}

# name: (format, activations, weights, per channel, reduced range)
STATIC = {
    "qdq u8u8": ("QDQ", "QUInt8", "QUInt8", False, False),
    "qdq u8s8": ("QDQ", "QUInt8", "QInt8", False, False),
    "qdq s8s8": ("QDQ", "QInt8", "QInt8", False, False),
    "qdq u8s8 per channel": ("QDQ", "QUInt8", "QInt8", True, False),
    "qdq s8s8 per channel, 7 bits": ("QDQ", "QInt8", "QInt8", True, True),
    "qoperator u8u8": ("QOperator", "QUInt8", "QUInt8", False, False),
    "qoperator u8s8 per channel": ("QOperator", "QUInt8", "QInt8", True, False),
    "qoperator s8s8": ("QOperator", "QInt8", "QInt8", False, False),
}
WAYS = [*STATIC, "dynamic", "weights only"]


def quantise(source, target, way, inputs):
    """Writes the model of `source` quantised in one of WAYS; `inputs`: what the static ones calibrate with."""
    from onnxruntime import quantization
    logging.getLogger().setLevel(logging.ERROR)
    if way == "dynamic":
        return quantization.quantize_dynamic(str(source), str(target), weight_type=quantization.QuantType.QUInt8)
    if way == "weights only":
        return weights_only(source, target)
    form, activations, weights, per_channel, reduced = STATIC[way]

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.items = iter(inputs)

        def get_next(self):
            return next(self.items, None)

    return quantization.quantize_static(str(source), str(target), Reader(),
                                        quant_format=getattr(quantization.QuantFormat, form),
                                        activation_type=getattr(quantization.QuantType, activations),
                                        weight_type=getattr(quantization.QuantType, weights),
                                        per_channel=per_channel, reduce_range=reduced)


def weights_only(source, target):
    """Each weight of two dims and more behind a DequantizeLinear of its own."""
    model = onnx.load(str(source))
    weights = {w.name: w for w in model.graph.initializer if len(w.dims) >= 2}
    front = []
    for name, tensor in weights.items():
        values = onnx.numpy_helper.to_array(tensor)
        scale = np.float32(max(np.abs(values).max(), 1e-8) / 127)
        model.graph.initializer.remove(tensor)
        for suffix, array in (("_q", np.clip(np.rint(values / scale), -127, 127).astype(np.int8)), ("_s", scale)):
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name + suffix))
        front.append(helper.make_node("DequantizeLinear", [name + "_q", name + "_s"], [name], name=name + "_dq"))
    nodes = [*front, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, str(target))
