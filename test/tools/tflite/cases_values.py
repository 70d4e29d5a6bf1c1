# SPDX-License-Identifier: Apache-2.0
"""Operators on single values, pairs and sums of products."""
from draw import INTEGERS, case

FLOAT = ("float32",)
SMALL = ("float32", "int8", "uint8")

# kind: (least and largest input, types, the grid of int8 that the operator demands, times).
UNARY = {
    "ABS": (-2, 2, ("float32", "int8", "int16")), "CEIL": (-5, 5, FLOAT), "COS": (-4, 4, FLOAT),
    "ELU": (-4, 4, ("float32", "int8")), "EXP": (-3, 3, FLOAT), "FLOOR": (-5, 5, FLOAT),
    "GELU": (-4, 4, ("float32", "int8", "uint8")), "HARD_SWISH": (-5, 5, SMALL), "LOG": (0.01, 9, FLOAT),
    "LOGISTIC": (-6, 6, ("float32", *INTEGERS)), "NEG": (-2, 2, FLOAT), "RELU": (-2, 2, ("float32", *INTEGERS)),
    "RELU6": (-2, 9, SMALL), "RELU_N1_TO_1": (-3, 3, SMALL), "ROUND": (-5, 5, FLOAT), "RSQRT": (0.05, 9, FLOAT),
    "SIGN": (-2, 2, FLOAT), "SIN": (-4, 4, FLOAT), "SQRT": (0, 9, FLOAT), "SQUARE": (-3, 3, FLOAT),
    "TANH": (-3, 3, ("float32", *INTEGERS)),
}
DEMANDED = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}


def register_unary(kind, low, high, dtypes):
    @case(kind, 6, dtypes=dtypes)
    def unary(d):
        shape = d.shape(d.integers(1, 4))
        grid = None
        if kind in DEMANDED:
            scale, zero = DEMANDED[kind]
            grid = {"scale": 1 / 32768, "zero": 0} if d.dtype == "int16" else d.fixed(scale, zero)
        options = {"approximate": d.pick(True, False)} if kind == "GELU" else {}
        return d.op(kind, [d.input(shape, low, high)], shape, options, grid=grid)


for name, row in UNARY.items():
    register_unary(name, *row)


@case("LEAKY_RELU", 8)
def leaky_relu(d):
    shape = d.shape(d.integers(1, 4))
    return d.op("LEAKY_RELU", [d.input(shape, -3, 3)], shape, {"alpha": d.real(0.01, 0.7)})


@case("PRELU", 10, dtypes=SMALL)
def prelu(d):
    shape = d.image()
    slope = [d.pick(1, shape[1]), d.pick(1, shape[2]), shape[3]]
    x = d.input(shape, -3, 3)
    return d.op("PRELU", [x, d.reals(slope, 0.01, 0.6)], shape)


@case("SOFTMAX", 10)
def softmax(d):
    shape = d.shape(d.integers(1, 4), 12)
    grid = {"scale": 1 / 32768, "zero": 0} if d.dtype == "int16" else d.fixed(1 / 256, -128)
    beta = 1.0 if d.dtype == "int16" else d.pick(1.0, 1.0, 0.5)
    return d.op("SOFTMAX", [d.input(shape, -6, 6)], shape, {"beta": beta}, grid=grid)


@case("LOG_SOFTMAX", 8, dtypes=SMALL)
def log_softmax(d):
    shape = d.shape(d.integers(1, 4), 12)
    return d.op("LOG_SOFTMAX", [d.input(shape, -6, 6)], shape, {}, grid=d.fixed(16 / 256, 127))


def partners(d):
    """Two shapes that broadcast, and what becomes of them."""
    shape = d.shape(d.integers(1, 4))
    other = [d.pick(n, n, 1) for n in shape][d.integers(0, len(shape) - 1) if d.pick(True, False) else 0:]
    return (shape, other, shape) if d.pick(True, True, False) else (other, shape, shape)


# kind: (least and largest of the second operand, types, whether an activation can be inside, the same grid for all).
BINARY = {
    "ADD": (-1, 1, ("float32", *INTEGERS), True, False), "SUB": (-1, 1, ("float32", *INTEGERS), True, False),
    "MUL": (-1, 1, ("float32", *INTEGERS), True, False), "DIV": (0.5, 3, ("float32", "uint8"), True, False),
    "MAXIMUM": (-1, 1, ("float32", "int8", "uint8", "int16"), False, True),
    "MINIMUM": (-1, 1, ("float32", "int8", "uint8", "int16"), False, True),
    "SQUARED_DIFFERENCE": (-1, 1, ("float32", "int8"), False, False), "POW": (0.2, 3, FLOAT, False, False),
    "FLOOR_DIV": (0.3, 2, FLOAT, False, False), "FLOOR_MOD": (0.3, 2, FLOAT, False, False),
}


