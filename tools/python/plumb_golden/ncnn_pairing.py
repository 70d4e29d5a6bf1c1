# SPDX-License-Identifier: Apache-2.0
"""Which tensor of an ONNX model each ncnn blob holds. pnnx gives blobs numbers for names, so both graphs are walked
together.

A layer is the group of ONNX nodes that computes one tensor from what the layer reads and that consists of the operators
which its type stands for: a convolution with the normalisation and activation folded into it, x * sigmoid(x) for Swish.
Among several convolutions of one tensor the weights tell which it is: folding scales them per output channel, and no
more. A layer of which the model has no tensor (pnnx splits some operators in two) is tried together with the next one.
Nothing is paired by what it computes.
"""
import re
import zipfile

import numpy as np

MOVES = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Cast", "Expand"}
WEIGHTED = {"Convolution": 9, "ConvolutionDepthWise": 9, "Deconvolution": 9, "DeconvolutionDepthWise": 9,
            "InnerProduct": 9,
            "Convolution1D": 9, "ConvolutionDepthWise1D": 9,
            "Deconvolution1D": 9}  # type: parameter that says the activation
PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
HARD_SWISH = [("HardSwish",), ("HardSigmoid", "Mul"), ("Add", "Clip", "Div", "Mul"), ("Add", "Clip", "Mul", "Mul")]
ACTIVATIONS = {1: [("Relu",)], 2: [("LeakyRelu",)], 3: [("Clip",)], 4: [("Sigmoid",)],
               5: [("Mish",), ("Mul", "Softplus", "Tanh")], 6: HARD_SWISH}
