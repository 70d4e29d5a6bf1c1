# SPDX-License-Identifier: Apache-2.0
"""Operators that move values, choose among them or make indices."""
from draw import INTEGERS, case

ALL = ("float32", *INTEGERS)
FLOAT = ("float32",)


@case("RESHAPE", 6, dtypes=ALL)
def reshape(d):
    shape = d.shape(4)
    result = [shape[0] * shape[1], shape[2] * shape[3]]
    options = {"newShape": d.pick(result, [-1, result[1]])}
    return d.op("RESHAPE", [d.input(shape), d.constant(options["newShape"])], result, options, same_grid=True)


@case("TRANSPOSE", 10, dtypes=ALL)
def transpose(d):
    shape = d.shape(d.integers(2, 5), 5)
    order = d.random.permutation(len(shape)).tolist()
    return d.op("TRANSPOSE", [d.input(shape), d.constant(order)], [shape[i] for i in order], {}, same_grid=True)


@case("EXPAND_DIMS", 5, dtypes=ALL)
def expand_dims(d):
    shape = d.shape(d.integers(1, 3))
    axis = d.integers(-len(shape) - 1, len(shape))
    result = list(shape)
    result.insert(axis if axis >= 0 else axis + len(shape) + 1, 1)
    return d.op("EXPAND_DIMS", [d.input(shape), d.constant(axis)], result, {}, same_grid=True)


@case("SQUEEZE", 5, dtypes=("float32", "int8", "uint8"))
def squeeze(d):
    shape = [1, d.integers(2, 5), 1, d.integers(2, 5)]
    axes = d.pick([], [0], [0, 2], [-2])
    gone = [a % 4 for a in axes] or [0, 2]
    return d.op("SQUEEZE", [d.input(shape)], [n for i, n in enumerate(shape) if i not in gone],
                {"squeezeDims": axes}, same_grid=True)


def pads_of(d, shape, most):
    return [[d.integers(0, most(n)), d.integers(0, most(n))] for n in shape]


@case("PAD", 12, dtypes=ALL)
def pad(d):
    shape = d.shape(d.integers(1, 4))
    pads = pads_of(d, shape, lambda n: 3)
    return d.op("PAD", [d.input(shape), d.constant(pads)], [n + sum(p) for n, p in zip(shape, pads)], {},
                same_grid=True)


@case("PADV2", 6, dtypes=FLOAT)
def pad_with(d):
    shape = d.shape(d.integers(1, 4))
    pads = pads_of(d, shape, lambda n: 3)
    return d.op("PADV2", [d.input(shape), d.constant(pads), d.constant(d.real(-2, 2), "float32")],
                [n + sum(p) for n, p in zip(shape, pads)], {})


@case("MIRROR_PAD", 10, dtypes=("float32", "int8", "uint8"))
def mirror_pad(d):
    shape, mode = [n + 1 for n in d.shape(d.integers(1, 4))], d.integers(0, 1)
    pads = pads_of(d, shape, lambda n: n - 1 if mode == 0 else n)
    return d.op("MIRROR_PAD", [d.input(shape), d.constant(pads)], [n + sum(p) for n, p in zip(shape, pads)],
                {"mode": mode}, same_grid=True)


@case("CONCATENATION", 12, dtypes=ALL)
def concatenation(d):
    shape = d.shape(d.integers(1, 4))
    axis = d.integers(-len(shape), len(shape) - 1)
    parts = []
    for _ in range(d.integers(2, 4)):
        part = list(shape)
        part[axis] = d.integers(1, 5)
        parts.append(part)
    result = list(shape)
    result[axis] = sum(part[axis] for part in parts)
    first = d.input(parts[0])
    reads = [first]
    for part in parts[1:]:
        reads.append(d.input(part))
        if d.ranges is not None and d.dtype != "uint8":  # LiteRT rescales uint8 alone
            d.network.graph.tensors[reads[-1]].quantization = d.network.graph.tensors[first].quantization
            d.grids[reads[-1]] = d.grids[first]
    return d.op("CONCATENATION", reads, result, {"axis": axis}, same_grid=d.dtype != "uint8")


