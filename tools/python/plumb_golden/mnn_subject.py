# SPDX-License-Identifier: Apache-2.0
"""The tensors of an ONNX model as MNN computes them on the CPU, after its converter's fusions.

MNN's converter folds batch normalisations and activations into convolutions and gives the fused result's tensor its
ONNX name. A session that is told to keep every tensor hands them out by name, the network's outputs and integers among
them. What the converter made for itself has no name in the model, and what it moved (a Squeeze or Reshape past a
convolution or product) has another shape there: both are left out and counted. MNN computes 3x3 convolutions by
Winograd's algorithm.

The converter is called without its command `mnnconvert`, which at every start installs a package with pip where that is
missing, downgrading protobuf, and reports the conversion to a server.
"""
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from . import inputs as network_inputs
from . import probe
from .folder import Folder, UsageError, seed_everything
from .onnx_tensors import OnnxTensors, refuse_lost_outputs
from .repeats import PLAIN

VIEWS = ("ConvertTensor", "Reshape", "Squeeze", "Unsqueeze", "ExpandDims", "Flatten", "Identity")
CONVERTER = "import sys, _tools; _tools.mnnconvert(sys.argv)"  # what mnnconvert calls


def load_frameworks():
    try:
        import MNN
        import onnx
    except ImportError as error:
        raise UsageError(f"MNN or onnx is not installed ({error}); pip install MNN onnx") from error
    return MNN, onnx


def convert(model, work, weight_bits):
    """The .mnn file and its graph."""
    made, bare, text = work / "model.mnn", work / "bare.mnn", work / "model.json"
    read = ["-f", "ONNX", "--modelFile", str(pathlib.Path(model).resolve()), "--bizCode", "MNN", "--keepInputFormat",
            "1"]
    bits = [] if weight_bits is None else ["--weightQuantBits", str(weight_bits)]
    steps = ([*read, "--MNNModel", str(made), *bits],
             [*read, "--MNNModel", str(bare), "--saveExternalData"],  # as JSON, 100 MB of weights take a minute
             ["-f", "MNN", "--modelFile", str(bare), "--JsonFile", str(text)])
    for step in steps:
        done = subprocess.run([sys.executable, "-c", CONVERTER, *step], capture_output=True, text=True, cwd=work)
        if done.returncode != 0 or not made.exists():
            raise UsageError(f"MNN's converter cannot convert '{model}': "
                             f"{' '.join((done.stderr or done.stdout).split())[-300:]}")
    return made, read_json(text.read_text(encoding="utf-8", errors="replace"))


def read_json(text):
    """The converter writes infinities and NaN as printf does."""
    text = re.sub(r"(?m)(?<=[\[,:\s])(-?)inf(?=[\],\s])", r"\1Infinity", text)
    return json.loads(re.sub(r"(?m)(?<=[\[,:\s])-?nan(?=[\],\s])", "NaN", text))


def wrongly_named(graph, roots):
    """The tensors whose name the converter gave to another value, as it does when it sinks a Squeeze or Reshape below
    the Relu that it fused: then one value bears the names of several of the model's, and the last one's it is. roots:
    {tensor: (the tensor that it is a mere view of, its place)} in the model."""
    names, group = graph["tensorName"], {}
    for op in graph["oplists"]:
        for i in op["outputIndexes"]:
            group[i] = group.get(op["inputIndexes"][0], op["inputIndexes"][0]) if op["type"] in VIEWS else i
    known = {}
    for i, first in group.items():
        if names[i] in roots:
            known.setdefault(first, []).append(names[i])
        if names[first] in roots and names[first] not in known.setdefault(first, []):
            known[first].append(names[first])
    wrong = set()
    for bearers in known.values():
        last = roots[max(bearers, key=lambda name: roots[name][1])][0]
        wrong.update(name for name in bearers if roots[name][0] != last)
    return wrong


def tensor_names(graph):
    """{tensor: (operator, its type, slot)} of what is computed."""
    names = graph["tensorName"]
    return {names[i]: (op["name"], op["type"], slot) for op in graph["oplists"] if op["type"] not in ("Const", "Input")
            for slot, i in enumerate(op["outputIndexes"])}


