# SPDX-License-Identifier: Apache-2.0
"""pnnx's graph of an .onnx, as an .onnx (own_graph.py): a .pnnx.param holds one operator of PyTorch a line with its
tensors' shapes, the .pnnx.bin beside it is an archive of the weights."""
import math
import pathlib
import re
import tempfile
import zipfile

import numpy as np

from . import inputs as network_inputs
from .folder import UsageError
from .ncnn_subject import convert, load_frameworks
from .onnx_tensors import OnnxTensors
from .own_graph import OwnGraph, clip, swish

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32, "bool": np.bool_}
LARGEST = 2**31 - 1  # of Tensor.slice: to the end, or nothing is selected
UNARY = {"F.relu": "Relu", "F.sigmoid": "Sigmoid", "torch.sigmoid": "Sigmoid", "F.tanh": "Tanh", "torch.tanh": "Tanh",
         "F.gelu": "Gelu", "F.hardswish": "HardSwish", "F.softplus": "Softplus", "torch.exp": "Exp",
         "torch.log": "Log", "torch.sqrt": "Sqrt", "torch.abs": "Abs", "torch.neg": "Neg", "F.mish": "Mish"}
VIEWS = ("Tensor.reshape", "Tensor.view", "torch.flatten", "torch.squeeze", "torch.unsqueeze", "Tensor.unsqueeze",
         "Tensor.squeeze", "nn.Flatten")
REDUCTIONS = {"torch.mean": "ReduceMean", "torch.sum": "ReduceSum", "torch.amax": "ReduceMax",
              "torch.amin": "ReduceMin", "ReduceMax": "ReduceMax", "ReduceMin": "ReduceMin", "ReduceMean": "ReduceMean",
              "ReduceSum": "ReduceSum"}
CALLS = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "sqrt": "Sqrt", "log": "Log",
         "exp": "Exp", "pow": "Pow", "max": "Max", "min": "Min", "abs": "Abs", "sigmoid": "Sigmoid", "tanh": "Tanh",
         "maximum": "Max", "minimum": "Min", "erf": "Erf", "sin": "Sin", "cos": "Cos", "reciprocal": "Reciprocal"}


def shape_of(text):
    dims, _, dtype = text[1:].partition(")")
    return [int(d) for d in dims.split(",") if d], DTYPES.get(dtype)


def value_of(text):
    """(1,2) as a list, True, None, a number, or the word."""
    if text.startswith("("):
        return [value_of(part) for part in text[1:-1].split(",") if part]
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Operator:
    """A line of a .pnnx.param."""

    def __init__(self, line):
        words = line.split()
        self.kind, self.name = words[:2]
        inputs, outputs = int(words[2]), int(words[3])
        self.inputs, self.outputs = words[4:4 + inputs], words[4 + inputs:4 + inputs + outputs]
        self.params, self.shapes, self.weights, self.arguments = {}, {}, {}, {}
        for word in words[4 + inputs + outputs:]:
            key, _, value = word[1:].partition("=")
            if word[0] == "#":
                self.shapes[key] = shape_of(value)
            elif word[0] == "@":
                self.weights[key] = shape_of(value)
            elif word[0] == "$":
                self.arguments[key] = value
            else:
                self.params[word.partition("=")[0]] = value_of(word.partition("=")[2])

    def shape(self, tensor):
        return self.shapes[tensor][0]


