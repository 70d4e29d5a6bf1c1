# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's debug node dump in an SQLite database, as a dump folder.

A build with onnxruntime_DEBUG_NODE_INPUTS_OUTPUTS=1 and ..._ENABLE_DUMP_TO_SQLDB=1 writes it with
ORT_DEBUG_NODE_IO_DUMP_DATA_DESTINATION=sqlite; the tables are those of
onnxruntime/core/framework/debug_node_inputs_outputs_utils.cc:
Tensors (Step, Name, Value: a TensorProto, DeviceType, TracedProducer "NODE:SLOT", TracedConsumers) and
Nodes (ExecutionCounter, Name, OpType, ExecutionProvider). A TensorProto is read here as onnx.proto defines it.
"""
import contextlib
import pathlib
import sqlite3

import numpy as np

from .folder import DTYPES, Folder, UsageError

MAGIC = b"SQLite format 3\0"
TYPES = {1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8", 12: "<u4"}
DIMS, TYPE, NAME, RAW = 1, 2, 8, 9  # fields of TensorProto
TYPED = {4: "<f4", 5: "varint", 7: "varint", 10: "<f8", 11: "varint"}


def varint(data, at):
    value, shift = 0, 0
    while shift < 64:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
    raise IndexError


def fields(data):
    """(field, number or bytes) of a protobuf message; IndexError where it is cut off or none."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            if at + size > len(data):
                raise IndexError
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        found.append(one)
    return found


def parse_tensor(data, where):
    """The array of a serialised TensorProto; None for a type that numpy has not."""
    dims, kind, raw, typed = [], 0, None, []
    try:
        for field, value in fields(data):
            if field == DIMS:
                dims += numbers(value)
            elif field == TYPE:
                kind = value
            elif field == RAW:
                raw = value
            elif field in TYPED and TYPED[field] == "varint":
                typed += numbers(value)
            elif field in TYPED:
                typed += np.frombuffer(value, TYPED[field]).tolist()
        if kind == 16:  # bf16, as the f32 of the same values
            words = np.frombuffer(raw, "<u2") if raw is not None else np.array(typed, "<u2")
            return (words.astype("<u4") << 16).view("<f4").reshape(dims)
        if kind == 0:
            raise ValueError("it has no data_type")
        if kind not in TYPES:
            return None
        dtype = np.dtype(TYPES[kind])
        if raw is not None:
            return np.frombuffer(raw, dtype).reshape(dims)
        if kind == 10:
            return np.array(typed, "<u2").view("<f2").reshape(dims)
        return np.array(typed).astype(np.int64 if dtype.kind in "iub" else dtype).astype(dtype).reshape(dims)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{where} is no TensorProto of ONNX: {error or 'it is cut off'}") from error


def refuse_views(database):
    """sqlite3.Error unless both names are plain tables: a view, a virtual table or a computed column could run for
    ever."""
    for table in ("Tensors", "Nodes"):
        found = database.execute("select rootpage from sqlite_master where type = 'table' and name = ?",
                                 (table,)).fetchone()
        columns = database.execute(f"pragma table_xinfo({table})").fetchall()
        if not found or not found[0] or any(column[6] for column in columns):
            raise sqlite3.DatabaseError(f"'{table}' is no plain table")


def read(path, output, force=False, **_):
    path = pathlib.Path(path)
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            refuse_views(database)
            first, last = database.execute("select min(Step), max(Step) from Tensors").fetchone()
            kinds = dict(database.execute("select Name, OpType from Nodes").fetchall())
            folder = Folder(output, framework="onnxruntime", model=path, device="ONNX Runtime's debug node dump",
                            force=force)
            rows = database.execute("select Name, Value, TracedProducer from Tensors where Step = ? order by rowid",
                                    (first,))
            strange = [name for name, value, producer in rows
                       if not add(folder, path, str(name), value, str(producer or ""), kinds)]
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:  # its own message may be no text
        raise UsageError(f"'{path}' is no database that ONNX Runtime's debug node dump wrote: {error}") from error
    folder.left_out(len(strange), "of a type that a dump cannot hold", strange)
    if first != last:
        folder.notes.append(f"the database has the runs {first} to {last}; taken is {first}")
    if not folder.files:
        folder.abandon()
        raise UsageError(f"'{path}' holds no tensor: run with ORT_DEBUG_NODE_IO_DUMP_OUTPUT_DATA=1 and "
                         f"ORT_DEBUG_NODE_IO_DUMP_INPUT_DATA=1")
    folder.finish()
    return folder


def add(folder, path, name, value, producer, kinds):
    array = parse_tensor(value, f"'{path}', tensor '{name}'") if isinstance(value, bytes) else None
    if array is None or str(array.dtype) not in DTYPES:
        return False
    node, _, slot = producer.rpartition(":")
    folder.add(name, array, layer=node or name, kind=kinds.get(node, ""), slot=int(slot) if slot.isdigit() else 0,
               is_input=not node)
    return True
