# SPDX-License-Identifier: Apache-2.0
"""Checks: is a device, another runtime, or a conversion right?"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core, _given
from ._arrays import Saved, all_ready
from ._errors import Error, MisalignedError
from ._given import Path
from ._model import Model, Shapes, Source, arguments_of
from ._network import OPTIONS, DeviceOptions, device_arguments
from ._report import Report

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A dump folder or file (doc/subjects.md), or arrays by blob name, or what gives them one by one.
Tensors = Union[Path, Mapping[str, Any], Callable[[str], Any]]


def check(
    model: Source | Model,
    devices: str | Sequence[str] | None = None,
    inputs: Any = None,
    *,
    device: str | None = None,
    golden: Tensors | None = None,
    subject: Tensors | None = None,
    weights: Path | None = None,
    shapes: Shapes | None = None,
    constants: Mapping[str, Any] | None = None,
    seed: int = 1,
    input_range: tuple[float, float] | None = None,
    probe: bool = False,
    names: Mapping[str, str] | None = None,
    pair_by_order: bool = False,
    layout: str | None = None,
    arithmetic: str | None = None,
    layers: Sequence[str] = (),
    min_tested: float = 0.5,
    expect: str = "any",
    pictures: bool = False,
    **device_options: Unpack[DeviceOptions],
) -> Report:
    """Runs the model layer by layer beside the float64 reference and judges every layer.

    Args:
        model: a path (.onnx, .tflite, .tnnproto), an .onnx as bytes, what `load` returned, or a
            torch.nn.Module, which is exported at the inputs.
        devices: "X86", a list, or "ALL" (those present but NAIVE), which is the default; with a
            subject the default is none. device: the same.
        inputs: arrays or files by network input, the array of the only one, or one file for all.
            None: the golden's, else the subject's, else drawn by `seed` in `input_range`.
        golden: what the model's own framework computed, taken as right: a path, arrays by name,
            or "onnxruntime" or (of a .tflite) "litert", which runs it now.
        subject: what another runtime computed, to be judged: a path, arrays by blob name, or a
            function that is called with each blob's name and returns an array or None.
        weights, shapes, constants: as `load` has them, which also chooses a signature.
        probe: draw many inputs and take the one that exercises the weakest layers most.
        names: blob -> tensor of subject or golden, where they differ.
        pair_by_order: pair what no name pairs by its place in the order.
        layout: "NCHW" or "NHWC" of subject and golden; arithmetic: "fp32", "fp16", ... Found,
            where not given.
        layers: judge only the steps that hold one of these layers (names or indexes).
        min_tested: the share of steps, of values and of multiply-adds that must be compared.
        expect: in what subject and golden must be computed: "fp32", "tf32", "fp16", "bf16",
            "int8", "int4", "model" (what its dtypes and the dump say) or "any".
        pictures: also keep what `report.to_html()` draws of each layer's errors.
        device_options: precision, threads, device_index, fallback, unfuse, direct (see `Network`).

    Raises:
        Error: those of `load`; a device that was named and cannot run (`error.report` has what
            the others gave); a subject that does not fit the model. A layer that is wrong is no
            error: see `Report.aligned`, `Report.first_wrong`, or call `assert_aligned`.
        KeyboardInterrupt: Ctrl-C, between two layers.
    """
    arguments = _core.CheckArguments()
    if device is not None and devices is not None:
        raise Error("InvalidArgument", "device and devices are one argument; give one")
    _given.known(device_options, OPTIONS)
    memory = _memory_of(model, inputs)
    if isinstance(model, Model):
        if weights is not None or shapes or constants:
            raise Error(
                "InvalidArgument",
                "weights, shapes and constants belong to `load` when the model is loaded already",
            )
        arguments.model = model._arguments
    else:
        path = _given.path_of(model) if memory is None else memory.path
        arguments.model = arguments_of(path, weights, shapes, constants, seed)
    arguments.device = device_arguments(**device_options)
    asked = devices if device is None else device
    arguments.devices = [] if asked is None else _given.device_names(asked)
    saved = Saved()
    command = _command(arguments.model, device_options)
    if memory is not None:
        command[command.index(memory.path)] = saved.add_model(memory)
    command += _take_inputs(arguments, inputs, saved)
    if input_range is not None:
        arguments.set_range(*input_range)
        command += ["--input-range", ",".join(f"{value:g}" for value in input_range)]
    arguments.probe = probe
    command += ["--probe"] if probe else []
    command += _take_golden(arguments, golden, saved)
    _take_subject(arguments, subject, saved)
    arguments.names = dict(names or {})
    arguments.pair_by_order, arguments.layout = pair_by_order, layout or ""
    arguments.arithmetic = arithmetic or ""
    command += ["--pair-by-order"] if pair_by_order else []
    command += ["--layout", layout] if layout else []
    command += ["--arithmetic", arithmetic] if arithmetic else []
    arguments.layers, arguments.min_tested = [str(layer) for layer in layers], min_tested
    arguments.expect, arguments.pictures = expect, pictures
    command += [word for layer in arguments.layers for word in ("--layers", layer)]
    command += ["--min-tested", f"{min_tested:g}"] if min_tested != 0.5 else []
    foreign = golden is not None or subject is not None
    command += ["--expect", expect] if expect != "any" and foreign else []
    arguments.reproduce = shlex.join(command)
    result = _core.check(arguments)
    report = Report(result, saved.write)
    for device, code, message in result.failures():
        error = Error.from_status(code, f"{device}: {message}")
        error.report = report
        raise error
    return report


def assert_aligned(model: Source | Model, *args: Any, **options: Any) -> Report:
    """`check`, and all must be aligned (or grey) and computed in what the model and the dump
    themselves say (`expect="model"`); returns the report.

    Raises:
        MisalignedError: the guilty layer and the command that shows it again; arrays that were
            given are saved where that command reads them. Also when nothing could be compared.
        Error: those of `check`.
    """
    report = check(model, *args, **{"expect": "model", **options})
    if not report.aligned:
        report.save_inputs()
        raise MisalignedError(str(report), report)
    return report


def _memory_of(model: Source | Model, inputs: Any) -> _given.InMemory | None:
    if isinstance(model, Model):
        return model._memory
    of_files = isinstance(inputs, (str, os.PathLike))
    return _given.in_memory(model, None if of_files else inputs)


def _command(model: _core.ModelArguments, device_options: DeviceOptions) -> list[str]:
    words = ["model_check", "-m", model.structure]
    if model.weights:
        words = ["model_check", "-p", model.structure, "-m", model.weights]
    if model.signature:
        words += ["--signature", model.signature]
    for name, shape in model.shapes.items():
        words += ["--shape", f"{name}={','.join(map(str, shape))}"]
    if model.seed != 1:
        words += ["--seed", str(model.seed)]
    options: Mapping[str, object] = device_options
    for name in ("precision", "threads", "device_index"):
        if options.get(name):
            words += ["--" + name.replace("_", "-"), str(options[name])]
    if device_options.get("fallback"):
        words.append("--fallback")
    return words


def _take_inputs(arguments: _core.CheckArguments, inputs: Any, saved: Saved) -> list[str]:
    if inputs is None:
        return []
    if isinstance(inputs, (str, os.PathLike)):
        arguments.files = [_given.path_of(inputs, "inputs")]
        return ["-i", arguments.files[0]]
    inputs = _given.by_name(inputs, lambda: list(_core.load(arguments.model, {}, True).inputs()))
    files = {name: value for name, value in inputs.items() if isinstance(value, (str, os.PathLike))}
    arguments.files = [f"{name}={os.fspath(value)}" for name, value in files.items()]
    arrays = all_ready({name: value for name, value in inputs.items() if name not in files})
    arguments.inputs = arrays
    words = [word for file in arguments.files for word in ("-i", file)]
    return words + (["-i", saved.add(arrays)] if arrays else [])


def _take_golden(
    arguments: _core.CheckArguments, golden: Tensors | None, saved: Saved
) -> list[str]:
    if golden is None:
        return []
    if isinstance(golden, str) and golden in ("onnxruntime", "litert"):
        setattr(arguments, f"run_{golden}", True)
        arguments.python = os.environ.get("PLUMB_PYTHON") or sys.executable
        name = golden
    else:
        found = _source(arguments.model, golden, saved)
        arguments.golden_path, arguments.golden, name = found
    arguments.golden_name = name
    return ["--golden", name]


def _take_subject(arguments: _core.CheckArguments, subject: Tensors | None, saved: Saved) -> None:
    if subject is not None:
        arguments.subject_path, arguments.subject, arguments.subject_name = _source(
            arguments.model, subject, saved
        )


def _source(model: _core.ModelArguments, tensors: Tensors, saved: Saved) -> tuple[str, Any, str]:
    """(path, arrays, what a command line calls it)."""
    if isinstance(tensors, (str, os.PathLike)):
        path = os.fspath(tensors)
        return path, {}, path
    if callable(tensors) and not isinstance(tensors, Mapping):
        found = {name: tensors(name) for name in _blob_names(model)}
        tensors = {name: value for name, value in found.items() if value is not None}
    if not isinstance(tensors, Mapping):
        raise _given.bad("subject or golden", "a path, arrays by blob name, or a function", tensors)
    arrays = all_ready(tensors)
    if not arrays:
        raise Error("InvalidArgument", "the subject or golden has no tensors")
    return "", arrays, saved.add(arrays)


def _blob_names(model: _core.ModelArguments) -> list[str]:
    graph = _core.load(model, {}, True)
    names = list(graph.inputs())
    return names + [blob for layer in graph.layers() for blob in layer["outputs"]]
