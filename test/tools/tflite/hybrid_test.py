# SPDX-License-Identifier: Apache-2.0
"""Operators of floats with int8 weights (dynamic ranges), each alone in a file, whose inputs LiteRT rounds as it runs:
all aligned on three families of kernels, and wrong when one output of them is.

    hybrid_test.py --bin build/release/bin --work FOLDER [--only PART] [--kernels reference,optimised,xnnpack]
        [--seeds N]
"""
import argparse
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import expected  # noqa: E402
import packages  # noqa: E402

TANH, RELU = 4, 1
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Draw:
    """One operator, with x as its input."""

    def __init__(self, seed, asymmetric):
        import lite
        import numpy as np
        self.np, self.random, self.net, self.asymmetric = np, np.random.default_rng(seed), lite.Network(), asymmetric
        self.feeds = {}

    def size(self, low, high):
        return int(self.random.integers(low, high + 1))

    def input(self, shape):
        x = self.net.input(shape)
        name = self.net.graph.tensors[x].name
        self.feeds[name] = self.random.normal(0.3, 1.0, shape).astype(self.np.float32)
        return x

    def weights(self, shape, axis=None):
        """axis: one scale for each of its entries."""
        values = self.random.normal(0, 0.5, shape)
        over = None if axis is None else tuple(i for i in range(len(shape)) if i != axis)
        scale = self.np.abs(values).max(axis=over, keepdims=axis is not None) / 127
        whole = self.np.rint(values / scale).astype(self.np.int8)
        return self.net.constant(f"w{len(self.net.graph.tensors)}", whole, scale=self.np.atleast_1d(scale.reshape(-1)),
                                 axis=axis or 0)

    def floats(self, shape, scale=0.5, low=0.0):
        values = self.random.normal(low, scale, shape).astype(self.np.float32)
        return self.net.constant(f"b{len(self.net.graph.tensors)}", values)

    def state(self, shape):
        tensor = self.net.tensor(f"s{len(self.net.graph.tensors)}", shape)
        self.net.graph.tensors[tensor].isVariable = True
        return tensor

    def op(self, kind, reads, shape, version, rounds=True, **options):
        more = {"asymmetricQuantizeInputs": self.asymmetric} if rounds else {}
        return self.net.op(kind, reads, shape, version=version, options={**options, **more})


@case
def dense(d):
    rows, size, made = d.size(1, 6), d.size(4, 40), d.size(2, 12)
    return d.op("FULLY_CONNECTED", [d.input([rows, size]), d.weights([made, size]), d.floats([made])], [rows, made], 9,
                fusedActivationFunction=d.size(0, 1))


@case
def dense_of_channels(d):
    rows, size, made = d.size(1, 6), d.size(4, 40), d.size(2, 12)
    return d.op("FULLY_CONNECTED", [d.input([rows, size]), d.weights([made, size], 0), d.floats([made])], [rows, made],
                9)


@case
def convolution(d):
    k, size, channels, made = d.size(1, 3), d.size(4, 9), d.size(4, 8), d.size(2, 9)
    return d.op("CONV_2D", [d.input([2, size, size, channels]), d.weights([made, k, k, channels], 0), d.floats([made])],
                [2, size, size, made], 5, False, padding=0, strideH=1, strideW=1)


@case
def depthwise(d):
    k, size, channels = d.size(2, 4), d.size(4, 9), d.size(2, 8)
    return d.op("DEPTHWISE_CONV_2D", [d.input([2, size, size, channels]), d.weights([1, k, k, channels], 3),
                                      d.floats([channels])], [2, size, size, channels], 6, False, padding=0, strideH=1,
                strideW=1, depthMultiplier=1)


@case
def batch_matmul(d):
    batch, rows, size, made = d.size(1, 3), d.size(1, 5), d.size(4, 20), d.size(2, 9)
    return d.op("BATCH_MATMUL", [d.input([batch, rows, size]), d.weights([batch, size, made])], [batch, rows, made], 4)


@case
def svdf(d):
    batch, size, units, rank, memory = d.size(1, 3), d.size(4, 12), d.size(2, 6), d.size(1, 2), d.size(2, 5)
    filters = units * rank
    return d.op("SVDF", [d.input([batch, size]), d.weights([filters, size]), d.weights([filters, memory]),
                         d.floats([units]), d.state([batch, memory * filters])], [batch, units], 4, rank=rank,
                fusedActivationFunction=d.size(0, 1))


def rnn_weights(d, size, hidden):
    return [d.weights([hidden, size]), d.weights([hidden, hidden]), d.floats([hidden])]


@case
def rnn(d):
    batch, size, hidden = d.size(1, 3), d.size(4, 12), d.size(4, 8)
    return d.op("RNN", [d.input([batch, size]), *rnn_weights(d, size, hidden), d.state([batch, hidden])],
                [batch, hidden], 3, fusedActivationFunction=TANH)


@case
def sequence_rnn(d):
    steps, batch, size, hidden = d.size(2, 7), d.size(1, 3), d.size(4, 12), d.size(4, 8)
    first = bool(d.size(0, 1))
    shape = [steps, batch] if first else [batch, steps]
    return d.op("UNIDIRECTIONAL_SEQUENCE_RNN",
                [d.input([*shape, size]), *rnn_weights(d, size, hidden), d.state([batch, hidden])], [*shape, hidden], 3,
                timeMajor=first, fusedActivationFunction=(RELU, TANH)[d.size(0, 1)])


