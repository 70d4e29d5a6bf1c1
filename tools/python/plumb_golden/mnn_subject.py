"""The tensors of an ONNX model as MNN computes them on the CPU, after its converter's fusions.

MNN's converter (mnnconvert, in its wheel) folds batch normalisations and activations into convolutions and keeps the name
of the convolution for the operator, but the ONNX name of the fused result for the tensor: its JSON form says which.
Fused tensors do not exist; model_check judges each group between the tensors that do. MNN uses Winograd for 3x3.
"""
import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from . import inputs as network_inputs
from .folder import Folder, UsageError, seed_everything


def load_framework():
    try:
        import MNN
    except ImportError as error:
        raise UsageError(f"MNN is not installed ({error}); pip install MNN") from error
    return MNN


def convert(model, work):
    """The .mnn file, and {operator name: [names of its output tensors]}."""
    tool = shutil.which("mnnconvert", path=str(pathlib.Path(sys.executable).parent)) or shutil.which("mnnconvert")
    if tool is None:
        raise UsageError("mnnconvert is not installed; pip install MNN")
    made, text = work / "model.mnn", work / "model.json"
    steps = ([tool, "-f", "ONNX", "--modelFile", str(model), "--MNNModel", str(made), "--bizCode", "MNN", "--keepInputFormat", "1"],
             [tool, "-f", "MNN", "--modelFile", str(made), "--JsonFile", str(text)])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode != 0 or not made.exists():
            raise UsageError(f"mnnconvert cannot convert '{model}': {(done.stderr or done.stdout).strip()[-300:]}")
    graph = json.loads(text.read_text(encoding="utf-8"))
    tensors = graph["tensorName"]
    return made, {op["name"]: [tensors[i] for i in op["outputIndexes"]] for op in graph["oplists"]}


def to_mnn(MNN, shape, array):
    return MNN.Tensor(tuple(shape), MNN.Halide_Type_Float, array, MNN.Tensor_DimensionType_Caffe)


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=(-1.0, 1.0)):
    """Writes the dump folder; returns the Folder."""
    MNN = load_framework()
    determinism = seed_everything(seed)
    if not pathlib.Path(model).exists():
        raise UsageError(f"there is no file '{model}'")
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        file, outputs = convert(model, pathlib.Path(work))
        network = MNN.Interpreter(str(file))
    session = network.createSession({"precision": "high", "backend": "CPU", "numThread": 1})
    ports = network.getSessionInputAll(session)
    feeds = network_inputs.from_files(input_files, list(ports), specs)
    rng = np.random.default_rng(seed)
    for name, port in ports.items():
        shape = (shapes or {}).get(name, list(feeds[name].shape) if name in feeds else list(port.getShape()))
        if name not in feeds:
            feeds[name] = network_inputs.generated(name, "float32", shape, rng, *value_range)
        network.resizeTensor(port, tuple(shape))
    network.resizeSession(session)
    for name, port in ports.items():
        port.copyFrom(to_mnn(MNN, feeds[name].shape, np.ascontiguousarray(feeds[name], np.float32)))
    version = importlib.metadata.version("MNN")
    out = Folder(folder, framework="mnn", model=model, device=f"MNN {version}, CPU, precision high",
                 source={"mnn": version, "determinism": determinism})
    for name, array in feeds.items():
        out.add(name, array, is_input=True)

    def keep(tensors, operator):
        for slot, tensor in enumerate(tensors):
            names = outputs.get(operator.getName())
            if names is None or slot >= len(names) or names[slot] in out.names:
                out.notes.append(f"operator '{operator.getName()}' has no tensor of the model's; left out")
                continue
            shape = tensor.getShape()
            host = to_mnn(MNN, shape, np.zeros(shape, np.float32))
            tensor.copyToHostTensor(host)
            values = np.array(host.getData(), np.float32).reshape(shape)
            out.add(names[slot], values, layer=operator.getName(), slot=slot)
        return True

    network.runSessionWithCallBackInfo(session, lambda tensors, operator: True, keep)
    out.finish()
    return out
