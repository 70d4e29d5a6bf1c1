# SPDX-License-Identifier: Apache-2.0
"""Float .tflite networks made integers by litert-quantizer, in six ways, on inputs drawn like those of trained
networks: smooth images and sounds, not white noise alone."""
PACKAGE = "litert-quantizer==0.11.0"
# The name of the way: (recipe of litert_quantizer.recipe, its arguments).
WAYS = {
    "int8": "static_wi8_ai8",
    "int16x8": "static_wi8_ai16",
    "dynamic": "dynamic_wi8_afp32",
    "weights8": "weight_only_wi8_afp32",
    "int4": "dynamic_wi4_afp32",
    "uint8": "static_wi8_ai8",  # with one scale for each tensor, and all moved by 128
}
SAMPLES = 6


def smooth(random, shape, low=-1.0, high=1.0):
    """Waves of a few frequencies along each dim, and a little noise, scaled to the range."""
    import numpy as np
    value = np.zeros(shape)
    for axis, size in enumerate(shape):
        steps = np.arange(size) / max(size, 1)
        wave = sum(np.sin(2 * np.pi * (f * steps + random.uniform())) / f for f in (1, 2, 3, 7))
        value = value + wave.reshape([size if i == axis else 1 for i in range(len(shape))])
    value = value + 0.1 * random.normal(size=shape)
    span = np.max(value) - np.min(value) or 1
    return (low + (high - low) * (value - np.min(value)) / span).astype(np.float32)


def samples(path):
    """{signature: [{input: array}]} for the quantiser's calibration."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter
    lite = Interpreter(model_path=str(path))
    random = np.random.default_rng(1)
    key = next(iter(lite.get_signature_list()))
    details = lite.get_signature_runner(key).get_input_details()
    return {key: [{name: smooth(random, [max(int(n), 1) for n in d["shape"]]) for name, d in details.items()}
                  for _ in range(SAMPLES)]}


def with_signature(source, target):
    """A copy of the network that has a signature, without which the quantiser calibrates nothing; or itself."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(source.read_bytes(), 0))
    if model.signatureDefs:
        return source
    signature, graph = schema.SignatureDefT(), model.subgraphs[0]
    signature.signatureKey, signature.subgraphIndex = "serving_default", 0

    def named(tensors, word):
        entries = []
        for place, tensor in enumerate(tensors):
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = f"{word}{place}", int(tensor)
            entries.append(entry)
        return entries

    signature.inputs, signature.outputs = named(graph.inputs, "input"), named(graph.outputs, "output")
    model.signatureDefs = [signature]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    target.write_bytes(builder.Output())
    return target


def quantise(source, target, way):
    """Writes the quantised network; ValueError or RuntimeError where the quantiser cannot, or makes what LiteRT cannot
    run."""
    from ai_edge_litert.interpreter import Interpreter
    from litert_quantizer import quantizer, recipe
    rules = getattr(recipe, WAYS[way])()
    if way == "uint8":
        for rule in rules:
            weights = rule["op_config"].get("weight_tensor_config")
            if weights:
                weights["granularity"] = "TENSORWISE"
    signed = target.with_suffix(".signed")
    source = with_signature(source, signed)
    made = quantizer.Quantizer(str(source), rules)
    calibrated = made.calibrate(samples(source)) if made.need_calibration else None
    result = made.quantize(calibrated)
    signed.unlink(missing_ok=True)
    result.export_model(str(target))
    if way == "uint8":
        as_unsigned(target)
    Interpreter(model_path=str(target)).allocate_tensors()


def as_unsigned(path):
    """Moves every int8 tensor of a file by 128: the same network in TFLite's older form of integers."""
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    content = path.read_bytes()
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    for buffer in model.buffers:  # those of a large file lie behind its tables
        if buffer.offset > 1:
            buffer.data = np.frombuffer(content, np.uint8, buffer.size, buffer.offset)
            buffer.offset = buffer.size = 0
    moved = set()
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            if tensor.type != schema.TensorType.INT8:
                continue
            if tensor.quantization is None or tensor.quantization.scale is None or len(tensor.quantization.scale) != 1:
                raise ValueError(f"{tensor.name} has one scale for each channel, which uint8 has not")
            tensor.type = schema.TensorType.UINT8
            tensor.quantization.zeroPoint = [int(tensor.quantization.zeroPoint[0]) + 128]
            data = model.buffers[tensor.buffer].data
            if data is not None and tensor.buffer not in moved:
                model.buffers[tensor.buffer].data = np.asarray(data, np.uint8) ^ 0x80
                moved.add(tensor.buffer)
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    path.write_bytes(builder.Output())
