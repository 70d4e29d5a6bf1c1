# SPDX-License-Identifier: Apache-2.0
"""The network inputs: from files, else drawn from a seed."""
import pathlib

import numpy as np

from .draw import Drawn, told
from .folder import UsageError
from .foreign import NUMPY, read_tensors


ASK = ""  # in place of an input's name: no shape is chosen (--shape ask)
chosen = {}  # shapes that were chosen in this run, for the last line


def parse_shapes(texts):
    shapes = {}
    for text in texts:
        if text == "ask":
            shapes[ASK] = []
            continue
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
            raise UsageError(f"'{path}' holds no tensor for the inputs {wanted}; say which with -i NAME={path}")
        found.update({n: tensors[n] for n in used})
    return found


def given(texts, specs=()):
    """Every tensor that the files hold, {name: array}; one that a file has alone also under the NAME of 'NAME=FILE'."""
    found = {}
    for text in texts:
        name, equals, path = text.partition("=")
        named = bool(equals) and pathlib.Path(path).exists()
        tensors = read_tensors(path if named else text, specs)
        found.update(tensors)
        if named and len(tensors) == 1:
            found[name] = next(iter(tensors.values()))
    return found


def constants(texts, infos, shapes):
    """{input: array} from 'NAME=1,2,3' and 'NAME=FILE'; infos: {input: (dtype, shape)}. A list of values takes the
    input's shape."""
    found = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise UsageError(f"--constant: expected NAME=VALUES or NAME=FILE, found '{text}'")
        if name not in infos:
            raise UsageError(f"--constant: the model has no input '{name}'; it has {sorted(infos)}")
        dtype, shape = infos[name]
        found[name] = shaped(name, constant_value(name, value, dtype), shapes.get(name, shape))
    return found


def constant_value(name, text, dtype):
    try:
        numbers = [float(x) for x in text.split(",")]
    except ValueError:
        tensors = read_tensors(text)
    else:
        try:
            return np.array(numbers if np.dtype(dtype).kind == "f" else [int(x) for x in text.split(",")], dtype)
        except (ValueError, OverflowError):
            raise UsageError(f"--constant {name}={text}: values of {dtype} are expected") from None
    if len(tensors) > 1 and name not in tensors:
        raise UsageError(f"--constant: '{text}' holds several tensors, and none is named '{name}'")
    return tensors.get(name, next(iter(tensors.values()))).astype(dtype)


def shaped(name, array, shape):
    known = [d if isinstance(d, int) and d >= 0 else None for d in shape]
    if len(known) == array.ndim and all(d in (None, n) for d, n in zip(known, array.shape)):
        return array
    if array.ndim < 2 and None not in known and array.size == int(np.prod(known)):
        return array.reshape(known)
    raise UsageError(f"--constant: input '{name}' has the shape {list(shape)}, the constant {list(array.shape)}")


def is_open(shape):
    return any(not isinstance(d, int) or d < 0 for d in shape)


def usual_shapes(model, dims, given, constants):
    """Open ones become the usual ones that Plumb's tools choose for this model, so that both run at one size."""
    known = {name: shape for name, shape in dims.items() if name in given}
    found = told(model, known, constants) if any(map(is_open, dims.values())) else {}
    for name, shape in dims.items():
        if not is_open(shape):
            continue
        dims[name] = batch_of_one(shape)
        if name in found and len(shape) in (0, len(found[name]["shape"])) and found[name]["shape"] != dims[name]:
            dims[name] = chosen[name] = found[name]["shape"]
    return dims


def chosen_values(model, wanted, dims, found, constants):
    """{input: array} of those whose values Plumb's tools must know and choose: a Resize's sizes."""
    whole = {name for name, (dtype, shape) in wanted.items() if name not in found and len(shape) < 2}
    if not whole:
        return {}
    known = {name: shape for name, shape in dims.items() if name not in whole and not is_open(shape)}
    values = {}
    for name, said in told(model, known, constants).items():
        if name in whole and "chosen" in said:
            dtype, shape = wanted[name]
            values[name] = np.array(said["chosen"], dtype).reshape([-1] * len(shape))
            chosen[name] = said["chosen"]
    return values


def feeds(model, wanted, files, shapes, specs, seed, value_range, constants=()):
    """{input: array} for wanted: {input: (dtype, declared shape)}: from files, else drawn as Plumb's tools draw it.

    Open dims are those that Plumb's tools choose; where they are not there, a first one is a batch of 1. constants:
    texts of --constant.
    """
    shapes = dict(shapes)
    ask = shapes.pop(ASK, None) is not None
    found = from_files(files, list(wanted), specs)
    unknown = sorted(set(shapes) - set(wanted))
    if unknown:
        raise UsageError(f"--shape: the model has no input {', '.join(map(repr, unknown))}; it has "
                         f"{', '.join(map(repr, wanted))}")
    dims = {name: list(found[name].shape) if name in found else shapes.get(name, batch_of_one(shape) if ask else
                                                                           list(shape))
            for name, (_, shape) in wanted.items()}
    if not ask:
        found.update(chosen_values(model, wanted, dims, found, constants))
        dims.update({name: list(found[name].shape) for name in found})
        dims = usual_shapes(model, dims, {**shapes, **found}, constants)
    drawn = Drawn(model, seed, value_range, constants)
    for name, (dtype, _) in wanted.items():
        values = found[name] if name in found else drawn.values(name, dtype, dims[name], dims)
        found[name] = values.astype(dtype, copy=False)
    return {name: found[name] for name in wanted}


def batch_of_one(shape):
    shape = list(shape)
    rest_is_known = all(isinstance(d, int) and d > 0 for d in shape[1:])
    is_batch = bool(shape) and not (isinstance(shape[0], int) and shape[0] >= 0)
    return [1, *shape[1:]] if is_batch and rest_is_known else shape
