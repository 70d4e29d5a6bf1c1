# SPDX-License-Identifier: Apache-2.0
"""Which tensors of a quantised model (QuantizeLinear, DequantizeLinear) stand for the float model's.

What a DequantizeLinear makes of the integers of x is what x's readers read, so it stands for the float model's blob x,
unless some read x itself.
An optimised graph may keep the integers alone: then scale * (q - zero point) is written for them, under the name that
the model gives it.
"""
import dataclasses

import numpy as np


@dataclasses.dataclass
class Quantised:
    blob: str      # what was quantised: the float model's blob
    integers: str
    floats: str    # of its first DequantizeLinear
    scale: object  # of one value, or None where it is no constant
    zero: object


def pairs(onnx, model):
    """A Quantised of every QuantizeLinear that a DequantizeLinear reads."""
    constants = {c.name: c for c in model.graph.initializer}
    back = {}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear":
            back.setdefault(node.input[0], node.output[0])
    read_as_it_is = {name for node in model.graph.node if node.op_type != "QuantizeLinear" for name in node.input}
    found = []
    for node in model.graph.node:
        if node.op_type != "QuantizeLinear" or node.output[0] not in back:
            continue
        if node.input[0] in constants or node.input[0] in read_as_it_is:
            continue
        values = [onnx.numpy_helper.to_array(constants[name]) for name in node.input[1:] if name in constants]
        known = len(values) == len(node.input) - 1 and all(v.size == 1 for v in values)
        found.append(Quantised(node.input[0], node.output[0], back[node.output[0]],
                               np.float32(values[0].item()) if known else None,
                               int(values[1].item()) if known and len(values) > 1 else 0))
    return found


def keep_integers(model, quantised):
    """Makes all integers outputs, so that an optimiser leaves them where they are."""
    have = {o.name for o in model.graph.output}
    for name in dict.fromkeys(q.integers for q in quantised):
        if name not in have:
            model.graph.output.add().name = name


MOVERS = {"Expand", "Flatten", "Gather", "MaxPool", "ReorderInput", "ReorderOutput", "Reshape", "Slice", "Squeeze",
          "Transpose", "Unsqueeze"}


def moved_in_front(model, optimised):
    """The floats that the model quantises and that an optimiser quantised already: it pulled QuantizeLinear in front of
    what only moves values."""
    def rounded(graph):
        producers = {name: node for node in graph.node for name in node.output}

        def is_rounded(name):
            while name in producers and producers[name].op_type in MOVERS:
                name = producers[name].input[0]
            return name in producers and producers[name].op_type == "DequantizeLinear"
        return producers, is_rounded
    names, by_model = rounded(model.graph)
    made, by_optimiser = rounded(optimised.graph)
    return {name for name in names if name in made and by_optimiser(name) and not by_model(name)}


class StandIns:
    """Of the tensors of one dump."""

    def __init__(self, quantised, names):
        self.of_floats = {q.floats: q.blob for q in quantised}
        self.of_integers = {q.integers: q for q in quantised if q.scale is not None and q.floats not in names}
        self.made = 0

    def blob(self, name):
        """The float model's blob that a tensor stands for, or ""."""
        return self.of_floats.get(name, "")

    def dequantised(self, name, value):
        """(name, values) of the floats that integers stand for, or None where the graph itself makes them."""
        q = self.of_integers.get(name)
        if q is None or value.dtype.kind not in "iu":
            return None
        self.made += 1
        return q.floats, (value.astype(np.int64) - q.zero).astype(np.float32) * q.scale
