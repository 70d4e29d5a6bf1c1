# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch's ETDump with its ETRecord and debug buffer, as a dump folder, through ExecuTorch's own Inspector.

An event's debug handle names a node of the edge program, whose `from_node` leads to the node of torch.export that it
comes from; the dump has these names, as torch.onnx's dynamo exporter has them, too. Where several events belong to one
node the last is its value. What a delegate computed inside is not there unless the delegate logs it: its call has what
it read and returned, and the last of its nodes is what it returned.
"""
import pathlib

import numpy as np

from .folder import DTYPES, Folder, UsageError

MAGIC = b"ED00"  # the flatbuffer's file identifier, behind its size (where it has one) and its root's place
BESIDE = {"etrecord": ("etrecord.bin",), "debug_buffer": ("debug_output.bin", "debug_buffer.bin", "debug.bin")}
NO_VALUES = ("OPERATOR_CALL", "Method::execute", "Method::init", "Program::load_method")


def find_beside(path, kind, given):
    """The other file: as given, or under one of its usual names beside the ETDump."""
    if given is not None:
        if not pathlib.Path(given).is_file():
            raise UsageError(f"there is no file '{given}' (--{kind.replace('_', '-')})")
        return str(given)
    for name in BESIDE[kind]:
        if (path.parent / name).is_file():
            return str(path.parent / name)
    what = "ETRecord, which names its tensors" if kind == "etrecord" else "debug buffer, which has the values"
    raise UsageError(f"'{path}' needs the {what}: give it with --{kind.replace('_', '-')} (none of "
                     f"{', '.join(BESIDE[kind])} is beside it)")


def inspector(path, record, buffer):
    try:
        from executorch.devtools import Inspector
    except Exception as error:  # not there, or of another torch
        raise UsageError(f"reading the ETDump '{path}' needs ExecuTorch's own package in this Python (pip install "
                         f"executorch): {' '.join(str(error).split())[:200]}") from error
    try:
        return Inspector(etdump_path=str(path), etrecord=record, debug_buffer_path=buffer)
    except Exception as error:  # whatever is wrong with the files
        raise UsageError(f"ExecuTorch's Inspector cannot read '{path}' with '{record}' and '{buffer}': "
                         f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error


def origin(node):
    """The name of the torch.export node that this one of the edge program comes from."""
    sources = node.meta.get("from_node") or []
    name = node.name
    while sources:
        name, sources = sources[-1].name, getattr(sources[-1], "from_node", None) or []
    return name


def names_of_handles(program):
    """{debug handle: name}; of several nodes with one handle the last."""
    return {node.meta["debug_handle"]: origin(node) for node in program.graph.nodes if node.meta.get("debug_handle")}


def values_of(event):
    """The tensors that an event wrote as arrays; bf16 as the f32 of the same values."""
    found, values = [], list(event.debug_data or [])
    if event.name == "DELEGATE_CALL":  # its arguments: what it read, then what it returned
        values = values[-max(getattr(event, "num_outputs", 1), 1):]
    for value in values:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            value = value.float().numpy() if "bfloat16" in str(value.dtype) else value.numpy()
        found.append(value if isinstance(value, np.ndarray) else None)
    return found


def read(path, output, force=False, etrecord=None, debug_buffer=None):
    path = pathlib.Path(path)
    record = find_beside(path, "etrecord", etrecord)
    buffer = find_beside(path, "debug_buffer", debug_buffer)
    inspected = inspector(path, record, buffer)
    names = names_of_handles(inspected._etrecord.edge_dialect_program)
    found, kinds, several, unknown = {}, {}, [], 0
    runs = [block.events for block in inspected.event_blocks if any(event.debug_data for event in block.events)]
    for event in runs[0] if runs else []:
        arrays = values_of(event)
        if event.name in NO_VALUES or not arrays:
            continue
        handles = event.debug_handles if isinstance(event.debug_handles, (list, tuple)) else [event.debug_handles]
        name = names.get(max((handle for handle in handles if handle), default=0))
        if name is None or arrays[0] is None or str(arrays[0].dtype) not in DTYPES:
            unknown += 1
        elif len(arrays) > 1:
            several.append(name)
        else:
            found[name], kinds[name] = arrays[0], event.name
    if not found and several:
        raise UsageError(f"'{path}' holds values of operators with several outputs alone ({', '.join(several[:3])}), "
                         f"whose order an ETDump does not say")
    if not found:
        raise UsageError(f"'{path}' holds no tensor values: run with a debug buffer and the debug level "
                         f"kIntermediateOutputs (in Python: enable_etdump=True and debug_buffer_size=...)")
    folder = Folder(output, framework="executorch", model=path, device="ExecuTorch's ETDump", force=force)
    for name, array in found.items():
        folder.add(name, array, kind=kinds[name])
    folder.left_out(len(several), "of operators with several outputs, whose order an ETDump does not say", several)
    folder.left_out(unknown, "events without a node in the ETRecord or of a type that a dump cannot hold")
    if len(runs) > 1:
        folder.notes.append(f"the ETDump has {len(runs)} runs; taken is the first")
    folder.finish()
    return folder
