# SPDX-License-Identifier: Apache-2.0
"""Every node output of an ONNX model, as ONNX Runtime computes it.

The branch that an If takes stands in its place (onnx_branches.py). Optimisations are off, so the tensors are what the
graph says; --optimized saves ONNX Runtime's own optimised graph and runs that one instead, fused tensors gone; of a
quantised model what QuantizeLinear makes is kept, between the integer kernels. One thread: two change bits.
"""
import contextlib
import os
import pathlib
import tempfile

import numpy as np

from . import inputs as network_inputs
from . import onnx_branches, onnx_quantised, onnx_tensors, probe
from .folder import Folder, UsageError, seed_everything
from .repeats import PLAIN

LEVELS = {False: "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED",
          "all": "ORT_ENABLE_ALL"}
INSTALL = "pip install onnx onnxruntime"
TYPES = {
    "tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(int8)": "int8",
    "tensor(uint8)": "uint8", "tensor(int16)": "int16", "tensor(uint16)": "uint16", "tensor(int32)": "int32",
    "tensor(uint32)": "uint32", "tensor(int64)": "int64", "tensor(bool)": "bool",
}


def load_frameworks():
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise UsageError(f"ONNX Runtime is not installed ({error}); {INSTALL}") from error
    except Exception as error:  # protobuf of a version that onnx refuses, for one
        raise UsageError(f"onnx or onnxruntime cannot be imported ({error}); {INSTALL}") from error
    return onnx, onnxruntime


def session(onnxruntime, path, optimized, save_as=None, how=PLAIN):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[optimized])
    options.intra_op_num_threads, options.inter_op_num_threads = how.threads or 1, 1
    options.log_severity_level = 3
    if save_as is not None:
        options.optimized_model_filepath = str(save_as)
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's own classes derive from Exception only
        raise UsageError(f"ONNX Runtime cannot load '{path}': {str(error).strip()}") from error


def expose_all(onnx, model, target):
    """Writes the model with every node output among the graph's outputs; returns [(node index, node, slot, tensor)]."""
    have, places = {o.name for o in model.graph.output}, []
    for index, node in enumerate(model.graph.node):
        for slot, name in enumerate(node.output):
            if not name:
                continue
            places.append((index, node, slot, name))
            if name not in have:
                model.graph.output.add().name = name
                have.add(name)
    onnx.save(model, str(target))
    return places


RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}


def replace_random(onnx, model, given):
    """Random nodes whose output is given become network inputs: what Plumb makes of them, so that both see the same
    values."""
    for node in [n for n in model.graph.node if n.op_type in RANDOM and n.output[0] in given]:
        kind = onnx.helper.np_dtype_to_tensor_dtype(given[node.output[0]].dtype)
        model.graph.input.append(onnx.helper.make_tensor_value_info(node.output[0], kind, None))
        model.graph.node.remove(node)


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=None, optimized=False,
        constants=(), force=False, prove_probe=False, how=PLAIN):
    """Writes the dump folder; returns the Folder. optimized: False, "basic", "extended" or "all" (what ONNX Runtime
    really runs).

    constants: NAME=VALUES or NAME=FILE, inputs that are constants for Plumb; the manifest says which.
    """
    onnx, onnxruntime = load_frameworks()
    determinism = seed_everything(seed)
    model = pathlib.Path(model)
    onnx_tensors.load(onnx, model, external=False)
    version = f"onnxruntime {onnxruntime.__version__}"
    out = Folder(folder, framework="onnxruntime", model=model,
                 device=version + (f", optimised graph ({optimized})" if optimized else ", unoptimised"),
                 source={"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__, "optimized": optimized,
                         "threads": how.threads or 1, "determinism": determinism}, force=force)
    # Locations of external weights are relative to the model's folder, so the copies must lie in it.
    with tempfile.TemporaryDirectory(prefix=".plumb_golden_", dir=writable(model.parent)) as work, \
            beside(model, work) as exposed:
        source = model
        kept = onnx.load(str(model), load_external_data=False)
        quantised = onnx_quantised.pairs(onnx, kept)
        if optimized:
            source = pathlib.Path(work) / "optimized.onnx"
            if quantised:
                onnx_quantised.keep_integers(kept, quantised)
                onnx.save(kept, str(exposed))
            session(onnxruntime, exposed if quantised else model, optimized, save_as=source)

        def feeds_of(ort):
            return make_inputs(ort, model, input_files, shapes or {}, specs, seed, value_range, constants, how)

        def evaluate(cut, tensor):
            onnx.save(cut, str(exposed))
            ort = session(onnxruntime, exposed, False)
            return ort.run([tensor], feeds_of(ort))[0]

        def unwatched():
            plain = onnx.load(str(model), load_external_data=False)
            replace_random(onnx, plain, network_inputs.given(input_files, specs))
            onnx.save(plain, str(exposed))
            ort = session(onnxruntime, exposed, optimized)
            return dict(zip([o.name for o in ort.get_outputs()], ort.run(None, feeds_of(ort))))

        outputs = unwatched() if prove_probe else {}
        loaded = onnx.load(str(source), load_external_data=False)
        replace_random(onnx, loaded, network_inputs.given(input_files, specs))
        onnx_branches.inline(onnx, loaded, evaluate)
        early = onnx_quantised.moved_in_front(kept, loaded) if quantised and optimized else ()
        places = expose_all(onnx, loaded, exposed)
        ort = session(onnxruntime, exposed, False, how=how)
    feeds = feeds_of(ort)
    bound = {text.rpartition("=")[0] for text in constants}
    if bound:
        out.facts["constants"] = {name: feeds[name].tolist() for name in sorted(bound)}
    write_inputs(out, feeds, places, bound)
    write_outputs(out, ort, feeds, places, how, quantised, early)
    if prove_probe:
        probe.prove(out, "the model as it is, the same optimisation", outputs)
    out.finish()
    return out


