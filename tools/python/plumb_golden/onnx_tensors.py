# SPDX-License-Identifier: Apache-2.0
"""What an .onnx file says of its tensors: dtypes, shapes, inputs and outputs. For recipes whose runtime forgets some of
that."""
import pathlib

import numpy as np

from .folder import UsageError


def load(onnx, model, external=True):
    """The ModelProto; a damaged file is one sentence."""
    if not pathlib.Path(model).is_file():
        raise UsageError(f"there is no file '{model}'")
    try:
        loaded = onnx.load(str(model), load_external_data=external)
    except Exception as error:  # protobuf's DecodeError, a missing file of external weights
        why = str(error).strip().splitlines()[0]
        raise UsageError(f"'{model}' is no .onnx file that can be read: {why}") from error
    if not loaded.graph.node:
        raise UsageError(f"'{model}' is no .onnx file that can be read: it holds no node")
    return loaded


VIEWS = ("Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Dropout")


class OnnxTensors:
    """The tensors of a model for fixed input shapes. shapes: {input: [dims]}, what the caller gives."""

    def __init__(self, onnx, model):
        self._onnx, self.model = onnx, load(onnx, model)
        graph = self.model.graph
        self.weights = {tensor.name for tensor in graph.initializer}
        self.inputs = {value.name: value for value in graph.input if value.name not in self.weights}
        self.outputs = [value.name for value in graph.output]
        self.made = [name for node in graph.node if node.op_type != "Constant" for name in node.output if name]
        self.shapes, self.dtypes = {}, {}

    def roots(self):
        """{tensor: (the tensor that it is a view of, its place in the order of computation)}."""
        roots = {name: (name, 0) for name in self.inputs}
        for place, node in enumerate(self.model.graph.node, 1):
            view = node.op_type in VIEWS and node.input and node.input[0] in roots
            for name in node.output:
                roots[name] = (roots[node.input[0]][0] if view else name, place)
        return roots

    def declared(self):
        """{input: (dtype, shape)}; an open dim is its name or -1."""
        kinds = {name: value.type.tensor_type for name, value in self.inputs.items()}
        return {name: (self._numpy(kind.elem_type),
                       [d.dim_value if d.HasField("dim_value") else (d.dim_param or -1) for d in kind.shape.dim])
                for name, kind in kinds.items()}

    def _numpy(self, kind):
        return str(np.dtype(self._onnx.helper.tensor_dtype_to_np_dtype(kind))) if kind else "float32"

    def infer(self, shapes):
        """Fills shapes and dtypes with what follows from the shapes of the inputs; a dim that does not is -1."""
        for name, dims in shapes.items():
            declared = self.inputs[name].type.tensor_type.shape
            del declared.dim[:]
            for dim in dims:
                declared.dim.add().dim_value = dim
        del self.model.graph.value_info[:]  # of other shapes, perhaps
        try:
            graph = self._onnx.shape_inference.infer_shapes(self.model, data_prop=True).graph
        except Exception:  # of 2 GB and more, or an operator that onnx does not know: then nothing is known
            graph = self.model.graph
        for value in [*graph.input, *graph.value_info, *graph.output]:
            kind = value.type.tensor_type
            if kind.HasField("shape"):
                self.shapes[value.name] = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim]
            self.dtypes[value.name] = self._numpy(kind.elem_type)

    def as_declared(self, name, values):
        """The values in the shape and dtype that the model declares; None: another number of elements or order of
        dims."""
        wanted = self.shapes.get(name)
        if wanted is not None:
            if len(wanted) == values.ndim and all(d in (-1, n) for d, n in zip(wanted, values.shape)):
                pass
            elif [d for d in wanted if d != 1] == [d for d in values.shape if d != 1]:
                values = values.reshape(wanted)  # only dims of 1 came or went
            else:
                return None
        return values.astype(self.dtypes.get(name, str(values.dtype)), copy=False)


def refuse_lost_outputs(out, outputs, runtime):
    """UsageError: a network output is not among the tensors that were written."""
    lost = [name for name in outputs if name not in out.names]
    if lost:
        out.abandon()
        raise UsageError(f"{runtime}'s graph has no tensor for the network output{'s' if len(lost) > 1 else ''} "
                         f"{', '.join(map(repr, lost))}: "
                         f"{len(out.files)} other tensors were found, and a dump without the outputs would prove "
                         f"nothing")
