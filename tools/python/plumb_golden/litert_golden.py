# SPDX-License-Identifier: Apache-2.0
"""Every tensor of a .tflite model, as LiteRT computes it.

Two ways: all tensors of one run, which LiteRT has to be told to keep (without that it hands out stale memory without a
word), on kernels that can be chosen; or the network as it is deployed, with the default delegates, once for each
tensor, of which nothing is changed but the index of its output. Integers are dumped as they are, with their scale and
zero point.
"""
import collections
import pathlib

import numpy as np

from . import inputs as network_inputs
from . import probe
from .folder import DTYPES, Folder, UsageError, seed_everything
from .litert_file import File
from .repeats import PLAIN

HANDLES = ("VAR_HANDLE", "CALL_ONCE", "HASHTABLE")  # LiteRT crashes when their outputs are read

# What --kernels says: the resolver, and what the manifest calls it.
KERNELS = {
    "optimised": ("BUILTIN_WITHOUT_DEFAULT_DELEGATES", "plain kernels"),
    "reference": ("BUILTIN_REF", "reference kernels"),
    "xnnpack": ("AUTO", "XNNPACK, each operator for itself"),
}
Runtime = collections.namedtuple("Runtime", "interpreter version file how")


def load_framework():
    try:
        import ai_edge_litert
        from ai_edge_litert import interpreter
    except ImportError as error:
        raise UsageError(f"LiteRT is not installed ({error}); pip install ai-edge-litert") from error
    return getattr(ai_edge_litert, "__version__", "unknown version"), interpreter


def open_model(runtime, kernels=None, content=None):
    """kernels: one of KERNELS, every tensor is kept; None: the default delegates, and none is."""
    kinds = runtime.interpreter.OpResolverType
    resolver = getattr(kinds, KERNELS[kernels][0]) if kernels else kinds.AUTO
    content = content or runtime.file.data
    try:
        return runtime.interpreter.Interpreter(num_threads=runtime.how.threads or 1, model_content=content,
                                               experimental_preserve_all_tensors=kernels is not None,
                                               experimental_op_resolver_type=resolver)
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"LiteRT cannot load '{runtime.file.path}': {str(error).strip()}") from error


def draw_inputs(lite, runtime, files, shapes, specs, seed, value_range):
    """{input: array}, integers where the network has integers."""
    names, details = runtime.file.names, lite.get_input_details()
    grids = {names[d["index"]]: grid_of(d) for d in details if grid_of(d)}
    # Floats are rounded to the input's grid; a file of integers holds these themselves.
    given = network_inputs.from_files(files, [names[d["index"]] for d in details], specs)
    rounded = set(grids) - {name for name, array in given.items() if array.dtype.kind in "iu"}
    wanted = {}
    for detail in details:
        name = names[detail["index"]]
        dims = detail["shape_signature"] if len(detail["shape_signature"]) else detail["shape"]
        wanted[name] = ("float32" if name in rounded else detail["dtype"], [int(n) for n in dims])
    feeds = network_inputs.feeds(runtime.file.path, wanted, files, shapes, specs, seed, value_range)
    feeds = runtime.how.batched(feeds)
    for detail in details:
        name = names[detail["index"]]
        if name in rounded:
            feeds[name] = quantised(feeds[name], grids[name], detail["dtype"])
    return feeds


def set_feeds(lite, runtime, feeds):
    details = lite.get_input_details()
    for detail in details:
        value = feeds[runtime.file.names[detail["index"]]]
        if list(value.shape) != list(detail["shape"]):
            lite.resize_tensor_input(detail["index"], list(value.shape))
    try:
        lite.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"LiteRT cannot prepare the model for these inputs: {str(error).strip()}") from error
    lite.reset_all_variables()
    for detail in details:
        lite.set_tensor(detail["index"], feeds[runtime.file.names[detail["index"]]])


def invoke(lite):
    try:
        lite.invoke()
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"LiteRT cannot run the model on these inputs: {str(error).strip()}") from error


