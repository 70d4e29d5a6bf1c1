# SPDX-License-Identifier: Apache-2.0
"""What a .tflite says of its tensors, and a copy of it that gives out another tensor.

A tensor is known by its index: names may repeat inside a file. The second and later bearers of a name get '#' and
their index behind it.
"""
import collections
import functools
import pathlib
import struct

from .folder import UsageError

Tensor = collections.namedtuple("Tensor", "index name shape dtype scales zero_points axis buffer")
Operator = collections.namedtuple("Operator", "kind inputs outputs")

# Operators whose images are [N,H,W,C] (or [N,D,H,W,C]): which of their inputs are images.
SPATIAL = {
    "CONV_2D": (0,), "DEPTHWISE_CONV_2D": (0,), "AVERAGE_POOL_2D": (0,), "MAX_POOL_2D": (0,), "L2_POOL_2D": (0,),
    "RESIZE_BILINEAR": (0,), "RESIZE_NEAREST_NEIGHBOR": (0,), "TRANSPOSE_CONV": (2,), "DEPTH_TO_SPACE": (0,),
    "SPACE_TO_DEPTH": (0,), "SPACE_TO_BATCH_ND": (0,), "BATCH_TO_SPACE_ND": (0,), "LOCAL_RESPONSE_NORMALIZATION": (0,),
    "CONV_3D": (0,), "CONV_3D_TRANSPOSE": (2,), "Convolution2DTransposeBias": (0,), "MaxPoolingWithArgmax2D": (0,),
    "MaxUnpooling2D": (0, 1),
}
# Operators whose outputs have dims of another meaning than their inputs.
REARRANGING = {
    "RESHAPE", "TRANSPOSE", "EXPAND_DIMS", "SQUEEZE", "PACK", "UNPACK", "GATHER", "GATHER_ND", "BATCH_MATMUL",
    "FULLY_CONNECTED", "SHAPE", "IF", "WHILE", "CALL_ONCE", "VAR_HANDLE", "TRANSPOSE_CONV", "CONV_3D_TRANSPOSE",
}
NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int8": "i8", "uint8": "u8",
         "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
         "bool": "bool", "int4": "i4", "uint4": "u4", "int2": "i2", "string": "string", "resource": "resource",
         "variant": "variant", "complex64": "complex64", "complex128": "complex128"}


