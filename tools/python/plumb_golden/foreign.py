# SPDX-License-Identifier: Apache-2.0
"""Reads tensors that other tools wrote: .npz, .npy, folders of them, TNN's text, SAVE_IO files, raw files with shapes,
Polygraphy's JSON. These model_check reads, too, and more (doc/subjects.md); pickles are refused, because reading one
can run its writer's code."""
import base64
import io
import json
import math
import pathlib
import zipfile

import numpy as np

from .folder import DTYPES, UsageError, is_cut_off

NUMPY = {short: name for name, short in DTYPES.items()}
TNN_DTYPES = {0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint16", 5: "int64", 6: "uint32"}  # 4: bf16 words


# What an archive may unpack to: more than networks take, less than minutes. Zeros shrink to a thousandth.
UNPACKED = 2**30
UNPACKED_PER_BYTE = 100


def load_array(source, size):
    """The array of an .npy; a stream of `size` bytes. ValueError before a header that promises more takes memory."""
    start = source.tell()
    version = np.lib.format.read_magic(source)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"it is an .npy of version {version}, which numbers do not need")
    shape, _, dtype = readers[version](source)
    if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=0) < 0:
        raise ValueError(f"it holds {list(shape)} of dtype {dtype}, which are no numbers")
    wanted, there = math.prod(shape) * dtype.itemsize, size - (source.tell() - start)
    if wanted > there:
        raise ValueError(f"its header says {wanted} bytes, and {there} are there")
    source.seek(start)
    return np.lib.format.read_array(source, allow_pickle=False)


def load_file(path):
    with open(path, "rb") as stream:
        return load_array(stream, path.stat().st_size)


def load_archive(path):
    """{name: array} of an .npz."""
    with zipfile.ZipFile(path) as archive:
        members, packed = archive.infolist(), path.stat().st_size
        unpacked = sum(member.file_size for member in members)
        if unpacked > UNPACKED + UNPACKED_PER_BYTE * packed:
            raise ValueError(f"{packed} bytes would unpack to {unpacked}; save it with numpy.savez, which does not "
                             f"pack")
        tensors = {}
        for member in members:
            with archive.open(member) as stream:
                tensors[member.filename.removesuffix(".npy")] = load_array(stream, member.file_size)
        return tensors


def read_tensors(path, specs=()):
    """{name: array}; a file with one tensor and no name gives {'': array}. specs: [(name, dtype, shape)] of a raw
    file."""
    path = pathlib.Path(path)
    if not path.exists():
        raise UsageError(f"there is no file or folder '{path}'")
    if not path.is_dir() and not path.is_file():
        raise UsageError(f"'{path}' is a pipe or a device, expected a file")
    try:
        return read_folder(path) if path.is_dir() else read_file(path, specs)
    except UsageError:
        raise
    except Exception as error:  # whatever the bytes of others are wrong in: numpy, zipfile, json, or a field that lacks
        kind = "" if isinstance(error, (ValueError, OSError, zipfile.BadZipFile)) else f"{type(error).__name__}: "
        raise UsageError(f"'{path}' cannot be read: {kind}{error}") from error


def read_file(path, specs):
    suffix = path.suffix
    if suffix in (".pkl", ".pickle", ".pt", ".pth"):
        raise UsageError(f"'{path}' is a pickle; reading one can run its writer's code, so it is refused. Save with "
                         f"numpy.savez")
    if suffix == ".npz":
        return load_archive(path)
    if suffix == ".npy":
        return {"": load_file(path)}
    if suffix == ".txt":
        return read_tnn_text(path)
    if suffix == ".json":
        return read_polygraphy(path)
    if suffix in (".dat", ".bmrt", ".bin", ".raw"):
        return read_raw(path, specs)
    raise UsageError(f"'{path}' is no tensor file that can be told by its name; expected .npz .npy .txt .json .dat "
                     f".bmrt .bin .raw")


