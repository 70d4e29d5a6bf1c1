"""The network inputs: from files, else drawn from a seed."""
import numpy as np

from .folder import UsageError
from .foreign import NUMPY, read_tensors


def parse_shapes(texts):
    shapes = {}
    for text in texts:
        name, _, dims = text.rpartition("=")
        try:
            shapes[name] = [int(d) for d in dims.split(",")]
        except ValueError:
            raise UsageError(f"--shape: expected NAME=1,3,224,224, found '{text}'") from None
    return shapes


def parse_specs(texts):
    specs = []
    for text in texts:
        name, _, rest = text.rpartition("=")
        dtype, _, dims = rest.rpartition(":")
        try:
            specs.append((name, NUMPY[dtype or "f32"], [int(d) for d in dims.split(",")]))
        except (ValueError, KeyError):
            raise UsageError(f"--tensors: expected NAME=1,3,224,224 or NAME=i32:1,10, found '{text}'") from None
    return specs


def from_files(texts, wanted, specs=()):
    """{input: array} from 'FILE' and 'NAME=FILE'; wanted: the network's input names."""
    found = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or name not in wanted:
            name, path = "", text
        tensors = read_tensors(path, specs)
        if len(tensors) == 1 and (name or len(wanted) == 1):
            tensors = {name or wanted[0]: next(iter(tensors.values()))}
        used = [n for n in tensors if n in wanted and (not name or n == name)]
        if not used:
            raise UsageError(f"'{path}' holds no tensor for the inputs {wanted}; say which with --input NAME={path}")
        found.update({n: tensors[n] for n in used})
    return found


def generated(name, dtype, shape, rng, low, high):
    if any(not isinstance(d, int) or d < 0 for d in shape):
        raise UsageError(f"input '{name}' has the shape {list(shape)}; give it with --shape {name}=1,3,224,224")
    if np.dtype(dtype).kind == "f":
        return rng.uniform(low, high, shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)
