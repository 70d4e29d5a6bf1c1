# SPDX-License-Identifier: Apache-2.0
"""If nodes of an ONNX model: the branch that is taken replaces the node, so that the tensors inside can be seen.

Names inside get the node's name and the branch in front ("if1/then/conv"), as Plumb's importer has them. An If inside a
branch follows once its branch stands in the graph; one inside a Loop or Scan stays.
"""


def has_branches(model):
    return any(node.op_type == "If" and not node.domain for node in model.graph.node)


def inline(onnx, model, evaluate):
    """Replaces every If on top, the first one first. evaluate(model, tensor): its value in a model that ends before the
    If."""
    while has_branches(model):
        nodes = list(model.graph.node)
        at = next(i for i, node in enumerate(nodes) if node.op_type == "If" and not node.domain)
        taken = bool(evaluate(before(onnx, model, at), nodes[at].input[0]).item())
        del model.graph.node[:]
        model.graph.node.extend(nodes[:at] + replacement(onnx, model.graph, nodes[at], taken) + nodes[at + 1:])


def before(onnx, model, at):
    """A copy whose only output is the condition of the If at that place."""
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    condition = cut.graph.node[at].input[0]
    del cut.graph.node[at:]
    del cut.graph.output[:]
    cut.graph.output.add().name = condition
    return cut


def replacement(onnx, graph, node, taken):
    """The nodes of the branch under their new names, and an Identity for each output; initialisers move to `graph`."""
    branch = next(a.g for a in node.attribute if a.name == ("then_branch" if taken else "else_branch"))
    prefix = f"{node.name or node.output[0]}/{'then' if taken else 'else'}/"
    inner = onnx.GraphProto()
    inner.CopyFrom(branch)
    names = {name: prefix + name for name in defined(inner)}
    for constant in inner.initializer:
        constant.name = names[constant.name]
        graph.initializer.add().CopyFrom(constant)
    for one in inner.node:
        one.name = prefix + (one.name or next(filter(None, one.output), one.op_type))
        rename(one, names)
    outputs = [onnx.helper.make_node("Identity", [names.get(o.name, o.name)], [name], name=f"{prefix}taken:{name}")
               for o, name in zip(inner.output, node.output) if name]
    return list(inner.node) + outputs


def defined(graph):
    return {c.name for c in graph.initializer} | {name for node in graph.node for name in node.output if name}


def rename(node, names):
    for names_of in (node.input, node.output):
        for i, name in enumerate(names_of):
            names_of[i] = names.get(name, name)
    for attribute in node.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            rename_captured(graph, names)


def rename_captured(graph, names):
    """What a graph inside reads from around it; its own names hide those."""
    own = defined(graph) | {i.name for i in graph.input}
    outside = {old: new for old, new in names.items() if old not in own}
    for node in graph.node:
        rename(node, outside)
    for output in graph.output:
        output.name = outside.get(output.name, output.name)
