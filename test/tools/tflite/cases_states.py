# SPDX-License-Identifier: Apache-2.0
"""Operators with states, windows of three dims, and those that write by index or reverse parts."""
import math

from draw import case

FLOAT = ("float32",)
TANH = 4


def variable(d, shape):
    """A state, which begins as zeros."""
    tensor = d.network.tensor(f"s{len(d.network.graph.tensors)}", shape)
    d.network.graph.tensors[tensor].isVariable = True
    return tensor


def gates(d, channels, hidden, batch, peepholes):
    """The inputs of an LSTM behind its first."""
    weights = [d.weights([hidden, channels]) for _ in range(4)]
    recurrent = [d.weights([hidden, hidden]) for _ in range(4)]
    peep = [d.weights([hidden]) for _ in range(3)] if peepholes else [-1] * 3
    biases = [d.weights([hidden]) for _ in range(4)]
    if d.pick(True, False, False):  # without an input gate
        weights[0] = recurrent[0] = peep[0] = biases[0] = -1
    states = [variable(d, [batch, hidden]), variable(d, [batch, hidden])]
    return [*weights, *recurrent, *peep, *biases, -1, -1, *states, -1, -1, -1, -1]


@case("UNIDIRECTIONAL_SEQUENCE_LSTM", 10, dtypes=FLOAT)
def sequence_lstm(d):
    batch, steps, channels, hidden = d.integers(1, 3), d.integers(1, 6), d.integers(1, 7), d.integers(1, 8)
    first, clip = d.pick(True, False), d.pick(0.0, 0.5, 10.0)
    shape = [steps, batch] if first else [batch, steps]
    x = d.input([*shape, channels])
    reads = gates(d, channels, hidden, batch, clip == 0 and d.pick(True, False))
    return d.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, *reads], [*shape, hidden],
                {"timeMajor": first, "cellClip": clip, "fusedActivationFunction": TANH})


@case("LSTM", 6, dtypes=FLOAT)
def lstm(d):
    batch, channels, hidden = d.integers(1, 3), d.integers(1, 7), d.integers(1, 8)
    x = d.input([batch, channels])
    return d.op("LSTM", [x, *gates(d, channels, hidden, batch, d.pick(True, False))], [batch, hidden],
                {"cellClip": 0.0, "fusedActivationFunction": TANH})


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
    begin = [d.integers(-1, n) for n in shape]
    return d.op("DYNAMIC_UPDATE_SLICE", [d.input(shape), d.input(part), d.constant(begin)], shape)


@case("REVERSE_SEQUENCE", 8, dtypes=FLOAT)
def reverse_sequence(d):
    shape = d.shape(d.integers(2, 4), 6)
    batch, steps = (int(i) for i in d.random.permutation(len(shape))[:2])
    lengths = [d.integers(1, shape[steps]) for _ in range(shape[batch])]
    return d.op("REVERSE_SEQUENCE", [d.input(shape), d.constant(lengths)], shape,
                {"seqDim": steps, "batchDim": batch})
