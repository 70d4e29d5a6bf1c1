# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library, made ready for the extension without a copy where their layout allows."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import Error

if TYPE_CHECKING:
    from ._given import InMemory


def ready(name: str, value: Any) -> tuple[Any, bool]:
    """(array, whether its 16-bit words are bfloat16); `name` stands in errors."""
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        try:
            return _host(value), False
        except (BufferError, RuntimeError, TypeError) as error:
            raise Error(
                "InvalidArgument", f"'{name}': the array cannot be read: {error}"
            ) from error
    try:
        array = np.asarray(value)
    except (RuntimeError, TypeError, ValueError) as error:
        raise Error("InvalidArgument", f"'{name}': no array can be made of it: {error}") from error
    if array.dtype.name == "bfloat16":  # ml_dtypes
        return np.ascontiguousarray(array).view(np.uint16).reshape(array.shape), True
    if array.dtype.kind not in "fiub":
        raise Error(
            "InvalidArgument", f"'{name}': expected an array of numbers, found dtype {array.dtype}"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array, False


def all_ready(arrays: Mapping[str, Any]) -> dict[str, tuple[Any, bool]]:
    return {name: ready(name, value) for name, value in arrays.items()}


def _host(value: Any) -> Any:
    """A torch tensor that asks for gradients or lies on a GPU cannot be shared as it is."""
    if hasattr(value, "detach"):
        value = value.detach()
    device_type = value.__dlpack_device__()[0]
    if int(device_type) != 1 and hasattr(value, "cpu"):
        value = value.cpu()
    return value


def to_numpy(array: Any, bf16: bool) -> np.ndarray:
    """A numpy array of what `ready` returned; bfloat16, which numpy lacks, as float32."""
    if bf16:
        bits: np.ndarray = array.astype(np.uint32) << 16
        return bits.view(np.float32)
    if not isinstance(array, np.ndarray) and "bfloat16" in str(getattr(array, "dtype", "")):
        array = array.float()
    return np.asarray(array)


class Saved:
    """Files in the temporary folder that arrays are written to when a command should find them.

    A file's name follows from what is in it, so that two checks of the same arrays share it.
    """

    def __init__(self) -> None:
        self._files: dict[str, dict[str, np.ndarray]] = {}
        self._models: dict[str, bytes] = {}

    def add_model(self, model: InMemory) -> str:
        self._models[model.saved_name] = model.onnx
        return model.saved_name

    def add(self, arrays: Mapping[str, tuple[Any, bool]]) -> str:
        values = {name: to_numpy(*array) for name, array in arrays.items()}
        digest = hashlib.blake2b(digest_size=6)
        for name, value in sorted(values.items()):
            head = f"{name}:{value.dtype}:{value.shape};"
            digest.update(head.encode("utf-8", "surrogateescape"))
            digest.update(np.ascontiguousarray(value).data)
        path = os.path.join(tempfile.gettempdir(), f"plumbnn-{digest.hexdigest()}.npz")
        self._files[path] = values
        return path

    def write(self) -> list[str]:
        for path, values in self._files.items():
            try:
                _save(path, values)
            except OSError as error:
                raise Error("IoError", f"cannot write '{path}': {error.strerror}") from error
        for path, onnx in self._models.items():
            with _in_place_of(path) as part, open(part, "wb") as file:
                file.write(onnx)
        return [*self._files, *self._models]


@contextlib.contextmanager
def _in_place_of(path: str) -> Iterator[str]:
    """The temporary folder is everybody's: the file is a new one, and a link at its name is not followed."""
    with tempfile.TemporaryDirectory(prefix=".plumbnn-", dir=os.path.dirname(path)) as folder:
        part = os.path.join(folder, "part")
        yield part
        os.replace(part, path)


def _save(path: str, values: Mapping[str, np.ndarray]) -> None:
    with _in_place_of(path) as part, zipfile.ZipFile(part, "w") as archive:
        for name, value in values.items():  # np.savez has no room for a tensor 'file'
            shown = name.encode("utf-8", "replace").decode()  # no UTF-8: no name for an archive
            with archive.open(f"{shown}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, value, allow_pickle=False)
