# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators: left out, another one, another constant."""
import numpy as np
from onnx import helper

from .model import before, behind, change, fresh, of, replace, set_attribute, shape_of


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


@of("Sigmoid Tanh Erf", "held from 2 on", r"held|cut off")
def _(model, node):
    return before(model, node, ("Clip", [np.float32(-2), np.float32(2)]))


@of("Sigmoid Tanh", "from a table", r"table")
def _(model, node):
    return before(model, node, ("Clip", [np.float32(-8), np.float32(8)]), ("Mul", [np.float32(16)]), ("Round", []),
                  ("Mul", [np.float32(1 / 16)]))


@of("Tanh", "by a fraction", r"27")
def _(model, node):
    x, at = node.input[0], next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    k27, k9, one = (fresh(model, np.float32(v)) for v in (27, 9, 1))
    parts = [("Mul", [x, x], "s"), ("Add", ["s", k27], "a"), ("Mul", ["a", x], "n"), ("Mul", ["s", k9], "b"),
             ("Add", ["b", k27], "d"), ("Div", ["n", "d"], "q")]
    name = {part[2]: f"{node.name}_half_{part[2]}" for part in parts}
    for k, (kind, inputs, output) in enumerate(parts):
        model.graph.node.insert(at + k, helper.make_node(kind, [name.get(i, i) for i in inputs], [name[output]],
                                                         name=name[output]))
    replace(node, "Clip")
    del node.input[:]
    node.input.extend([name["q"], fresh(model, np.float32(-1)), one])
    return True