class Translation:
    def __init__(self, onnx, param, archive):
        self.graph, self.archive, self.unknown = OwnGraph(onnx), archive, set()
        for line in param.splitlines()[2:]:
            operator = Operator(line)
            try:
                self.translate(operator)
            except (KeyError, IndexError, TypeError, ValueError):
                self.unknown.add(operator.kind)

    def weight(self, operator, name):
        dims, dtype = operator.weights[name]
        return np.frombuffer(self.archive.read(f"{operator.name}.{name}"), dtype).reshape(dims)

    def weights(self, operator, *names):
        return [self.graph.constant(self.weight(operator, name)) for name in names if name in operator.weights]

    def translate(self, o):
        g, p = self.graph, o.params
        first, out = (o.inputs or [None])[0], (o.outputs or [None])[0]
        if o.kind == "pnnx.Input":
            g.input(out, *o.shapes[out])
        elif o.kind == "pnnx.Output":
            g.output(first, *o.shapes[first])
        elif o.kind == "pnnx.Attribute":
            g.constant(self.weight(o, "data"), out)
        elif o.kind == "pnnx.Expression":
            if self.expression(p["expr"], o, out) != out:
                raise ValueError("an expression that is one of its operands")
        elif o.kind in VIEWS:
            g.reshape(first, o.shape(out), out)
        elif o.kind in UNARY:
            g.add(UNARY[o.kind], [first], out)
        elif o.kind in REDUCTIONS:
            axes = p.get("dim", p.get("axes"))
            g.add(REDUCTIONS[o.kind], [first, g.numbers(axes if isinstance(axes, list) else [axes])], out,
                  keepdims=int(p.get("keepdim", p.get("keepdims", False))))
        elif o.kind in ("torch.max", "torch.min") and len(o.inputs) == 2:
            g.add(o.kind[6:].title(), o.inputs, out)
        elif o.kind in ("torch.max", "torch.min") and len(o.outputs) == 1 and "dim" not in p:
            g.add(f"Reduce{o.kind[6:].title()}", [first], out, keepdims=0)
        elif o.kind == "F.leaky_relu":
            g.add("LeakyRelu", [first], out, alpha=p["negative_slope"])
        elif o.kind == "Clip":  # of limits that are computed
            low = o.inputs[1] if len(o.inputs) > 1 else g.constant(np.float32(p["min"]))
            g.add("Clip", [first, low, *([g.constant(np.float32(p["max"]))] if "max" in p else [])], out)
        elif o.kind in ("F.silu", "F.hardsigmoid"):
            if o.kind == "F.silu":
                swish(g, first, out)
            else:
                g.add("HardSigmoid", [first], out, alpha=1 / 6, beta=0.5)
        elif o.kind in ("torch.clamp", "F.relu6", "F.hardtanh"):
            low, high = (0, 6) if o.kind == "F.relu6" else (p.get("min", p.get("min_val")),
                                                            p.get("max", p.get("max_val")))
            clip(g, first, low, high, out)
        elif not (self.window(o, first, out) or self.product(o, first, out) or self.moves(o, first, out)):
            self.unknown.add(o.kind)

    def window(self, o, first, out):
        g, p = self.graph, o.params
        if re.fullmatch(r"nn\.Conv[123]d", o.kind) and p["padding_mode"] == "zeros" and p["padding"] != "same":
            g.add("Conv", [first, *self.weights(o, "weight", "bias")], out, group=p["groups"],
                  kernel_shape=p["kernel_size"], strides=p["stride"], dilations=p["dilation"], pads=p["padding"] * 2)
        elif re.fullmatch(r"nn\.ConvTranspose[123]d", o.kind):
            g.add("ConvTranspose", [first, *self.weights(o, "weight", "bias")], out, group=p["groups"],
                  kernel_shape=p["kernel_size"], strides=p["stride"], dilations=p["dilation"], pads=p["padding"] * 2,
                  output_padding=p["output_padding"])
        elif re.fullmatch(r"F\.max_pool[12]d", o.kind) and not p.get("return_indices"):
            g.add("MaxPool", [first], out, kernel_shape=p["kernel_size"], strides=p["stride"], pads=p["padding"] * 2,
                  ceil_mode=int(p["ceil_mode"]), dilations=p.get("dilation", [1] * len(p["kernel_size"])))
        elif re.fullmatch(r"F\.avg_pool[12]d", o.kind):
            g.add("AveragePool", [first], out, kernel_shape=p["kernel_size"], strides=p["stride"],
                  pads=p["padding"] * 2, ceil_mode=int(p["ceil_mode"]),
                  count_include_pad=int(p.get("count_include_pad", True)))
        elif o.kind == "F.adaptive_avg_pool2d" and set(p["output_size"]) == {1}:
            g.add("GlobalAveragePool", [first], out)
        elif o.kind == "F.interpolate" and p["mode"] in ("nearest", "bilinear"):
            corners = p.get("align_corners") is True
            halves = "align_corners" if corners else "half_pixel" if p["mode"] == "bilinear" else "asymmetric"
            g.add("Resize", [first, "", "", g.numbers(o.shape(out))], out, nearest_mode="floor",
                  coordinate_transformation_mode=halves, mode={"nearest": "nearest", "bilinear": "linear"}[p["mode"]])
        else:
            return False
        return True

    def product(self, o, first, out):
        g, p = self.graph, o.params
        if o.kind == "nn.Linear":
            self.linear(first, self.weight(o, "weight"), self.weight(o, "bias") if p["bias"] else None, out)
        elif o.kind in ("torch.matmul", "torch.bmm"):
            g.add("MatMul", [o.arguments.get("input", o.inputs[0]), o.arguments.get("other", o.inputs[1])], out)
        elif o.kind in ("F.softmax", "nn.Softmax"):
            g.add("Softmax", [first], out, axis=p["dim"])
        elif o.kind == "nn.LayerNorm":
            scale = self.weights(o, "weight") or [g.constant(np.ones(p["normalized_shape"], np.float32))]
            g.add("LayerNormalization", [first, *scale, *self.weights(o, "bias")], out, epsilon=p["eps"],
                  axis=-len(p["normalized_shape"]))
        elif o.kind == "nn.BatchNorm2d":
            g.add("BatchNormalization", [first, *self.weights(o, "weight", "bias", "running_mean", "running_var")], out,
                  epsilon=p["eps"])
        elif o.kind == "nn.MultiheadAttention" and len(o.inputs) == 1:
            self.attention(o, first, out)
        else:
            return False
        return True

    def linear(self, source, weight, bias, output=None):
        g = self.graph
        product = g.add("MatMul", [source, g.constant(weight.T)], output if bias is None else None)
        return product if bias is None else g.add("Add", [product, g.constant(bias)], output)

    def attention(self, o, first, out):
        """Self-attention of [length, batch, width], or with the batch first."""
        g, p = self.graph, o.params
        heads, width = p["num_heads"], p["embed_dim"]
        if p["add_bias_kv"] or p["add_zero_attn"]:
            raise ValueError("keys are added")
        batch_first = p["batch_first"]
        batch, length = o.shape(first)[:2] if batch_first else o.shape(first)[1::-1]
        size = width // heads
        source = first if batch_first else g.add("Transpose", [first], perm=[1, 0, 2])
        weight, bias = self.weight(o, "in_proj_weight"), self.weight(o, "in_proj_bias") if p["bias"] else None
        parts = []
        for i in range(3):
            rows = slice(i * width, (i + 1) * width)
            part = self.linear(source, weight[rows], None if bias is None else bias[rows])
            part = g.reshape(part, [batch, length, heads, size])
            parts.append(g.add("Transpose", [part], perm=[0, 2, 3, 1] if i == 1 else [0, 2, 1, 3]))
        scores = g.add("MatMul", parts[:2])
        scores = g.add("Mul", [scores, g.constant(np.float32(1 / math.sqrt(size)))])
        mixed = g.add("MatMul", [g.add("Softmax", [scores], axis=-1), parts[2]])
        mixed = g.reshape(g.add("Transpose", [mixed], perm=[0, 2, 1, 3]), [batch, length, width])
        last = self.linear(mixed, self.weight(o, "out_proj.weight"),
                           self.weight(o, "out_proj.bias") if p["bias"] else None, out if batch_first else None)
        if not batch_first:
            g.add("Transpose", [last], out, perm=[1, 0, 2])

    def moves(self, o, first, out):
        g, p = self.graph, o.params
        if o.kind == "Tensor.permute":
            g.add("Transpose", [first], out, perm=p["dims"])
        elif o.kind == "torch.transpose":
            order = list(range(len(o.shape(first))))
            order[p["dim0"]], order[p["dim1"]] = order[p["dim1"]], order[p["dim0"]]
            g.add("Transpose", [first], out, perm=order)
        elif o.kind == "torch.cat":
            g.add("Concat", o.inputs, out, axis=p["dim"])
        elif o.kind in ("torch.split", "torch.chunk", "torch.tensor_split"):
            sizes = [o.shape(tensor)[p["dim"]] for tensor in o.outputs]
            g.add("Split", [first, g.numbers(sizes)], o.outputs, axis=p["dim"])
        elif o.kind == "Tensor.slice":
            self.slice(o, first, out)
        elif o.kind == "F.pad" and p["mode"] in ("constant", "reflect", "replicate"):
            rank = len(o.shape(first))
            pairs = [p["pad"][i:i + 2] for i in range(0, len(p["pad"]), 2)]
            begins, ends = ([0] * (rank - len(pairs)) + [pair[side] for pair in reversed(pairs)] for side in (0, 1))
            fill = [g.constant(np.float32(p["value"]))] if p.get("value") else []
            g.add("Pad", [first, g.numbers(begins + ends), *fill], out,
                  mode={"replicate": "edge"}.get(p["mode"], p["mode"]))
        elif o.kind == "Pad":
            g.add("Pad", [first, g.numbers(p["pads"])], out, mode=p.get("mode", "constant"))
        elif o.kind == "torch.eq":
            g.add("Equal", [first, o.inputs[1] if len(o.inputs) > 1 else g.constant(np.float32(p["other"]))], out)
        elif o.kind == "torch.where":
            ends = [o.arguments.get(name) or g.constant(np.float32(p[name])) for name in ("input", "other")]
            g.add("Where", [o.arguments["condition"], *ends], out)
        else:
            return False
        return True

    def slice(self, o, first, out):
        g, p = self.graph, o.params
        dims = p["dims"] if "dims" in p else [p["dim"]]
        selects = p.get("selects", [LARGEST] * len(dims))
        starts, ends, steps = (p[many] if many in p else [p[one]]
                               for many, one in (("starts", "start"), ("ends", "end"), ("steps", "step")))
        starts = [start if select == LARGEST else select for start, select in zip(starts, selects)]
        ends = [end if select == LARGEST else (select + 1 or LARGEST) for end, select in zip(ends, selects)]
        whole = all(select == LARGEST for select in selects)
        cut = g.add("Slice", [first, *(g.numbers(x) for x in (starts, ends, dims, steps))], out if whole else None)
        if not whole:
            g.reshape(cut, o.shape(out), out)

    def expression(self, text, o, output=None):
        """Nodes for add(@0,mul(@1,2.0)); the name of its value."""
        text = text.strip()
        if text.startswith("@"):
            return o.inputs[int(text[1:])]
        call = re.fullmatch(r"(\w+)\((.*)\)", text)
        if call is None:
            return self.graph.constant(np.float32(float(text)))
        operands, depth, begin = [], 0, 0
        inner = call[2] + ","
        for i, letter in enumerate(inner):
            depth += (letter == "(") - (letter == ")")
            if letter == "," and depth == 0:
                operands.append(self.expression(inner[begin:i], o))
                begin = i + 1
        if call[1] in ("square", "rsqrt", "silu"):
            if call[1] == "square":
                return self.graph.add("Mul", operands * 2, output)
            if call[1] == "silu":
                return swish(self.graph, operands[0], output)
            return self.graph.add("Reciprocal", [self.graph.add("Sqrt", operands)], output)
        return self.graph.add(CALLS[call[1]], operands, output)


def own_graph(model, input_files, shapes, specs, seed, value_range):
    _, onnx, pnnx = load_frameworks()
    feeds = network_inputs.feeds(model, OnnxTensors(onnx, model).declared(), input_files, shapes, specs, seed,
                                 value_range)
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        convert(pnnx, model, feeds, pathlib.Path(work))
        param = pathlib.Path(work) / "net.pnnx.param"
        with zipfile.ZipFile(param.with_suffix(".bin")) as weights:
            done = Translation(onnx, param.read_text(encoding="utf-8"), weights)
    if done.unknown:
        raise UsageError(f"pnnx's operators that have no form in ONNX here: {', '.join(sorted(done.unknown))}")
    return done.graph
