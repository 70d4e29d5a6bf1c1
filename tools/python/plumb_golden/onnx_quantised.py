"""What stands for a float tensor in a quantised model (QuantizeLinear ...) whose optimised graph keeps the integers alone:
scale * (q - zero point), under the name that ONNX Runtime's quantize_static gives it. The float model's blob is judged
by it.
"""
import numpy as np

INTEGERS, FLOATS = "_QuantizeLinear_Output", "_DequantizeLinear_Output"


def grids(onnx, model):
    """{integer tensor: (scale, zero point)} of one scale each."""
    constants = {c.name: c for c in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type != "QuantizeLinear" or not node.output[0].endswith(INTEGERS):
            continue
        values = [onnx.numpy_helper.to_array(constants[name]) for name in node.input[1:] if name in constants]
        if len(values) == len(node.input) - 1 and all(v.size == 1 for v in values):
            zero = values[1].item() if len(values) > 1 else 0
            found[node.output[0]] = (np.float32(values[0].item()), zero)
    return found


def dequantised(name, value, known):
    """(float tensor's name, its values), or None: it is no such integer tensor."""
    if name not in known or value.dtype.kind not in "iu":
        return None
    scale, zero = known[name]
    return name.removesuffix(INTEGERS) + FLOATS, (value.astype(np.int32) - np.int32(zero)).astype(np.float32) * scale
