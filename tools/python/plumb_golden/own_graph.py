# SPDX-License-Identifier: Apache-2.0
"""Another runtime's graph as an .onnx: its tensors under its own names, ONNX's operators for its own, shapes fixed. For
`blob_diff --suggest-names`, which reads what is computed from what; no program need run it.

What ONNX writes as several operators has steps that the runtime's graph has not: their names begin with STEP, and
Plumb does not count them as tensors.
"""
import numpy as np

STEP = "plumb:step/"


class OwnGraph:
    """Nodes in the order of execution; then save(...)."""

    def __init__(self, onnx):
        self.onnx, self.nodes, self.constants, self.inputs, self.outputs = onnx, [], [], [], []
        self.steps = 0

    def step(self):
        self.steps += 1
        return f"{STEP}{self.steps}"

    def constant(self, value, name=None):
        name = name or self.step()
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def numbers(self, values):
        return self.constant(np.array(values, np.int64))

    def add(self, kind, inputs, outputs=None, domain="", **attributes):
        """The first output's name."""
        outputs = [self.step()] if outputs is None else [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def reshape(self, source, shape, output=None):
        return self.add("Reshape", [source, self.numbers(shape)], output)

    def chain(self, output, steps, first):
        """Operators of one input, one after the other: [(kind, more inputs, attributes)]."""
        for i, (kind, more, attributes) in enumerate(steps):
            first = self.add(kind, [first, *more], output if i + 1 == len(steps) else None, **attributes)
        return first

    def input(self, name, shape, dtype=np.float32):
        self.inputs.append(self.value(name, shape, dtype))

    def output(self, name, shape, dtype=np.float32):
        self.outputs.append(self.value(name, shape, dtype))

    def value(self, name, shape, dtype):
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.onnx.helper.make_tensor_value_info(name, kind, list(shape))

    def save(self, path):
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "graph", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        self.onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), str(path))
        return {name for node in self.nodes for name in node.output if not name.startswith(STEP)}


ACTIVATIONS = {"Relu": [("Relu", (), {})], "Sigmoid": [("Sigmoid", (), {})], "Tanh": [("Tanh", (), {})],
               "Gelu": [("Gelu", (), {})], "HardSwish": [("HardSwish", (), {})],
               "HardSigmoid": [("HardSigmoid", (), {"alpha": 1 / 6, "beta": 0.5})], "Erf": [("Erf", (), {})],
               "Softplus": [("Softplus", (), {})]}


def clip(graph, source, low, high, output=None):
    limits = ["" if limit is None else graph.constant(np.float32(limit)) for limit in (low, high)]
    return graph.add("Clip", [source, *limits], output)


def swish(graph, source, output):
    return graph.add("Mul", [source, graph.add("Sigmoid", [source])], output)