# ncnn's type: the operators of ONNX, sorted, that it may stand for.
GROUPS = {
    "ReLU": [("Relu",), ("LeakyRelu",)], "Clip": [("Clip",)], "Sigmoid": [("Sigmoid",)], "TanH": [("Tanh",)],
    "ELU": [("Elu",)],
    "HardSwish": HARD_SWISH, "HardSigmoid": [("HardSigmoid",), ("Add", "Clip", "Div"), ("Add", "Clip", "Mul")],
    "Swish": [("Mul", "Sigmoid"), ("Mul", "Mul", "Sigmoid"), ("Swish",)], "Mish": ACTIVATIONS[5], "PReLU": [("PRelu",)],
    "SELU": [("Selu",)],
    "GELU": [("Gelu",), ("Add", "Div", "Erf", "Mul", "Mul"), ("Add", "Erf", "Mul", "Mul", "Mul")],
    "LRN": [("LRN",)], "InstanceNorm": [("InstanceNormalization",)],
    "Concat": [("Concat",)], "Softmax": [("Softmax",)], "BatchNorm": [("BatchNormalization",)],
    "Scale": [("Mul",), ("Add", "Mul")],
    "Squeeze": [()], "ExpandDims": [()], "Slice": [("Split",), ("Slice",)], "Crop": [("Slice",)],
    "Reshape": [()], "Flatten": [()], "Permute": [("Transpose",)], "Padding": [("Pad",)],
    "Interp": [("Resize",), ("Upsample",)],
    "MatMul": [("MatMul",)], "PixelShuffle": [("DepthToSpace",)], "Erf": [("Erf",)],
}
# Types whose parameter 0 says which operator it is.
LAYER_NORM = ("Add", "Div", "Pow", "ReduceMean", "ReduceMean", "Sqrt", "Sub")
POOLS = (("MaxPool", "GlobalMaxPool", "ReduceMax"), ("AveragePool", "GlobalAveragePool", "ReduceMean"))
CHOICES = {
    "BinaryOp": (("Add", "Sub"), ("Sub", "Add"), ("Mul", "Div"), ("Div", "Mul"), ("Max",), ("Min",), ("Pow",), ("Sub",),
                 ("Div",), ("Pow",)),
    "UnaryOp": (("Abs",), ("Neg",), ("Floor",), ("Ceil",), ("Pow", "Mul"), ("Sqrt",), (), ("Exp",), ("Log",), ("Sin",),
                ("Cos",), ("Tan",),
                ("Asin",), ("Acos",), ("Atan",), ("Reciprocal", "Div"), ("Tanh",), (), ("Round",), ()),
    "Eltwise": (("Mul",), ("Add",), ("Max",)), "Pooling": POOLS, "Pooling1D": POOLS,
    "Reduction": tuple((f"Reduce{kind}",) for kind in
                       ("Sum", "L1", "SumSquare", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp")),
}
IN_ORDER = {1: 1, 3: 1, 6: 1, 7: -1, 8: -1, 9: -1}  # BinaryOp: differences and quotients, and the reversed ones
REACH = 14  # nodes that one layer may stand for


class OnnxGraph:
    """The nodes that compute something from the inputs; what follows from constants and shapes is no part of it."""

    def __init__(self, onnx, model, shapes):
        graph, self.shapes = model.graph, shapes
        self.weights = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
        self.nodes, self.place, self.maker, self.used = [], {}, {}, set()
        fixed = set(self.weights) | {""}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].HasField("t"):
                self.weights[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
            if node.op_type == "Shape" or all(name in fixed for name in node.input):
                fixed.update(node.output)
                continue
            self.place[id(node)] = len(self.nodes)
            self.nodes.append(node)
            self.maker.update({name: node for name in node.output if name})
        self.fixed, self.reader = fixed, {}
        for node in self.nodes:
            for name in self.data(node):
                self.reader.setdefault(name, []).append(node)

    def data(self, node):
        return [name for name in node.input if name not in self.fixed]

    def group(self, sources, tensor):
        """The nodes between the sources and the tensor, in order; None when it follows from anything else or skips a
        source."""
        nodes, todo, met = {}, [tensor], set()
        while todo:
            name = todo.pop()
            if name in sources:
                met.add(name)
                continue
            node = self.maker.get(name)
            if node is None or len(nodes) > REACH:
                return None
            if id(node) not in nodes:
                nodes[id(node)] = node
                todo += self.data(node)
        return sorted(nodes.values(), key=lambda node: self.place[id(node)]) if met == set(sources) else None

    def ahead(self, sources):
        """Nodes that follow from the sources, near ones first."""
        found, todo = {}, list(sources)
        for _ in range(REACH):
            todo = [name for source in todo for node in self.reader.get(source, []) for name in self.enter(node, found)]
        return sorted(found.values(), key=lambda node: self.place[id(node)])[:8 * REACH]

    @staticmethod
    def enter(node, found):
        if id(node) in found:
            return []
        found[id(node)] = node
        return list(node.output)

    def shape(self, name):
        return self.weights[name].shape if name in self.weights else self.shapes.get(name, [-1])

    def weight(self, node):
        return next((self.weights[name] for name in node.input[1:] if name in self.weights
                     and self.weights[name].ndim > 1), None)


def closed(core):
    """x * sigmoid(x) is no group before its last product."""
    return len(core) < 2 or core[-1].op_type not in ("Sigmoid", "HardSigmoid", "Tanh", "Erf")


def same_but_scaled(ours, theirs, node):
    """Whether a layer's weights are the node's, scaled per output channel."""
    if ours is None or theirs is None:
        return True
    if ours.size != theirs.size:
        return False
    if node.op_type == "ConvTranspose":
        return True
    flip = node.op_type == "MatMul" or (node.op_type == "Gemm"
                                        and not any(a.name == "transB" and a.i for a in node.attribute))
    a, b = (w.reshape(len(ours), -1).astype(np.float64) for w in (ours, theirs.T if flip else theirs))
    return bool(np.all(np.abs((a * b).sum(1)) >= 0.999 * np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1) - 1e-30))


def read_param(path):
    """The layers of an ncnn .param file."""
    layers = []
    for line in path.read_text(encoding="utf-8").splitlines()[2:]:
        words = line.split()
        inputs, outputs = int(words[2]), int(words[3])
        params = {}
        for word in words[4 + inputs + outputs:]:
            key, _, value = word.partition("=")
            if re.fullmatch(r"\d+", key) and re.fullmatch(r"[-+.\de]+", value):
                params[int(key)] = float(value)
        layers.append({"type": words[0], "name": words[1], "inputs": words[4:4 + inputs],
                       "outputs": words[4 + inputs:4 + inputs + outputs], "params": params, "weight": None})
    return layers


def read_weights(layers, param, archive):
    """Gives convolutions and products the weights that pnnx's own form has of them, which is in the same order."""
    shapes = re.findall(r"(?m)^nn\.(?:Conv|ConvTranspose|Linear)\w*\s+(\S+) .*?@weight=\(([\d,]+)\)f32",
                        param.read_text(encoding="utf-8"))
    takers = [layer for layer in layers if layer["type"] in WEIGHTED or layer["type"] == "Gemm"]
    if len(shapes) != len(takers):
        return
    with zipfile.ZipFile(archive) as stored:
        for layer, (name, shape) in zip(takers, shapes):
            layer["weight"] = np.frombuffer(stored.read(f"{name}.weight"),
                                            np.float32).reshape([int(d) for d in shape.split(",")])


class Pairing:
    """tensors: {ncnn blob: ONNX tensor}; unknown: layers that have none."""

    def __init__(self, graph, layers, inputs, outputs):
        self.graph, self.tensors, self.pending, self.unknown = graph, {}, {}, []
        self.normalises = any(layer["type"] in ("BatchNorm", "Scale") for layer in layers)
        feeds = iter(inputs)
        for layer in layers:
            if layer["type"] == "Input":
                self.tensors[layer["outputs"][0]] = next(feeds)
            elif layer["type"] == "Split":
                self.copy(layer)
            elif layer["type"] != "MemoryData":
                self.visit(layer)
        for layer in layers:  # the outputs' order is the model's
            for blob in layer["outputs"]:
                if re.fullmatch(r"out\d+", blob) and int(blob[3:]) < len(outputs):
                    self.tensors[blob] = outputs[int(blob[3:])]

    def copy(self, layer):
        for table in (self.tensors, self.pending):
            if layer["inputs"][0] in table:
                table.update({blob: table[layer["inputs"][0]] for blob in layer["outputs"]})

    def visit(self, layer):
        sources, chain = [], [layer]
        for blob in layer["inputs"]:
            if blob in self.tensors:
                sources.append(self.tensors[blob])
            elif blob in self.pending:
                sources += self.pending[blob][0]
                chain = self.pending[blob][1] + chain
        sources = list(dict.fromkeys(sources))
        found = self.find(layer, chain, sources) if sources else None
        if found is None and layer["weight"] is not None and layer["type"] in WEIGHTED:
            found = self.by_weight(layer)
        if found is None:
            self.unknown.append(layer)
            if len(chain) < 4:
                self.pending.update({blob: (sources, chain) for blob in layer["outputs"]})
            return
        for blob, tensor in zip(layer["outputs"], found):
            self.tensors[blob] = tensor
            self.graph.used.add(tensor)

    def find(self, layer, chain, sources):
        """The tensors that the layer's outputs hold, or None."""
        best = None
        for node in self.graph.ahead(sources):
            if node.output[0] in self.graph.used:
                continue
            group = self.graph.group(sources, node.output[0])
            if not group or not self.fits(layer, chain, group):
                continue
            if layer["type"] not in WEIGHTED:
                return self.outputs(layer, node, sources)
            core = next(one for one in group if one.op_type not in MOVES)
            if best is not None and core is not best[0]:
                return None  # two that nothing tells apart
            best = core, node.output[0]  # the longest: with all that was folded
        return best and [best[1]]

    def outputs(self, layer, node, sources):
        if len(layer["outputs"]) == 1:
            return [node.output[0]]
        if node.op_type == "Split":
            return list(node.output) if len(node.output) == len(layer["outputs"]) else None
        alike = [n.output[0] for n in self.graph.reader.get(sources[0], []) if n.op_type == node.op_type]
        return alike if len(alike) == len(layer["outputs"]) else None

    def by_weight(self, layer):
        for node in self.graph.nodes:
            weight = self.graph.weight(node)
            if node.op_type not in PRODUCTS or node.output[0] in self.graph.used:
                continue
            if weight is not None and weight.size == layer["weight"].size:
                if same_but_scaled(layer["weight"], weight, node):
                    return self.find(layer, [layer], self.graph.data(node))
        return None

    def fits(self, layer, chain, group):
        core = [node for node in group if node.op_type not in MOVES]
        kinds = tuple(sorted(node.op_type for node in core))
        if layer["type"] in WEIGHTED and len(chain) == 1:
            return self.is_product(layer, core)
        if len(chain) == 1:
            if kinds not in self.options(layer) or not closed(core):
                return False
            return (kinds != () or group[-1].op_type in MOVES) and self.in_order(layer, core)
        known = {kind for one in chain for option in self.options(one) for kind in option}
        ends = {option for option in self.options(layer)}
        products = sum(one["type"] in WEIGHTED for one in chain)
        return bool(core) and set(kinds) <= known and any(core[-1].op_type in option for option in ends) and \
            sum(node.op_type in PRODUCTS for node in core) == products

    @staticmethod
    def options(layer):
        if layer["type"] in WEIGHTED:
            return [(kind,) for kind in PRODUCTS]
        if layer["type"] == "Gemm":
            biased = layer["params"].get(6) == 1 and layer["params"].get(10, -1) != -1
            return [("Gemm",), ("Add", "MatMul") if biased else ("MatMul",)]
        if layer["type"] == "LayerNorm":
            affine = int(layer["params"].get(2, 1)) != 0
            return [("LayerNormalization",), tuple(sorted(LAYER_NORM + ("Add", "Mul") * affine))]
        if layer["type"] not in CHOICES:
            return GROUPS.get(layer["type"], [])
        choice, choices = int(layer["params"].get(0, 0)), CHOICES[layer["type"]]
        kinds = choices[choice] if choice < len(choices) else ()
        scalar = layer["type"] != "BinaryOp" or len(layer["inputs"]) == 1  # where + -1 may be written for - 1
        return [(kind,) for kind in (kinds if scalar else kinds[:1])]

    def in_order(self, layer, core):
        """a - b is not b - a."""
        if layer["type"] != "BinaryOp" or len(layer["inputs"]) != 2 or len(core) != 1:
            return True
        order = IN_ORDER.get(int(layer["params"].get(0, 0)))
        reads = [self.tensors.get(blob) for blob in layer["inputs"]]
        return order is None or [name for name in core[0].input if name not in self.graph.fixed] == reads[::order]

    def is_product(self, layer, core):
        if not core or core[0].op_type not in PRODUCTS:
            return False
        weight, count = self.graph.weight(core[0]), layer["params"].get(2 if layer["type"] == "InnerProduct" else 6)
        if not same_but_scaled(layer["weight"], weight, core[0]):
            return False
        if weight is None or (count and weight.size != count):
            return False
        rest = core[1:]
        while rest and self.is_folded(layer, core[0], rest[0]):
            rest = rest[1:]
        activation = int(layer["params"].get(WEIGHTED[layer["type"]], 0))
        kinds = tuple(sorted(node.op_type for node in rest))
        return kinds in ACTIVATIONS[activation] if activation in ACTIVATIONS else kinds == ()

    def is_folded(self, layer, product, node):
        if node.op_type == "BatchNormalization":
            theirs = self.graph.weight(product)
            if layer["weight"] is None or theirs is None:
                return not self.normalises
            return not np.allclose(layer["weight"].ravel(), theirs.ravel(), rtol=1e-6, atol=0)
        channels = int(layer["params"].get(0, 0))
        constants = [int(np.prod(self.graph.shape(name))) for name in node.input if name in self.graph.fixed]
        return node.op_type in ("Add", "Mul") and constants == [channels] and channels > 1
