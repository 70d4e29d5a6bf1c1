# SPDX-License-Identifier: Apache-2.0
"""Operators with states, windows of three dims, and those that write by index or reverse parts."""
import math

from cases_recurrent import variable
from draw import case

FLOAT = ("float32",)


@case("SVDF", 8, dtypes=FLOAT)
def svdf(d):
    batch, channels, units = d.integers(1, 3), d.integers(1, 7), d.integers(1, 6)
    rank, memory = d.pick(1, 1, 2), d.integers(1, 5)
    filters = units * rank
    reads = [d.weights([filters, channels]), d.weights([filters, memory]),
             d.weights([units]) if d.pick(True, False) else -1, variable(d, [batch, memory * filters])]
    return d.op("SVDF", [d.input([batch, channels]), *reads], [batch, units],
                {"rank": rank, "fusedActivationFunction": d.pick(0, 1)})


@case("CONV_3D", 12, dtypes=FLOAT)
def convolution(d):
    kernel, stride = [d.integers(1, 3) for _ in range(3)], [d.integers(1, 2) for _ in range(3)]
    padding, made, channels = d.integers(0, 1), d.integers(1, 5), d.integers(1, 4)
    image = [d.integers(k, 7) for k in kernel]
    shape = [d.pick(1, 2), *image, channels]
    size = [math.ceil((n if padding == 0 else n - k + 1) / s) for n, k, s in zip(image, kernel, stride)]
    weight = d.weights([*kernel, channels, made], axis=4)
    x = d.input(shape)
    return d.op("CONV_3D", [x, weight, *d.bias(made, x, weight)], [shape[0], *size, made],
                {"padding": padding, "strideD": stride[0], "strideH": stride[1], "strideW": stride[2]}, fused=True)


@case("CONV_3D_TRANSPOSE", 12, dtypes=FLOAT)
def transposed_convolution(d):
    kernel, stride = [d.integers(1, 3) for _ in range(3)], [d.integers(1, 3) for _ in range(3)]
    padding, made, channels = d.integers(0, 1), d.integers(1, 5), d.integers(1, 4)
    image = [d.integers(1, 5) for _ in range(3)]
    size = [n * s if padding == 0 else (n - 1) * s + k for n, k, s in zip(image, kernel, stride)]
    shape = [d.pick(1, 2), *size, made]
    bias = [d.weights([made])] if d.pick(True, False) else []
    return d.op("CONV_3D_TRANSPOSE", [d.constant(shape), d.weights([*kernel, made, channels]),
                                      d.input([shape[0], *image, channels]), *bias], shape,
                {"padding": padding, "strideD": stride[0], "strideH": stride[1], "strideW": stride[2]})


@case("SCATTER_ND", 8, dtypes=FLOAT)
def scatter(d):
    shape = d.shape(d.integers(1, 4), 5)
    depth, count = d.integers(1, len(shape)), d.integers(1, 6)
    indices = [[d.integers(0, n - 1) for n in shape[:depth]] for _ in range(count)]
    return d.op("SCATTER_ND", [d.constant(indices), d.input([count, *shape[depth:]]), d.constant(shape)], shape)


@case("DYNAMIC_UPDATE_SLICE", 8, dtypes=FLOAT)
def update_slice(d):
    shape = d.shape(d.integers(1, 4), 6)
    part = [d.integers(1, n) for n in shape]
    begin = d.constant([d.integers(-1, n) for n in shape])
    if d.pick(True, False):  # known when the network runs
        begin = d.op("CAST", [d.input([len(shape)], -1, 6)], [len(shape)], dtype="int32")[0]
    return d.op("DYNAMIC_UPDATE_SLICE", [d.input(shape), d.input(part), begin], shape)


@case("REVERSE_SEQUENCE", 8, dtypes=FLOAT)
def reverse_sequence(d):
    shape = d.shape(d.integers(2, 4), 6)
    batch, steps = (int(i) for i in d.random.permutation(len(shape))[:2])
    lengths = [d.integers(1, shape[steps]) for _ in range(shape[batch])]
    return d.op("REVERSE_SEQUENCE", [d.input(shape), d.constant(lengths)], shape,
                {"seqDim": steps, "batchDim": batch})
