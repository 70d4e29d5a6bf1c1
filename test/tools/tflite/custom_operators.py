# SPDX-License-Identifier: Apache-2.0
"""A copy of a .tflite in which MediaPipe's transposed convolution with a bias, which LiteRT has not, is the builtin
TRANSPOSE_CONV, so that LiteRT runs the network; every tensor keeps its index and name."""

KIND = b"Convolution2DTransposeBias"  # inputs image, weights, bias; its options: three int32, padding and two strides


def rewritten(path, target):
    """The copy's path; None where the network has no such operator."""
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes(), 0))
    codes = [i for i, code in enumerate(model.operatorCodes) if code.customCode == KIND]
    if not codes:
        return None
    graph, number = model.subgraphs[0], schema.BuiltinOperator.TRANSPOSE_CONV
    for operator in (o for o in graph.operators if o.opcodeIndex in codes):
        padding, width, height = np.frombuffer(bytes(operator.customOptions), np.int32)[:3]
        shape, buffer = schema.TensorT(), schema.BufferT()
        buffer.data = np.asarray(graph.tensors[operator.outputs[0]].shape, np.int32).view(np.uint8)
        model.buffers.append(buffer)
        shape.name, shape.shape, shape.type = "transposed_shape", [4], schema.TensorType.INT32
        shape.buffer = len(model.buffers) - 1
        graph.tensors.append(shape)
        image, weights, bias = operator.inputs
        operator.inputs = [len(graph.tensors) - 1, weights, image, bias]
        options = schema.TransposeConvOptionsT()
        options.padding = 0 if padding == 1 else 1  # the enumerations differ: there SAME is 1
        options.strideW, options.strideH = int(width), int(height)
        operator.builtinOptions, operator.builtinOptionsType = options, schema.BuiltinOptions.TransposeConvOptions
        operator.customOptions = None
    for code in (model.operatorCodes[i] for i in codes):
        code.customCode, code.builtinCode, code.deprecatedBuiltinCode, code.version = None, number, number, 3
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    target.write_bytes(builder.Output())
    return target