@case("PACK", 6, dtypes=("float32", "int8", "uint8"))
def pack(d):
    shape, count = d.shape(d.integers(1, 3)), d.integers(1, 3)
    axis = d.integers(0, len(shape))
    result = list(shape)
    result.insert(axis, count)
    x = d.input(shape)
    return d.op("PACK", [x] * count, result, {"valuesCount": count, "axis": axis}, same_grid=True)


@case("UNPACK", 6, dtypes=("float32", "int8", "uint8"))
def unpack(d):
    shape = d.shape(d.integers(2, 4), 4)
    axis = d.integers(-len(shape), len(shape) - 1)
    rest = list(shape)
    count = rest.pop(axis)
    return d.op("UNPACK", [d.input(shape)], [rest] * count if count > 1 else rest, {"num": count, "axis": axis},
                same_grid=True, count=count)


@case("SPLIT", 6, dtypes=ALL)
def split(d):
    shape, count = d.shape(d.integers(1, 4)), d.integers(2, 3)
    axis = d.integers(-len(shape), len(shape) - 1)
    part = list(shape)
    shape[axis] *= count
    return d.op("SPLIT", [d.constant(axis), d.input(shape)], [part] * count, {"numSplits": count}, same_grid=True,
                count=count)


@case("SPLIT_V", 6, dtypes=ALL)
def split_v(d):
    shape = d.shape(d.integers(1, 4))
    axis = d.integers(0, len(shape) - 1)
    sizes = [d.integers(1, 4) for _ in range(d.integers(2, 3))]
    parts = [[*shape[:axis], n, *shape[axis + 1:]] for n in sizes]
    shape[axis] = sum(sizes)
    told = [*sizes[:-1], d.pick(sizes[-1], -1)]
    return d.op("SPLIT_V", [d.input(shape), d.constant(told), d.constant(axis)], parts, {"numSplits": len(sizes)},
                same_grid=True, count=len(sizes))


@case("SLICE", 8, dtypes=ALL)
def slice_of(d):
    shape = d.shape(d.integers(1, 4))
    begin = [d.integers(0, n - 1) for n in shape]
    size = [d.integers(1, n - b) for n, b in zip(shape, begin)]
    told = [d.pick(s, -1) if b + s == n else s for s, b, n in zip(size, begin, shape)]
    return d.op("SLICE", [d.input(shape), d.constant(begin), d.constant(told)], size, {}, same_grid=True)


@case("STRIDED_SLICE", 16, dtypes=ALL)
def strided_slice(d):
    shape = d.shape(d.integers(1, 4), 9)
    begin, end, step, result = [], [], [], []
    options = {"beginMask": 0, "endMask": 0, "shrinkAxisMask": 0}
    for i, n in enumerate(shape):
        step.append(d.pick(1, 1, 2, 3, -1, -2))
        low, high = sorted((d.integers(0, n - 1), d.integers(0, n - 1)))
        first, last = (low, high + 1) if step[-1] > 0 else (high, low - 1 if low > 0 else -n - 1)
        if d.pick(False, False, True):
            options["beginMask"] |= 1 << i
            first = 0 if step[-1] > 0 else n - 1
        if d.pick(False, False, True):
            options["endMask"] |= 1 << i
            last = n if step[-1] > 0 else -n - 1
        indices = range(first, last if last >= 0 else -1, step[-1])
        if i > 0 and d.pick(False, False, False, True):
            options["shrinkAxisMask"] |= 1 << i
            step[-1] = 1
            options["beginMask"] &= ~(1 << i)
        else:
            result.append(len(indices))
        begin.append(first - n if d.pick(True, False) else first)
        end.append(last)
    if 0 in result:  # nothing is left
        return None
    return d.op("STRIDED_SLICE", [d.input(shape), d.constant(begin), d.constant(end), d.constant(step)], result,
                options, same_grid=True)


@case("GATHER", 8, dtypes=ALL)
def gather(d):
    shape = d.shape(d.integers(1, 4))
    axis = d.integers(0, len(shape) - 1)
    picked = d.random.integers(0, shape[axis], d.shape(d.integers(0, 2), 4))
    return d.op("GATHER", [d.input(shape), d.constant(picked)], [*shape[:axis], *picked.shape, *shape[axis + 1:]],
                {"axis": axis}, same_grid=True)


