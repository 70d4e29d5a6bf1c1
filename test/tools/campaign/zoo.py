# SPDX-License-Identifier: Apache-2.0
"""Some forty small networks of the kinds that people deploy, as ONNX: convolutional, transformers, recurrent, resizing.
Every one is made of what its family is known for; sizes are such that blocked layouts, tiles' rests and Winograd are
met.

    zoo.NETWORKS: name -> function(Net) that returns the network's output tensors; zoo.ALL: with zoo_rare.py's
    zoo.build(name, weights="normal", batch=1): the model, every node named
"""
import numpy as np
from onnx import TensorProto, ValueInfoProto, checker, helper, shape_inference

import zoo_images as images
import zoo_rare as rare
import zoo_sequences as sequences
from zoo_net import Net

OPSET = 17

NETWORKS = {
    "vgg": images.vgg, "resnet": images.resnet, "resnet_bottleneck": lambda n: images.resnet(n, True),
    "mobilenet_v2": images.mobilenet_v2, "mobilenet_v3": images.mobilenet_v3,
    "efficientnet": images.efficientnet, "shufflenet": images.shufflenet, "densenet": images.densenet,
    "inception": images.inception, "squeezenet": images.squeezenet, "alexnet": images.alexnet,
    "unet": images.unet, "fpn": images.fpn, "deeplab": images.deeplab, "yolo": images.yolo,
    "convnext": images.convnext, "style": images.style, "super_resolution": images.super_resolution,
    "selu": sequences.selu_net, "tabular": sequences.tabular, "bert": sequences.bert, "gpt": sequences.gpt,
    "llama": sequences.llama, "vit": images.vit, "swin": images.swin, "mixer": images.mixer,
    "whisper": sequences.whisper, "wavenet": sequences.wavenet,
    "lstm": lambda n: sequences.recurrent(n, "LSTM", 4), "gru": lambda n: sequences.recurrent(n, "GRU", 3),
    "rnn": lambda n: sequences.recurrent(n, "RNN", 1), "crnn": sequences.crnn, "detection": images.detection,
    "pose": images.pose, "face": images.face, "group_norm": images.group_norm,
    "spectrogram": sequences.spectrogram,
}
ALL = {**NETWORKS, **rare.NETWORKS}  # with those of the faults campaign


def build(name, weights="normal", batch=1, seed=1):
    net = Net([seed, list(ALL).index(name)], weights, batch)
    outputs = ALL[name](net)
    graph = helper.make_graph(net.nodes, name, net.inputs, [ValueInfoProto(name=o) for o in outputs], net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    model = shape_inference.infer_shapes(model, strict_mode=True)  # the outputs' types
    checker.check_model(model)
    return model


def draw(rng, shape, kind):
    x = rng.standard_normal(shape)
    x = {"normal": lambda: x, "sparse": lambda: x * (rng.random(shape) < 0.05), "constant": lambda: np.full(shape, 0.7),
         "huge": lambda: x * 1e6, "tiny": lambda: x * 1e-6}[kind]()
    return x.astype(np.float32)


def inputs(model, kind="normal", seed=1):
    """One array per input. kind: normal, sparse, constant, huge or tiny; whole numbers are ids below 80."""
    rng, made = np.random.default_rng(seed), {}
    for value in model.graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type != TensorProto.FLOAT:
            made[value.name] = rng.integers(0, 80, shape)
            continue
        made[value.name] = draw(rng, shape, kind)
    return made
