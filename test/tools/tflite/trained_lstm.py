# SPDX-License-Identifier: Apache-2.0
"""An LSTM of floats that learns to say which of four symbols it saw three steps ago, among noise: NumPy alone."""
import integer_lstm
import numpy as np

SYMBOLS, CELLS, STEPS, DELAY = 4, 16, 14, 3


def sequences(random, count):
    """(inputs [steps, count, symbols], symbols [steps, count])."""
    symbols = random.integers(0, SYMBOLS, [STEPS, count])
    return np.eye(SYMBOLS)[symbols] * 2 - 0.5 + random.normal(0, 0.4, [STEPS, count, SYMBOLS]), symbols


def gradients(p, x, symbols):
    """Of the cross entropy, by the way back through time."""
    count = x.shape[1]
    h, c, kept = np.zeros([count, CELLS]), np.zeros([count, CELLS]), []
    for each in x:
        sums = [each @ p["w"][g].T + h @ p["r"][g].T + p["b"][g] for g in range(4)]
        i, f, o = (integer_lstm.logistic(sums[g]) for g in (0, 1, 3))
        g = np.tanh(sums[2])
        before, c = c, f * c + i * g
        kept.append((each, h, before, c, i, f, g, o))
        h = o * np.tanh(c)
    made = {name: np.zeros_like(value) for name, value in p.items()}
    of_h, of_c = np.zeros([count, CELLS]), np.zeros([count, CELLS])
    for t in reversed(range(len(x))):
        each, h_before, before, c, i, f, g, o = kept[t]
        h = o * np.tanh(c)
        if t >= DELAY:
            shares = np.exp(h @ p["v"].T)
            shares /= shares.sum(1, keepdims=True)
            off = (shares - np.eye(SYMBOLS)[symbols[t - DELAY]]) / count
            made["v"] += off.T @ h
            of_h = of_h + off @ p["v"]
        of_c = of_c + of_h * o * (1 - np.tanh(c)**2)
        sums = (of_c * g * i * (1 - i), of_c * before * f * (1 - f), of_c * i * (1 - g * g),
                of_h * np.tanh(c) * o * (1 - o))
        of_h, of_c = np.zeros([count, CELLS]), of_c * f
        for gate, off in enumerate(sums):
            made["w"][gate] += off.T @ each
            made["r"][gate] += off.T @ h_before
            made["b"][gate] += off.sum(0)
            of_h = of_h + off @ p["r"][gate]
    return made


def train(rounds=700, count=32, rate=0.01):
    """The LSTM and the dense weights [symbols, cells] behind it."""
    random = np.random.default_rng(11)
    p = {"w": random.normal(0, 0.3, [4, CELLS, SYMBOLS]), "r": random.normal(0, 0.3, [4, CELLS, CELLS]),
         "b": np.zeros([4, CELLS]), "v": random.normal(0, 0.3, [SYMBOLS, CELLS])}
    p["b"][1] = 1
    mean, square = ({name: np.zeros_like(value) for name, value in p.items()} for _ in range(2))
    for step in range(1, rounds + 1):
        for name, off in gradients(p, *sequences(random, count)).items():
            mean[name] = 0.9 * mean[name] + 0.1 * off
            square[name] = 0.999 * square[name] + 0.001 * off * off
            p[name] -= rate * mean[name] / (1 - 0.9**step) / (np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8)
    return integer_lstm.Reals(p["w"], p["r"], p["b"]), p["v"]


def share_right(scores, symbols):
    """Of answers [steps, count, symbols], those that are right."""
    return float(np.mean(np.argmax(scores, -1)[DELAY:] == symbols[:-DELAY]))
