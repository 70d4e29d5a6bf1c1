# SPDX-License-Identifier: Apache-2.0
"""Recurrent operators: in f32, and LSTMs of int8 activations with cells of 16 bits."""
import numpy as np
from draw import case

TANH = 4
CELL = 2.0**-11


def variable(d, shape, dtype="float32", **grid):
    """A state, which begins as zeros."""
    tensor = d.network.tensor(f"s{len(d.network.graph.tensors)}", shape, dtype, **grid)
    d.network.graph.tensors[tensor].isVariable = True
    return tensor


class Recurrent:
    """The tensors of one LSTM. Its integers have one scale for each tensor, as LiteRT's kernel wants them."""

    def __init__(self, d, size, hidden, cells, forms):
        self.d, self.size, self.hidden, self.cells, self.forms = d, size, hidden, cells, forms
        self.whole = d.ranges is not None

    def weights(self, shape, dtype="int8", scale=None, low=None):
        """scale: of a bias, whose integers have 32 bits."""
        data = self.d.values.normal(0, 0.5, shape).astype(np.float32)
        if low is not None:
            data = np.abs(data) + np.float32(low)
        name = f"w{len(self.d.network.graph.tensors)}"
        if not self.whole:
            return self.d.network.constant(name, data)
        most = np.iinfo(dtype).max
        grid = {"scale": scale or float(np.abs(data).max()) / most or 1e-3, "zero": 0}
        return self.d.network.constant(name, np.rint(data / grid["scale"]).astype(dtype), **grid)

    def scale(self, tensor):
        grid = self.d.network.graph.tensors[tensor].quantization
        return float(grid.scale[0]) if self.whole else None

    def bias(self, source, weights):
        return self.weights([self.cells], "int32", source * self.scale(weights) if self.whole else None)

    def reads(self, x, batch, y):
        """The inputs behind the first; y: the grid of the output."""
        d, no_input, source = self.d, "no_input" in self.forms, self.scale(x)
        w = [self.weights([self.cells, self.size]) for _ in range(4)]
        r = [self.weights([self.cells, self.hidden]) for _ in range(4)]
        peepholes, norms = [-1] * 3, [-1] * 4
        if "peepholes" in self.forms:
            peepholes = [self.weights([self.cells], "int16") for _ in range(3)]
        if "norms" in self.forms:
            norms = [self.weights([self.cells], "int16", low=0.3) for _ in range(4)]
            b = [self.weights([self.cells], "int32", self.scale(n) * 2.0**-10 if self.whole else None) for n in norms]
        else:
            b = [self.bias(source, weight) for weight in w]
        if no_input:
            w[0] = r[0] = b[0] = peepholes[0] = norms[0] = -1
        projection = [-1, -1]
        self.inner = dict(y)
        if "projection" in self.forms:
            self.inner = {"scale": 1 / 100, "zero": d.integers(-20, 20)} if self.whole else {}
            projection[0] = self.weights([self.hidden, self.cells])
            if d.pick(True, True, False):
                scale = self.inner["scale"] * self.scale(projection[0]) if self.whole else None
                projection[1] = self.weights([self.hidden], "int32", scale)
        kinds = ("int8", "int16") if self.whole else ("float32", "float32")
        states = [variable(d, [batch, self.hidden], kinds[0], **y),
                  variable(d, [batch, self.cells], kinds[1], **({"scale": CELL, "zero": 0} if self.whole else {}))]
        return [*w, *r, *peepholes, *b, *projection, *states, *norms]

    def intermediates(self):
        """The grids of the gates' sums and of h in front of a projection."""
        if not self.whole:
            return
        grids = [{"scale": self.d.real(0.0003, 0.0005), "zero": 0} for _ in range(4)]
        tensors = [self.d.network.tensor(f"i{len(self.d.network.graph.tensors)}", [0], "int16", **g) for g in grids]
        tensors.append(self.d.network.tensor(f"i{len(self.d.network.graph.tensors)}", [0], "int8", **self.inner))
        self.d.network.graph.operators[-1].intermediates = tensors


FORMS = [(), ("no_input",), ("peepholes",), ("peepholes", "no_input"), ("projection",), ("norms",),
         ("norms", "projection"), ("norms", "projection", "no_input"), ("norms", "peepholes")]


@case("UNIDIRECTIONAL_SEQUENCE_LSTM", 40, dtypes=("float32", "int8"))
def sequence_lstm(d):
    batch, steps, size, cells = d.integers(1, 3), d.integers(1, 6), d.integers(1, 7), d.integers(1, 8)
    forms = d.pick(*FORMS)
    hidden = d.integers(1, 6) if "projection" in forms else cells
    first, clip = d.pick(True, False), d.pick(0.0, 0.5, 10.0)
    shape = [steps, batch] if first else [batch, steps]
    x = d.input([*shape, size])
    lstm = Recurrent(d, size, hidden, cells, forms)
    reads = lstm.reads(x, batch, d.grid())
    made = d.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, *reads], [*shape, hidden],
                {"timeMajor": first, "cellClip": clip, "projClip": d.pick(0.0, 0.3) if "projection" in forms else 0.0,
                 "fusedActivationFunction": TANH})
    lstm.intermediates()
    return made


