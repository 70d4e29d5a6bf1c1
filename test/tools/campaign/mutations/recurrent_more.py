# SPDX-License-Identifier: Apache-2.0
"""What recurrent operators lose and keep. Public threads: ddbourgin/numpy-ml#42 (another gate's bias), apache/tvm#3410
(the forget bias), onnx/onnx-tensorflow#409 (the state at the beginning), microsoft/onnxruntime#27224 (clip), and the
hard sigmoid of Keras.
"""
import numpy as np
from onnx import NodeProto

from .model import attribute, change, constant, fresh, of, set_attribute

ALL = "LSTM GRU RNN"
GATES = {"LSTM": "iofc", "GRU": "zrh", "RNN": "h"}


def lost(types, name, slot, cause):
    def remove(_, node):
        if slot >= len(node.input) or not node.input[slot]:
            return False
        node.input[slot] = ""
        return True
    of(types, name, cause)(remove)


lost(ALL, "sequence_lens lost", 4, r"sequence_lens|length")
lost(ALL, "initial h lost", 5, r"initial h")
lost("LSTM", "initial c lost", 6, r"initial c")
lost("LSTM", "peepholes lost", 7, r"peephole")


@of("LSTM", "clip lost", r"clip")
def _(_, node):
    return attribute(node, "clip", 0) > 0 and set_attribute(node, "clip", 1e6)


@of("LSTM", "initial h and c exchanged", r"initial")
def _(_, node):
    if len(node.input) < 7:
        return False
    node.input[5], node.input[6] = node.input[6], node.input[5]
    return True


def bias(node, edit):
    """edit(halves): [directions, W's and R's, gates, hidden]."""
    def change_bias(b):
        parts = b.reshape(b.shape[0], 2, len(GATES[node.op_type]), -1).copy()
        edit(parts)
        return parts.reshape(b.shape)
    return change_bias


@of("LSTM", "1 added to the forget gate", r"forget")
def _(model, node):
    def edit(parts):
        parts[:, 0, 2] += 1
    return change(model, node, 3, bias(node, edit))


@of("LSTM", "the output gate's bias for the forget gate", r"bias")
def _(model, node):
    def edit(parts):
        parts[:, :, 2] = parts[:, :, 1]
    return change(model, node, 3, bias(node, edit))


@of(ALL, "the recurrent bias lost", r"bias")
def _(model, node):
    def edit(parts):
        parts[:, 1] = 0
    return change(model, node, 3, bias(node, edit))


@of("GRU", "the biases of W and R exchanged", r"bias|linear_before_reset")
def _(model, node):
    def edit(parts):
        parts[:] = parts[:, ::-1].copy()
    return attribute(node, "linear_before_reset", 0) == 1 and change(model, node, 3, bias(node, edit))


@of("GRU", "z and 1 - z exchanged", r"1 - z|z and")
def _(model, node):
    def turned(w):
        parts = w.reshape(w.shape[0], -1, 3, attribute(node, "hidden_size"), *w.shape[2:]).copy()
        parts[:, :, 0] *= -1
        return parts.reshape(w.shape)
    return all([change(model, node, i, turned) for i in (1, 2, 3)])


@of("LSTM GRU", "the hard sigmoid", r"hard")
def _(_, node):
    one = ["HardSigmoid", "Tanh", "Tanh"][:3 if node.op_type == "LSTM" else 2]
    twice = 2 if attribute(node, "direction", b"forward") == b"bidirectional" else 1
    return set_attribute(node, "activations", one * twice)


@of("RNN", "Relu for Tanh", r"Relu")
def _(_, node):
    return set_attribute(node, "activations", ["Relu"])


@of("LSTM GRU RNN", "the directions exchanged", r"direction|exchang|values of")
def _(model, node):
    if attribute(node, "direction", b"forward") != b"bidirectional":
        return False
    return all([change(model, node, i, lambda w: w[::-1]) for i in (1, 2, 3)])


@of(ALL, "the state of the call before", r"state")
def _(model, node):
    if constant(model, node.input[1]) is None or len(node.output) < 2:
        return False
    earlier = NodeProto()
    earlier.CopyFrom(node)
    earlier.name += "_half_call"
    del earlier.output[:]
    states = [f"{node.name}_half_state_{i}" for i in range(3 if node.op_type == "LSTM" else 2)]
    earlier.output.extend(states)
    model.graph.node.insert(next(i for i, n in enumerate(model.graph.node) if n.name == node.name), earlier)
    node.input.extend([""] * (len(states) + 4 - len(node.input)))
    for k, state in enumerate(states[1:]):
        node.input[5 + k] = state
    return True


@of("LSTM GRU RNN", "the last features not read", r"last|feature|column")
def _(model, node):
    def cut(w):
        w[..., -(w.shape[-1] % 4 or 4):] = 0
        return w
    return change(model, node, 1, cut)


@of("LSTM GRU RNN", "weights of the other order of axes", r"order|transpos")
def _(model, node):
    return change(model, node, 1, lambda w: w.reshape(w.shape[0], w.shape[2], w.shape[1]).swapaxes(1, 2))


@of("LSTM GRU RNN", "weights in f16", r"f16")
def _(model, node):
    return all([change(model, node, i, lambda w: w.astype(np.float16)) for i in (1, 2)])
