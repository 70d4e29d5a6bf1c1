# SPDX-License-Identifier: Apache-2.0
"""Network inputs that nobody gives: the very bits that Plumb's tools draw from the same seed (doc/formats.md,
source/graph/philox.h).

Philox4x32-10 with the seed as key; the counter is the number of four elements and the FNV-1a hash of 'input', 0 and the
name. Floats are uniform on multiples of 2^-24 of the range, integers and floats that become indices are whole numbers,
and what range a graph allows them is asked of model_info, where it is built.
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

from .folder import UsageError

MASK = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """counter: four arrays of uint64 below 2^32; returns the four arrays of random words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = ((p1 >> np.uint64(32)) ^ c1 ^ k0, p1 & MASK, (p0 >> np.uint64(32)) ^ c3 ^ k1, p0 & MASK)
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & MASK, (k1 + np.uint64(0xBB67AE85)) & MASK
    return c0, c1, c2, c3


def words(seed, name, count):
    """One random uint32 per element of the input `name`."""
    digest = 0xCBF29CE484222325
    for byte in b"input\0" + name.encode():
        digest = ((digest ^ byte) * 0x100000001B3) % 2**64
    block = np.arange((count + 3) // 4, dtype=np.uint64)
    same = np.zeros_like(block)
    counter = (block & MASK, block >> np.uint64(32), same + np.uint64(digest % 2**32), same + np.uint64(digest >> 32))
    drawn = philox(counter, (np.uint64(seed % 2**32), np.uint64(seed // 2**32 % 2**32)))
    return np.stack(drawn, axis=1).reshape(-1)[:count]


def draw(name, dtype, shape, seed, low, high, whole):
    """The input's values; REQUIRES: low <= high. whole: of floats; integers always are."""
    bits = words(seed, name, int(np.prod(shape, dtype=np.int64)))
    kind = np.dtype(dtype).kind
    if kind == "b":
        values = bits >> np.uint64(31)
    elif kind == "f" and not whole:
        values = low + (high - low) * ((bits >> np.uint64(8)).astype(np.float64) * 2.0**-24)
    else:
        steps = math.floor(high) - math.ceil(low) + 1
        values = math.ceil(low) + np.floor(bits.astype(np.float64) * 2.0**-32 * steps)
        values = values if kind == "f" else values.astype(np.int64)
    return values.astype(dtype).reshape(shape)


def plumb_tool(name):
    """One of Plumb's tools: of $PLUMB_BIN_DIR, of the build beside this Python's environment (build/venv), or on the
    path; or None."""
    places = [os.environ.get("PLUMB_BIN_DIR"), pathlib.Path(sys.prefix).parent / "release" / "bin"]
    for folder in filter(None, places):
        tool = pathlib.Path(folder) / name
        if tool.exists():
            return str(tool)
    return shutil.which(name)


def told(model, shapes, constants=()):
    """{input: what model_info says of it}: its shape, which is a usual one where the file leaves it open, and the range
    of what the graph allows, or "chosen": its values, where these had to be known; empty where that is not known.
    constants: texts of --constant."""
    tool = plumb_tool("model_info")
    if tool is None or pathlib.Path(model).suffix not in (".onnx", ".tflite"):
        return {}
    words_of = [tool, "-m", str(model), "--json", "-"]
    for name, dims in shapes.items():
        words_of += ["--shape", f"{name}={','.join(map(str, dims))}"]
    for text in constants:
        words_of += ["--constant", text]
    done = subprocess.run(words_of, capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)
        chosen = {name: {"chosen": values} for name, values in found.get("chosen", {}).items()}
        return {**{i["name"]: i for i in found["inputs"]}, **chosen}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def ranges(found):
    """{input: (low, high, whole, needed, ascending)} of what `told` found."""
    words_of = ("whole", "needed", "ascending")
    return {name: (i["range"]["lo"], i["range"]["hi"], *(bool(i["range"].get(word)) for word in words_of))
            for name, i in found.items() if isinstance(i.get("range"), dict)}


def ascending(dtype, shape, low, high):
    """low, low + 1, ... along the last dim, high once it is reached."""
    row = np.minimum(low + np.arange(shape[-1] if shape else 1), high).astype(dtype)
    return np.broadcast_to(row if shape else row[0], shape).copy()


class Drawn:
    """Draws the inputs of one model. given: --input-range, or None; it stays within what indices allow."""

    def __init__(self, model, seed, given=None, constants=()):
        self.model, self.seed, self.given, self.constants = model, seed, given, constants
        self._ranges = None

    def values(self, name, dtype, shape, all_shapes):
        if any(not isinstance(d, int) or d < 0 for d in shape):
            raise UsageError(f"input '{name}' has the shape [{', '.join(map(str, shape))}]; give it with --shape "
                             f"{name}=1,3,224,224")
        if self._ranges is None:
            self._ranges = ranges(told(self.model, all_shapes, self.constants))
        usual = (-1, 1) if np.dtype(dtype).kind == "f" else (0, 1)
        low, high, whole, needed, in_order = self._ranges.get(name, (*usual, False, False, False))
        if in_order and self.given is None:
            return ascending(dtype, shape, low, high)
        if self.given is not None:
            inside = max(low, self.given[0]), min(high, self.given[1])
            low, high = inside if needed and inside[0] <= inside[1] else self.given
        return draw(name, dtype, shape, self.seed, low, high, whole)
