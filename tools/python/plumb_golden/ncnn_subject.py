# SPDX-License-Identifier: Apache-2.0
"""The tensors of an ONNX model as ncnn computes them on the CPU, after pnnx's conversion and fusions.

ncnn_pairing.py finds which tensor each blob holds; the network's outputs go by their order. What finds no partner is
left out and counted. ncnn's Mat has no batch dimension: batch 1 only. f32 unless --precision says in what blobs are
stored; ncnn uses Winograd for 3x3 unless told not to.
"""
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile

import numpy as np

from . import inputs as network_inputs
from . import probe
from .folder import Folder, UsageError, seed_everything
from .ncnn_pairing import OnnxGraph, Pairing, read_param, read_weights
from .onnx_tensors import OnnxTensors, refuse_lost_outputs
from .repeats import PLAIN

PNNX_TYPES = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32", "bool": "bool"}


def load_frameworks():
    try:
        import ncnn
        import onnx
    except ImportError as error:
        raise UsageError(f"ncnn or onnx is not installed ({error}); pip install ncnn pnnx onnx") from error
    pnnx = pathlib.Path(sysconfig.get_paths()["purelib"]) / "pnnx" / "pnnx"
    if not pnnx.exists():
        raise UsageError("pnnx, which converts for ncnn, is not installed; pip install pnnx")
    return ncnn, onnx, pnnx


def convert(pnnx, model, feeds, work):
    """The layers and ncnn's two files."""
    local = work / "net.onnx"
    shutil.copy(model, local)
    shapes = ",".join(f"[{','.join(map(str, array.shape))}]{PNNX_TYPES.get(str(array.dtype), 'f32')}"
                      for array in feeds.values())
    done = subprocess.run([str(pnnx), str(local), "fp16=0", f"inputshape={shapes}"], cwd=work, capture_output=True,
                          text=True)
    param = work / "net.ncnn.param"
    if done.returncode != 0 or not param.exists():
        raise UsageError(f"pnnx cannot convert '{model}': {' '.join((done.stderr or done.stdout).split())[-300:]}")
    layers = read_param(param)
    read_weights(layers, work / "net.pnnx.param", work / "net.pnnx.bin")
    return layers, param


def open_net(ncnn, param, precision, keep=True, how=PLAIN):
    net = ncnn.Net()
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic"):
        setattr(net.opt, option, precision == "f16")
    net.opt.use_bf16_storage = precision == "bf16"
    net.opt.num_threads = how.threads or 1
    net.opt.lightmode = not keep  # with it a blob is gone once it was read
    if net.load_param(str(param)) != 0 or net.load_model(str(param.with_suffix(".bin"))) != 0:
        raise UsageError("ncnn cannot load what pnnx wrote: it has no layer of a type that the model needs")
    return net


def extractor_of(ncnn, net, layers, feeds):
    extractor = net.create_extractor()
    blobs = [layer["outputs"][0] for layer in layers if layer["type"] == "Input"]
    if len(blobs) != len(feeds):
        raise UsageError(f"ncnn's graph has {len(blobs)} inputs, the .onnx has {len(feeds)}")
    for blob, array in zip(blobs, feeds.values()):
        dtype = np.float32 if array.dtype.kind == "f" else np.int32
        values = np.ascontiguousarray(array[0], dtype)  # alive while it is cloned: a Mat only points to it
        extractor.input(blob, ncnn.Mat(values).clone())
    return extractor


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=None, force=False,
        precision="f32", prove_probe=False, how=PLAIN):
    """Writes the dump folder; returns the Folder."""
    ncnn, onnx, pnnx = load_frameworks()
    determinism = seed_everything(seed)
    tensors = OnnxTensors(onnx, model)
    feeds = how.batched(network_inputs.feeds(model, tensors.declared(), input_files, shapes or {}, specs, seed,
                                             value_range))
    for name, array in feeds.items():
        if array.ndim < 2 or array.shape[0] != 1:
            raise UsageError(f"input '{name}' has the shape {list(array.shape)}; ncnn takes batch 1 only")
    tensors.infer({name: array.shape for name, array in feeds.items()})
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        layers, param = convert(pnnx, model, feeds, pathlib.Path(work))
        net = open_net(ncnn, param, precision, how=how)
        light = open_net(ncnn, param, precision, keep=False) if prove_probe else None
    out = Folder(folder, framework="ncnn", model=model, device=f"ncnn {ncnn.__version__}, CPU, {precision}",
                 source={"ncnn": ncnn.__version__, "determinism": determinism}, force=force, precision=precision)
    for name, array in feeds.items():
        out.add(name, array, is_input=True)
    pairing = Pairing(OnnxGraph(onnx, tensors.model, tensors.shapes), layers, list(feeds), tensors.outputs)
    for _ in range(how.warm):
        before = extractor_of(ncnn, net, layers, feeds)
        for blob, tensor in pairing.tensors.items():
            if tensor in tensors.outputs:
                before.extract(blob)
    write(out, extractor_of(ncnn, net, layers, feeds), layers, pairing, tensors)
    refuse_lost_outputs(out, tensors.outputs, "ncnn")
    if prove_probe:
        prove(out, extractor_of(ncnn, light, layers, feeds), pairing, tensors)
    out.left_out(len(pairing.unknown), "of ncnn's own without a partner in the model",
                 [layer["name"] for layer in pairing.unknown])
    out.left_out(len(set(tensors.made) - out.names - pairing.graph.fixed), "of the model's fused or without a partner")
    out.finish()
    return out


def prove(out, extractor, pairing, tensors):
    """The outputs of an extractor that is asked for nothing else and reuses each blob's memory once it was read."""
    blobs = {tensor: blob for blob, tensor in pairing.tensors.items() if tensor in tensors.outputs}
    outputs = {tensor: np.array(extractor.extract(blob)[1])[None] for tensor, blob in blobs.items()}
    probe.prove(out, "lightmode, outputs only",
                {tensor: tensors.as_declared(tensor, values) for tensor, values in outputs.items()})


def write(out, extractor, layers, pairing, tensors):
    moved = []
    for layer in layers:
        if layer["type"] in ("Input", "Split", "MemoryData"):
            continue
        for slot, blob in enumerate(layer["outputs"]):
            tensor = pairing.tensors.get(blob)
            if tensor is None or tensor in out.names:
                continue
            code, values = extractor.extract(blob)
            if code != 0:
                out.abandon()
                raise UsageError(f"ncnn cannot compute blob '{blob}' of layer '{layer['name']}' ({layer['type']}, code "
                                 f"{code})")
            values = tensors.as_declared(tensor, np.array(values)[None])  # ncnn drops dimensions of 1
            if values is None:
                moved.append(tensor)
            else:
                out.add(tensor, values, layer=layer["name"], kind=layer["type"], slot=slot)
    out.left_out(len(moved), "of another shape in ncnn", moved)
