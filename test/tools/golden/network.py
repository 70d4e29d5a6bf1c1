# SPDX-License-Identifier: Apache-2.0
"""A small ONNX network with one of everything that the planted faults need. Every tensor is named after its node."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE = 32  # square, so that a transposed tensor keeps its shape


class Builder:
    def __init__(self, seed=7):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def weight(self, name, *shape, scale=None, offset=0.0):
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        scale = (1.0 / np.sqrt(fan)) if scale is None else scale
        values = (self.rng.standard_normal(shape) * scale + offset).astype(np.float32)
        return self.constant(name, values)

    def constant(self, name, values):
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, kind, name, inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name


def build(with_resize=True):
    b = Builder()
    b.node("Conv", "conv1", ["data", b.weight("conv1_w", 16, 3, 3, 3), b.weight("conv1_b", 16, scale=0.3)],
           pads=[1] * 4, strides=[2, 2])
    b.node("BatchNormalization", "bn1",
           ["conv1", b.weight("bn1_g", 16, scale=0.2, offset=1.0), b.weight("bn1_o", 16, scale=0.3),
                                         b.weight("bn1_m", 16, scale=0.3),
                                         b.constant("bn1_v", b.rng.uniform(0.02, 0.2, 16).astype(np.float32))],
           epsilon=1e-3)
    b.node("LeakyRelu", "leaky", ["bn1"], alpha=0.1)
    b.node("Conv", "depthwise", ["leaky", b.weight("depthwise_w", 16, 1, 3, 3)], pads=[1] * 4, group=16)
    b.node("Clip", "clip",
           ["depthwise", b.constant("clip_lo", np.float32(-0.5)), b.constant("clip_hi", np.float32(1.5))])
    b.node("Conv", "pointwise", ["clip", b.weight("pointwise_w", 32, 16, 1, 1), b.weight("pointwise_b", 32, scale=0.3)])
    b.node("HardSigmoid", "hard", ["pointwise"], alpha=0.2, beta=0.5)
    b.node("Mul", "hswish", ["pointwise", "hard"])
    b.node("Conv", "dilated", ["hswish", b.weight("dilated_w", 32, 32, 3, 3), b.weight("dilated_b", 32, scale=0.3)],
           pads=[2] * 4, dilations=[2, 2])
    b.node("Add", "residual", ["dilated", "hswish"])
    b.node("Relu", "relu", ["residual"])
    b.node("MaxPool", "maxpool", ["relu"], kernel_shape=[2, 2], strides=[2, 2])
    b.node("AveragePool", "avgpool", ["maxpool"], kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=0)
    if with_resize:
        b.node("Resize", "resize", ["avgpool", "", b.constant("scales", np.array([1, 1, 2, 2], np.float32))],
               mode="linear",
               coordinate_transformation_mode="half_pixel")
    else:
        b.node("ConvTranspose", "resize", ["avgpool", b.weight("resize_w", 32, 32, 2, 2)], strides=[2, 2])
    b.node("Concat", "concat", ["resize", "relu"], axis=1)
    b.node("ConvTranspose", "deconv",
           ["concat", b.weight("deconv_w", 64, 16, 2, 2), b.weight("deconv_b", 16, scale=0.3)], strides=[2, 2])
    b.node("InstanceNormalization", "inorm",
           ["deconv", b.weight("inorm_g", 16, scale=0.2, offset=1.0), b.weight("inorm_b", 16, scale=0.3)], epsilon=1e-5)
    b.node("Elu", "elu", ["inorm"], alpha=1.0)
    b.node("Pad", "pad", ["elu", b.constant("pads", np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64))], mode="reflect")
    b.node("Conv", "conv2", ["pad", b.weight("conv2_w", 32, 16, 3, 3), b.weight("conv2_b", 32, scale=0.3)],
           strides=[2, 2])
    b.node("Sigmoid", "sigmoid", ["conv2"])
    b.node("Sub", "centred", ["conv2", "sigmoid"])
    b.node("ReduceMean", "mean", ["centred", b.constant("mean_axes", np.array([2, 3], np.int64))], keepdims=1)
    b.node("Flatten", "flat", ["mean"], axis=1)
    b.node("Gemm", "gemm", ["flat", b.weight("gemm_w", 64, 32), b.weight("gemm_b", 64, scale=0.3)], transB=1)
    b.node("Tanh", "tanh", ["gemm"])
    b.node("Reshape", "tokens", ["tanh", b.constant("tokens_shape", np.array([1, 8, 8], np.int64))])
    b.node("Transpose", "turned", ["tokens"], perm=[0, 2, 1])
    b.node("MatMul", "scores", ["turned", "tokens"])
    b.node("Div", "scaled", ["scores", b.constant("root", np.float32(np.sqrt(8)))])
    b.node("Softmax", "attention", ["scaled"], axis=-1)
    b.node("MatMul", "mixed", ["attention", "turned"])
    b.node("LayerNormalization", "lnorm", ["mixed", b.weight("lnorm_g", 8, scale=0.2, offset=1.0),
                                           b.weight("lnorm_b", 8, scale=0.3)], axis=-1, epsilon=1e-5)
    b.node("MatMul", "project", ["lnorm", b.weight("project_w", 8, 10)])
    b.node("ReduceMax", "best", ["project", b.constant("best_axes", np.array([1], np.int64))], keepdims=0)
    b.node("Softmax", "prob", ["best"], axis=-1)
    graph = helper.make_graph(b.nodes, "faults",
                              [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
                              [helper.make_tensor_value_info("prob", TensorProto.FLOAT, [1, 10])], b.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model