@case("GATHER_ND", 6, dtypes=("float32", "int8", "uint8"))
def gather_nd(d):
    shape, count = d.shape(3), d.integers(1, 4)
    depth = d.integers(1, 3)
    picked = [[d.integers(0, n - 1) for n in shape[:depth]] for _ in range(count)]
    return d.op("GATHER_ND", [d.input(shape), d.constant(picked)], [count, *shape[depth:]], {}, same_grid=True)


@case("TILE", 6, dtypes=("float32", "int8", "uint8"))
def tile(d):
    shape = d.shape(d.integers(1, 4), 4)
    times = [d.integers(1, 3) for _ in shape]
    return d.op("TILE", [d.input(shape), d.constant(times)], [n * t for n, t in zip(shape, times)], {}, same_grid=True)


@case("BROADCAST_TO", 6, dtypes=("float32", "int8", "uint8"))
def broadcast_to(d):
    result = d.shape(d.integers(2, 4))
    shape = [d.pick(n, 1) for n in result][d.integers(0, 1):]
    return d.op("BROADCAST_TO", [d.input(shape), d.constant(result)], result, {}, same_grid=True)


@case("REVERSE_V2", 6, dtypes=("float32", "int8", "uint8"))
def reverse(d):
    shape = d.shape(d.integers(1, 4))
    return d.op("REVERSE_V2", [d.input(shape), d.constant([d.integers(0, len(shape) - 1)])], shape, {},
                same_grid=True)


@case("SELECT_V2", 8, dtypes=("float32", "int8", "uint8"))
def select(d):
    shape = d.shape(d.integers(1, 4))
    chosen = d.constant(d.random.integers(0, 2, [d.pick(n, 1) for n in shape]), "bool")
    x = d.input(shape)
    return d.op("SELECT_V2", [chosen, x, x if d.ranges is not None else d.input(shape)], shape, {}, same_grid=True)


def arg(d, kind):
    shape = d.shape(d.integers(1, 4), 9)
    axis = d.integers(-len(shape), len(shape) - 1)
    result = list(shape)
    result.pop(axis)
    return d.op(kind, [d.input(shape), d.constant(axis)], result, {"outputType": 2}, dtype="int32")


@case("ARG_MAX", 6, dtypes=("float32", "int8", "uint8"))
def arg_max(d):
    return arg(d, "ARG_MAX")


@case("ARG_MIN", 6, dtypes=("float32", "int8", "uint8"))
def arg_min(d):
    return arg(d, "ARG_MIN")


@case("TOPK_V2", 6, dtypes=FLOAT)
def top(d):
    shape = d.shape(d.integers(1, 3), 9)
    count = d.integers(1, shape[-1])
    result = [*shape[:-1], count]
    return d.op("TOPK_V2", [d.input(shape), d.constant(count)], [result, result], {}, count=2,
                dtype=["float32", "int32"])


@case("SHAPE", 3, dtypes=FLOAT)
def shape_of(d):
    shape = d.shape(d.integers(1, 4))
    return d.op("SHAPE", [d.input(shape)], [len(shape)], {"outType": 2}, dtype="int32")


@case("CAST", 4, dtypes=FLOAT)
def cast(d):
    shape = d.shape(3)
    to, number = d.pick(("int32", 2), ("bool", 6), ("int64", 4))
    return d.op("CAST", [d.input(shape, -9, 9)], shape, {"inDataType": 0, "outDataType": number}, dtype=to)


@case("ONE_HOT", 4, dtypes=FLOAT)
def one_hot(d):
    shape, depth = d.shape(2), d.integers(2, 6)
    x = d.op("CAST", [d.input(shape, 0, depth)], shape, {"inDataType": 0, "outDataType": 2}, dtype="int32")[0]
    return d.op("ONE_HOT", [x, d.constant(depth), d.constant(d.real(0.5, 2), "float32"), d.constant(0.0, "float32")],
                [*shape, depth], {"axis": -1}, dtype="float32")


@case("QUANTIZE", 6, dtypes=INTEGERS)
def quantize(d):
    shape = d.shape(3)
    x = d.input(shape, dtype="float32")
    return d.op("QUANTIZE", [x], shape, {}) if d.ranges is not None else d.op("ABS", [x], shape, {})


@case("DEQUANTIZE", 6, dtypes=INTEGERS)
def dequantize(d):
    shape = d.shape(3)
    x = d.input(shape)
    return d.op("DEQUANTIZE" if d.ranges is not None else "ABS", [x], shape, {}, dtype="float32", version=2)
