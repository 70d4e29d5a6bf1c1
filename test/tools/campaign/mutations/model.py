# SPDX-License-Identifier: Apache-2.0
"""The lists of mutations, and what edits a model."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

GENERIC, BY_TYPE = [], {}  # of kind: (name, function, cause)


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


def kernel(types, name, cause=""):
    """A fault made in NumPy: function(values of the inputs, healthy output, node) returns what the kernel writes in
    place of it, or None where the fault does not apply. types: "" for every operator."""
    def keep(function):
        return (of(types, name, cause) if types else generic(name, cause))(lambda model, node: function)
    return keep


def renamed(kind, name, other, cause):
    """The node computes another operator of the same attributes."""
    def rename(_, node):
        node.op_type = other
        return True
    of(kind, name, cause)(rename)


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


def before(model, node, *chain, slot=0):
    """Nodes in front of an input: (type, extra inputs, attributes)."""
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    current = node.input[slot]
    for k, (kind, extra, *attributes) in enumerate(chain):
        made = f"{node.name}_half_{slot}_{k}"
        reads = [current, *[e if isinstance(e, str) else fresh(model, e) for e in extra]]
        model.graph.node.insert(at + k, helper.make_node(kind, reads, [made], name=made,
                                                         **(attributes[0] if attributes else {})))
        current = made
    node.input[slot] = current
    return True


def replace(node, kind, **attributes):
    node.op_type = kind
    del node.attribute[:]
    node.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
    return True