def lstm_weights(d, batch, size, cells, form):
    """The inputs behind x, but for the states and the norms."""
    hidden = d.size(4, 6) if form == "projection" else cells
    gates = range(4)
    w, r = [d.weights([cells, size]) for _ in gates], [d.weights([cells, hidden]) for _ in gates]
    b = [d.floats([cells]) for _ in gates]
    peepholes = [d.weights([cells]) for _ in range(3)] if form == "peepholes" else [-1] * 3
    if form == "no input gate":
        w[0] = r[0] = b[0] = -1
    projection = [d.weights([hidden, cells]), d.floats([hidden])] if form == "projection" else [-1, -1]
    return [*w, *r, *peepholes, *b, *projection], [d.state([batch, hidden]), d.state([batch, cells])], hidden


def sequence(form):
    def build(d):
        steps, batch, size, cells = d.size(2, 7), d.size(1, 3), d.size(4, 12), d.size(4, 8)
        first = bool(d.size(0, 1))
        shape = [steps, batch] if first else [batch, steps]
        x = d.input([*shape, size])
        weights, states, hidden = lstm_weights(d, batch, size, cells, form)
        return d.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, *weights, *states], [*shape, hidden], 3, timeMajor=first,
                    fusedActivationFunction=TANH, cellClip=(0.0, 0.6)[d.size(0, 1)] if form == "" else 0.0)
    return build


CASES |= {f"sequence_lstm {form}".strip(): sequence(form) for form in ("", "no input gate", "peepholes", "projection")}


@case
def lstm(d):
    batch, size, cells = d.size(1, 3), d.size(4, 12), d.size(4, 8)
    x = d.input([batch, size])
    weights, states, hidden = lstm_weights(d, batch, size, cells, "")
    return d.op("LSTM", [x, *weights, *states], [batch, hidden], 4, fusedActivationFunction=TANH)


@case
def both_lstm(d):
    steps, batch, size, cells = d.size(2, 6), d.size(1, 3), d.size(4, 12), d.size(4, 8)
    x = d.input([steps, batch, size])
    (one, first, hidden), (other, second, _) = (lstm_weights(d, batch, size, cells, "") for _ in range(2))
    return d.op("BIDIRECTIONAL_SEQUENCE_LSTM", [x, *one, *other, *first, *second] + [-1] * 9,
                [steps, batch, 2 * hidden], 3, timeMajor=True, mergeOutputs=True, fusedActivationFunction=TANH)


def runs(path, feeds, options, kernels):
    """The folder of LiteRT's dump; None: its kernels refuse the file."""
    import numpy as np
    from plumb_golden import litert_golden
    from plumb_golden.folder import UsageError
    given, folder = options.work / "feeds.npz", options.work / "dump"
    np.savez(given, **feeds)
    child = os.fork()  # LiteRT may crash
    if child == 0:
        try:
            litert_golden.run(path, folder, input_files=[str(given)], force=True, kernels=kernels)
            os._exit(0)
        except (UsageError, RuntimeError, ValueError) as error:
            print(f"     {path.stem}, {kernels}: LiteRT refuses it: {str(error).splitlines()[-1][:160]}", flush=True)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        print(f"     {path.stem}, {kernels}: LiteRT ends with signal {os.WTERMSIG(status)}")
    return folder if status == 0 else None


def spoil(folder, blob):
    """One element of an output by a twentieth of the largest."""
    import json
    import numpy as np
    manifest = json.loads((folder / "manifest.json").read_text())
    file = next(folder / entry["file"] for entry in manifest["files"] if entry["blob"] == blob)
    values = np.load(file)
    values.reshape(-1)[values.size // 2] += max(0.05, np.abs(values).max() / 20)
    np.save(file, values)


def check(name, seed, asymmetric, options, tested):
    d = Draw(seed, asymmetric)
    made = CASES[name](d)
    text = f"{name}{' asymmetric' if asymmetric else ''} {seed}"
    path = options.work / f"{text.replace(' ', '_')}.tflite"
    path.write_bytes(d.net.bytes([made]))
    for kernels in options.kernels.split(","):
        folder = runs(path, d.feeds, options, kernels)
        if folder is None:
            continue
        run, _ = expected.judge(options, path, folder)
        bad = [layer for layer in run["layers"] if layer["verdict"] in ("wrong", "grey")]
        expected.expect(not bad, f"{text}, {kernels}: aligned", expected.lines(bad))
        spoil(folder, d.net.graph.tensors[made].name)
        run, _ = expected.judge(options, path, folder)
        expected.expect(any(layer["verdict"] == "wrong" for layer in run["layers"]), f"{text}, {kernels}: spoilt")
        tested.add((name, kernels))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--kernels", default="reference,optimised,xnnpack")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    options.work = options.work / "hybrid"
    options.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(options.work / "litert", ["ai-edge-litert==2.3.0", "numpy"], ["ai_edge_litert", "numpy"])
    tested = set()
    for name in CASES:
        for asymmetric in (False, True) if re.search(options.only, name) else ():
            for seed in range(options.seeds):
                check(name, seed, asymmetric, options, tested)
    print(f"{len(tested)} pairs of operator and kernels")
    if not options.only:
        expected.expect({name for name, _ in tested} == set(CASES), "LiteRT runs every operator")
    sys.exit(expected.finish("operators"))


if __name__ == "__main__":
    main()
