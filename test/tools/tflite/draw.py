# SPDX-License-Identifier: Apache-2.0
"""What the cases of operators are made of: random attributes, tensors of one type, and the grids of integers.

A case is made twice where integers are wanted: in f32 first, whose ranges in LiteRT give the grids."""
import collections
import math

import numpy as np
from lite import ACTIVATIONS, Network

Case = collections.namedtuple("Case", "kind make count dtypes")
INTEGERS = ("int8", "uint8", "int16")
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
CASES = []


def case(kind, count, dtypes=("float32", "int8", "uint8", "int16")):
    """Registers a function that makes a network of one operator; it is tried `count` times in f32 and half as often in
    each other type."""
    def register(make):
        CASES.append(Case(kind, make, count, dtypes))
        return make
    return register


class Draw:
    """One network of one case. dtype: of its activations. ranges: [(least, largest)] of the tensors that have a grid,
    in the order in which they are made, from a run in f32; None in that run."""

    def __init__(self, seed, dtype="float32", ranges=None, network=None):
        self.random, self.values = np.random.default_rng(seed), np.random.default_rng([*seed, 1])
        self.network, self.dtype, self.ranges = network or Network(), dtype, ranges
        self.gridded, self.grids, self.feeds = [], {}, {}

    # Numbers.
    def integers(self, low, high):
        return int(self.random.integers(low, high + 1))

    def real(self, low, high):
        return float(np.float32(self.random.uniform(low, high)))

    def pick(self, *values):
        return values[self.integers(0, len(values) - 1)]

    def shape(self, rank, largest=7):
        return [self.integers(1, largest) for _ in range(rank)]

    def image(self, small=False):
        size = 6 if small else 13
        return [self.pick(1, 1, 2), self.integers(1, size), self.integers(1, size), self.integers(1, 6)]

    def window(self, largest):
        return [self.integers(1, largest), self.integers(1, largest)]

    def strides(self, square=False):
        vertical = self.integers(1, 3)
        return {"padding": self.integers(0, 1), "strideH": vertical,
                "strideW": vertical if square else self.integers(1, 3)}

    def dilate(self, options, square=False):
        if options["strideH"] == options["strideW"] == 1 and self.pick(True, False):
            options["dilationHFactor"] = self.integers(1, 3)
            options["dilationWFactor"] = options["dilationHFactor"] if square else self.integers(1, 3)

    def windowed(self, shape, kernel, options, channels):
        """The shape of a window's result; grows the image where a VALID window finds no place."""
        sizes = []
        for axis, key in ((0, "H"), (1, "W")):
            wide = (kernel[axis] - 1) * options.get(f"dilation{key}Factor", 1) + 1
            shape[axis + 1] = max(shape[axis + 1], wide if options["padding"] == 1 else 1)
            free = shape[axis + 1] if options["padding"] == 0 else shape[axis + 1] - wide + 1
            sizes.append(math.ceil(free / options[f"stride{key}"]))
        # The input was declared with the smaller size.
        image = next(iter(self.feeds.values()))[0]
        self.network.graph.tensors[image].shape = [int(n) for n in shape]
        return [shape[0], *sizes, channels]

    # Tensors.
    def fixed(self, scale, zero):
        """A grid that the operator demands, for int8: (scale, zero point)."""
        offset, factor = {"int8": (0, 1), "uint8": (128, 1), "int16": (0, 256)}.get(self.dtype, (0, 1))
        return {"scale": scale / factor, "zero": 0 if self.dtype == "int16" else zero + offset}

    def grid(self):
        """Of the next tensor that has one."""
        if self.ranges is None:
            return {}
        low, high = self.ranges[len(self.gridded)]
        low, high = min(low, 0.0), max(high, 0.0)
        least, most = LIMITS[self.dtype]
        if self.dtype == "int16":
            return {"scale": max(-low, high, 1e-3) / most, "zero": 0}
        scale = max(high - low, 1e-3) / (most - least)
        return {"scale": scale, "zero": int(np.clip(round(least - low / scale), least, most))}

    def input(self, shape, low=-1.0, high=1.0, dtype=None):
        if dtype is not None:  # never on a grid
            tensor = self.network.input(shape, dtype)
        else:
            grid = self.grid()
            tensor = self.network.input(shape, self.dtype if grid else "float32", **grid)
            self.gridded.append(tensor)
            self.grids[tensor] = grid
        name = self.network.graph.tensors[tensor].name
        self.feeds[name] = (tensor, low, high)
        return tensor

    def constant(self, data, dtype="int32"):
        return self.network.constant(f"c{len(self.network.graph.tensors)}", np.asarray(data, dtype))

    def reals(self, shape, low=-1.0, high=1.0):
        """A constant that is an activation: on a grid where the others are."""
        data = self.values.uniform(low, high, shape).astype(np.float32)
        if self.ranges is None:
            tensor = self.network.constant(f"c{len(self.network.graph.tensors)}", data)
        else:
            least, most = LIMITS[self.dtype]
            zero = 128 if self.dtype == "uint8" else 0
            grid = {"scale": max(abs(low), abs(high)) / (most - zero), "zero": zero}
            whole = np.clip(np.rint(data / grid["scale"]) + zero, least, most).astype(self.dtype)
            tensor = self.network.constant(f"c{len(self.network.graph.tensors)}", whole, **grid)
            self.grids[tensor] = grid
        return tensor

    def weights(self, shape, axis=0):
        """Of a sum of products: int8 with one scale for each channel beside int8 and int16, uint8 with one for all."""
        data = self.values.normal(0, 0.5, shape).astype(np.float32)
        name = f"w{len(self.network.graph.tensors)}"
        if self.ranges is None:
            return self.network.constant(name, data)
        if self.dtype == "uint8":
            grid = {"scale": float(np.abs(data).max()) / 127 or 1e-3, "zero": 128}
            whole = np.clip(np.rint(data / grid["scale"]) + 128, 0, 255).astype(np.uint8)
        else:
            others = tuple(i for i in range(len(shape)) if i != axis)
            scale = np.maximum(np.abs(data).max(axis=others), 1e-3) / 127
            wide = scale.reshape([-1 if i == axis else 1 for i in range(len(shape))])
            grid, whole = {"scale": scale, "zero": 0, "axis": axis}, np.rint(data / wide).astype(np.int8)
        tensor = self.network.constant(name, whole, **grid)
        self.grids[tensor] = grid
        return tensor

    def bias(self, size, x, weight, always=False):
        """[] or one tensor, with the product of its partners' scales."""
        if not self.pick(True, True, always):
            return []
        data = self.values.normal(0, 0.3, size).astype(np.float32)
        name = f"b{len(self.network.graph.tensors)}"
        if self.ranges is None:
            return [self.network.constant(name, data)]
        scale = np.atleast_1d(self.grids[x]["scale"] * np.asarray(self.grids[weight]["scale"]))
        dtype = "int64" if self.dtype == "int16" else "int32"
        whole = np.rint(data / scale).astype(dtype)
        return [self.network.constant(name, whole, scale=scale, zero=0, axis=0)]

    # Operators.
    def op(self, kind, reads, shape, options=None, fused=False, same_grid=False, grid=None, dtype=None, **more):
        """The outputs. fused: with one of the activations that LiteRT has inside of an operator; same_grid: the result
        has its first activation's grid; dtype: of a result that has no grid."""
        options = dict(options or {})
        if fused:
            options["fusedActivationFunction"] = ACTIVATIONS[self.pick("", "", "RELU", "RELU6", "RELU_N1_TO_1")]
        if dtype is not None:
            return self.as_list(self.network.op(kind, reads, shape, dtype, options=options, **more))
        found = self.grid() if grid is None or self.ranges is None else grid
        if same_grid and self.ranges is not None:
            found = next(self.grids[t] for t in reads if t in self.grids)
        made = self.as_list(self.network.op(kind, reads, shape, self.dtype if found else "float32", options=options,
                                            **more, **found))
        self.gridded += made
        for tensor in made:
            self.grids[tensor] = found
        return made

    def drawn(self):
        """{input: array} in the network's types."""
        found = {}
        for name, (tensor, low, high) in self.feeds.items():
            entry = self.network.graph.tensors[tensor]
            value = self.values.uniform(low, high, entry.shape).astype(np.float32)
            grid = self.grids.get(tensor)
            if grid:
                least, most = LIMITS[self.dtype]
                value = np.clip(np.rint(value / grid["scale"]) + grid["zero"], least, most).astype(self.dtype)
            found[name] = value
        return found

    @staticmethod
    def as_list(made):
        return list(made) if isinstance(made, (list, tuple)) else [made]
