# SPDX-License-Identifier: Apache-2.0
"""Tiny .tflite files, written with the schema that lies in LiteRT's own package: float tensors, one subgraph."""
import numpy as np

# operator: (class of its options, or None, and what is set in it)
OPTIONS = {
    "ADD": ("Add", {}), "SUB": ("Sub", {}), "MUL": ("Mul", {}), "DIV": ("Div", {}),
    "GELU": ("Gelu", {"approximate": False}),
    "MEAN": ("Reducer", {"keepDims": True}), "SOFTMAX": ("Softmax", {"beta": 1.0}),
    "SQUARED_DIFFERENCE": ("SquaredDifference", {}),
    "FULLY_CONNECTED": ("FullyConnected", {"keepNumDims": True}), "HARD_SWISH": ("HardSwish", {}),
    "CONV_2D": ("Conv2D", {"padding": 0, "strideW": 1, "strideH": 1}),
    "DEPTHWISE_CONV_2D": ("DepthwiseConv2D", {"padding": 0, "strideW": 1, "strideH": 1, "depthMultiplier": 1}),
    "TRANSPOSE_CONV": ("TransposeConv", {"padding": 1, "strideW": 2, "strideH": 2}),
    "MAX_POOL_2D": ("Pool2D", {"padding": 1, "strideW": 2, "strideH": 2, "filterWidth": 2, "filterHeight": 2}),
    "AVERAGE_POOL_2D": ("Pool2D", {"padding": 1, "strideW": 2, "strideH": 2, "filterWidth": 2, "filterHeight": 2}),
    "RESIZE_BILINEAR": ("ResizeBilinear", {}), "RESIZE_NEAREST_NEIGHBOR": ("ResizeNearestNeighbor", {}),
    "CONCATENATION": ("Concatenation", {"axis": -1}), "BATCH_MATMUL": ("BatchMatMul", {}),
    "UNIDIRECTIONAL_SEQUENCE_RNN": ("SequenceRNN", {"timeMajor": False}),
}
VERSIONS = {"FULLY_CONNECTED": 5, "GELU": 1, "TRANSPOSE_CONV": 3}  # where 1 lacks an option that is used here
FUSED = {"": 0, "RELU": 1, "RELU6": 3, "TANH": 4}


class Lite:
    """op(...) in the order of execution, then save(...)."""

    def __init__(self):
        from ai_edge_litert import schema_py_generated as schema
        self.schema, self.graph, self.model = schema, schema.SubGraphT(), schema.ModelT()
        self.graph.tensors, self.graph.operators = [], []
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.index, self.codes = {}, {}

    def tensor(self, name, shape, data=None):
        tensor, schema = self.schema.TensorT(), self.schema
        tensor.name, tensor.shape, tensor.buffer = name, list(shape), 0
        whole = data is not None and data.dtype == np.int32
        tensor.type = schema.TensorType.INT32 if whole else schema.TensorType.FLOAT32
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(tensor)
        self.index[name] = len(self.graph.tensors) - 1

    def constant(self, name, data):
        self.tensor(name, data.shape, data)

    def state(self, name, shape):
        """Of a recurrent layer: zeros before the first step."""
        self.tensor(name, shape)
        self.graph.tensors[-1].isVariable = True

    def op(self, kind, reads, makes, shape, fused="", **options):
        schema = self.schema
        number = getattr(schema.BuiltinOperator, kind)
        if kind not in self.codes:
            code = schema.OperatorCodeT()
            code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), VERSIONS.get(kind, 1)
            self.codes[kind] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(code)
        self.tensor(makes, shape)
        operator = schema.OperatorT()
        operator.opcodeIndex = self.codes[kind]
        operator.inputs, operator.outputs = [self.index[r] for r in reads], [self.index[makes]]
        if kind in OPTIONS:
            name, defaults = OPTIONS[kind]
            operator.builtinOptions = getattr(schema, name + "OptionsT")()
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, name + "Options")
            for key, value in {**defaults, **options,
                               **({"fusedActivationFunction": FUSED[fused]} if fused else {})}.items():
                setattr(operator.builtinOptions, key, value)
        self.graph.operators.append(operator)

    def named(self, tensors):
        entries = []
        for tensor in tensors:
            entry = self.schema.TensorMapT()
            entry.name, entry.tensorIndex = self.graph.tensors[tensor].name, tensor
            entries.append(entry)
        return entries

    def save(self, path, inputs, outputs):
        import flatbuffers
        self.graph.inputs, self.graph.outputs = [self.index[i] for i in inputs], [self.index[o] for o in outputs]
        signature = self.schema.SignatureDefT()  # quantisers calibrate by one
        signature.signatureKey, signature.subgraphIndex = "serving_default", 0
        signature.inputs, signature.outputs = self.named(self.graph.inputs), self.named(self.graph.outputs)
        self.model.signatureDefs = [signature]
        self.model.version, self.model.subgraphs, self.model.description = 3, [self.graph], "plumb test"
        builder = flatbuffers.Builder()
        builder.Finish(self.model.Pack(builder), file_identifier=b"TFL3")
        path.write_bytes(builder.Output())
