# SPDX-License-Identifier: Apache-2.0
"""What callers hand in: models as paths, bytes or torch modules, inputs as one array or several, and what is none of
these, in one sentence."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import io
import os
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from ._errors import Error

Path = Union[str, "os.PathLike[str]"]


def kind(value: Any) -> str:
    return type(value).__name__


def bad(what: str, expected: str, value: Any) -> Error:
    return Error("InvalidArgument", f"{what}: expected {expected}, found {kind(value)}")


def path_of(value: Any, what: str = "model") -> str:
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str):
            return path
    raise bad(what, "a path", value)


def whole(value: Any, what: str, least: int = 0) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise bad(what, "a whole number", value)
    number = int(value.__index__())
    if not least <= number < 2**64:
        raise Error("InvalidArgument", f"{what}: expected {least} or more, found {number}")
    return number


def text_of(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise bad(what, "a word", value)
    return value


def shapes_of(value: Any, what: str) -> dict[str, list[int]]:
    """{"x": (1, 3, 224, 224)}."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise bad(what, 'a dict such as {"x": (1, 3, 224, 224)}', value)
    shapes = {}
    for name, shape in value.items():
        if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
            raise bad(f"{what} of '{name}'", "a shape such as (1, 3, 224, 224)", shape)
        shapes[text_of(name, what)] = [whole(dim, f"{what} of '{name}'") for dim in shape]
    return shapes


def device_names(value: Any, what: str = "devices") -> list[str]:
    """ "X86", "X86,OPENCL" or a list."""
    listed = value.split(",") if isinstance(value, str) else value
    if isinstance(listed, (bytes, Mapping)) or not isinstance(listed, Sequence):
        raise bad(what, 'a device such as "X86" or a list of them', value)
    names = [text_of(device, what).strip().upper() for device in listed]
    if not names:
        raise Error("InvalidArgument", f"{what}: expected a device, found an empty list")
    return names


def one_device(value: Any) -> str:
    names = device_names(value, "device")
    if len(names) != 1:
        raise Error("InvalidArgument", f"device: one is run on at a time, found {', '.join(names)}")
    return names[0]


def known(options: Mapping[str, Any], names: Sequence[str]) -> None:
    """Keywords that nobody knows."""
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            meant = f"; did you mean '{near[0]}'?" if near else f"; expected {', '.join(names)}"
            raise Error("InvalidArgument", f"there is no argument '{name}'{meant}")


def by_name(inputs: Any, names: Callable[[], Sequence[str]]) -> Mapping[str, Any]:
    """One array is the only input's."""
    if inputs is None or isinstance(inputs, Mapping):
        return inputs or {}
    if isinstance(inputs, (str, bytes, os.PathLike)) or callable(inputs):
        raise bad("inputs", "an array, or a dict of arrays by network input", inputs)
    wanted = list(names())
    if len(wanted) != 1:
        listed = ", ".join(f"'{name}'" for name in wanted) or "none"
        raise Error(
            "InvalidArgument",
            f"inputs: one array for {len(wanted)} network inputs ({listed}): give a dict",
        )
    return {wanted[0]: inputs}


def is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


class InMemory:
    """An .onnx that a caller has as bytes, in a folder of its own for as long as this object lives."""

    def __init__(self, onnx: bytes) -> None:
        self.onnx = onnx
        folder = tempfile.mkdtemp(prefix="plumbnn-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = os.path.join(folder, "model.onnx")
        with open(self.path, "wb") as file:
            file.write(onnx)

    @property
    def saved_name(self) -> str:
        """Where a command finds it, once it is saved (Report.save_inputs)."""
        digest = hashlib.blake2b(self.onnx, digest_size=6).hexdigest()
        return os.path.join(tempfile.gettempdir(), f"plumbnn-{digest}.onnx")


def in_memory(model: Any, inputs: Any = None) -> InMemory | None:
    """Of bytes and of a torch module, which is exported at the inputs; None of all others."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return InMemory(bytes(model))
    if not is_module(model):
        return None
    if inputs is None:
        raise Error(
            "InvalidArgument",
            "model: a torch module has no shapes of its own: give inputs (check, run, dump), or "
            "export it with torch.onnx.export",
        )
    return InMemory(_exported(model, inputs))


def _exported(module: Any, inputs: Any) -> bytes:
    """The .onnx of a torch module in evaluation mode; its inputs have the names that were given, else `input`."""
    import torch

    named = inputs if isinstance(inputs, Mapping) else {"input": inputs}
    try:
        values = tuple(torch.as_tensor(value) for value in named.values())
    except (RuntimeError, TypeError, ValueError) as error:
        raise Error("InvalidArgument", f"inputs: no torch tensors can be made of them: {error}") from error
    file = io.BytesIO()
    words: dict[str, Any] = {"input_names": list(named), "opset_version": 17}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        words["dynamo"] = False  # the other exporter needs packages of its own
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, values, file, **words)
    except Exception as error:  # whatever the module and the exporter raise
        text = " ".join(str(error).split())[:300]
        raise Error(
            "InvalidArgument", f"model: torch.onnx.export refuses it: {kind(error)}: {text}"
        ) from error
    return file.getvalue()
