# SPDX-License-Identifier: Apache-2.0
"""Faults that exporters and converters really make, as edits of an ONNX model. Each is (name, guilty node, edit)."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


def node(model, name):
    return next(n for n in model.graph.node if n.name == name)


def attribute(name, **values):
    def edit(model):
        n = node(model, name)
        for key, value in values.items():
            for old in [a for a in n.attribute if a.name == key]:
                n.attribute.remove(old)
            n.attribute.append(helper.make_attribute(key, value))
    return edit


def weight(name, change):
    """Replaces the initializer by change(values)."""
    def edit(model):
        tensor = next(w for w in model.graph.initializer if w.name == name)
        values = np.array(change(numpy_helper.to_array(tensor).copy()))
        tensor.CopyFrom(numpy_helper.from_array(values, name))
    return edit


def drop_input(name, index):
    def edit(model):
        n = node(model, name)
        kept = [i for k, i in enumerate(n.input) if k != index]
        del n.input[:]
        n.input.extend(kept)
    return edit


def swap_inputs(name):
    def edit(model):
        n = node(model, name)
        n.input[0], n.input[1] = n.input[1], n.input[0]
    return edit


def read_instead(name, index, other):
    def edit(model):
        node(model, name).input[index] = other
    return edit


def replace_type(name, kind, **attributes):
    def edit(model):
        n = node(model, name)
        n.op_type = kind
        del n.attribute[:]
        n.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
    return edit


def behind(name, *chain):
    """Nodes behind the node; the last one writes the tensor of the old name. chain: (type, extra inputs,
    attributes)."""
    def edit(model):
        at = next(i for i, n in enumerate(model.graph.node) if n.name == name)
        n = model.graph.node[at]
        last, n.output[0] = n.output[0], n.output[0] + "_before"
        current = n.output[0]
        for k, (kind, extra, attributes) in enumerate(chain):
            output = last if k + 1 == len(chain) else f"{last}_{k}"
            inputs = [current]
            for e, value in enumerate(extra):
                inputs.append(f"{last}_{k}_{e}")
                model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), inputs[-1]))
            model.graph.node.insert(at + 1 + k,
                                    helper.make_node(kind, inputs, [output], name=f"{name}_{kind}_{k}", **attributes))
            current = output
    return edit


def half(name):
    return behind(name, ("Cast", [], {"to": TensorProto.FLOAT16}), ("Cast", [], {"to": TensorProto.FLOAT}))


def one(index, value):
    def change(w):
        w.reshape(-1)[index] = value
        return w
    return change


def fp16(w):
    return w.astype(np.float16).astype(np.float32)


FAULTS = [
    ("pads lost", "conv1", attribute("conv1", pads=[0, 0, 0, 0])),
    ("pads on the wrong side", "conv1", attribute("conv1", pads=[0, 0, 2, 2])),
    ("stride 1 for 2", "conv1", attribute("conv1", strides=[1, 1])),
    ("bias dropped", "conv1", drop_input("conv1", 2)),
    ("kernel turned", "conv1", weight("conv1_w", lambda w: np.ascontiguousarray(w.transpose(0, 1, 3, 2)))),
    ("kernel flipped", "conv1", weight("conv1_w", lambda w: np.ascontiguousarray(w[:, :, ::-1, ::-1]))),
    ("RGB for BGR weights", "conv1", weight("conv1_w", lambda w: np.ascontiguousarray(w[:, ::-1]))),
    ("weights times 1.001", "pointwise", weight("pointwise_w", lambda w: w * np.float32(1.001))),
    ("one weight NaN", "pointwise", weight("pointwise_w", one(100, np.nan))),
    ("one weight infinite", "dilated", weight("dilated_w", one(77, np.inf))),
    ("one weight zero", "dilated", weight("dilated_w", lambda w: one(int(np.abs(w).argmax()), 0)(w))),
    ("weights in fp16", "dilated", weight("dilated_w", fp16)),
    ("weights in int8", "conv2",
     weight("conv2_w", lambda w: (np.round(w / np.abs(w).max() * 127) / 127 * np.abs(w).max()).astype(np.float32))),
    ("one output channel zero", "conv2", weight("conv2_w", lambda w: np.concatenate([w[:-1], 0 * w[-1:]]))),
    ("output channels swapped", "conv2", weight("conv2_w", lambda w: np.concatenate([w[1:2], w[:1], w[2:]]))),
    ("dilation lost", "dilated", attribute("dilated", dilations=[1, 1], pads=[1, 1, 1, 1])),
    ("bias of another layer", "dilated", read_instead("dilated", 2, "pointwise_b")),
    ("epsilon 1e-5 for 1e-3", "bn1", attribute("bn1", epsilon=1e-5)),
    ("variance is its root", "bn1", weight("bn1_v", lambda v: np.sqrt(v))),
    ("mean lost", "bn1", weight("bn1_m", lambda m: 0 * m)),
    ("alpha 0.01 for 0.1", "leaky", attribute("leaky", alpha=0.01)),
    ("LeakyRelu became Relu", "leaky", replace_type("leaky", "Relu")),
    ("upper limit lost", "clip", weight("clip_hi", lambda v: np.float32(6))),
    ("slope 1/6 for 0.2", "hard", attribute("hard", alpha=1 / 6)),
    ("HardSigmoid became Sigmoid", "hard", replace_type("hard", "Sigmoid")),
    ("depthwise kernel turned", "depthwise",
     weight("depthwise_w", lambda w: np.ascontiguousarray(w.transpose(0, 1, 3, 2)))),
    ("Add became Sub", "residual", replace_type("residual", "Sub")),
    ("residual reads another tensor", "residual", read_instead("residual", 1, "pointwise")),
    ("pool took the mean", "maxpool", replace_type("maxpool", "AveragePool", kernel_shape=[2, 2], strides=[2, 2])),
    ("count_include_pad", "avgpool", attribute("avgpool", count_include_pad=1)),
    ("inputs in the other order", "concat", swap_inputs("concat")),
    ("deconvolution kernel turned", "deconv",
     weight("deconv_w", lambda w: np.ascontiguousarray(w.transpose(0, 1, 3, 2)))),
    ("epsilon 1e-2 for 1e-5", "inorm", attribute("inorm", epsilon=1e-2)),
    ("alpha 0.9 for 1", "elu", attribute("elu", alpha=0.9)),
    ("edge for reflect", "pad", attribute("pad", mode="edge")),
    ("constant for reflect", "pad", attribute("pad", mode="constant")),
    ("operands swapped", "centred", swap_inputs("centred")),
    ("wrong axis", "mean", weight("mean_axes", lambda a: np.array([1, 3], np.int64))),
    ("sum for mean", "mean", replace_type("mean", "ReduceSum", keepdims=1)),
    ("alpha 2 for 1", "gemm", attribute("gemm", alpha=2.0)),
    ("bias dropped", "gemm", drop_input("gemm", 2)),
    ("weights times 1.0001", "gemm", weight("gemm_w", lambda w: w * np.float32(1.0001))),
    ("Tanh became Sigmoid", "tanh", replace_type("tanh", "Sigmoid")),
    ("not transposed", "turned", attribute("turned", perm=[0, 1, 2])),
    ("operands swapped", "scores", swap_inputs("scores")),
    ("scale lost", "scaled", weight("root", lambda v: np.float32(1))),
    ("scale is its square", "scaled", weight("root", lambda v: np.float32(8))),
    ("wrong axis", "attention", attribute("attention", axis=1)),
    ("log kept", "attention", replace_type("attention", "LogSoftmax", axis=-1)),
    ("epsilon 1e-3 for 1e-5", "lnorm", attribute("lnorm", epsilon=1e-3)),
    ("gain lost", "lnorm", weight("lnorm_g", np.ones_like)),
    ("weights of the last column zero", "project",
     weight("project_w", lambda w: np.concatenate([w[:, :-1], 0 * w[:, -1:]], axis=1))),
    ("Min for Max", "best", replace_type("best", "ReduceMin", keepdims=0)),
    ("rounded to fp16", "conv1", half("conv1")),
    ("rounded to fp16", "relu", half("relu")),
    ("rounded to fp16", "sigmoid", half("sigmoid")),
    ("rounded to fp16", "attention", half("attention")),
    ("transposed", "relu", behind("relu", ("Transpose", [], {"perm": [0, 1, 3, 2]}))),
    ("transposed", "inorm", behind("inorm", ("Transpose", [], {"perm": [0, 1, 3, 2]}))),
    ("times 1.001", "deconv", behind("deconv", ("Mul", [np.float32(1.001)], {}))),
    ("times 1.00001", "dilated", behind("dilated", ("Mul", [np.float32(1.00001)], {}))),
    ("plus 1e-3", "maxpool", behind("maxpool", ("Add", [np.float32(1e-3)], {}))),
    ("shifted by one pixel", "elu", behind("elu", ("Pad", [np.array([0, 0, 0, 1, 0, 0, 0, -1], np.int64)], {}))),
    ("all zero", "project", behind("project", ("Mul", [np.float32(0)], {}))),
]
RESIZE_FAULTS = [
    ("align_corners for half_pixel", "resize", attribute("resize", coordinate_transformation_mode="align_corners")),
    ("asymmetric for half_pixel", "resize", attribute("resize", coordinate_transformation_mode="asymmetric")),
    ("nearest for linear", "resize", attribute("resize", mode="nearest")),
]


def store_as_half(model):
    """Every tensor and weight rounded to fp16, every operator computed in fp32: what fp16 storage means."""
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(fp16(numpy_helper.to_array(tensor)), tensor.name))
    for name in [n.name for n in model.graph.node]:
        half(name)(model)


# Beside fp16 storage smaller faults cannot be seen.
HALF_FAULTS = [
    ("times 1.05", "pointwise", weight("pointwise_w", lambda w: w * np.float32(1.05))),
    ("weights in int8", "dilated",
     weight("dilated_w", lambda w: (np.round(w / np.abs(w).max() * 31) / 31 * np.abs(w).max()).astype(np.float32))),
    ("bias dropped", "conv2", drop_input("conv2", 2)),
    ("alpha 0.01 for 0.1", "leaky", attribute("leaky", alpha=0.01)),
    ("inputs in the other order", "concat", swap_inputs("concat")),
    ("count_include_pad", "avgpool", attribute("avgpool", count_include_pad=1)),
    ("wrong axis", "attention", attribute("attention", axis=1)),
    ("gain lost", "lnorm", weight("lnorm_g", np.ones_like)),
]
