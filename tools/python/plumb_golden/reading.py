# SPDX-License-Identifier: Apache-2.0
"""plumb-golden read: dumps of other tools that need Python, as dump folders; the format is found by the content.
model_check reads the others as they are."""
import pathlib

from . import etdump, ort_database
from .folder import UsageError


def read(path, output, force=False, etrecord=None, debug_buffer=None):
    path = pathlib.Path(path)
    if not path.is_file():
        raise UsageError(f"'{path}' is no file; read takes an SQLite database of ONNX Runtime or an ETDump")
    with open(path, "rb") as stream:
        head = stream.read(16)
    if head == ort_database.MAGIC:
        return ort_database.read(path, output, force)
    if etdump.MAGIC in (head[4:8], head[8:12]):
        return etdump.read(path, output, force, etrecord, debug_buffer)
    raise UsageError(f"'{path}' is neither an SQLite database of ONNX Runtime nor an ETDump of ExecuTorch; model_check "
                     f"reads Core AI's, msprobe's, OpenVINO's, QNN's and TensorProto files as they are")