def register_binary(kind, low, high, dtypes, fused, same_grid):
    @case(kind, 14, dtypes=dtypes)
    def binary(d):
        first, second, result = partners(d)
        x = d.input(first, 0.1 if kind == "POW" else -2, 2)
        if same_grid and d.ranges is not None:  # LiteRT demands it of the operands, too
            y = d.network.input(second, d.dtype, **d.grids[x])
            d.gridded.append(y)
            d.grids[y] = d.grids[x]
            d.feeds[d.network.graph.tensors[y].name] = (y, low, high)
        else:
            y = d.input(second, low, high)
        return d.op(kind, [x, y], result, fused=fused, same_grid=same_grid)


for name, row in BINARY.items():
    register_binary(name, *row)


@case("ADD_N", 4, dtypes=FLOAT)
def add_n(d):
    shape = d.shape(3)
    return d.op("ADD_N", [d.input(shape) for _ in range(d.integers(2, 4))], shape)


def register_comparison(kind):
    @case(kind, 4, dtypes=SMALL)
    def comparison(d):
        first, second, result = partners(d)
        return d.op(kind, [d.input(first), d.input(second)], result, dtype="bool")


for name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
    register_comparison(name)


def register_logical(kind, count):
    @case(kind, 3, dtypes=FLOAT)
    def logical(d):
        shape = d.shape(3)
        flags = [d.op("GREATER", [d.input(shape), d.input(shape)], shape, dtype="bool")[0] for _ in range(count)]
        return d.op(kind, flags, shape, dtype="bool")


for name, number in (("LOGICAL_AND", 2), ("LOGICAL_OR", 2), ("LOGICAL_NOT", 1)):
    register_logical(name, number)


def register_reducer(kind, dtypes, same_grid):
    @case(kind, 12, dtypes=dtypes)
    def reducer(d):
        shape = d.shape(d.integers(2, 4), 9)
        axes = sorted(d.random.choice(len(shape), d.integers(1, len(shape)), replace=False).tolist())
        keep = d.pick(True, False)
        result = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
        axes = [a - len(shape) if d.pick(True, False) else a for a in axes]
        return d.op(kind, [d.input(shape), d.constant(axes)], result, {"keepDims": keep}, same_grid=same_grid)


for name, types, same in (("MEAN", ("float32", *INTEGERS), False), ("SUM", ("float32", "int8", "uint8"), False),
                          ("REDUCE_MAX", ("float32", *INTEGERS), True), ("REDUCE_MIN", ("float32", *INTEGERS), True),
                          ("REDUCE_PROD", FLOAT, False)):
    register_reducer(name, types, same)


@case("CUMSUM", 8, dtypes=FLOAT)
def cumsum(d):
    shape = d.shape(d.integers(1, 4))
    return d.op("CUMSUM", [d.input(shape), d.constant(d.integers(-len(shape), len(shape) - 1))], shape,
                {"exclusive": d.pick(True, False), "reverse": d.pick(True, False)})


@case("FULLY_CONNECTED", 20)
def fully_connected(d):
    shape, units = d.shape(d.integers(2, 3), 12), d.integers(1, 9)
    keep = d.pick(True, False)
    rows = shape[0] * (shape[1] if len(shape) == 3 else 1)
    weight = d.weights([units, shape[-1]])
    x = d.input(shape)
    return d.op("FULLY_CONNECTED", [x, weight, *(d.bias(units, x, weight) or [-1])],
                [*shape[:-1], units] if keep else [rows, units], {"keepNumDims": keep}, fused=True)


@case("BATCH_MATMUL", 12, dtypes=("float32", "int8", "int16"))
def batch_matmul(d):
    batch, (rows, depth, columns) = d.shape(d.integers(0, 2), 3), d.shape(3, 8)
    left, right = d.pick(False, False, True), d.pick(False, True)
    first = d.input([*batch, *((depth, rows) if left else (rows, depth))])
    second = d.input([*batch, *((columns, depth) if right else (depth, columns))])
    return d.op("BATCH_MATMUL", [first, second], [*batch, rows, columns], {"adjX": left, "adjY": right})