@case("LSTM", 20, dtypes=("float32", "int8"))
def lstm(d):
    batch, size, cells = d.integers(1, 3), d.integers(1, 7), d.integers(1, 8)
    # LiteRT 2.3.0's kernel of floats with norms writes into the states of the operator behind it.
    forms = d.pick(*(FORMS if d.ranges is not None else FORMS[:5]))
    hidden = d.integers(1, 6) if "projection" in forms else cells
    x = d.input([batch, size])
    one = Recurrent(d, size, hidden, cells, forms)
    reads = one.reads(x, batch, d.grid())
    made = d.op("LSTM", [x, *reads], [batch, hidden], {"cellClip": 0.0, "fusedActivationFunction": TANH})
    one.intermediates()
    return made


def directions(d, kind, first, steps, batch, size, hidden, forward, backward, second, options):
    """Both directions of a sequence; second: the inputs behind the states. LiteRT 2.3.0's LSTM loses the state of all
    batch elements but the first where they come first and the outputs are one."""
    shape = [steps, batch] if first else [batch, steps]
    merged = d.pick(True, False) and (first or batch == 1 or "RNN" in kind)
    x = d.input([*shape, size])
    options = {"timeMajor": first, "mergeOutputs": merged, **options}
    reads = [x, *forward(), *backward()]
    if kind == "BIDIRECTIONAL_SEQUENCE_LSTM":  # the states of both stand behind the weights of both
        one, other = reads[1:20], reads[20:39]
        reads = [x, *one[:17], *other[:17], *one[17:], *other[17:]]
    reads += second(shape)
    if merged:
        return d.op(kind, reads, [*shape, 2 * hidden], options)
    return d.op(kind, reads, [[*shape, hidden]] * 2, options, count=2)


def second_input(d, size, hidden, gates, first):
    """A second input without weights, with weights of its own, or none. LiteRT 2.3.0's RNN reads the first in place of
    one without weights where batches come first."""
    form = d.pick("", "alone" if first or gates > 1 else "weights", "weights")

    def make(shape):
        if form == "":
            return [-1] * (1 + 2 * gates)
        x = d.input([*shape, size])
        if form == "alone":
            return [x] + [-1] * (2 * gates)
        return [x] + [d.weights([hidden, size]) for _ in range(2 * gates)]
    return make


@case("BIDIRECTIONAL_SEQUENCE_LSTM", 16, dtypes=("float32",))
def bidirectional_lstm(d):
    batch, steps, size, hidden = d.integers(1, 3), d.integers(1, 5), d.integers(1, 6), d.integers(1, 6)
    first = d.pick(True, False)

    def one():
        lstm = Recurrent(d, size, hidden, hidden, d.pick((), ("no_input",), ("peepholes",), ("projection",)))
        return lstm.reads(-1, batch, {})[:19]
    return directions(d, "BIDIRECTIONAL_SEQUENCE_LSTM", first, steps, batch, size, hidden, one, one,
                      second_input(d, size, hidden, 4, first),
                      {"cellClip": d.pick(0.0, 0.5), "fusedActivationFunction": TANH})


@case("BIDIRECTIONAL_SEQUENCE_RNN", 12, dtypes=("float32",))
def bidirectional_rnn(d):
    batch, steps, size, hidden = d.integers(1, 3), d.integers(1, 5), d.integers(1, 6), d.integers(1, 6)
    first = d.pick(True, False)

    def one():
        weights = [d.weights([hidden, size]), d.weights([hidden, hidden]), d.weights([hidden])]
        return [*weights, variable(d, [batch, hidden])]
    return directions(d, "BIDIRECTIONAL_SEQUENCE_RNN", first, steps, batch, size, hidden, one, one,
                      second_input(d, size, hidden, 1, first), {"fusedActivationFunction": d.pick(0, 1, 3, 4)})


@case("UNIDIRECTIONAL_SEQUENCE_RNN", 8, dtypes=("float32",))
def sequence_rnn(d):
    batch, steps, size, hidden = d.integers(1, 3), d.integers(1, 5), d.integers(1, 6), d.integers(1, 6)
    first = d.pick(True, False)
    shape = [steps, batch] if first else [batch, steps]
    reads = [d.input([*shape, size]), d.weights([hidden, size]), d.weights([hidden, hidden]), d.weights([hidden])]
    return d.op("UNIDIRECTIONAL_SEQUENCE_RNN", [*reads, variable(d, [batch, hidden])], [*shape, hidden],
                {"timeMajor": first, "fusedActivationFunction": d.pick(0, 1, 3, 4)})


@case("RNN", 6, dtypes=("float32",))
def rnn(d):
    batch, size, hidden = d.integers(1, 3), d.integers(1, 6), d.integers(1, 6)
    reads = [d.input([batch, size]), d.weights([hidden, size]), d.weights([hidden, hidden]), d.weights([hidden])]
    return d.op("RNN", [*reads, variable(d, [batch, hidden])], [batch, hidden],
                {"fusedActivationFunction": d.pick(0, 1, 3, 4)})
