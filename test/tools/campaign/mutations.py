"""Faults for any network of zoo.py: for each operator what exporters, converters and kernels really get wrong, and for
every operator what a kernel can do to its output. A mutation is (name, function(model, node) -> whether it applies,
what a right cause says or ""): it edits the model, whose shapes stay as they are.
"""
import re

import numpy as np
from onnx import TensorProto, helper, numpy_helper

GENERIC, BY_TYPE = [], {}


def generic(name, cause=""):
    def keep(function):
        GENERIC.append((name, function, cause))
        return function
    return keep


def of(types, name, cause=""):
    def keep(function):
        for kind in types.split():
            BY_TYPE.setdefault(kind, []).append((name, function, cause))
        return function
    return keep


def candidates(kind):
    return BY_TYPE.get(kind, []) + GENERIC


# --- tools ---


def attribute(node, name, default=None):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def set_attribute(node, name, value):
    for old in [a for a in node.attribute if a.name == name]:
        node.attribute.remove(old)
    node.attribute.append(helper.make_attribute(name, value))
    return True


def constant(model, name):
    tensor = next((w for w in model.graph.initializer if w.name == name), None)
    return None if tensor is None else numpy_helper.to_array(tensor)


def fresh(model, values):
    name = f"fault_{len(model.graph.initializer)}"
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(values), name))
    return name


def change(model, node, index, function):
    """The node reads another constant in place of that input."""
    if index >= len(node.input):
        return False
    old = constant(model, node.input[index])
    if old is None:
        return False
    new = np.ascontiguousarray(np.asarray(function(old.copy())).astype(old.dtype))
    if new.shape != old.shape or np.array_equal(new, old):
        return False
    node.input[index] = fresh(model, new)
    return True


def shape_of(model, name):
    for value in [*model.graph.value_info, *model.graph.output, *model.graph.input]:
        if value.name == name:
            return [d.dim_value for d in value.type.tensor_type.shape.dim]
    return None


def is_float(model, name):
    return any(v.name == name and v.type.tensor_type.elem_type == TensorProto.FLOAT
               for v in [*model.graph.value_info, *model.graph.output])


def behind(model, node, *chain, slot=0):
    """Nodes behind the node; the last one writes the tensor of the old name. chain: (type, extra inputs,
    attributes)."""
    if not is_float(model, node.output[slot]):
        return False
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    last = node.output[slot]
    current = node.output[slot] = last + "_before"
    for k, (kind, extra, attributes) in enumerate(chain):
        output = last if k + 1 == len(chain) else f"{last}_{k}"
        reads = [current] + [fresh(model, e) if not isinstance(e, str) else e for e in extra]
        model.graph.node.insert(at + 1 + k,
                                helper.make_node(kind, reads, [output], name=f"{node.name}_fault_{k}", **attributes))
        current = output
    return True


def replace(node, kind, **attributes):
    node.op_type = kind
    del node.attribute[:]
    node.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
    return True


# --- what any kernel can do to its output ---


def masked(model, node, edit):
    shape = shape_of(model, node.output[0])
    if not shape or not is_float(model, node.output[0]):
        return False
    mask = np.ones(shape, np.float32)
    if edit(mask) is False or (mask == 1).all():
        return False
    return behind(model, node, ("Mul", [mask], {}))


@generic("times 1.001", r"1\.001|times|scale")
def _(model, node):
    return behind(model, node, ("Mul", [np.float32(1.001)], {}))


@generic("plus 0.01", r"plus|added|off by 0\.0(1|099)|bias|b = ")
def _(model, node):
    return behind(model, node, ("Add", [np.float32(0.01)], {}))


@generic("sign", r"-1|sign|negat|operands exchanged|without 'neg")
def _(model, node):
    return behind(model, node, ("Neg", [], {}))


@generic("f16", r"f16|fp16|half")
def _(model, node):
    return behind(model, node, ("Cast", [], {"to": TensorProto.FLOAT16}), ("Cast", [], {"to": TensorProto.FLOAT}))


@generic("bf16", r"bf16")
def _(model, node):
    return behind(model, node, ("Cast", [], {"to": TensorProto.BFLOAT16}), ("Cast", [], {"to": TensorProto.FLOAT}))