class File:
    """A subgraph of a .tflite: that of a signature, or the first one."""

    def __init__(self, path, signature=None):
        self.path = pathlib.Path(path)
        try:
            from ai_edge_litert import schema_py_generated as schema
        except ImportError as error:
            raise UsageError(f"LiteRT is not installed ({error}); pip install ai-edge-litert") from error
        self.schema, self.data = schema, self.path.read_bytes()
        if self.data[4:8] != b"TFL3":
            raise UsageError(f"'{path}' is no .tflite: its bytes 4 to 7 are no 'TFL3'")
        try:
            self._model = schema.Model.GetRootAs(self.data)
            if signature is not None:
                self.data = self._with_first(self._subgraph_of(signature))
                self._model = schema.Model.GetRootAs(self.data)
            self._graph = self._model.Subgraphs(0)
            self.inputs, self.outputs = numbers(self._graph.InputsAsNumpy()), numbers(self._graph.OutputsAsNumpy())
            self.operators = [self._operator(i) for i in range(self._graph.OperatorsLength())]
            self.tensors = [self._tensor(i) for i in range(self._graph.TensorsLength())]
            self._check()
        # What the package flatbuffers raises where an offset points nowhere.
        except (TypeError, ValueError, AttributeError, IndexError, OverflowError, struct.error) as error:
            raise UsageError(f"'{path}' is broken: {type(error).__name__} while its tables were read") from error
        self.names = self._unique_names()

    def _check(self):
        for indices in (self.inputs, self.outputs, *(o.inputs + o.outputs for o in self.operators)):
            wrong = [i for i in indices if not -1 <= i < len(self.tensors)]
            if wrong:
                raise UsageError(f"'{self.path}' is broken: it reads tensor {wrong[0]} of {len(self.tensors)}")

    def _subgraph_of(self, signature):
        known = {}
        for i in range(self._model.SignatureDefsLength()):
            found = self._model.SignatureDefs(i)
            known[(found.SignatureKey() or b"").decode("utf-8", "replace")] = found.SubgraphIndex()
        if signature not in known:
            listed = ", ".join(f"'{name}'" for name in known) or "none"
            raise UsageError(f"'{self.path}' has no signature '{signature}'; its signatures are {listed}")
        if known[signature] >= self._model.SubgraphsLength():
            raise UsageError(f"'{self.path}' is broken: its signature '{signature}' is of subgraph {known[signature]} "
                             f"of {self._model.SubgraphsLength()}")
        return known[signature]

    def _with_first(self, index):
        """The file's bytes with that subgraph and the first one in each other's place."""
        start = self._model._tab.Vector(self._model._tab.Offset(8))  # Model.subgraphs
        places = [start, start + 4 * index]
        targets = [place + int.from_bytes(self.data[place:place + 4], "little") for place in places]
        data = bytearray(self.data)
        for place, target in zip(places, reversed(targets)):
            data[place:place + 4] = (target - place).to_bytes(4, "little")
        return bytes(data)

    def _operator(self, i):
        operator = self._graph.Operators(i)
        code = self._model.OperatorCodes(operator.OpcodeIndex())
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        kind = self._kinds.get(number, f"operator {number}")
        kind = code.CustomCode().decode("utf-8", "replace") if kind == "CUSTOM" else kind
        return Operator(kind, numbers(operator.InputsAsNumpy()), numbers(operator.OutputsAsNumpy()))

    def _tensor(self, i):
        tensor = self._graph.Tensors(i)
        grid = tensor.Quantization()
        scales = [] if grid is None or grid.ScaleIsNone() else [float(x) for x in grid.ScaleAsNumpy()]
        zeros = [] if grid is None or grid.ZeroPointIsNone() else numbers(grid.ZeroPointAsNumpy())
        dtype = self._types.get(tensor.Type(), f"type {tensor.Type()}")
        dtype = NAMES.get(dtype, dtype)
        shape = tensor.ShapeSignatureAsNumpy() if not tensor.ShapeSignatureIsNone() else tensor.ShapeAsNumpy()
        return Tensor(i, (tensor.Name() or b"").decode("utf-8", "replace"), numbers(shape), dtype, scales,
                      zeros or [0] * len(scales), grid.QuantizedDimension() if scales else 0, tensor.Buffer())

    @functools.cached_property
    def _kinds(self):
        return {value: name for name, value in vars(self.schema.BuiltinOperator).items() if isinstance(value, int)}

    @functools.cached_property
    def _types(self):
        return {value: name.lower() for name, value in vars(self.schema.TensorType).items() if isinstance(value, int)}

    def _unique_names(self):
        names, seen = {}, set()
        for tensor in self.tensors:
            again = tensor.name in seen or not tensor.name
            names[tensor.index] = f"{tensor.name}#{tensor.index}" if again else tensor.name
            seen.add(tensor.name)
        return names

    @functools.cached_property
    def written(self):
        """{tensor: (place of the operator that writes it, slot)}."""
        found = {}
        for place, operator in enumerate(self.operators):
            for slot, tensor in enumerate(operator.outputs):
                found.setdefault(tensor, (place, slot))
        return found

    @functools.cached_property
    def channels_last(self):
        """The tensors of rank 4 and more whose channels are the last dim: what spatial operators read and write, and
        what element-wise operators, slices and paddings make of that or into that."""
        images = {}  # tensor: the first one of its set
        known = set()

        def first(tensor):
            while images.setdefault(tensor, tensor) != tensor:
                images[tensor] = images[images[tensor]]
                tensor = images[tensor]
            return tensor

        for operator in self.operators:
            reads = SPATIAL.get(operator.kind, ())
            of_images = [operator.inputs[i] for i in reads if i < len(operator.inputs)]
            if reads:
                known.update(self._images(of_images + operator.outputs))
            if operator.kind in REARRANGING:
                continue
            group = self._images((of_images if reads else operator.inputs) + operator.outputs)
            for tensor in group[1:]:
                if len(self.tensors[tensor].shape) == len(self.tensors[group[0]].shape):
                    images[first(tensor)] = first(group[0])
        marked = {first(tensor) for tensor in known}
        return {tensor for tensor in [*images, *known] if first(tensor) in marked}

    def _images(self, tensors):
        """Those of rank 4 and more that are computed or given, not stored."""
        return [t for t in tensors if t >= 0 and len(self.tensors[t].shape) >= 4 and
                (t in self.written or t in self.inputs)]

    def order(self, tensor):
        """"NHWC", "NDHWC", or "" where the dims say nothing of channels."""
        if tensor not in self.channels_last:
            return ""
        return {4: "NHWC", 5: "NDHWC"}.get(len(self.tensors[tensor].shape), "")

    def exposing(self, tensor):
        """The file's bytes with `tensor` in place of its first output; no other byte is changed."""
        if not self.outputs:
            raise UsageError(f"'{self.path}' has no output whose index could be rewritten")
        field = self._graph._tab.Offset(8)  # SubGraph.outputs
        place = self._graph._tab.Vector(field)
        return self.data[:place] + int(tensor).to_bytes(4, "little", signed=True) + self.data[place + 4:]


def numbers(array):
    return [] if isinstance(array, int) else [int(x) for x in array]


def listing(path, signature=None):
    """[{index, name, shape, dtype, scale, zero_point, axis, order, of}] of every tensor."""
    file = File(path, signature)
    constant = {t.index for t in file.tensors} - set(file.written) - set(file.inputs)
    rows = []
    for tensor in file.tensors:
        place = file.written.get(tensor.index)
        of = "input" if tensor.index in file.inputs else "constant" if tensor.index in constant else (
            f"{place[0]} {file.operators[place[0]].kind}")
        rows.append({"index": tensor.index, "name": file.names[tensor.index], "shape": tensor.shape,
                     "dtype": tensor.dtype, "scale": tensor.scales, "zero_point": tensor.zero_points,
                     "axis": tensor.axis, "order": file.order(tensor.index),
                     "of": of + (", output" if tensor.index in file.outputs else "")})
    return rows


def shortened(values, form):
    if len(values) < 2:
        return "".join(form(v) for v in values)
    low, high = min(values), max(values)
    return form(low) if low == high else f"{form(low)}..{form(high)} ({len(values)})"


def table(rows):
    """The listing as lines of text."""
    cells = [("index", "shape", "type", "scale", "zero point", "order", "written by", "name")]
    for row in rows:
        cells.append((str(row["index"]), "[" + ",".join(map(str, row["shape"])) + "]", row["dtype"],
                      shortened(row["scale"], lambda v: f"{v:.7g}"), shortened(row["zero_point"], str), row["order"],
                      row["of"], row["name"]))
    wide = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, wide)).rstrip() for line in cells]