class Session:
    """MNN's session; the tensors of `keep` can be read, besides its outputs."""

    def __init__(self, MNN, file, keep, how=PLAIN):
        self.MNN = MNN
        self.network = MNN.Interpreter(str(file))
        config = {"precision": "high", "backend": "CPU", "numThread": how.threads or 1}
        if keep:
            config["saveTensors"] = tuple(keep)
        self.session = self.network.createSession(config)
        self.ports = self.network.getSessionInputAll(self.session)
        self.kinds = {MNN.Halide_Type_Int: np.int32, MNN.Halide_Type_Uint8: np.uint8}

    def kind(self, port):
        """MNN's type and numpy's; MNN computes int64 and bool as int32."""
        return next(((kind, dtype) for kind, dtype in self.kinds.items() if port.getDataType() == kind),
                    (self.MNN.Halide_Type_Float, np.float32))

    def run(self, feeds):
        for name, port in self.ports.items():
            self.network.resizeTensor(port, tuple(feeds[name].shape))
        self.network.resizeSession(self.session)
        for name, port in self.ports.items():
            kind, dtype = self.kind(port)
            host = self.MNN.Tensor(feeds[name].shape, kind, np.ascontiguousarray(feeds[name], dtype),
                                   self.MNN.Tensor_DimensionType_Caffe)
            port.copyFrom(host)
        if self.network.runSession(self.session) not in (0, None):
            raise UsageError("MNN cannot run the model on these inputs")

    def read(self, name):
        port = self.network.getSessionOutput(self.session, name)
        kind, dtype = self.kind(port)
        shape = tuple(port.getShape())
        host = self.MNN.Tensor(shape, kind, np.zeros(shape, dtype), self.MNN.Tensor_DimensionType_Caffe)
        port.copyToHostTensor(host)
        return np.array(host.getData(), dtype).reshape(shape)


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=None, force=False,
        prove_probe=False, weight_bits=None, how=PLAIN):
    """Writes the dump folder; returns the Folder."""
    MNN, onnx = load_frameworks()
    determinism = seed_everything(seed)
    tensors = OnnxTensors(onnx, model)
    feeds = how.batched(network_inputs.feeds(model, tensors.declared(), input_files, shapes or {}, specs, seed,
                                             value_range))
    tensors.infer({name: array.shape for name, array in feeds.items()})
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        file, graph = convert(model, pathlib.Path(work), weight_bits)
        places = tensor_names(graph)
        session = Session(MNN, file, places, how)
        unwatched = Session(MNN, file, ()) if prove_probe else None
    missing = sorted(set(session.ports) - set(feeds))
    if missing:
        raise UsageError(f"MNN's graph has the inputs {missing}, which the .onnx does not have")
    for _ in range(how.warm + 1):
        session.run(feeds)
    version = importlib.metadata.version("MNN")
    weights = "" if weight_bits is None else f", weights of {weight_bits} bits"
    out = Folder(folder, framework="mnn", model=model, device=f"MNN {version}, CPU, precision high{weights}",
                 source={"mnn": version, "weight_bits": weight_bits, "determinism": determinism}, force=force)
    for name, array in feeds.items():
        out.add(name, array, is_input=True)
    # MNN keeps the names of outputs; should it rename one, their order still says which it is.
    renamed = dict(zip(graph.get("outputName", []),
                       tensors.outputs)) if len(graph.get("outputName", [])) == len(tensors.outputs) else {}
    own, moved, wrong = 0, [], wrongly_named(graph, tensors.roots())
    for name, (operator, kind, slot) in places.items():
        tensor = name if name in tensors.dtypes or name in tensors.made else renamed.get(name)
        if tensor is None:
            own += 1
            continue
        if tensor in wrong:
            continue
        values = tensors.as_declared(tensor, session.read(name))
        if values is None:
            moved.append(tensor)
        else:
            out.add(tensor, values, layer=operator, kind=kind, slot=slot)
    refuse_lost_outputs(out, tensors.outputs, "MNN")
    if prove_probe:
        unwatched.run(feeds)
        outputs = {name: renamed.get(name, name) for name in unwatched.network.getSessionOutputAll(unwatched.session)}
        probe.prove(out, "no tensor kept", {tensor: tensors.as_declared(tensor, unwatched.read(name))
                                            for name, tensor in outputs.items() if tensor in tensors.outputs})
    out.left_out(len(wrong), "whose name MNN gave to another value", sorted(wrong))
    out.left_out(own, "made by MNN's converter")
    out.left_out(len(moved), "of another shape in MNN", moved)
    out.left_out(len(set(tensors.made) - set(places)), "fused or folded away")
    out.finish()
    return out
