# SPDX-License-Identifier: Apache-2.0
"""Segments, buckets, bits, angles, and what writes a few values into many."""
import numpy as np
from draw import case

FLOAT = ("float32",)


def integers(d, shape, low, high, dtype="int32"):
    return d.constant(d.random.integers(low, high + 1, shape), dtype)


def whole(d, shape, low, high, dtype="int32", number=2):
    """Integers that are known when the network runs."""
    return d.op("CAST", [d.input(shape, low, high)], shape, {"inDataType": 0, "outDataType": number}, dtype=dtype)[0]


@case("SEGMENT_SUM", 8, dtypes=FLOAT)
def segment_sum(d):
    shape = d.shape(d.integers(1, 3))
    numbers = np.cumsum([0] + [d.pick(0, 1) for _ in range(shape[0] - 1)])
    return d.op("SEGMENT_SUM", [d.input(shape), d.constant(numbers)], [int(numbers[-1]) + 1, *shape[1:]], {})


def unsorted(d, kind):
    shape, count = d.shape(d.integers(1, 3)), d.integers(1, 5)
    numbers = integers(d, shape[:1], -1, count - 1)
    return d.op(kind, [d.input(shape), numbers, d.constant(count)], [count, *shape[1:]], {})


@case("UNSORTED_SEGMENT_SUM", 8, dtypes=FLOAT)
def unsorted_sum(d):
    return unsorted(d, "UNSORTED_SEGMENT_SUM")


@case("UNSORTED_SEGMENT_PROD", 6, dtypes=FLOAT)
def unsorted_product(d):
    return unsorted(d, "UNSORTED_SEGMENT_PROD")


@case("UNSORTED_SEGMENT_MAX", 6, dtypes=FLOAT)
def unsorted_largest(d):
    return unsorted(d, "UNSORTED_SEGMENT_MAX")


@case("UNSORTED_SEGMENT_MIN", 6, dtypes=FLOAT)
def unsorted_least(d):
    return unsorted(d, "UNSORTED_SEGMENT_MIN")


@case("BUCKETIZE", 6, dtypes=FLOAT)
def bucketize(d):
    shape = d.shape(d.integers(1, 3))
    limits = sorted(d.real(-1, 1) for _ in range(d.integers(1, 6)))
    return d.op("BUCKETIZE", [d.input(shape)], shape, {"boundaries": limits}, dtype="int32")


@case("SPARSE_TO_DENSE", 6, dtypes=FLOAT)
def sparse_to_dense(d):
    shape = d.shape(d.integers(1, 3))
    flat = np.sort(d.random.choice(int(np.prod(shape)), d.integers(1, min(4, int(np.prod(shape)))), replace=False))
    places = np.stack(np.unravel_index(flat, shape), axis=1)
    values = d.input([len(flat)])
    otherwise = d.constant(d.real(-1, 1), "float32")
    return d.op("SPARSE_TO_DENSE", [d.constant(places), d.constant(shape), values, otherwise], shape,
                {"validateIndices": False})


@case("DILATE", 6, dtypes=FLOAT)
def dilate(d):
    shape = d.shape(d.integers(1, 4), 4)
    by = [d.integers(1, 3) for _ in shape]
    return d.op("DILATE", [d.input(shape), d.constant(by), d.constant(d.real(-1, 1), "float32")],
                [(n - 1) * k + 1 for n, k in zip(shape, by)], {})


@case("MATRIX_DIAG", 5, dtypes=FLOAT)
def matrix_diag(d):
    shape = d.shape(d.integers(1, 3))
    return d.op("MATRIX_DIAG", [d.input(shape)], [*shape, shape[-1]], {})


@case("MATRIX_SET_DIAG", 8, dtypes=FLOAT)
def matrix_set_diag(d):
    shape = d.shape(d.integers(2, 4))
    return d.op("MATRIX_SET_DIAG", [d.input(shape), d.input([*shape[:-2], min(shape[-2:])])], shape, {})


@case("ATAN2", 6, dtypes=FLOAT)
def angle(d):
    shape = d.shape(d.integers(1, 4))
    return d.op("ATAN2", [d.input(shape, -3, 3), d.input(shape, -3, 3)], shape, {})


def bits(d, kind, low, high):
    shape = d.shape(d.integers(1, 3))
    dtype, number = d.pick(("int8", 9), ("uint8", 3), ("int16", 7), ("int32", 2))
    first = whole(d, shape, 0 if dtype == "uint8" else -100, 100, dtype, number)
    return d.op(kind, [first, integers(d, shape, low, high, dtype)], shape, {}, dtype=dtype)


@case("BITWISE_XOR", 8, dtypes=FLOAT)
def exclusive_or(d):
    return bits(d, "BITWISE_XOR", 0, 100)


@case("RIGHT_SHIFT", 8, dtypes=FLOAT)
def shift(d):
    return bits(d, "RIGHT_SHIFT", 0, 7)


@case("BROADCAST_ARGS", 5, dtypes=FLOAT)
def broadcast_args(d):
    shape = d.shape(d.integers(1, 4))
    other = whole(d, [d.integers(1, len(shape))], 1, 1)  # ones
    pair = [d.constant(shape), other]
    return d.op("BROADCAST_ARGS", pair if d.pick(True, False) else pair[::-1], [len(shape)], {}, dtype="int32")


def plain(kind):
    @case(kind, 4, dtypes=FLOAT)
    def make(d):
        shape = d.shape(d.integers(1, 4))
        return d.op(kind, [d.input(shape), d.input(shape)], shape, {})
    return make


for name in ("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"):
    plain(name)