def read_folder(path):
    manifest = path / "manifest.json"
    if manifest.exists():
        try:
            return read_dump(path, json.loads(manifest.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
            raise UsageError(f"'{manifest}' is no manifest of a dump, or its files are not as it says: "
                             f"{type(error).__name__}: {error}") from error
    if is_cut_off(path):
        raise UsageError(f"the dump in '{path}' was cut off: '{manifest.name}.part' is there, which its writer takes "
                         f"away at the end; make the dump again")
    tensors = {}
    for file in sorted(path.iterdir()):
        if file.suffix in (".npy", ".txt", ".npz"):
            for name, array in read_tensors(file).items():
                tensors[name or file.stem] = array
        elif file.suffix in (".dat", ".bmrt") and file.with_suffix(".json").exists():
            tensors.update(read_raw(file, ()))
    if not tensors:
        raise UsageError(f"folder '{path}' holds no tensors")
    return tensors


def read_dump(path, manifest):
    tensors = {}
    for direction in ("out", "in"):
        for entry in manifest["files"]:
            name = entry["blob"]
            if entry["direction"] != direction or entry["constant"] or not entry["file"]:
                continue
            if not isinstance(name, str) or name in tensors:
                continue
            file = path / pathlib.Path(entry["file"]).name
            dtype, shape = NUMPY.get(entry["dtype"]), entry["shape"]
            if file.suffix == ".npy":
                tensors[name] = load_file(file)
            elif file.suffix == ".raw" and dtype:
                tensors[name] = np.fromfile(file, dtype=dtype).reshape(shape)
            elif file.suffix == ".txt" and dtype:
                tensors[name] = np.array(file.read_text().split(), dtype=np.float64).astype(dtype).reshape(shape)
            else:
                raise UsageError(f"'{file}' ({entry['dtype']}) is not read here; dump with DUMP_BLOB_FORMAT=npy")
    for name in manifest.get("io_files", []):  # of SAVE_IO_TENSORS
        if pathlib.Path(name).suffix == ".dat":
            for blob, array in read_raw(path / pathlib.Path(name).name, ()).items():
                tensors.setdefault(blob, array)
    return tensors


def read_tnn_text(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    head = lines[1].split() if len(lines) > 1 else []
    if len(lines[0].split()) != 1 or len(head) < 3:  # a dumped blob: plain values
        return {"": np.array(" ".join(lines).split(), dtype=np.float32)}
    if "mat_type:" in head:
        return read_tnn_test(lines)
    tensors, at = {}, 1
    for _ in range(int(lines[0])):
        name, rank, *rest = lines[at].split()
        dims = [int(d) for d in rest[:int(rank)]]
        dtype = TNN_DTYPES[int(rest[int(rank)]) if len(rest) > int(rank) else 0]
        count = int(np.prod(dims))
        tensors[name] = np.array(lines[at + 1:at + 1 + count], dtype=np.float64).astype(dtype).reshape(dims)
        at += 1 + count
    return tensors


def read_tnn_test(lines):
    """TNNTest's output file: all heads, "prob mat_type: 32 dims: 4 1 10 1 1", then all values."""
    tensors, at = {}, 1 + int(lines[0])
    for head in lines[1:at]:
        name, _, rest = head.partition(" mat_type: ")
        kind, _, dims = rest.partition(" dims: ")
        shape = [int(d) for d in dims.split()[1:]]
        count = int(np.prod(shape))
        dtype = {"32": "float32", "33": "int32"}[kind]
        tensors[name] = np.array(lines[at:at + count], dtype=np.float64).astype(dtype).reshape(shape)
        at += count
    return tensors


def read_raw(path, specs):
    beside = path.with_suffix(".json")
    if path.name.endswith(".dat.bmrt") and not beside.exists():
        beside = path.with_suffix("").with_suffix(".json")
    if not specs and beside.exists():
        tensors = json.loads(beside.read_text(encoding="utf-8"))["tensors"]
        specs = [(t["name"], NUMPY[t["dtype"]], t["shape"]) for t in tensors]
    if not specs:
        raise UsageError(f"'{path}' holds nothing but values: say what they are with --tensors NAME=1,3,224,224")
    data, offset, tensors = path.read_bytes(), 0, {}
    for name, dtype, shape in specs:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if offset + size > len(data):
            raise UsageError(f"raw file '{path}' has {len(data)} bytes and ends inside tensor '{name}'")
        tensors[name] = np.frombuffer(data[offset:offset + size], dtype=dtype).reshape(shape)
        offset += size
    if offset != len(data):
        raise UsageError(f"raw file '{path}' has {len(data)} bytes, but its tensors take {offset}")
    return tensors


def read_polygraphy(path):
    tensors = {}

    def walk(node, name):
        if isinstance(node, list):
            for item in node:
                walk(item, name)
        elif isinstance(node, dict):
            if isinstance(node.get("array"), str):
                if name not in tensors:  # later runs and iterations are passed over
                    data = base64.b64decode(node["array"])
                    tensors[name] = load_array(io.BytesIO(data), len(data))
            else:
                for key, value in node.items():
                    walk(value, name if key == "values" else key)

    walk(json.loads(path.read_text(encoding="utf-8")), "")
    if not tensors:
        raise UsageError(f"'{path}' holds no tensor; expected what Polygraphy's --save-outputs or --save-inputs writes")
    return tensors
