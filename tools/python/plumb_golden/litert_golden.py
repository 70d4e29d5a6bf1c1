# SPDX-License-Identifier: Apache-2.0
"""Every tensor of a .tflite model, as LiteRT's plain kernels compute it.

Intermediate tensors are kept and no delegate is taken: without the first LiteRT hands out stale memory without a word,
with a delegate its fused partitions hide most tensors. Names may repeat inside a file; the second and later bearers of
a name get '#' and their tensor index behind it. A quantised tensor is dumped as the floats that its integers stand for,
scale * (q - zero point): what the float model's blob is judged by.
"""
import pathlib

import numpy as np

from . import inputs as network_inputs
from . import probe
from .folder import DTYPES, Folder, UsageError, seed_everything
from .repeats import PLAIN

HANDLES = ("VAR_HANDLE", "CALL_ONCE", "HASHTABLE")  # LiteRT crashes when their outputs are read


def load_framework():
    try:
        import ai_edge_litert
        from ai_edge_litert import interpreter
    except ImportError as error:
        raise UsageError(f"LiteRT is not installed ({error}); pip install ai-edge-litert") from error
    return getattr(ai_edge_litert, "__version__", "unknown version"), interpreter


def open_model(interpreter, model, watched=True, how=PLAIN):
    kinds = interpreter.OpResolverType
    resolver = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES if watched else kinds.AUTO
    try:
        return interpreter.Interpreter(model_path=str(model), num_threads=how.threads or 1,
                                       experimental_preserve_all_tensors=watched,
                                       experimental_op_resolver_type=resolver)
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"LiteRT cannot load '{model}': {str(error).strip()}") from error


def set_inputs(lite, model, files, shapes, specs, seed, value_range, how):
    details = lite.get_input_details()
    grids, names = grids_of(details), [d["name"] for d in details]
    # Floats are rounded to the input's grid; a file of integers holds these themselves.
    whole = {name for name, array in network_inputs.from_files(files, names, specs).items() if array.dtype.kind in "iu"}
    rounded = {d["name"]: grids[d["index"]] for d in details if d["index"] in grids and d["name"] not in whole}
    wanted = {d["name"]: ("float32" if d["name"] in rounded else d["dtype"],
                          [int(n) for n in (d["shape_signature"] if len(d["shape_signature"]) else d["shape"])])
                          for d in details}
    feeds = how.batched(network_inputs.feeds(model, wanted, files, shapes, specs, seed, value_range))
    for detail in details:
        if detail["name"] in rounded:
            feeds[detail["name"]] = quantised(feeds[detail["name"]], rounded[detail["name"]], detail["dtype"])
    set_feeds(lite, feeds)
    return feeds


def set_feeds(lite, feeds):
    details = lite.get_input_details()
    for detail in details:
        name = detail["name"]
        if list(feeds[name].shape) != list(detail["shape"]):
            lite.resize_tensor_input(detail["index"], list(feeds[name].shape))
    try:
        lite.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"LiteRT cannot prepare the model for these inputs: {str(error).strip()}") from error
    lite.reset_all_variables()
    for detail in details:
        lite.set_tensor(detail["index"], feeds[detail["name"]])


def invoke(lite):
    try:
        lite.invoke()
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"LiteRT cannot run the model on these inputs: {str(error).strip()}") from error


def run_unwatched(interpreter, model, feeds, names):
    lite = open_model(interpreter, model, watched=False)
    set_feeds(lite, feeds)
    lite.invoke()
    grids = grids_of(lite.get_output_details())
    return {names[detail["index"]]: dequantised(lite.get_tensor(detail["index"]), grids.get(detail["index"]))
            for detail in lite.get_output_details() if names[detail["index"]] not in feeds}


def unique_names(details):
    names, seen = {}, set()
    for detail in details:
        name = detail["name"]
        names[detail["index"]] = name if name not in seen else f"{name}#{detail['index']}"
        seen.add(name)
    return names


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=None, force=False,
        prove_probe=False, how=PLAIN):
    """Writes the dump folder; returns the Folder."""
    version, interpreter = load_framework()
    determinism = seed_everything(seed)
    if not pathlib.Path(model).exists():
        raise UsageError(f"there is no file '{model}'")
    lite = open_model(interpreter, model, how=how)
    feeds = set_inputs(lite, model, input_files, shapes or {}, specs, seed, value_range, how)
    invoke(lite)
    for _ in range(how.warm):
        set_feeds(lite, feeds)
        invoke(lite)
    out = Folder(folder, framework="litert", model=model, device=f"LiteRT {version}, plain kernels",
                 source={"litert": version, "threads": how.threads or 1,
                         "resolver": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
                         "determinism": determinism}, layout="NHWC", force=force)
    inputs = {d["name"]: d["index"] for d in lite.get_input_details()}
    known = grids_of(lite.get_input_details())
    for name, array in feeds.items():
        grid = known.get(inputs[name])
        out.add(name, dequantised(array, grid), is_input=True, stands_for=name if grid else "")
    details = lite.get_tensor_details()
    names, grids = unique_names(details), grids_of(details)
    for index, operator in enumerate(lite._get_ops_details()):  # LiteRT has no public list of operators
        if operator["op_name"] in HANDLES:
            out.notes.append(f"the outputs of {operator['op_name']} {index} are handles, not values; left out")
            continue
        for slot, tensor in enumerate(operator["outputs"]):
            write_tensor(out, lite, int(tensor), names, grids, operator["op_name"], index, slot)
    if any(entry.get("stands_for") for entry in out.files):
        out.notes.append("quantised tensors are the floats that their integers stand for, scale * (q - zero point)")
    if prove_probe:
        probe.prove(out, "its default delegates", run_unwatched(interpreter, model, feeds, names))
    out.finish()
    return out


def grids_of(details):
    """{tensor: (scale, zero point)} of integers that have one scale."""
    found = {}
    for detail in details:
        grid = detail["quantization_parameters"]
        if len(grid["scales"]) == 1 and np.dtype(detail["dtype"]).kind in "iu":
            found[detail["index"]] = (np.float32(grid["scales"][0]), int(grid["zero_points"][0]))
    return found


def quantised(value, grid, dtype):
    info = np.iinfo(dtype)
    return np.clip(np.rint(value / grid[0]) + grid[1], info.min, info.max).astype(dtype)


def dequantised(value, grid):
    return value if grid is None else (value.astype(np.int64) - grid[1]).astype(np.float32) * grid[0]


def write_tensor(out, lite, tensor, names, grids, kind, index, slot):
    name = names.get(tensor)
    if name is None or name in out.names:
        return
    try:
        value = lite.get_tensor(tensor)
    except ValueError as error:  # resource handles, tensors of a branch that was not taken
        out.notes.append(f"'{name}' of {kind} cannot be read: {str(error).strip()}")
        return
    grid = grids.get(tensor)
    value = dequantised(value, grid)
    if str(value.dtype) not in DTYPES:
        out.notes.append(f"'{name}' has the dtype {value.dtype}")
        return
    out.add(name, value, layer=name, kind=kind, index=index, slot=slot, stands_for=name if grid else "")
