# SPDX-License-Identifier: Apache-2.0
"""Tensors out of files, so that one program's go into the other."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import Error
from ._given import Path

# What `load` takes for tensors: names that no model has.
SUFFIXES = (".dat", ".bmrt", ".npz", ".npy")


def tensors(path: Path, shapes: Mapping[str, Sequence[int]] | None = None) -> dict[str, Any]:
    """The tensors of a file or dump folder by name.

    Read are .npz, .npy, TNN's text, Polygraphy's .json, dump folders, and files of values only
    (.dat .bmrt .bin .raw): SAVE_IO_TENSORS writes a .json beside these, otherwise `shapes` says
    what they hold, f32 values in its order.

    Raises:
        Error: InvalidArgument for a file that is not there, is a pickle, or is not what it says.
    """
    foreign = importlib.import_module(".golden.foreign", __package__)
    folder = importlib.import_module(".golden.folder", __package__)
    specs = [(name, "float32", list(shape)) for name, shape in (shapes or {}).items()]
    try:
        found: dict[str, Any] = foreign.read_tensors(os.fspath(path), specs)
    except folder.UsageError as error:
        raise Error("InvalidArgument", str(error)) from error
    return found
