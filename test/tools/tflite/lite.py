# SPDX-License-Identifier: Apache-2.0
"""Small .tflite files, tensor by tensor and operator by operator, with the schema that lies in LiteRT's own package."""
import numpy as np

# The options of an operator, where their class is not the operator's name in capitals and small letters.
CLASSES = {
    "CONV_2D": "Conv2D", "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "MAX_POOL_2D": "Pool2D", "AVERAGE_POOL_2D": "Pool2D",
    "L2_POOL_2D": "Pool2D", "MEAN": "Reducer", "SUM": "Reducer", "REDUCE_MAX": "Reducer", "REDUCE_MIN": "Reducer",
    "REDUCE_PROD": "Reducer", "REDUCE_ANY": "Reducer", "REDUCE_ALL": "Reducer", "PADV2": "PadV2",
    "BATCH_MATMUL": "BatchMatMul", "L2_NORMALIZATION": "L2Norm", "TOPK_V2": "TopKV2", "SELECT_V2": "SelectV2",
    "REVERSE_V2": "ReverseV2", "LOCAL_RESPONSE_NORMALIZATION": "LocalResponseNormalization", "CONV_3D": "Conv3D",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNN", "SPACE_TO_BATCH_ND": "SpaceToBatchND", "LEAKY_RELU": "LeakyRelu",
    "BATCH_TO_SPACE_ND": "BatchToSpaceND", "CONV_3D_TRANSPOSE": "Conv3D", "RFFT2D": "Rfft2d", "HARD_SWISH": "HardSwish",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighbor", "MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM", "RNN": "RNN",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTM",
    "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNN", "ATAN2": "ATan2", "BITWISE_XOR": "BitwiseXor",
    "LSTM": "LSTM", "SVDF": "SVDF",
}
# Operators that have no options, or are written without.
BARE = {"RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "TANH", "LOGISTIC", "SIN", "ELU", "ROUND", "FLOOR", "CEIL",
        "LOG", "SQRT", "RSQRT", "PRELU", "COMPLEX_ABS", "SEGMENT_SUM", "STABLEHLO_ADD", "STABLEHLO_MULTIPLY",
        "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", "BROADCAST_ARGS", "DILATE"}
CUSTOM = {"TFLite_Detection_PostProcess"}  # whose options are a flexbuffer
VERSIONS = {"BROADCAST_TO": 2, "FULLY_CONNECTED": 5, "TRANSPOSE_CONV": 3, "RESIZE_BILINEAR": 3,
            "RESIZE_NEAREST_NEIGHBOR": 3}
ACTIVATIONS = {"": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "TANH": 4}
TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}


class Network:
    """tensor(...), op(...) in the order of execution, then save(...). Tensors are known by their index."""

    def __init__(self):
        from ai_edge_litert import schema_py_generated as schema
        self.schema, self.graph, self.model = schema, schema.SubGraphT(), schema.ModelT()
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.codes = {}

    def tensor(self, name, shape, dtype="float32", data=None, scale=None, zero=0, axis=0):
        """scale, zero: a number, or a list of one for each entry of `axis`."""
        tensor = self.schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer, tensor.type = name, [int(n) for n in shape], 0, TYPES[dtype]
        tensor.hasRank = True
        if data is not None:
            buffer = self.schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data, dtype).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        if scale is not None:
            grid = self.schema.QuantizationParametersT()
            grid.scale = np.atleast_1d(np.asarray(scale, np.float32))
            grid.zeroPoint = np.broadcast_to(np.asarray(zero, np.int64), grid.scale.shape).copy()
            grid.quantizedDimension = axis
            tensor.quantization = grid
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def input(self, shape, dtype="float32", **grid):
        self.graph.inputs.append(self.tensor(f"x{len(self.graph.inputs)}", shape, dtype, **grid))
        return self.graph.inputs[-1]

    def constant(self, name, data, **grid):
        data = np.asarray(data)
        return self.tensor(name, data.shape, str(data.dtype), data, **grid)

    def code(self, kind, version):
        if (kind, version) not in self.codes:
            code = self.schema.OperatorCodeT()
            code.builtinCode = getattr(self.schema.BuiltinOperator, "CUSTOM" if kind in CUSTOM else kind)
            if kind in CUSTOM:
                code.customCode = kind
            code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
            self.codes[kind, version] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(code)
        return self.codes[kind, version]

    def op(self, kind, reads, shape, dtype="float32", count=1, version=None, options=None, **grid):
        """The index of its output (a list of them where `shape` is one of `count` shapes)."""
        operator = self.schema.OperatorT()
        operator.opcodeIndex = self.code(kind, version or VERSIONS.get(kind, 1))
        shapes = shape if count > 1 else [shape]
        dtypes = dtype if isinstance(dtype, list) else [dtype] * count
        operator.inputs = list(reads)
        operator.outputs = [self.tensor(f"{kind}_{len(self.graph.operators)}_{i}", s, d, **grid)
                            for i, (s, d) in enumerate(zip(shapes, dtypes))]
        if kind in CUSTOM:
            from flatbuffers import flexbuffers
            operator.customOptions = np.frombuffer(flexbuffers.Dumps(options), np.uint8)
        elif kind not in BARE:
            name = CLASSES.get(kind) or "".join(part.capitalize() for part in kind.split("_"))
            operator.builtinOptions = getattr(self.schema, f"{name}OptionsT")()
            operator.builtinOptionsType = getattr(self.schema.BuiltinOptions, f"{name}Options")
            for key, value in (options or {}).items():
                assert hasattr(operator.builtinOptions, key), (kind, key)
                setattr(operator.builtinOptions, key, value)
        self.graph.operators.append(operator)
        return operator.outputs if count > 1 else operator.outputs[0]

    def bytes(self, outputs):
        import flatbuffers
        self.graph.outputs = list(outputs)
        self.model.version, self.model.subgraphs = 3, [self.graph]
        builder = flatbuffers.Builder()
        builder.Finish(self.model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def save(self, path, outputs):
        path.write_bytes(self.bytes(outputs))