def writable(folder):
    return folder if os.access(folder, os.W_OK) else None


@contextlib.contextmanager
def beside(model, work):
    """A new file in the model's folder, where that can be written; gone at the end."""
    handle, path = tempfile.mkstemp(prefix=".plumb_golden_", suffix=".onnx", dir=writable(model.parent) or work)
    os.close(handle)
    try:
        yield pathlib.Path(path)
    finally:
        pathlib.Path(path).unlink(missing_ok=True)


def make_inputs(ort, model, files, shapes, specs, seed, value_range, constants, how):
    for info in ort.get_inputs():
        if info.type not in TYPES:
            raise UsageError(f"input '{info.name}' is a {info.type}, which cannot be given from here")
    infos = {i.name: (TYPES[i.type], i.shape) for i in ort.get_inputs()}
    bound = network_inputs.constants(constants, infos, shapes)
    free = {name: info for name, info in infos.items() if name not in bound}
    drawn = network_inputs.feeds(model, free, files, {n: s for n, s in shapes.items() if n not in bound}, specs, seed,
                                 value_range, constants)
    return {**how.batched(drawn), **bound}


def write_inputs(out, feeds, places, bound):
    for name, array in feeds.items():
        reader = next(((i, node) for i, node, _, _ in places if name in node.input), None)
        layer = (reader[1].name or reader[1].output[0]) if reader else name
        out.add(name, array, layer=layer, index=reader[0] if reader else 0, is_input=True, constant=name in bound)


def write_outputs(out, ort, feeds, places, how, quantised, early):
    names = [name for _, _, _, name in places]
    try:
        for _ in range(how.warm):
            ort.run(names, feeds)
        values = ort.run(names, feeds)
    except Exception as error:
        raise UsageError(f"ONNX Runtime cannot run the model: {str(error).strip()}") from error
    stand_ins = onnx_quantised.StandIns(quantised, names)
    for (index, node, slot, name), value in zip(places, values):
        if not isinstance(value, np.ndarray):
            out.notes.append(f"'{name}' is no tensor ({type(value).__name__})")
            continue
        if name in early:
            out.notes.append(f"'{name}' is not written: the runtime quantises in front of '{node.name or name}' "
                             f"({node.op_type}), where the model's '{name}' is not yet rounded")
            continue
        if any(a.HasField("g") or a.graphs for a in node.attribute):
            out.notes.append(f"tensors inside the body of '{node.name or name}' ({node.op_type}) are not seen")
        if str(value.dtype) not in TYPES.values():
            out.notes.append(f"'{name}' has the dtype {value.dtype}")
            continue
        place = {"layer": node.name or name, "kind": node.op_type, "index": index}
        out.add(name, value, **place, slot=slot, stands_for=stand_ins.blob(name))
        floats = stand_ins.dequantised(name, value)
        if floats is not None:
            out.add(floats[0], floats[1], **place, slot=slot + 1, stands_for=stand_ins.blob(floats[0]))
    if stand_ins.made:
        out.notes.append(f"{stand_ins.made} tensors are made of integers, scale * (q - zero point); the runtime has no "
                         "such floats")
