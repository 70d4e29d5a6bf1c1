# SPDX-License-Identifier: Apache-2.0
"""Writes a dump folder (doc/dump_format.md): one .npy per tensor, manifest.json last; until then it has a mark."""
import datetime
import json
import os
import pathlib
import platform
import random
import re
import sys

import numpy as np

from .files import FolderLock, create, whole, write_text

try:
    import xxhash
except ImportError:  # then the checksums stay empty, which readers take as "not known"
    xxhash = None

VERSION = "0.1.0"
DTYPES = {
    "float32": "f32", "float16": "f16", "float64": "f64", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16",
    "int32": "i32", "uint32": "u32", "int64": "i64", "bool": "bool",
}


MANIFEST, MARK = "manifest.json", "manifest.json.part"
OWN_FILE = re.compile(r"[0-9]{5,}-.*-(in|out)-[0-9]+-.*\.npy(\.[0-9a-f]{8}\.part)?")


class UsageError(Exception):
    """What the user gave cannot work; one sentence."""


def seed_everything(seed):
    """Seeds Python, numpy and, where it is loaded, torch; returns what was set, for the manifest."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    done = {"seed": seed, "python": True, "numpy": True, "torch": False}
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.benchmark = False
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        done.update(torch=True, torch_deterministic_algorithms=True, cudnn_benchmark=False,
                    cublas_workspace=os.environ["CUBLAS_WORKSPACE_CONFIG"])
    return done


def cpu_name():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def checksum(data):
    return xxhash.xxh64(data, seed=0).hexdigest() if xxhash is not None else ""


def statistics(array):
    """The manifest's statistics of one tensor."""
    values = array.reshape(-1)
    is_float = array.dtype.kind == "f"
    finite = values[np.isfinite(values)] if is_float else values
    wide = finite.astype(np.float64)
    result = {
        "count": int(values.size), "min": None, "max": None, "mean": None, "std": None, "sum": None,
        "zeros": int(np.count_nonzero(values == 0)), "subnormals": 0, "nan": 0, "inf": 0, "distinct": None,
    }
    if is_float:
        result["subnormals"] = int(np.count_nonzero((finite != 0) & (np.abs(finite) < np.finfo(array.dtype).tiny)))
        result["nan"] = int(np.count_nonzero(np.isnan(values)))
        result["inf"] = int(np.count_nonzero(np.isinf(values)))
    if finite.size:
        number = float if is_float else int
        with np.errstate(over="ignore", invalid="ignore"):
            moments = {"mean": float(wide.mean()), "std": float(wide.std()), "sum": float(wide.sum())}
        result.update(min=number(finite.min()), max=number(finite.max()),
                      **{k: v if np.isfinite(v) else None for k, v in moments.items()})
        distinct = len(np.unique(finite)) + (1 if result["nan"] else 0)
        result["distinct"] = distinct if distinct <= 256 and not result["inf"] else None
    return result


def file_part(text):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:60]


def check_free(path, force):
    """UsageError when a dump cannot be written there; to be asked before the work."""
    path = pathlib.Path(path)
    if path.exists() and not path.is_dir():
        raise UsageError(f"'{path}' is a file; -o names the folder of the dump")
    if path.is_dir() and any(path.iterdir()) and not force:
        raise UsageError(f"the folder '{path}' is not empty; --force replaces a dump in it, or give another with -o")
    above = path
    while not above.exists():
        above = above.parent
    if not os.access(above, os.W_OK):
        raise UsageError(f"the folder '{above}' is not writable; give another with -o")


def lock(path):
    try:
        return FolderLock(path)
    except BlockingIOError:
        raise UsageError(f"another run writes into the folder '{path}' at this moment; give another with -o") from None


def is_cut_off(path):
    """Whether a dump was begun there and never finished."""
    return not (path / MANIFEST).exists() and any(path.glob(f"{MANIFEST}*.part"))


def written_files(path):
    """The names of what a dump in the folder consists of, finished or cut off."""
    try:
        entries = json.loads((path / MANIFEST).read_text(encoding="utf-8"))["files"]
        return [pathlib.Path(entry["file"]).name for entry in entries]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return [file.name for file in path.iterdir() if OWN_FILE.fullmatch(file.name)] if is_cut_off(path) else []


def clear(path, force):
    """Makes the folder, locks it and marks it as unfinished; with force a dump that it holds goes, and nothing else.
    Returns the lock."""
    check_free(path, force)
    path.mkdir(parents=True, exist_ok=True)
    locked = lock(path)
    check_free(path, force)  # another run may have finished in between
    old = written_files(path)
    try:
        create(path / MARK).close()
    except FileExistsError:
        if not force:
            raise UsageError(f"another run has begun to write into the folder '{path}'; give another with -o") from None
    (path / MANIFEST).unlink(missing_ok=True)
    for name in old:
        if name not in ("", "..", MARK) and not (path / name).is_dir():
            (path / name).unlink(missing_ok=True)
    return locked


def to_text(manifest):
    """As the library writes it, byte for byte (source/dump/manifest.cc; python/tests/test_golden.py compares): a line
    per file."""
    def dump(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def lines(value):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n" + ",\n".join("  " + dump(one) for one in value) + "\n ]"
        return dump(value)

    return "{\n" + ",\n".join(f" {dump(key)}: {lines(value)}" for key, value in manifest.items()) + "\n}\n"


