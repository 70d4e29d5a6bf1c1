# SPDX-License-Identifier: Apache-2.0
"""MNN's graph of an .onnx, as an .onnx (own_graph.py), from what its converter says as JSON and the weights beside it.
Shapes, and integers that follow from shapes alone, are those of a session."""
import pathlib
import struct
import tempfile

import numpy as np

from . import inputs as network_inputs
from .folder import UsageError
from .mnn_subject import Session, convert, load_frameworks
from .onnx_tensors import OnnxTensors
from .own_graph import OwnGraph, clip, swish

VIEWS = ("Reshape", "Squeeze", "Unsqueeze", "ExpandDims", "Flatten")
BINARY = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul", "DIV": "Div", "REALDIV": "Div", "POW": "Pow", "MAXIMUM": "Max",
          "MINIMUM": "Min", "GREATER": "Greater", "GREATER_EQUAL": "GreaterOrEqual", "LESS": "Less",
          "LESS_EQUAL": "LessOrEqual", "EQUAL": "Equal", "LOGICALOR": "Or", "MOD": "Mod"}
COMPARISONS = ("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "EQUAL", "LOGICALOR")
UNARY = {"ABS": "Abs", "NEG": "Neg", "FLOOR": "Floor", "CEIL": "Ceil", "SQRT": "Sqrt", "EXP": "Exp", "LOG": "Log",
         "SIN": "Sin", "COS": "Cos", "TAN": "Tan", "RECIPROCAL": "Reciprocal", "SIGMOID": "Sigmoid", "TANH": "Tanh",
         "ERF": "Erf", "HARDSWISH": "HardSwish", "GELU": "Gelu", "GELU_STANDARD": "Gelu", "SIGN": "Sign",
         "ROUND": "Round"}
REDUCTIONS = {"SUM": "ReduceSum", "MEAN": "ReduceMean", "MAXIMUM": "ReduceMax", "MINIMUM": "ReduceMin",
              "PROD": "ReduceProd"}
CORNERS = {"Asymmetric": "asymmetric", "HalfPixels": "half_pixel", "AlignCorners": "align_corners",
           "PytorchHalfPixels": "pytorch_half_pixel"}


class Operators:
    """Numbers of a .mnn file's operators: its JSON has six decimals. A table's field is found by its place."""

    def __init__(self, data):
        self.data = data
        net = self.at(0)
        self.list = self.at(self.field(net, 3))

    def at(self, place):
        return place + struct.unpack_from("<I", self.data, place)[0]

    def field(self, table, number):
        """Where it lies; 0: it has its default."""
        fields = table - struct.unpack_from("<i", self.data, table)[0]
        if 4 + 2 * number >= struct.unpack_from("<H", self.data, fields)[0]:
            return 0
        offset = struct.unpack_from("<H", self.data, fields + 4 + 2 * number)[0]
        return table + offset if offset else 0

    def number(self, op, field, default):
        """Of what is particular to the operator of that place in the list."""
        main = self.field(self.at(self.list + 4 + 4 * op), 2)
        place = self.field(self.at(main), field) if main else 0
        return struct.unpack_from("<f", self.data, place)[0] if place else default


class Translation:
    """graph: the converter's JSON; operators: the same file's; weights: the file beside it; values: {constant: array};
    read: the array of a tensor in a session that has run."""

    def __init__(self, onnx, graph, operators, weights, values, read):
        self.graph, self.onnx, self.weights, self.values, self.read = OwnGraph(onnx), onnx, weights, dict(values), read
        self.operators, self.place = operators, 0
        self.names, self.unknown, self.shapes = graph["tensorName"], set(), {}
        self.truths = set()  # tensors that ONNX has as bool, MNN as integers
        for self.place, op in enumerate(graph["oplists"]):
            self.visit(op)
        for name in graph["outputName"]:
            self.graph.output(name, self.shape(name), self.read(name).dtype)

    def visit(self, op):
        inputs = [self.names[i] for i in op.get("inputIndexes", [])]
        outputs = [self.names[i] for i in op["outputIndexes"]]
        if op["type"] == "Input":
            return self.graph.input(outputs[0], self.shape(outputs[0]), self.read(outputs[0]).dtype)
        if op["type"] == "Const" or op["type"] in ("Shape", "Rank", "Size") or \
                all(name in self.values for name in inputs):
            for name in outputs:
                self.fix(name)
            return None
        try:
            ways = (self.element, self.view, self.window, self.product, self.moves)
            if not any(way(op, op.get("main", {}), inputs, outputs) for way in ways):
                self.unknown.add(op["type"])
        except (KeyError, IndexError, TypeError, ValueError):
            self.unknown.add(op["type"])
        return None

    def fix(self, name):
        """Its value follows from shapes and constants."""
        if name not in self.values:
            self.values[name] = self.read(name)
        value = self.values[name]
        self.graph.constant(value.astype(np.int64) if value.dtype.kind == "i" else value, name)

    def shape(self, name):
        if name not in self.shapes:
            self.shapes[name] = list((self.values[name] if name in self.values else self.read(name)).shape)
        return self.shapes[name]

    def external(self, main, *slots):
        """The arrays that lie beside the file."""
        if "external" not in main:
            return [np.array(main[slot], np.float32) for slot in slots if slot in main]
        offset, arrays = main["external"][0], []
        for size in main["external"][1:1 + len(slots)]:
            arrays.append(np.frombuffer(self.weights[offset:offset + size], np.float32))
            offset += size
        return arrays

    def activated(self, add, relu, relu6, output):
        """What add(name of its output) makes, then the ReLU that it ends with."""
        if not relu and not relu6:
            return add(output)
        made = add(None)
        return clip(self.graph, made, 0, 6, output) if relu6 else self.graph.add("Relu", [made], output)

    def element(self, op, main, inputs, outputs):
        g, out = self.graph, outputs[0]
        kind = main.get("opType")
        if op["type"] == "BinaryOp" and kind == "SquaredDifference":
            difference = g.add("Sub", inputs)
            g.add("Mul", [difference, difference], out)
        elif op["type"] == "BinaryOp" and set(inputs) <= self.truths and kind == "MUL":
            g.add("And", inputs, out)
            self.truths.add(out)
        elif op["type"] == "BinaryOp":
            self.truths.update(outputs if kind in COMPARISONS else ())
            self.activated(lambda output: g.add(BINARY[kind], inputs, output), main.get("activationType") == 1, False,
                           out)
        elif op["type"] == "UnaryOp" and kind in ("SILU", "SQUARE", "RSQRT", "HARDSIGMOID"):
            if kind == "SILU":
                swish(g, inputs[0], out)
            elif kind == "SQUARE":
                g.add("Mul", inputs * 2, out)
            elif kind == "RSQRT":
                g.add("Reciprocal", [g.add("Sqrt", inputs)], out)
            else:
                g.add("HardSigmoid", inputs, out, alpha=1 / 6, beta=0.5)
        elif op["type"] == "UnaryOp":
            g.add(UNARY[kind], inputs, out)
        elif op["type"] in ("ReLU", "ReLU6"):
            if op["type"] == "ReLU6":
                low, high = (self.operators.number(self.place, field, default) for field, default in ((0, 0), (1, 6)))
                clip(g, inputs[0], low, high, out)
            elif main.get("slope"):
                g.add("LeakyRelu", inputs, out, alpha=main["slope"])
            else:
                g.add("Relu", inputs, out)
        elif op["type"] == "Select":
            truth = inputs[0] in self.truths
            condition = inputs[0] if truth else g.add("Cast", inputs[:1], to=self.onnx.TensorProto.BOOL)
            g.add("Where", [condition, *inputs[1:]], out)
        elif op["type"] == "Cast":
            whole = main["dstT"] in ("DT_INT32", "DT_INT64")
            g.add("Cast", inputs, out, to=self.onnx.TensorProto.INT64 if whole else self.onnx.TensorProto.FLOAT)
        else:
            return False
        return True

    def view(self, op, main, inputs, outputs):
        if op["type"] in ("ConvertTensor", "Identity"):
            self.graph.add("Identity", inputs[:1], outputs)
        elif op["type"] in VIEWS:
            self.graph.reshape(inputs[0], self.shape(outputs[0]), outputs[0])
        else:
            return False
        return True

    def window(self, op, main, inputs, outputs):
        g, out = self.graph, outputs[0]
        if op["type"] in ("Convolution", "ConvolutionDepthwise", "Deconvolution"):
            self.convolution(op, main, inputs, out)
        elif op["type"] == "Pooling" and main["isGlobal"]:
            g.add("GlobalMaxPool" if main["type"] == "MAXPOOL" else "GlobalAveragePool", inputs, out)
        elif op["type"] == "Pooling":
            largest = main["type"] == "MAXPOOL"
            more = {} if largest else {"count_include_pad": int(main["countType"] == "INCLUDE_PADDING")}
            g.add("MaxPool" if largest else "AveragePool", inputs, out, kernel_shape=[main["kernelY"], main["kernelX"]],
                  strides=[main["strideY"], main["strideX"]], ceil_mode=int(main["ceilModel"]), **self.pads(main),
                  **more)
        elif op["type"] == "Interp" and main["resizeType"] in (1, 2):
            g.add("Resize", [inputs[0], "", "", g.numbers(self.shape(out))], out, nearest_mode="floor",
                  mode="nearest" if main["resizeType"] == 1 else "linear",
                  coordinate_transformation_mode=CORNERS[main["ctm"]])
        else:
            return False
        return True

    @staticmethod
    def pads(main):
        mode = main.get("padMode", main.get("padType"))
        if mode == "SAME":
            return {"auto_pad": "SAME_UPPER"}
        if mode == "VALID":
            return {}
        return {"pads": main.get("pads") or [main["padY"], main["padX"]] * 2}

    def convolution(self, op, main, inputs, out):
        common = main["common"]
        count, kernel = common["outputCount"], [common["kernelY"], common["kernelX"]]
        group = count if op["type"] == "ConvolutionDepthwise" else common["group"]
        shared = [self.values[name].ravel() for name in inputs[1:]]  # by several convolutions
        weight, *bias = shared or self.external(main, "weight", "bias")
        shape = [common["inputCount"], count // group] if op["type"] == "Deconvolution" else [count, -1]
        constants = [self.graph.constant(array) for array in (weight.reshape(shape + kernel), *bias)]
        flat = len(self.shape(out)) == 3  # for MNN's convolution an image one pixel wide
        image = self.graph.reshape(inputs[0], [*self.shape(inputs[0]), 1]) if flat else inputs[0]
        made = self.activated(lambda output: self.graph.add(
            "ConvTranspose" if op["type"] == "Deconvolution" else "Conv", [image, *constants], output,
            kernel_shape=kernel, strides=[common["strideY"], common["strideX"]], group=group,
            dilations=[common["dilateY"], common["dilateX"]], **self.pads(common)), common["relu"], common["relu6"],
            None if flat else out)
        if flat:
            self.graph.reshape(made, self.shape(out), out)

    def product(self, op, main, inputs, outputs):
        g, out = self.graph, outputs[0]
        if op["type"] == "MatMul":
            sides = []
            for name, turned in zip(inputs, (main["transposeA"], main["transposeB"])):
                order = list(range(len(self.shape(name))))
                order[-2:] = order[:-3:-1]
                sides.append(g.add("Transpose", [name], perm=order) if turned else name)
            product = g.add("MatMul", sides, out if len(inputs) == 2 else None)
            if len(inputs) > 2:
                g.add("Add", [product, inputs[2]], out)
        elif op["type"] == "Softmax":
            g.add("Softmax", inputs, out, axis=main["axis"])
        elif op["type"] == "LayerNorm" and main["group"] == 1 and not main["useRMSNorm"]:
            dims = self.shape(inputs[0])[-len(main["axis"]):]
            scale, *bias = self.external(main, "gamma", "beta") or [np.ones(dims, np.float32)]
            constants = [g.constant(array.reshape(dims)) for array in (scale, *bias)]
            g.add("LayerNormalization", [inputs[0], *constants], out, axis=-len(dims),
                  epsilon=self.operators.number(self.place, 1, 0))
        elif op["type"] == "Reduction":
            given = main["dim"] if "dim" in main else self.values[inputs[1]].ravel() if len(inputs) > 1 else []
            axes = given if len(given) > 0 else range(len(self.shape(inputs[0])))
            g.add(REDUCTIONS[main["operation"]], [inputs[0], g.numbers(axes)], out, keepdims=int(main["keepDims"]))
        elif op["type"] == "ArgMax" and not main["outMaxVal"] and main["topK"] == 1:
            g.add("ArgMax", inputs, out, axis=main["axis"], keepdims=0)
        else:
            return False
        return True

    def moves(self, op, main, inputs, outputs):
        g, out = self.graph, outputs[0]
        if op["type"] in ("Permute", "Transpose"):
            order = main["dims"] if op["type"] == "Permute" else self.values[inputs[1]].ravel().tolist()
            g.add("Transpose", inputs[:1], out, perm=order)
        elif op["type"] == "Concat":
            g.add("Concat", inputs, out, axis=main.get("axis", 0))
        elif op["type"] == "Slice":
            sizes = [self.shape(name)[main["axis"]] for name in outputs]
            g.add("Split", [inputs[0], g.numbers(sizes)], outputs, axis=main["axis"])
        elif op["type"] == "SliceTf":
            begin = self.values[inputs[1]].ravel()
            end = [first + size for first, size in zip(begin, self.shape(out))]
            g.add("Slice", [inputs[0], g.numbers(begin), g.numbers(end)], out)
        elif op["type"] == "StridedSlice":
            self.strided(main, inputs, out)
        elif op["type"] == "Padding":
            self.pad(main, inputs, out)
        elif op["type"] in ("GatherV2", "GatherElements"):
            axis = int(self.values[inputs[2]].ravel()[0]) if len(inputs) > 2 else main.get("axis", 0)
            g.add("Gather" if op["type"] == "GatherV2" else "GatherElements", inputs[:2], out, axis=axis)
        else:
            return False
        return True

    def strided(self, main, inputs, out):
        """fromType 1: ONNX's (begins, ends, axes, steps); else TensorFlow's (begins, ends, steps) with masks."""
        g = self.graph
        if any(main.get(mask) for mask in ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask")):
            raise ValueError("masks")
        numbers = [self.values[name].ravel() for name in inputs[1:]]
        if main.get("fromType") != 1:
            numbers[2:] = [np.arange(len(numbers[0])), *numbers[2:]]
        g.add("Slice", [inputs[0], *(g.numbers(x) for x in numbers)], out)

    def pad(self, main, inputs, out):
        """The pads are pairs, or all begins first: as the shapes say."""
        g, pads = self.graph, self.values[inputs[1]].ravel()
        added = np.array(self.shape(out)) - self.shape(inputs[0])
        forms = [pads.reshape(-1, 2).T, pads.reshape(2, -1)]
        form = next(form for form in forms if (form.sum(0) == added).all())
        modes = {"CONSTANT": "constant", "REFLECT": "reflect", "EDGE": "edge"}
        g.add("Pad", [inputs[0], g.numbers(form.ravel()), *inputs[2:3]], out, mode=modes[main["mode"]])


def constants(MNN, file, graph):
    """{tensor: array}, exactly; what the library does not hand out is as the JSON says it."""
    variables, values = MNN.expr.load_as_dict(str(file)), {}
    for op in graph["oplists"]:
        if op["type"] != "Const":
            continue
        main, name = op["main"], graph["tensorName"][op["outputIndexes"][0]]
        if op["name"] in variables:
            values[name] = np.array(variables[op["name"]].read())
        else:
            whole = main["dataType"] != "DT_FLOAT"
            numbers = main.get("int32s" if whole else "float32s", [])
            values[name] = np.array(numbers, np.int32 if whole else np.float32).reshape(main.get("dims", []))
    return values


def own_graph(model, input_files, shapes, specs, seed, value_range):
    MNN, onnx = load_frameworks()
    feeds = network_inputs.feeds(model, OnnxTensors(onnx, model).declared(), input_files, shapes, specs, seed,
                                 value_range)
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        file, graph = convert(model, pathlib.Path(work), None)
        beside = pathlib.Path(work) / "bare.mnn.weight"
        weights = beside.read_bytes() if beside.exists() else b""
        operators = Operators((pathlib.Path(work) / "bare.mnn").read_bytes())
        values = constants(MNN, file, graph)
        session = Session(MNN, file, graph["tensorName"])
    missing = sorted(set(session.ports) - set(feeds))
    if missing:
        raise UsageError(f"MNN's graph has the inputs {missing}, which the .onnx does not have")
    session.run(feeds)
    done = Translation(onnx, graph, operators, weights, values, session.read)
    if done.unknown:
        raise UsageError(f"MNN's operators that have no form in ONNX here: {', '.join(sorted(done.unknown))}")
    return done.graph