@generic("last two axes exchanged", r"transpos|axes|order|swapped")
def _(model, node):
    shape = shape_of(model, node.output[0]) or []
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        return False
    perm = list(range(len(shape)))
    perm[-1], perm[-2] = perm[-2], perm[-1]
    return behind(model, node, ("Transpose", [], {"perm": perm}))


@generic("shifted by one along the last axis", r"shift|moved|further|values of")
def _(model, node):
    shape = shape_of(model, node.output[0]) or []
    if not shape or shape[-1] < 3:
        return False
    index = np.r_[0, np.arange(shape[-1] - 1)].astype(np.int64)
    return behind(model, node, ("Gather", [index], {"axis": len(shape) - 1}))


@generic("one value wrong", r"1 of |only")
def _(model, node):
    def edit(mask):
        if mask.size < 2:
            return False
        mask.reshape(-1)[mask.size // 3] = 1.5
    return masked(model, node, edit)


@generic("one channel zero", r"channel|only|zero|they are 0|it is 0|1 of ")
def _(model, node):
    def edit(mask):
        if mask.ndim < 2 or mask.shape[1] < 2:
            return False
        mask[:, mask.shape[1] // 2] = 0
    return masked(model, node, edit)


@generic("the end is not written", r"last|only|rest|zero")
def _(model, node):
    def edit(mask):
        if mask.size < 40:
            return False
        mask.reshape(-1)[-7:] = 0
    return masked(model, node, edit)


@generic("a tile is zero", r"tile|block|only|rows|columns|zero")
def _(model, node):
    def edit(mask):
        if mask.ndim < 3 or mask.shape[-1] < 9 or mask.shape[-2] < 9:
            return False
        mask[..., 4:8, 4:8] = 0
    return masked(model, node, edit)


@generic("the first batch element everywhere", r"batch")
def _(model, node):
    shape = shape_of(model, node.output[0]) or []
    if len(shape) < 2 or shape[0] != 4:
        return False
    return behind(model, node, ("Gather", [np.zeros(4, np.int64)], {"axis": 0}))


@generic("limited to +-1", r"limit|clip|clamp|satur|1")
def _(model, node):
    return behind(model, node, ("Clip", [np.float32(-1), np.float32(1)], {}))


@generic("all zero", r"0|zero|not written")
def _(model, node):
    return behind(model, node, ("Mul", [np.float32(0)], {}))


@generic("one value NaN", r"NaN")
def _(model, node):
    def edit(mask):
        mask.reshape(-1)[mask.size // 2] = np.nan
    return masked(model, node, edit)


# --- products ---

PRODUCTS = "Conv ConvTranspose Gemm MatMul"


@of(PRODUCTS, "weights in f16", r"f16|half")
def _(model, node):
    return change(model, node, 1, lambda w: w.astype(np.float16))


@of(PRODUCTS, "weights in bf16", r"bf16")
def _(model, node):
    return change(model, node, 1, lambda w: (w.view(np.uint32) + 0x8000 & 0xffff0000).view(np.float32))


@of(PRODUCTS, "weights in int8", r"int8|i8|8 bits")
def _(model, node):
    return change(model, node, 1, lambda w: np.round(w / np.abs(w).max() * 127) / 127 * np.abs(w).max())


@of(PRODUCTS, "weights in int4", r"int4|i4|4 bits")
def _(model, node):
    return change(model, node, 1, lambda w: np.round(w / np.abs(w).max() * 7) / 7 * np.abs(w).max())


@of("Conv ConvTranspose", "kernel flipped", r"flip|mirror|turn|rotat")
def _(model, node):
    return change(model, node, 1, lambda w: w[..., ::-1, ::-1] if w.ndim == 4 else w[..., ::-1])


@of("Conv ConvTranspose", "kernel transposed", r"transpos|exchang|swap")
def _(model, node):
    return change(model, node, 1, lambda w: w.swapaxes(-1, -2) if w.ndim == 4 and w.shape[-1] == w.shape[-2] else w)


@of("Conv ConvTranspose Gemm", "in and out exchanged", r"transpos|exchang|swap")
def _(model, node):
    return change(model, node, 1, lambda w: w.swapaxes(0, 1) if w.shape[0] == w.shape[1] else w)


@of("MatMul", "weights transposed", r"transpos|exchang|swap")
def _(model, node):
    return change(model, node, 1, lambda w: w.T if w.ndim == 2 and w.shape[0] == w.shape[1] else w)


@of("Conv", "input channels reversed", r"channel|revers|order")
def _(model, node):
    return change(model, node, 1, lambda w: w[:, ::-1])


@of(PRODUCTS, "two output channels exchanged", r"channel|exchang|swap|order|only|values of")
def _(model, node):
    def swap(w):
        if node.op_type == "MatMul":
            w[..., [0, 1]] = w[..., [1, 0]]
        else:
            w[[0, 1]] = w[[1, 0]]
        return w
    old = constant(model, node.input[1])
    if old is None or (old.shape[-1] if node.op_type == "MatMul" else old.shape[0]) < 2:
        return False
    return change(model, node, 1, swap)


@of("Conv ConvTranspose Gemm", "bias lost", r"bias")
def _(model, node):
    if len(node.input) < 3:
        return False
    del node.input[2]
    return True


@of("Conv ConvTranspose Gemm", "bias twice", r"bias")
def _(model, node):
    return change(model, node, 2, lambda b: b * 2)


@of("Conv ConvTranspose Gemm", "bias in f16", r"bias|f16")
def _(model, node):
    return change(model, node, 2, lambda b: b.astype(np.float16))


@of("Conv ConvTranspose Gemm", "bias of the next channel", r"bias")
def _(model, node):
    return change(model, node, 2, lambda b: np.roll(b, 1))


@of(PRODUCTS, "one weight zero", r"only|weight|1 of ")
def _(model, node):
    def zero(w):
        w.reshape(-1)[np.abs(w).argmax()] = 0
        return w
    return change(model, node, 1, zero)


@of("Conv", "padding on one side", r"pad|shift")
def _(model, node):
    pads = list(attribute(node, "pads", []))
    if not pads or not any(pads):
        return False
    half = len(pads) // 2
    return set_attribute(node, "pads", [0] * half + [a + b for a, b in zip(pads[:half], pads[half:])])


@of("Conv", "operands in f16", r"f16|half")
def _(model, node):
    made = change(model, node, 1, lambda w: w.astype(np.float16))
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    name = node.name + "_half"
    model.graph.node.insert(at, helper.make_node("Cast", [node.input[0]], [name + "16"], name=name + "16",
                                                 to=TensorProto.FLOAT16))
    model.graph.node.insert(at + 1, helper.make_node("Cast", [name + "16"], [name], name=name, to=TensorProto.FLOAT))
    node.input[0] = name
    return made


@of("Conv", "batch norm's shift lost in folding", r"bias|a = |b = |mean")
def _(model, node):
    return change(model, node, 2, lambda b: b * 0.5)


# --- normalisation ---


@of("BatchNormalization", "variance for its root", r"varian|root|sqrt|scale|own factor")
def _(model, node):
    return change(model, node, 4, np.sqrt)


@of("BatchNormalization", "mean lost", r"mean|bias|b = |own offset")
def _(model, node):
    return change(model, node, 3, np.zeros_like)


@of("BatchNormalization InstanceNormalization LayerNormalization", "gain lost", r"gain|gamma|scale|weight|own factor")
def _(model, node):
    return change(model, node, 1, np.ones_like)


@of("BatchNormalization InstanceNormalization LayerNormalization", "offset lost", r"beta|bias|offset|shift")
def _(model, node):
    return change(model, node, 2, np.zeros_like)


@of("BatchNormalization InstanceNormalization LayerNormalization", "epsilon 1e-2", r"epsilon")
def _(model, node):
    return set_attribute(node, "epsilon", 1e-2)


@of("BatchNormalization InstanceNormalization LayerNormalization", "epsilon 1e-3", r"epsilon")
def _(model, node):
    return set_attribute(node, "epsilon", 1e-3)


@of("Add", "epsilon 1e-3", r"epsilon|1e-0?3|0\.001|other")
def _(model, node):
    return change(model, node, 1, lambda e: np.full_like(e, 1e-3) if e.size == 1 and 0 < e.reshape(-1)[0] < 1e-4 else e)


@of("LRN", "size 3", r"size|3|window")
def _(model, node):
    return set_attribute(node, "size", 3)


@of("LRN", "alpha not divided", r"alpha")
def _(model, node):
    return set_attribute(node, "alpha", attribute(node, "alpha") * attribute(node, "size"))


@of("LRN", "beta 0.5", r"beta")
def _(model, node):
    return set_attribute(node, "beta", 0.5)


# --- element-wise ---


@of("Relu", "LeakyRelu 0.01", r"leaky|slope|negative")
def _(model, node):
    return replace(node, "LeakyRelu", alpha=0.01)


@of("Relu Tanh Sigmoid Erf Sqrt Selu Elu LeakyRelu Softplus Reciprocal Neg Exp Log", "left out",
    r"without|left out|identity|not applied|missing")
def _(model, node):
    return replace(node, "Identity")


@of("Relu", "limited to 6", r"6")
def _(model, node):
    return behind(model, node, ("Clip", [np.float32(0), np.float32(6)], {}))


@of("Sigmoid", "hard sigmoid", r"hard")
def _(model, node):
    return replace(node, "HardSigmoid", alpha=1 / 6, beta=0.5)


@of("Sigmoid", "tanh", r"tanh")
def _(model, node):
    return replace(node, "Tanh")


@of("Tanh", "sigmoid", r"sigmoid")
def _(model, node):
    return replace(node, "Sigmoid")


@of("Erf", "tanh", r"tanh")
def _(model, node):
    return replace(node, "Tanh")


@of("HardSigmoid", "slope 0.2", r"0\.2|slope|alpha")
def _(model, node):
    return set_attribute(node, "alpha", 0.2)


@of("LeakyRelu Elu", "another alpha", r"alpha|slope|0\.3")
def _(model, node):
    return set_attribute(node, "alpha", 0.3)


@of("Elu Selu", "relu", r"relu|slope|alpha|0")
def _(model, node):
    return replace(node, "Relu")


@of("PRelu", "one slope for all", r"slope")
def _(model, node):
    return change(model, node, 1, lambda s: np.full_like(s, s.reshape(-1)[0]))


@of("Clip", "upper limit lost", r"limit|upper|max")
def _(model, node):
    return change(model, node, 2, lambda v: v * 0 + 1e30)


@of("Clip", "lower limit lost", r"limit|lower|min")
def _(model, node):
    return change(model, node, 1, lambda v: v * 0 - 1e30)


@of("Add", "subtracted", r"subtract|Sub|-1")
def _(model, node):
    return replace(node, "Sub")


@of("Add Mul Sub Div", "second operand lost", r"without|left out|lost")
def _(model, node):
    if shape_of(model, node.input[0]) != shape_of(model, node.output[0]):
        return False
    del node.input[1]
    return replace(node, "Identity")


@of("Mul", "added", r"Add|adding|added")
def _(model, node):
    return replace(node, "Add")


@of("Sub Div", "operands exchanged", r"exchang|swap|other order|operands|reverse")
def _(model, node):
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


@of("Div", "multiplied", r"Mul|multipl|with the constant 0\.707")
def _(model, node):
    return replace(node, "Mul")


@of("Mul Div", "another scale", r"scale|times|a = |factor|dimension|0\.|1\.|other")
def _(model, node):
    return change(model, node, 1, lambda c: c * c * 2 if c.size == 1 else c)


@of("Add", "mask one position off", r"mask|diagonal|shift|position")
def _(model, node):
    return change(model, node, 1, lambda m: np.concatenate([m[..., 1:], m[..., -1:]], -1) if m.min() < -1e3 else m)


@of("Add", "operand of the next channel", r"channel|shift|moved|operand|other")
def _(model, node):
    return change(model, node, 1, lambda b: np.roll(b, 1, -1) if b.size > 2 and b.min() > -1e3 else b)


@of("Pow", "absolute value", r"abs|square|power|exponent|1")
def _(model, node):
    del node.input[1]
    return replace(node, "Abs")


# --- reductions, pools, softmax ---


@of("ReduceMean", "sum", r"sum|divid")
def _(model, node):
    return replace(node, "ReduceSumSquare", axes=attribute(node, "axes"), keepdims=attribute(node, "keepdims", 1))


@of("ReduceMean", "max", r"max", )
def _(model, node):
    node.op_type = "ReduceMax"
    return True


@of("ReduceMean", "divided by n - 1", r"n - 1|unbiased|n-1")
def _(model, node):
    shape = shape_of(model, node.input[0])
    n = int(np.prod([shape[a] for a in attribute(node, "axes")]))
    return n > 1 and behind(model, node, ("Mul", [np.float32(n / (n - 1))], {}))


@of("ReduceL2", "L1", r"L1|absolute")
def _(model, node):
    node.op_type = "ReduceL1"
    return True


@of("ReduceMax", "min", r"min")
def _(model, node):
    node.op_type = "ReduceMin"
    return True


@of("GlobalAveragePool", "max", r"max")
def _(model, node):
    return replace(node, "GlobalMaxPool")


@of("MaxPool", "mean", r"mean|average")
def _(model, node):
    if attribute(node, "ceil_mode", 0):
        return False
    node.op_type = "AveragePool"
    return True


@of("AveragePool", "max", r"max")
def _(model, node):
    for a in [a for a in node.attribute if a.name == "count_include_pad"]:
        node.attribute.remove(a)
    node.op_type = "MaxPool"
    return True


@of("AveragePool", "padding counted", r"pad|count")
def _(model, node):
    return any(attribute(node, "pads", [])) and set_attribute(node, "count_include_pad", 1)


@of("MaxPool", "starts at zero", r"zero|0|start")
def _(model, node):
    pads = attribute(node, "pads", [])
    return any(pads) and behind(model, node, ("Relu", [], {}))


@of("Softmax LogSoftmax", "another axis", r"axis")
def _(model, node):
    shape = shape_of(model, node.output[0])
    axis = attribute(node, "axis", -1) % len(shape)
    other = next((a for a in range(len(shape)) if a != axis and shape[a] > 1), None)
    return other is not None and set_attribute(node, "axis", other)


@of("Softmax", "logarithm kept", r"log")
def _(model, node):
    node.op_type = "LogSoftmax"
    return True


@of("LogSoftmax", "no logarithm", r"log|Softmax")
def _(model, node):
    node.op_type = "Softmax"
    return True


@of("Softmax", "temperature", r"temperature|scale|twice|2|input times")
def _(model, node):
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    model.graph.node.insert(at, helper.make_node("Mul", [node.input[0], fresh(model, np.float32(0.5))],
                                                 [node.name + "_warm"], name=node.name + "_warm"))
    node.input[0] = node.name + "_warm"
    return True


# --- data movement ---


@of("Concat", "other order", r"order|swap|exchang")
def _(model, node):
    shapes = [shape_of(model, i) for i in node.input]
    if shapes[0] is None or shapes[0] != shapes[1]:
        return False
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


@of("Split", "outputs exchanged", r"order|swap|exchang|other output|offset|from")
def _(model, node):
    if shape_of(model, node.output[0]) != shape_of(model, node.output[1]):
        return False
    node.output[0], node.output[1] = node.output[1], node.output[0]
    return True


@of("Slice", "one later", r"offset|start|later|shift|moved|further|earlier")
def _(model, node):
    ends = constant(model, node.input[2])
    shape = shape_of(model, node.input[0])
    axes = constant(model, node.input[3])
    starts = constant(model, node.input[1])
    if ends is None or starts.reshape(-1)[0] < 1 or int(ends.reshape(-1)[0]) < shape[int(axes.reshape(-1)[0])]:
        return False
    return change(model, node, 1, lambda s: s - 1) and change(model, node, 2, lambda e: e - 1)


@of("Gather", "index one later", r"index|offset|row|shift|moved|later|further")
def _(model, node):
    return change(model, node, 1, lambda i: i + 1)


@of("Gather", "table rows exchanged", r"row|table|data|constant")
def _(model, node):
    return change(model, node, 0, lambda t: np.roll(t, 1, 0))


@of("Transpose", "another order of axes", r"order|axes|perm|transpos")
def _(model, node):
    perm, shape = list(attribute(node, "perm")), shape_of(model, node.input[0])
    for a in range(len(perm)):
        for b in range(a):
            if shape[perm[a]] == shape[perm[b]] and shape[perm[a]] > 1:
                perm[a], perm[b] = perm[b], perm[a]
                return set_attribute(node, "perm", perm)
    return False


@of("Reshape", "read in columns", r"order|transpos|axes|moved|column")
def _(model, node):
    shape = shape_of(model, node.input[0])
    if not shape or len(shape) < 2 or shape[-1] < 2 or shape[-2] < 2:
        return False
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    model.graph.node.insert(at, helper.make_node("Transpose", [node.input[0]], [node.name + "_turned"],
                                                 name=node.name + "_turned", perm=perm))
    node.input[0] = node.name + "_turned"
    return True


@of("DepthToSpace", "the other mode", r"mode|DCR|order|CRD")
def _(model, node):
    return set_attribute(node, "mode", "DCR" if attribute(node, "mode", b"DCR") == b"CRD" else "CRD")


@of("Pad", "edge for reflect", r"edge|replicate|mode|pad")
def _(model, node):
    return set_attribute(node, "mode", "edge")


@of("Pad", "zeros for reflect", r"constant|zero|mode|pad")
def _(model, node):
    return set_attribute(node, "mode", "constant")


@of("Resize", "align_corners", r"align|corner|half_pixel|asymmetric|coordinate")
def _(model, node):
    if attribute(node, "coordinate_transformation_mode") == b"align_corners":
        return set_attribute(node, "coordinate_transformation_mode", "half_pixel")
    return set_attribute(node, "coordinate_transformation_mode", "align_corners")


@of("Resize", "nearest for linear", r"nearest|linear")
def _(model, node):
    if attribute(node, "mode") == b"linear":
        return set_attribute(node, "mode", "nearest") and set_attribute(node, "nearest_mode", "floor")
    return set_attribute(node, "mode", "linear")


@of("Expand", "left out", r"")
def _(model, node):
    return False


# --- selection ---


@of("ArgMax", "ArgMin", r"min")
def _(model, node):
    node.op_type = "ArgMin"
    return True


@of("TopK", "the smallest", r"small|largest")
def _(model, node):
    return set_attribute(node, "largest", 0)


@of("Where", "branches exchanged", r"exchang|swap|other")
def _(model, node):
    if constant(model, node.input[2]) is not None:
        return False
    node.input[1], node.input[2] = node.input[2], node.input[1]
    return True


@of("Where", "another constant", r"constant|value|operand")
def _(model, node):
    return change(model, node, 2, lambda v: v + 1)


@of("Greater", "less", r"less|Less")
def _(model, node):
    return replace(node, "Less")


@of("GatherElements", "another axis", r"axis")
def _(model, node):
    return set_attribute(node, "axis", 1) and False  # its indices would be out of range


# --- recurrent ---


def permute_gates(order):
    def edit(model, node):
        gates = len(order)

        def permute(w):
            parts = np.split(w, gates * (w.shape[1] // attribute(node, "hidden_size") // gates), axis=1)
            groups = [parts[i:i + gates] for i in range(0, len(parts), gates)]
            return np.concatenate([g[o] for g in groups for o in order], axis=1)
        return all([change(model, node, i, permute) for i in (1, 2, 3)])
    return edit


of("LSTM", "gates i f o c", r"gate|order")(permute_gates([0, 2, 1, 3]))
of("LSTM", "gates f i o c", r"gate|order")(permute_gates([2, 1, 0, 3]))
of("GRU", "gates r z h", r"gate|order")(permute_gates([1, 0, 2]))


@of("GRU", "linear_before_reset", r"linear_before_reset|reset")
def _(model, node):
    return set_attribute(node, "linear_before_reset", 1 - attribute(node, "linear_before_reset", 0))


@of("LSTM GRU RNN", "bias lost", r"bias")
def _(model, node):
    return change(model, node, 3, np.zeros_like)


@of("LSTM GRU RNN", "recurrent weights transposed", r"transpos|recurrent|weight")
def _(model, node):
    def turn(w):
        size = w.shape[2]
        return np.stack([np.concatenate([p.T for p in np.split(d, d.shape[0] // size)]) for d in w])
    return change(model, node, 2, turn)


@of("LSTM GRU RNN", "backwards", r"direction|revers|backward")
def _(model, node):
    return attribute(node, "direction", b"forward") == b"forward" and set_attribute(node, "direction", "reverse")


def says(cause, text):
    return bool(cause) and re.search(cause, text, re.IGNORECASE) is not None