class Folder:
    """A dump folder under construction. Names must be unique."""

    def __init__(self, path, framework="", model="", device="", source=None, layout="NCHW", force=False,
                 precision="f32"):
        """precision: the least that the runtime may compute in, or keep weights in."""
        self.path = pathlib.Path(path)
        self._lock, self._written = clear(self.path, force), None
        self.framework, self.model, self.device, self.layout = framework, model, device, layout
        self.precision = "HIGH" if precision == "f32" else "NORMAL"
        self.facts = {"python": platform.python_version(), "numpy": np.__version__, "cpu": cpu_name(),
                      "platform": platform.platform()}
        self.facts.update(source or {})
        self.files, self.names, self.notes, self.lost = [], set(), [], []
        self.probe, self.repeats = None, []

    def add(self, name, array, layer=None, kind="", index=None, slot=0, is_input=False, nodes=(), constant=False,
            stands_for="", order="", quantisation=None):
        """order: of the array's dims, where that is not N, C and the spatial ones; quantisation: of integers, {scale,
        zero_point, axis}."""
        array = np.asarray(array)
        if name in self.names:
            raise UsageError(f"tensor '{name}' was dumped before; every tensor needs a name of its own")
        if str(array.dtype) not in DTYPES:
            raise UsageError(f"tensor '{name}' has the dtype {array.dtype}, which a dump cannot hold")
        self.names.add(name)
        index = len(self.files) if index is None else index
        layer = name if layer is None else layer
        array = np.ascontiguousarray(array).reshape(array.shape)
        file = f"{len(self.files):05d}-{file_part(layer)}-{'in' if is_input else 'out'}-{slot}-{file_part(name)}.npy"
        with whole(self.path / file) as stream:
            np.save(stream, array, allow_pickle=False)
        data = (self.path / file).read_bytes() if xxhash is not None else b""
        self.files.append({
            "file": file, "layer_index": index, "layer": layer, "type": kind, "direction": "in" if is_input else "out",
            "slot": slot, "blob": name, "shape": list(array.shape), "dtype": DTYPES[str(array.dtype)],
            "constant": constant, **({"stands_for": stands_for} if stands_for else {}),
            **({"order": order} if order else {}), **({"quantisation": quantisation} if quantisation else {}),
            "device": self.device or self.framework, "layout": order or self.layout, "kernel": "", "kernel_detail": "",
            "fallback": False,
            "group": index, "fused_layers": [], "nodes": list(nodes) or [layer],
            "bytes": (self.path / file).stat().st_size, "xxh64": checksum(data),
            "values_xxh64": checksum(array.tobytes()) if xxhash is not None else "", "statistics": statistics(array),
        })

    def left_out(self, count, why, names=()):
        """Counts tensors that are not in the dump; the last line and the manifest say so."""
        if count:
            self.lost.append({"count": int(count), "why": why, "names": list(names)[:100]})

    def summary(self):
        text = f"{len(self.files)} tensors of {self.device or self.framework} in {self.path}"
        return text + ("; left out: " + ", ".join(f"{lost['count']} {lost['why']}" for lost in self.lost)
                       if self.lost else "")

    def abandon(self):
        """Takes away what was written: a dump that is of no use must not lie there."""
        for entry in self.files:
            (self.path / entry["file"]).unlink(missing_ok=True)
        (self.path / MARK).unlink(missing_ok=True)
        try:
            self.path.rmdir()
        except OSError:
            pass  # it held something before
        self._lock.release()

    def finish(self, complete=True, errors=()):
        """Writes the manifest; again when something was noted behind it."""
        if self._written is not None:
            self._lock = lock(self.path)
            if (self.path / MANIFEST).read_bytes() != self._written:
                raise UsageError(f"another run has written into the folder '{self.path}' meanwhile; give another with "
                                 f"-o")
        write_text(self.path / MANIFEST, to_text(self._manifest(complete, errors)))
        self._written = (self.path / MANIFEST).read_bytes()
        (self.path / MARK).unlink(missing_ok=True)
        self._lock.release()

    def _manifest(self, complete, errors):
        manifest = {
            "format": "plumb-dump", "version": 1, "tool": f"plumb_golden {VERSION}",
            "created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "complete": complete, "errors": list(errors),
            "model": {"source": str(self.model), "weights_generated": False, "weight_seed": None},
            "device": {"name": self.framework or "unknown", "description": self.device, "precision": self.precision,
                       "threads": 1},
            "network": 1, "forward": 0, "forwards_note": "",
            "options": {"inputs": True, "outputs": True, "format": "npy", "compress": "", "order": "model",
                        "layers": "", "types": "", "forwards": "", "statistics_only": False, "unfuse": False},
            "io_files": [], "files": self.files, "absent": [],
            "framework": {**self.facts, "notes": self.notes, "left_out": self.lost},
        }
        if self.probe is not None:
            manifest["probe"] = self.probe
        if self.repeats:
            manifest["repeats"] = self.repeats
        return manifest