def run_unwatched(runtime, feeds):
    lite = open_model(runtime)
    set_feeds(lite, runtime, feeds)
    invoke(lite)
    outputs = {runtime.file.names[detail["index"]]: lite.get_tensor(detail["index"])
               for detail in lite.get_output_details()}
    return {name: value for name, value in outputs.items() if name not in feeds}


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=None, force=False,
        prove_probe=False, how=PLAIN, indices=(), as_deployed=False, kernels="optimised", signature=None):
    """Writes the dump folder; returns the Folder. indices: of the tensors; none: all that operators write."""
    version, interpreter = load_framework()
    determinism = seed_everything(seed)
    if not pathlib.Path(model).exists():
        raise UsageError(f"there is no file '{model}'")
    runtime = Runtime(interpreter, version, File(model, signature), how)
    check_indices(runtime.file, indices)
    lite = open_model(runtime, kernels=kernels)
    feeds = draw_inputs(lite, runtime, input_files, shapes or {}, specs, seed, value_range)
    if not as_deployed:
        for _ in range(how.warm + 1):
            set_feeds(lite, runtime, feeds)
            invoke(lite)
    words = "default delegates, one run for each tensor" if as_deployed else KERNELS[kernels][1]
    out = Folder(folder, framework="litert", model=model, device=f"LiteRT {version}, {words}",
                 source={"litert": version, "threads": how.threads or 1,
                         "resolver": "AUTO" if as_deployed else KERNELS[kernels][0],
                         "determinism": determinism}, layout="", force=force)
    grids = {runtime.file.names[d["index"]]: grid_of(d) for d in lite.get_input_details()}
    index_of = {name: index for index, name in runtime.file.names.items()}
    for name, array in feeds.items():
        out.add(name, array, is_input=True, **facts_of(runtime.file, index_of[name], grids[name]))
    write_tensors(out, runtime, lite, feeds, set(indices), as_deployed)
    if prove_probe:
        probe.prove(out, "its default delegates", run_unwatched(runtime, feeds))
    out.finish()
    return out


def check_indices(file, indices):
    for index in indices:
        if not 0 <= index < len(file.tensors):
            raise UsageError(f"--tensors: '{file.path}' has the tensors 0 to {len(file.tensors) - 1}, none is {index}; "
                             f"plumb-golden litert {file.path} --list shows them")


def write_tensors(out, runtime, lite, feeds, indices, as_deployed):
    file, details = runtime.file, {detail["index"]: detail for detail in lite.get_tensor_details()}
    for place, operator in enumerate(file.operators):
        wanted = [(slot, t) for slot, t in enumerate(operator.outputs) if t >= 0 and (not indices or t in indices)]
        if wanted and operator.kind in HANDLES:
            out.notes.append(f"the outputs of {operator.kind} {place} are handles, not values; left out")
            continue
        for slot, tensor in wanted:
            if file.names[tensor] not in out.names:
                write_tensor(out, runtime, exposed(runtime, tensor, feeds) if as_deployed else lite,
                             details[tensor], operator.kind, place, slot)
    for tensor in sorted(indices - set(file.written) - set(file.inputs)):
        write_tensor(out, runtime, lite, details[tensor], "", None, 0, constant=True)


def exposed(runtime, tensor, feeds):
    """The network as it is deployed, with this tensor as its output."""
    lite = open_model(runtime, content=runtime.file.exposing(tensor))
    for _ in range(runtime.how.warm + 1):
        set_feeds(lite, runtime, feeds)
        invoke(lite)
    return lite


def grid_of(detail):
    """{scale, zero_point, axis} of integers, or None."""
    grid = detail["quantization_parameters"]
    if len(grid["scales"]) == 0 or np.dtype(detail["dtype"]).kind not in "iu":
        return None
    return {"scale": [float(x) for x in grid["scales"]], "zero_point": [int(x) for x in grid["zero_points"]],
            "axis": int(grid["quantized_dimension"])}


def quantised(value, grid, dtype):
    info = np.iinfo(dtype)
    scale, zero = np.float32(grid["scale"][0]), grid["zero_point"][0]
    return np.clip(np.rint(value / scale) + zero, info.min, info.max).astype(dtype)


def facts_of(file, tensor, grid):
    name = file.names[tensor]
    return {"order": file.order(tensor), "quantisation": grid, "stands_for": name if grid else ""}


def write_tensor(out, runtime, lite, detail, kind, index, slot, constant=False):
    tensor = detail["index"]
    name = runtime.file.names[tensor]
    try:
        value = lite.get_tensor(tensor)
    except ValueError as error:  # resource handles, tensors of a branch that was not taken
        out.notes.append(f"'{name}' of {kind} cannot be read: {str(error).strip()}")
        return
    if str(value.dtype) not in DTYPES:
        out.notes.append(f"'{name}' has the dtype {value.dtype}")
        return
    out.add(name, value, layer=name, kind=kind, index=index, slot=slot, constant=constant,
            **facts_of(runtime.file, tensor, grid_of(detail)))
